"""Side rows in classes whose derivations are listed: the passes over windows against every pair, and who has none."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from milpcb.constraints import LabelConstraint, always, share_at_most
from milpcb.errors import InfeasibleError, InputError
from milpcb.oracles import open_oracle
from milpcb.protocols import SideConstraint
from milpcb.types import Floats, Ints
from policies import BoxRules, LinearRules, MonotoneRules, RuleLists, ThresholdRules, derivations
from policies.derivations import ListedTerms

SCRIPTS = Path(__file__).parents[2] / "scripts" / "checks"
RNG = np.random.default_rng(5)
CONTEXTS = RNG.integers(0, 2, (40, 8)).astype(float)
REALS = RNG.normal(size=(40, 3))
LARGER = {
    "lists of three rules": (RuleLists(3, max_rules=3), CONTEXTS[:, :6]),
    "lists of two rules": (RuleLists(2, max_rules=2), CONTEXTS),
    "rectangles": (BoxRules(3, max_features=2), REALS),
    "three cuts": (ThresholdRules(2, max_cuts=3, thresholds=6), REALS),
}


@pytest.fixture(scope="module")
def constrained() -> Any:
    """Return the script that compares the search with the list and the solver."""
    sys.path.insert(0, str(SCRIPTS))
    try:
        return import_module("constrained")
    finally:
        sys.path.remove(str(SCRIPTS))


@pytest.mark.parametrize("number", range(48))
def test_search_list_and_solver_agree(constrained: Any, number: int) -> None:
    """On six random cases of each class nothing is wrong, and something was compared."""
    name = list(constrained.CLASSES)[number % len(constrained.CLASSES)]
    found = list(constrained.check(constrained.draw_case(name, np.random.default_rng(number))))
    assert found
    assert [wrong for _, wrong in found if wrong] == []


def every_pair(terms: ListedTerms, totals: Floats) -> tuple[Floats, Ints]:
    """Return the totals (N,) of all derivations, and the numbers (N, L) of their parts."""
    listed, parts = terms.derivations(), np.append(terms.parts(totals), 0.0)
    pairs = [
        np.concatenate([np.repeat(heads, len(tails), axis=0), np.tile(tails, (len(heads), 1))], axis=1)
        for state in range(int(listed.head_state.max()) + 1)
        for heads, tails in [(listed.heads[listed.head_state == state], listed.tails[listed.tail_state == state])]
    ]
    chosen = np.concatenate(pairs)
    return parts[chosen].sum(axis=1), chosen


@pytest.mark.parametrize("name", LARGER)
@pytest.mark.parametrize(
    "sides", [(None, 0.2), (0.8, None), (0.45, 0.55), (0.5, 0.5), ((0.3, 0.6), (0.4, 0.7)), ((0.6, 0.7), (0.7, None))]
)
def test_windows_hold_the_derivations_that_keep_the_rows(name: str, sides: Any) -> None:
    """Profiles and weights of one row, and of two, are those of all pairs of a head and a tail that keep them."""
    rules, contexts = LARGER[name]
    terms = rules.on(contexts).terms()
    rng = np.random.default_rng(0)
    shape = (len(contexts), rules.n_actions)
    rows, drawn, kept = [], [], True
    for low, high in sides if isinstance(sides[0], tuple) else [sides]:
        drawn.append(rng.normal(size=shape))
        weights = terms.totals(contexts, drawn[-1])
        every, _ = every_pair(terms, weights)
        lower = -np.inf if low is None else np.quantile(every, low, method="nearest")
        upper = np.inf if high is None else np.quantile(every, high, method="nearest")
        rows.append(SideConstraint(weights, lower - 1e-9, upper + 1e-9))
        kept = kept & (lower - 1e-9 <= every) & (every <= upper + 1e-9)
    drawn.append(100.0 * rng.normal(size=shape))
    costs = terms.totals(contexts, drawn[-1])
    place = terms.places(contexts[:1])[0]
    totals, parts = every_pair(terms, costs)
    played = np.append(terms.actions(place), -1)[parts].max(axis=1)
    under = terms.under(rows)
    expected = [totals[kept & (played == a)].min(initial=np.inf) for a in range(rules.n_actions)]
    assert 0 < kept.sum() < len(kept)
    assert under.profile(costs, place) == pytest.approx(expected, abs=1e-9)
    value, policy = under.minimise(costs)
    *weighed, attained = (table[np.arange(len(contexts)), policy.predict(contexts)].sum() for table in drawn)
    assert [value, attained] == pytest.approx([min(expected)] * 2, abs=1e-9)
    assert all(row.lower <= weight <= row.upper for row, weight in zip(rows, weighed, strict=True))
    for rate in (0.0, 0.01, 3.0):  # at 3 the best of those left weighs e^-1000 times the best of all
        logs = [np.logaddexp.reduce(-rate * totals[kept & (played == a)]) for a in range(rules.n_actions)]
        assert under.log_weights(costs, place, rate) == pytest.approx(logs, abs=1e-8)


def test_rows_on_rows_are_all_kept() -> None:
    """Rows that are added to others hold with them; where they exclude each other nothing is left."""
    rules, contexts = LARGER["lists of two rules"]
    terms = rules.on(contexts).terms()
    counts = terms.totals(contexts, np.tile([0.0, 1.0], (len(contexts), 1)))
    both = terms.under([SideConstraint(counts, 10.0, np.inf)]).under([SideConstraint(counts, -np.inf, 12.0)])
    assert both.minimise(counts)[0] == terms.under([SideConstraint(counts, 10.0, 12.0)]).minimise(counts)[0]
    nobody = terms.under([SideConstraint(counts, 10.2, 10.8)])
    assert np.isinf(nobody.profile(counts, terms.places(contexts[:1])[0])).all()
    with pytest.raises(InfeasibleError):
        nobody.minimise(counts)


def test_more_actions_than_a_byte_holds_keep_the_rows() -> None:
    """Profiles of 130 actions under a budget are those of the list."""
    n_actions, contexts = 130, np.array([[0.0], [1.0]])
    costs = np.random.default_rng(0).integers(0, 50, (2, n_actions)).astype(float)
    budget = LabelConstraint(np.tile(np.arange(n_actions) > 80, (2, 1)).astype(float), 1.0)
    rules = ThresholdRules(n_actions)
    search, listed = (open_oracle(rules, contexts, kind, constraints=[budget]) for kind in ("search", "enumeration"))
    assert np.array_equal(search.profile(costs, 0), listed.profile(costs, 0))


def test_a_class_too_long_to_list_says_how_long_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    """The number of numbers is in the message; without side constraints the search goes on as before."""
    monkeypatch.setattr(derivations, "MOST_HELD", 1_000)
    lists = RuleLists(2, max_rules=3).on(CONTEXTS)
    # 8 * 7 pairs of tests, 4 sides, 4 pairs of actions, 2 parts; 28 * 4 sets, 6 tests, 4 pairs of actions, 2 parts
    assert lists.unsupported["constraints"].startswith(
        "under side constraints the search lists the class by 7,168 numbers"
    )
    budget = share_at_most(0, 0.2)
    with pytest.raises(InputError, match="use oracle kind 'milp'"):
        open_oracle(lists, CONTEXTS, "search", constraints=[budget])
    assert open_oracle(lists, CONTEXTS, "search").value(np.zeros((40, 2))) == 0.0
    for rules in (BoxRules(3, max_features=2), ThresholdRules(3, max_cuts=3, thresholds=9)):
        opened = rules.on(REALS)
        assert "constraints" not in opened.capabilities
        assert "search" in opened.capabilities


@pytest.mark.parametrize("name", LARGER)
def test_the_counted_numbers_are_those_that_are_held(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the limit is compared with is the size of the list."""
    rules, contexts = LARGER[name]
    listed = rules.on(contexts).terms().derivations()
    held = listed.heads.size + listed.tails.size
    monkeypatch.setattr(derivations, "MOST_HELD", held)
    assert "constraints" in rules.on(contexts).capabilities
    monkeypatch.setattr(derivations, "MOST_HELD", held - 1)
    assert f"{held:,} numbers" in rules.on(contexts).unsupported["constraints"]


