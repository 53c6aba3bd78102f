"""Halfspaces, linear rules with real weights: their labels, and the rows that others break."""

from itertools import product
from math import comb

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings
from scipy.optimize import linprog

from milpcb import LabelConstraint, open_oracle
from milpcb.errors import InputError
from milpcb.solvers import lazy
from milpcb.solvers.highs import Highs
from milpcb.types import Floats
from policies import Halfspaces, LinearRules
from policies.halfspaces.separator import LabelSeparator, _widest, rule_of
from policies.names import Names
from tests.instances import instances

REAL = Halfspaces()
CUBE = np.array(list(product((0.0, 1.0), repeat=3)))
PLANE = np.random.default_rng(0).normal(size=(7, 2))  # in general position
POOLS = {i.name: i.contexts for i in instances("halfspaces")} | {"plane": PLANE}
EVERYTHING = LabelConstraint(np.ones((25, 2)), upper=25.0)
EVERY_POOL = pytest.mark.parametrize("name", POOLS)


def separable(contexts: Floats, labels: tuple[int, ...]) -> bool:
    """Whether some w and t give these labels with a margin of 1, by scipy's linear programming."""
    sign = np.where(np.array(labels) == 1, 1.0, -1.0)[:, None]
    rows = -sign * np.column_stack([contexts / np.abs(contexts).max(axis=0), -np.ones(len(contexts))])
    return linprog(np.zeros(rows.shape[1]), rows, -np.ones(len(rows)), bounds=(None, None)).status == 0


def cost_of(labels: np.ndarray, flipped: np.ndarray) -> Floats:
    """Cost 1 for each disagreement with labels of which some are flipped."""
    wanted = (labels ^ flipped).astype(bool)
    return np.column_stack([wanted, ~wanted]).astype(float)


# ------------------------------------------------------------------- the class


@EVERY_POOL
def test_labelings_are_those_that_a_linear_program_separates(name) -> None:
    """Of all labelings of the distinct contexts, those with a separating halfspace are listed, each once."""
    contexts = POOLS[name]
    distinct, group = np.unique(contexts, axis=0, return_inverse=True)
    wanted = {labels for labels in product((0, 1), repeat=len(distinct)) if separable(distinct, labels)}
    listed = REAL.on(contexts).labelings()
    assert {tuple(labels) for labels in listed.tolist()} == {tuple(np.array(labels)[group]) for labels in wanted}
    assert len(list(REAL.on(contexts).policies())) == len(wanted)
    assert len(wanted) <= np.exp(REAL.log_size(contexts)) + 1e-9
    if name == "plane":
        assert len(wanted) == 2 * sum(comb(6, k) for k in range(3)) == pytest.approx(np.exp(REAL.log_size(contexts)))


def test_a_margin_too_small_for_solvers_does_not_count() -> None:
    """On a line, contexts 1e-4 of the range apart are told apart, contexts 1e-8 apart are not."""
    for distance, n in ((1e-4, 6), (1e-8, 4)):
        assert len(REAL.on(np.array([[0.0], [distance], [1.0]])).labelings()) == n


@settings(max_examples=6)
@given(data=st.data())
def test_the_program_answers_as_the_definition_on_any_small_pool(data, battery) -> None:
    """The battery holds on drawn whole and real columns and repeats of rows."""
    rows, features = data.draw(st.integers(1, 6)), data.draw(st.integers(1, 3))
    kinds = [st.integers(0, 1), st.integers(-4, 4), st.floats(-10, 10).map(lambda x: round(x, 2))]
    kind = [data.draw(st.sampled_from(kinds)) for _ in range(features)]
    contexts = np.array([[float(data.draw(k)) for k in kind] for _ in range(rows)])
    battery(REAL, contexts, data)


def test_it_equals_all_threshold_functions_of_five_variables() -> None:
    """Weights up to 5 make all threshold functions of five binary columns, so the tables have the same optimum."""
    rng = np.random.default_rng(2)
    contexts = np.array(list(product((0.0, 1.0), repeat=5)))[rng.permutation(32)[:26]]
    program, search = open_oracle(REAL, contexts), open_oracle(LinearRules(), contexts, kind="search")
    for flipped in (0.0, 0.1, 0.3):
        labels = contexts @ rng.normal(size=5) > 0.3
        costs = cost_of(labels, rng.random(26) < flipped)
        assert program.value(costs) == search.value(costs)
        assert (program.profile(costs, 4) == search.profile(costs, 4)).all()


