"""Walks through the labelings of support tables: diagrams, prices, totals that are kept, side constraints, sums."""

from itertools import product

import numpy as np
import pytest

from milpcb import open_oracle
from milpcb.constraints import share_at_most
from milpcb.errors import InputError
from milpcb.protocols import Search, SideConstraint, Terms
from milpcb.types import Floats, Ints
from policies.linear import LinearRules, supports
from policies.linear.labelings import Diagram, LabelTable, OneScore, Shape, support_table
from policies.linear.policy_class import OpenedLinear
from policies.linear.search_tables import TableTerms
from policies.linear.supports import Supports
from policies.linear.template import SPAN

POOLS = {
    "three of seven": (LinearRules(max_features=3), 2, 7),
    "three of six, three actions": (LinearRules(3, max_weight=2, max_features=3), 2, 6),
    "two of five, four values": (LinearRules(2, max_weight=3, max_features=2), 4, 5),
    "all of three, three values, three actions": (LinearRules(3, max_weight=1), 3, 3),
    "columns alike": (LinearRules(2, max_weight=2, max_features=3), -2, 4),
}
EVERY_POOL = pytest.mark.parametrize("name", POOLS)


def opened(name: str, rng: np.random.Generator, rows: int = 40) -> OpenedLinear:
    """The class on random contexts; a negative number of values doubles a column."""
    rules, values, features = POOLS[name]
    contexts = rng.integers(0, abs(values), (rows, features)).astype(float)
    if values < 0:
        contexts[:, -1] = 3 - contexts[:, 0]
    on = rules.on(contexts)
    assert isinstance(on, OpenedLinear)
    return on


def table_of(shapes: tuple[Shape, ...], n_cuts: int) -> LabelTable:
    """The table of columns of these shapes."""
    return support_table(OneScore(n_cuts + 1), shapes)


def every_row(on: OpenedLinear) -> Ints:
    """The labelings (n, g) of the contexts by each row of each table, supports in turn."""
    every = Supports(on.scored)
    rows = []
    for batch in every.batches:
        patterns = np.array([every.patterns_at(batch, j) for j in range(len(on.contexts))])
        rows += [batch.table.labels[:, patterns[:, i]] for i in range(len(batch.supports))]
    return np.concatenate(rows).astype(int)


def totals_of(labels: Ints, costs: Floats) -> Floats:
    """The total (n,) of each labeling."""
    return np.asarray(costs[np.arange(len(costs)), labels].sum(axis=1))


@pytest.mark.parametrize(
    ("shapes", "n_cuts"),
    [((), 1), ((Shape((0, 1), 5),) * 4, 1), ((Shape((0, 1), 2),) * 3, 2), ((Shape((0, 1, 4), 2), Shape((0, 2), 1)), 3)],
)
def test_a_diagram_has_a_path_for_each_labeling(shapes: tuple[Shape, ...], n_cuts: int) -> None:
    """Paths from the root are the rows of the table, each once, and the sum along a path is the number of the row."""
    table = table_of(shapes, n_cuts)
    diagram = table.diagram
    paths: list[tuple[int, int, tuple[int, ...]]] = [(0, 0, ())]
    for level in range(table.labels.shape[1]):
        assert {state for state, *_ in paths} == set(range(diagram.first[level], diagram.first[level + 1]))
        paths = [
            (diagram.child[state, a], number + diagram.before[state, a], (*labels, a))
            for state, number, labels in paths
            for a in range(n_cuts + 1)
            if diagram.child[state, a] <= len(diagram.child)
        ]
    assert {state for state, *_ in paths} == {len(diagram.child)}
    assert [number for _, number, _ in paths] == list(range(len(table.labels)))
    assert [labels for *_, labels in paths] == [tuple(row) for row in table.labels.tolist()]


def test_states_that_go_on_alike_are_one() -> None:
    """Both labelings of the second pattern may follow either label of the first: a state a level is enough."""
    every = np.array(list(product(range(2), repeat=3)), dtype=np.int8)
    diagram = Diagram.of(every)
    assert diagram.child.tolist() == [[1, 1], [2, 2], [3, 3]]
    assert diagram.before.tolist() == [[0, 4], [0, 2], [0, 1]]


def test_five_binary_columns_have_all_threshold_functions() -> None:
    """94 572 labelings (OEIS A000609) in 30 692 states."""
    table = table_of((Shape((0, 1), 5),) * 5, 1)
    assert (len(table.labels), len(table.diagram.child)) == (94_572, 30_692)
    points = np.array(list(product(range(2), repeat=5)))
    scores = table.weights @ points.T
    lowest = np.where(table.labels == 1, scores, 99).min(axis=1)
    assert (lowest > np.where(table.labels == 0, scores, -99).max(axis=1)).all()


