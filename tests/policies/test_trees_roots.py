"""Trees of depth 3 and 4 on every cut: root cuts that ask one level down, their limits and refusals."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from milpcb.core import long_search
from milpcb.errors import InputError, OracleInexact
from milpcb.oracles import open_oracle
from milpcb.types import Floats, Stop
from policies.literals import Literals
from policies.names import Names
from policies.trees import DecisionTrees, every_cut
from policies.trees.limits import TreesOn
from policies.trees.policy_class import OpenedTrees
from policies.trees.root_cuts import all_rows
from policies.trees.routes import MOST_SECONDS, Route, root_seconds
from policies.trees.search import TreeSearch


def table(rng: np.random.Generator, m: int, d: int) -> Floats:
    """Return contexts (m, d): some columns with many equal values, some with few, some of 0 and 1."""
    return np.column_stack([rng.integers(0, kind, m) for kind in rng.choice([2, 4, 1000], d)]).astype(float)


def test_rows_of_a_side_are_those_of_a_table_of_their_own() -> None:
    """Orders, codes, gaps and sums of the rows on a side of a cut are what sorting them anew would give."""
    rng = np.random.default_rng(1)
    literals = Literals.of(table(rng, 40, 3), "all")
    orders = np.array([np.argsort(code, kind="stable") for code in literals.codes], dtype=np.int32)
    costs = rng.normal(size=(len(literals.contexts), 3))
    counts = rng.integers(0, 4, (len(costs), 2)).astype(float)
    rows = all_rows(literals, orders, costs, counts)
    for holds in (True, False):
        side = rows.kept((rows.codes[1] <= rows.last[1] // 2) == holds)
        again = rows.kept(np.isin(rows.numbers, side.numbers))
        assert all((part == other).all() for part, other in zip(side, again, strict=True))
        codes = literals.codes[:, side.numbers]
        for f, (order, code) in enumerate(zip(side.orders, codes, strict=True)):
            assert (np.unique(code, return_inverse=True)[1] == side.codes[f]).all()
            assert (np.argsort(code, kind="stable") == order).all()
            assert (side.gaps[f] == (np.diff(code[order], append=code.max()) != 0)).all()
            spread = np.bincount(side.codes[f], side.spread)
            assert side.spreads[f, : len(spread) + 1] == pytest.approx(np.append(0.0, spread.cumsum()))


class Clock:
    """A clock that goes on by a second at each look at it."""

    def __init__(self) -> None:
        self._now = 0.0

    def __call__(self) -> float:
        """Return the time."""
        self._now += 1.0
        return self._now


@pytest.mark.parametrize("limits", [{}, {"min_leaf_size": 4, "max_leaves": 5}], ids=str)
def test_a_time_limit_ends_a_search_with_the_best_tree_so_far_and_bounds(
    limits: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever the limit, the minimum is between the bounds, the tree attains the upper one; enough time proves it."""
    monkeypatch.setattr(every_cut, "SLICE", 1.0)
    monkeypatch.setattr(long_search, "monotonic", Clock())  # so that a limit is a number of looks
    rng = np.random.default_rng(2)
    contexts, costs = rng.normal(size=(40, 2)), rng.integers(-99, 100, (40, 3)).astype(float)
    trees = DecisionTrees(3, depth=3, thresholds="all", **limits)
    best = open_oracle(trees, contexts, "search").minimise(costs).value
    lesser = open_oracle(replace(trees, depth=2), contexts, "search").minimise(costs).value
    answers = [
        open_oracle(trees, contexts, "search", time_limit=limit).minimise(costs) for limit in (0, 9, 100, 200, 10**6)
    ]
    for answer in answers:
        assert answer.lower <= best <= answer.upper
        assert costs[np.arange(40), answer.policy.predict(contexts)].sum() == answer.upper
    assert [answer.stop for answer in answers] == [Stop.TIME_LIMIT] * 4 + [Stop.OPTIMAL]
    assert answers[-1].lower == answers[-1].upper == best
    assert answers[2].upper <= lesser < answers[0].upper
    assert sorted(answer.lower for answer in answers) == [answer.lower for answer in answers]


def test_a_bound_at_a_time_limit_is_never_a_value(monkeypatch: pytest.MonkeyPatch) -> None:
    """Values and profiles that are not proved by then raise; sums over all trees are refused beforehand."""
    monkeypatch.setattr(every_cut, "SLICE", 1.0)
    monkeypatch.setattr(long_search, "monotonic", Clock())
    rng = np.random.default_rng(2)
    contexts, costs = rng.normal(size=(40, 2)), rng.normal(size=(40, 3))
    oracle = open_oracle(DecisionTrees(3, depth=3, thresholds=4), contexts, "search", time_limit=3)
    for ask in (oracle.value, lambda costs: oracle.profile(costs, 0), lambda costs: oracle.minimise(costs).value):
        with pytest.raises(OracleInexact, match="time_limit"):
            ask(costs)
    answer = oracle.minimise(costs)
    assert answer.stop is Stop.TIME_LIMIT
    assert answer.lower < answer.upper
    for refused in (lambda: oracle.action_weights(costs, 0, 1.0), lambda: oracle.table("columns")):
        with pytest.raises(InputError, match="whatever the time_limit: leave it out"):
            refused()


def test_what_would_take_hours_is_refused_in_words_about_trees() -> None:
    """The line has the estimate and what mends it, whichever kind of oracle was asked for."""
    contexts = np.random.default_rng(4).normal(size=(20_000, 60))
    trees = DecisionTrees(3, depth=3, thresholds="all").on(contexts)
    assert isinstance(trees, OpenedTrees)
    assert trees.route is Route.ROOTS
    assert root_seconds(trees._every) > MOST_SECONDS
    for capability in ("search", "program"):
        with pytest.raises(
            InputError, match=r"depth 3 over [\d ]+ cut points .* about \d+ hours.*use fewer thresholds"
        ):
            trees.require(capability)
    assert "search" in DecisionTrees(3, depth=3, thresholds="all").on(contexts[:2000, :10]).capabilities


@pytest.mark.parametrize("exponent", [-1000, -60, -20, 0, 20, 60, 900])
@pytest.mark.parametrize("limits", [{}, {"max_leaves": 3}, {"max_features": 1}, {"min_leaf_size": 3}], ids=str)
def test_the_search_by_root_cuts_prices_in_the_unit_of_the_costs(limits: dict[str, Any], exponent: int) -> None:
    """Whole costs times a power of two have the profile of the whole costs times that power, to the last bit."""
    rng = np.random.default_rng(0)
    contexts = rng.normal(size=(30, 2))
    costs = rng.integers(-9, 10, (30, 3)).astype(float)
    opened = DecisionTrees(3, depth=2, thresholds="all", **limits).on(contexts)
    assert isinstance(opened, OpenedTrees)
    assert opened.route is Route.ROOTS
    unit, search = 2.0**exponent, opened.search()
    assert search.profile(costs * unit, 5).tolist() == (search.profile(costs, 5) * unit).tolist()
    if not limits:
        by_pairs = TreeSearch(TreesOn(opened._literals, 3, 2, Names()))
        assert search.profile(costs, 5).tolist() == by_pairs.profile(costs, 5).tolist()