def test_columns_are_taken_as_they_are() -> None:
    """Thresholds play no part: a cut between two values that no quantile tells apart is found."""
    column = np.arange(12.0)[:, None] / 7
    costs = cost_of(np.arange(12) >= 11, np.zeros(12, dtype=bool))
    assert open_oracle(REAL, column).value(costs) == 0.0
    assert open_oracle(LinearRules(), column).value(costs) > 0.0


def test_columns_answer_as_rows_do() -> None:
    """From 25 contexts on, few features: a column for each labeling; rows where something constrains them."""
    rng = np.random.default_rng(5)
    contexts = np.round(rng.normal(size=(25, 2)), 1)  # some on a line with two others
    opened = REAL.on(contexts)
    columns, rows = opened.program(), opened.program(constrained=True)
    assert (columns.separator is None, columns.program.integral) == (True, True)
    assert rows.separator is not None
    assert REAL.on(rng.normal(size=(25, 23))).program().separator is not None  # as many labelings as there are
    oracle, limited = open_oracle(REAL, contexts), open_oracle(REAL, contexts, constraints=[EVERYTHING])
    for _ in range(3):
        costs = rng.integers(-5, 6, (25, 2)).astype(float)
        answer = oracle.minimise(costs)
        assert answer.value == limited.value(costs) == costs[np.arange(25), answer.policy.predict(contexts)].sum()


# ------------------------------------------------------------------- rows


def test_every_row_is_a_minimal_inseparable_set() -> None:
    """Of the sets found, none is separable, and each is without any one of its members; all labelings keep its row."""
    rng = np.random.default_rng(4)
    contexts = rng.normal(size=(10, 3))
    halfspaces, labelings = LabelSeparator(contexts), REAL.on(contexts).labelings()
    for _ in range(5):
        objective = rng.normal(size=10)
        x = (rng.random(10) < 0.5).astype(float)
        cuts = halfspaces.cuts(x, objective)
        assert (labelings @ cuts.matrix.T >= cuts.lower).all()
        assert (cuts.matrix @ x < cuts.lower).all()
        assert (labelings == cuts.point).all(axis=1).any()
        for row in cuts.matrix:
            members = np.flatnonzero(row)
            labels = tuple((row[members] < 0).astype(int))
            assert not separable(contexts[members], labels)
            for k in range(len(members)):
                rest = np.delete(members, k)
                assert separable(contexts[rest], tuple(np.delete(labels, k)))


def test_a_labeling_of_the_class_breaks_no_row_and_any_other_does() -> None:
    """Whole points get rows exactly when no halfspace labels so."""
    contexts = POOLS["grid"][:6]
    halfspaces, labelings = LabelSeparator(contexts), set(map(tuple, REAL.on(contexts).labelings().tolist()))
    for labels in product((0, 1), repeat=6):
        cuts = halfspaces.cuts(np.array(labels, float), np.ones(6))
        assert bool(len(cuts.lower)) == (labels not in labelings)


@pytest.fixture
def added(monkeypatch: pytest.MonkeyPatch) -> list[Floats]:
    """Return the list of all rows that any session of the solver is handed from now on."""
    rows, add = list[Floats](), Highs.add_rows
    monkeypatch.setattr(Highs, "add_rows", lambda *given: rows.extend(given[1]) or add(*given))
    return rows


@pytest.mark.parametrize("kind", ["binary", "normal"])
def test_rows_serve_later_questions(kind: str, added: list[Floats]) -> None:
    """Contexts in ten or eight dimensions: a question asked again adds few rows, and values match a new oracle's."""
    rng = np.random.default_rng(5)
    contexts = rng.integers(0, 2, (64, 10)).astype(float) if kind == "binary" else rng.normal(size=(48, 8))
    labels = contexts @ rng.normal(size=contexts.shape[1]) > 0.2
    kept = open_oracle(REAL, contexts)
    for _ in range(2):
        costs, new = cost_of(labels, rng.random(len(labels)) < 0.05), open_oracle(REAL, contexts)
        answer = kept.minimise(costs)
        assert costs[np.arange(len(labels)), answer.policy.predict(contexts)].sum() == answer.value
        added.clear()
        assert kept.value(costs) == answer.value
        n_rows = len(added)
        assert new.value(costs) == answer.value
        assert n_rows < len(added) - n_rows