def test_scoring_rules_without_tables_hold_no_side_constraints() -> None:
    """Branch and bound says so; guard-rails are answered all the same."""
    rng = np.random.default_rng(0)
    contexts = rng.integers(0, 2, (30, 8)).astype(float)
    budget = share_at_most(0, 0.2)
    with pytest.raises(InputError, match="branch and bound knows no side constraints"):
        open_oracle(LinearRules(2), contexts, "search", constraints=[budget])
    rail = always(1, rows=[3])
    oracle = open_oracle(LinearRules(2), contexts, "search", constraints=[rail])
    assert oracle.profile(np.zeros((30, 2)), 3).tolist() == [np.inf, 0.0]


def test_monotone_rules_take_guard_rails_alone() -> None:
    """A budget is no minimum cut."""
    budget = share_at_most(0, 0.2)
    with pytest.raises(InputError, match="NP-hard"):
        open_oracle(MonotoneRules(2), REALS, "search", constraints=[budget])
    rail = always(1, rows=[3])
    oracle = open_oracle(MonotoneRules(2), REALS, "search", constraints=[rail])
    assert oracle.profile(np.zeros((40, 2)), 3).tolist() == [np.inf, 0.0]


def test_support_tables_answer_as_the_program() -> None:
    """Where scoring rules are too many to list, search and HiGHS agree under a budget, on whole costs."""
    rng = np.random.default_rng(4)
    contexts = rng.integers(0, 2, (14, 6)).astype(float)
    budget = share_at_most(0, 0.3)
    weights = LabelConstraint(rng.normal(size=(14, 3)), 0.5, "weights")
    rules = LinearRules(3, max_features=2)
    search, program = (open_oracle(rules, contexts, kind, constraints=[budget, weights]) for kind in ("search", "milp"))
    for _ in range(3):
        costs = rng.integers(-9, 10, (14, 3)).astype(float)
        assert search.value(costs) == program.value(costs)
        assert (search.profile(costs, 3) == program.profile(costs, 3)).all()