@pytest.mark.parametrize(("n", "weight", "rows"), [(1, 1, 4), (2, 1, 14), (3, 2, 104), (4, 3, 1882), (5, 5, 94_572)])
def test_weights_beyond_those_that_make_all_labelings_add_none(n: int, weight: int, rows: int) -> None:
    """Tables of binary columns are built with the least weights that make all threshold functions (OEIS A000609)."""
    shapes = OneScore(2).enough((Shape((0, 1), 40),) * n)
    assert shapes == (Shape((0, 1), weight),) * n
    assert len(table_of(shapes, 1).labels) == rows
    assert len(table_of((Shape((0, 1), max(1, weight - 1)),) * n, 1).labels) < rows or weight == 1


def test_only_two_actions_and_two_values_need_no_larger_weights() -> None:
    """Of other shapes the largest weight is what it was; so it is of smaller weights."""
    for shapes, n_actions in (
        ((Shape((0, 1), 9),) * 3, 3),
        ((Shape((0, 1), 9), Shape((0, 1, 2), 9)), 2),
        ((Shape((0, 3), 1),) * 4, 2),
    ):
        assert OneScore(n_actions).enough(shapes) == shapes
    contexts = np.random.default_rng(0).integers(0, 2, (50, 7)).astype(float)
    costs = np.random.default_rng(1).integers(-9, 10, (50, 2)).astype(float)
    wide, narrow = (open_oracle(LinearRules(2, most, 5), contexts, "search") for most in (50, 5))
    assert wide.value(costs) == narrow.value(costs)


@EVERY_POOL
def test_prices_are_sums_over_the_contexts_of_a_pattern(name: str) -> None:
    """Each price is the sum over the contexts with the pattern, exactly on whole costs."""
    rng = np.random.default_rng(1)
    on = opened(name, rng)
    every, values = Supports(on.scored), rng.integers(-9, 10, (len(on.contexts), on.n_actions)).astype(float)
    assert sum(len(batch.supports) for batch in every.batches) > 0
    for batch, prices in zip(every.batches, every.totals(values), strict=True):
        wanted = np.zeros_like(prices)
        for j, value in enumerate(values):
            wanted[:, every.patterns_at(batch, j), np.arange(len(batch.supports))] += value[:, None]
        assert (prices == wanted).all()


@EVERY_POOL
@pytest.mark.parametrize("whole", [True, False])
def test_answers_are_those_of_all_rows(name: str, whole: bool) -> None:
    """Value, profile, rule and sums are those of the products of the whole tables, from costs and from kept totals."""
    rng = np.random.default_rng(2)
    on = opened(name, rng)
    search, terms, labels = on.search(), on.terms(), every_row(on)
    for scale in (1.0, 60.0):  # sums with factors of labels, and compared with the least below each state
        costs = scale * rng.integers(-9, 10, (len(on.contexts), on.n_actions)).astype(float)
        costs += 0.0 if whole else rng.normal(size=costs.shape)
        every, row = totals_of(labels, costs), int(rng.integers(len(costs)))
        kept, place = terms.totals(on.contexts, costs), terms.places(on.contexts)[row]
        profile = [every[labels[:, row] == a].min() for a in range(on.n_actions)]
        logs = [np.logaddexp.reduce(-0.5 * every[labels[:, row] == a]) for a in range(on.n_actions)]
        off = 0.0 if whole else 1e-9
        assert [search.value(costs), terms.value(kept)] == pytest.approx([every.min()] * 2, abs=off, rel=0.0)
        for total, rule in (search.minimise(costs), terms.minimise(kept)):
            assert total == pytest.approx(every.min(), abs=off, rel=0.0)
            assert totals_of(rule.predict(on.contexts)[None], costs)[0] == pytest.approx(total, abs=off, rel=0.0)
        assert search.profile(costs, row) == pytest.approx(profile, abs=off, rel=0.0)
        assert terms.profile(kept, place) == pytest.approx(profile, abs=off, rel=0.0)
        assert search.log_weights(costs, row, 0.5) == pytest.approx(logs, abs=1e-8)
        assert terms.log_weights(kept, place, 0.5) == pytest.approx(logs, abs=1e-8)


def test_both_ways_to_sum_are_gone_through() -> None:
    """The costs of the test above are on both sides of the limit between the two ways to sum."""
    on = opened("three of seven", np.random.default_rng(2))
    smallest = np.abs(Supports(on.scored).totals(np.ones((len(on.contexts), 1)))[0]).sum(axis=(0, 1)).min()
    assert 0.5 * 9 * smallest < SPAN < 0.5 * 60 * 9 * smallest