def test_rows_that_are_dropped_are_found_again(monkeypatch: pytest.MonkeyPatch, added: list[Floats]) -> None:
    """When every question starts without rows the values stay the same."""
    rng = np.random.default_rng(6)
    contexts = rng.integers(0, 2, (24, 5)).astype(float)
    labels = contexts @ rng.normal(size=5) > 0.2
    every = [cost_of(labels, rng.random(24) < 0.2) for _ in range(5)]
    kept, forgetful = (open_oracle(REAL, contexts) for _ in range(2))
    values = [kept.value(costs) for costs in every]
    by_kept = len(added)
    monkeypatch.setattr(lazy, "MOST_ROWS", 0)
    assert [forgetful.value(costs) for costs in every] == values
    assert 0 < by_kept < len(added) - by_kept


# ------------------------------------------------------------------- rules


@pytest.mark.parametrize("name", POOLS)
def test_every_labeling_can_be_drawn(name) -> None:
    """Every labeling with two actions comes up, and constants where there is no other."""
    rng = np.random.default_rng(7)
    contexts = POOLS[name][:4]  # of more there are too many to come up soon
    wanted = {tuple(labels) for labels in REAL.on(contexts).labelings().tolist() if len(set(labels)) > 1}
    wanted = wanted or {(0,) * len(contexts), (1,) * len(contexts)}
    found, opened = set(), REAL.on(contexts)
    for _ in range(3_000):
        found.add(tuple(opened.draw(rng).predict(contexts).tolist()))
        if found == wanted:
            break
    assert found == wanted


def test_a_rule_has_few_digits_and_half_the_widest_margin() -> None:
    """The rule for age + 2 dose >= 2.5 on a grid has one or two digits each, cuts have one; constants no weights."""
    contexts = np.array(list(product(range(3), repeat=2)), dtype=float)
    names = Names(("age", "dose"), ("wait", "treat"))
    rule = rule_of(contexts, contexts @ [1.0, 2.0] >= 2.5, names)
    assert str(rule) == "score = +0.5*age +1*dose\nplay treat if score >= 1.2, else play wait"
    assert rule_of(np.array([[1.0], [3.5]]), np.array([False, True]), names).cuts == (2.0,)
    assert str(rule_of(contexts, np.ones(9, dtype=bool), names)) == "play treat"
    assert str(rule_of(contexts, np.zeros(9, dtype=bool), names)) == "play wait"


def test_few_digits_keep_half_the_widest_margin() -> None:
    """Of the weights with fewer digits some give the labels, and hold them too close to the cut; they are not taken."""
    rng, one_digit = np.random.default_rng(0), 0
    close = np.array([[0.0, 1.0], [1.0, 0.0], [1.0, 1e-5], [0.0, 1.00001], [0.5, 0.5]])
    cases = [(close, np.array([False, False, True, True, False]))]  # contexts 1e-5 of the range apart
    for _ in range(20):
        contexts = rng.normal(size=(100, 3))
        cases.append((contexts, contexts @ rng.normal(size=3) >= 0.2))
    for contexts, labels in cases:
        rule = rule_of(contexts, labels, Names())
        widths = [
            (scores[labels].min() - scores[~labels].max()) / np.ptp(scores)
            for scores in (contexts @ rule.weights, contexts @ _widest(contexts, labels))
        ]
        assert widths[0] >= 0.5 * widths[1] > 0.0
        assert (rule.predict(contexts) == labels).all()
        one_digit += all(float(f"{weight:.0e}") == weight for weight in rule.weights)
    assert one_digit > 2, "a rule has no more digits than that takes"


def test_a_rule_keeps_clear_of_rounding() -> None:
    """Where floats are coarse, unix times in an hour, digits are added until no rounding of a score decides."""
    rng = np.random.default_rng(9)
    contexts = np.column_stack([1.7e9 + rng.uniform(0, 3_600, 12), rng.normal(size=12)])
    for _ in range(20):
        rule = REAL.on(contexts).draw(rng)
        size = np.abs(contexts) @ np.abs(rule.weights)
        assert (np.abs(contexts @ rule.weights - rule.cuts[0]) > 3 * np.finfo(float).eps * size).all()


# ------------------------------------------------------------------- refusals


def test_there_is_no_search() -> None:
    """The class declares it, and the error names the kind that works."""
    assert "search" not in REAL.on(CUBE).capabilities
    with pytest.raises(InputError, match="have no search; use oracle kind 'milp'"):
        open_oracle(REAL, CUBE, kind="search")
    two_of_three = (CUBE.sum(axis=1) >= 2).astype(int)
    assert open_oracle(REAL, CUBE, kind="milp").value(np.eye(2)[two_of_three]) == 0.0