@EVERY_POOL
def test_kept_totals_are_added_to_cell_by_cell(name: str) -> None:
    """Costs that come one by one give the totals of all at once, and a derivation the total of its labels."""
    rng = np.random.default_rng(3)
    on = opened(name, rng)
    terms, totals = on.terms(), np.zeros(on.terms().n_terms)
    rows, actions = rng.integers(len(on.contexts), size=60), rng.integers(on.n_actions, size=60)
    costs = np.zeros((len(on.contexts), on.n_actions))
    amounts = rng.integers(1, 9, 60).astype(float)
    np.add.at(costs, (rows, actions), amounts)
    terms.add(totals, on.contexts[rows], actions, amounts)
    assert (totals == terms.totals(on.contexts, costs)).all()
    assert (totals == terms.adder(on.contexts)(costs)).all()
    assert (totals == terms.adder(on.contexts[::-1])(costs[::-1])).all()
    assert {len(place) for place in terms.places(on.contexts)} == {terms.n_touched}
    assert terms.log_derivations == pytest.approx(np.log(len(every_row(on))))


@EVERY_POOL
def test_side_rows_leave_the_rows_that_keep_them(name: str) -> None:
    """Under two-sided rows the answers are those of the labelings that keep them, of more rows all of them."""
    rng = np.random.default_rng(4)
    on = opened(name, rng)
    terms, labels, m = on.terms(), every_row(on), len(on.contexts)
    weights = [rng.integers(0, 3, (m, on.n_actions)).astype(float), rng.normal(size=(m, on.n_actions))]
    weighed = [totals_of(labels, each) for each in weights]
    bounds = [(np.quantile(each, 0.3) - 1e-9, np.quantile(each, 0.6) + 1e-9) for each in weighed]
    by_term = [SideConstraint(terms.totals(on.contexts, w), *bound) for w, bound in zip(weights, bounds, strict=True)]
    by_label = [SideConstraint(w, *bound) for w, bound in zip(weights, bounds, strict=True)]
    first, second = ((low <= each) & (each <= high) for (low, high), each in zip(bounds, weighed, strict=True))
    under: Terms = terms
    search: Search = on.search()
    left = np.ones(len(labels), dtype=bool)
    for term_row, label_row, keeps in zip(by_term, by_label, (first, second), strict=True):
        under, search, left = under.under([term_row]), search.under([label_row]), left & keeps
        assert left.any()
        costs = rng.integers(-9, 10, (m, on.n_actions)).astype(float)
        every, row = totals_of(labels[left], costs), int(rng.integers(m))
        totals, place = terms.totals(on.contexts, costs), terms.places(on.contexts)[row]
        mine = [every[labels[left, row] == a] for a in range(on.n_actions)]
        profile = [each.min(initial=np.inf) for each in mine]
        assert under.value(totals) == under.minimise(totals)[0] == every.min()
        assert search.value(costs) == search.minimise(costs)[0] == every.min()
        assert under.profile(totals, place).tolist() == search.profile(costs, row).tolist() == profile
        logs = [np.logaddexp.reduce(-0.2 * each) if len(each) else -np.inf for each in mine]
        assert under.log_weights(totals, place, 0.2) == pytest.approx(logs, abs=1e-9)
        assert under.log_derivations == pytest.approx(np.log(left.sum()))
    nobody = terms.under([SideConstraint(np.zeros(terms.n_terms), 0.5, np.inf)])
    assert nobody.value(totals) == np.inf


def test_five_of_twenty_features_are_answered() -> None:
    """A hidden rule is found exactly; there are 15 504 supports of 94 572 rows, too many to sum."""
    rng = np.random.default_rng(5)
    contexts = rng.integers(0, 2, (300, 20)).astype(float)
    hidden = contexts[:, [1, 4, 8, 12, 19]] @ np.array([5, -4, 3, 2, -1]) >= 3
    oracle = open_oracle(LinearRules(max_features=5), contexts, kind="search")
    assert "support tables" in oracle.explain()
    answer = oracle.minimise(np.column_stack([hidden, ~hidden]).astype(float))
    assert (answer.value, oracle.value(np.column_stack([~hidden, hidden]).astype(float))) == (0.0, 0.0)
    assert (answer.policy.predict(contexts) == hidden).all()
    with pytest.raises(InputError, match="goes through 475 848 768 states of support tables, more than 100 000 000"):
        oracle.action_weights(np.zeros((300, 2)), 0, 0.1)
    assert isinstance(oracle.opened.terms(), TableTerms)


def test_totals_too_many_to_keep_are_added_up_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    """Such a class has no terms, and the rest all the same, side constraints included."""
    on, free = (opened("three of seven", np.random.default_rng(6)) for _ in range(2))
    every = free.capabilities
    monkeypatch.setattr(supports, "LARGEST", 559)
    assert every - on.capabilities == {"totals"}
    assert "the supports have 560 totals, more than 559 to keep" in on.unsupported["totals"]
    rows, m = on.contexts[on.group], len(on.group)
    budget = share_at_most(0, 0.2)
    few, same = (open_oracle(each, rows, "search", constraints=[budget]) for each in (on, free))
    costs = np.random.default_rng(7).integers(-9, 10, (m, 2)).astype(float)
    assert few.value(costs) == same.value(costs)
    assert few.action_weights(costs, 0, 0.1) == pytest.approx(same.action_weights(costs, 0, 0.1))
