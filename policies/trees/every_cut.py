"""The exact search over trees with so many cuts that pairs of them cannot be enumerated, of any depth from 2 on.

Let V(c) be the least total cost of the trees of depth d with the root cut c of one feature: the best tree of depth
d - 1 on the contexts below the cut, of cost L(c), and the best on those above it, of cost R(c). At depth 2 these are
stumps (trees of one test), and one evaluation of both is a pass of d g K over the contexts, sorted by each feature
beforehand. At more depth each is a search like this one, on the contexts of one side. Costs are counted from the
cheapest action of each context, so that more contexts never cost less. Between two evaluated cuts u < v of a feature,
with the contexts W between them, every cut c has

    V(c) >= L(u) + R(v)
    V(c) >= L(v) + R(u) - D(W)        D(W): the sum of dearest less cheapest costs on W

The interval with the least bound is halved first, and the search ends when that bound reaches the least V evaluated so
far (root_cuts.py): some tens of cuts a feature, hardly more where there are many.

Limits are kept where a cut is evaluated. There is a line of root cuts for each number of leaves on either side of the
root, and for each set of features. Under least sizes of leaves the tree of another cut may lose leaves where it is
taken to the contexts below u, so that L(u) and R(v) of the first bound are those of stumps with leaves of any size; at
more depth they are 0. Where a tree is taken to the contexts below v, leaves gain rows, so that the second bound holds.

Of several best trees one is found, always the same, not that of the lowest number.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from milpcb.core.long_search import LongSearch
from milpcb.errors import OracleInexact
from milpcb.protocols import Search, SideConstraint
from milpcb.types import Bools, Floats, Stop
from policies.trees import root_cuts as cuts
from policies.trees.limits import TreesOn
from policies.trees.root_cuts import Frontier, Lines, RootTable, all_rows
from policies.trees.rule import DecisionTree, Leaf, Node, split
from policies.trees.search import TreeSearch

SLICE = 3e7  # contexts times features that are gone through between two looks at the clock
MOST_CUTS = 1000  # that are evaluated in between

Look = Callable[[], None]


class RootAnswer(NamedTuple):
    """Bounds on the least cost, and the root of a tree that attains the second: line and cut; None for one leaf."""

    lower: float
    upper: float
    root: tuple[int, int] | None


@dataclass(frozen=True)
class RootQuery:
    """Trees up to a depth, of so many leaves with ``least`` (C,) counts, on the features of a row of ``below``."""

    depth: int
    leaves: int
    below: Bools
    least: Floats

    def of_side(self, line: int, side: int) -> RootQuery:
        """Return the query about one side of a root on a line, with as much depth as its leaves can use."""
        leaves = int(self.lines.leaves[line, side])
        return RootQuery(min(self.depth, leaves) - 1, leaves, self.lines.below[line : line + 1], self.least)

    @cached_property
    def lines(self) -> Lines:
        """A line for each set of features, feature of it, and way to give its sides as many leaves as may be."""
        half, most = 2 ** (self.depth - 1), min(self.leaves, 2**self.depth)
        ways = [(most - i, i) for i in range(max(1, most - half), min(half, most - 1) + 1)]
        rows = [(f, way, kept) for kept in self.below for f in np.flatnonzero(kept) for way in ways]
        features, leaves, below = zip(*rows, strict=True)
        return Lines(np.array(features, np.int64), np.array(leaves, np.int64), np.array(below, bool), self.least)


def find(table: RootTable, query: RootQuery, look: Look | None = None) -> RootAnswer:
    """Return the least cost of the trees."""
    if query.depth > 1:
        return RootCuts(table, query).run(look)
    leaf = leaf_cost(table, query.least)
    return best_stump(table, query) if query.depth else RootAnswer(leaf, leaf, None)


def leaf_cost(table: RootTable, least: Floats) -> float:
    """Return the cost of one leaf, infinity where it has fewer rows than ``least`` (C,)."""
    if (table.counts.sum(axis=0) < least).any():
        return np.inf
    return float(table.first.sum() + np.minimum(0.0, table.differences.sum(axis=0).min()))


def best_stump(table: RootTable, query: RootQuery) -> RootAnswer:
    """Return the least cost of trees of one test."""
    least, base = query.least[:, None], table.first.sum()
    found = RootAnswer(cost := leaf_cost(table, query.least), cost, None)
    for line, f in enumerate(query.lines.features):
        sums, sizes = table.costs[f].cumsum(axis=1), table.counts[table.orders[f]].T.cumsum(axis=1)
        above = np.minimum(0.0, (sums[:, -1:] - sums).min(axis=0))
        costs = base + np.minimum(0.0, sums.min(axis=0)) + above
        large = (np.minimum(sizes, sizes[:, -1:] - sizes) >= least).all(axis=0)
        costs = np.where(table.gaps[f] & large, costs, np.inf)
        at = int(costs.argmin())
        if costs[at] < found.upper:
            found = RootAnswer(float(costs[at]), float(costs[at]), (line, int(table.codes[f, table.orders[f, at]])))
    return found


class RootCuts:
    """A query of depth 2 or more on a table, under way: ``answer`` holds at any moment."""

    def __init__(self, table: RootTable, query: RootQuery) -> None:
        self._table, self.query, self._lines = table, query, query.lines
        last = table.last[self._lines.features]
        lines = np.flatnonzero(last > 0)
        items = np.zeros((len(lines), cuts.COSTS + (8 if len(query.least) else 4)))
        items[:, cuts.LINE], items[:, cuts.LOW], items[:, cuts.HIGH] = lines, -1, last[lines]
        state, in_hand = np.array([leaf_cost(table, query.least), np.inf, -1, 0]), np.zeros(items.shape[1])
        self.frontier = Frontier(np.array([len(lines), 0]), state, np.zeros(len(lines)), items, in_hand)

    @property
    def answer(self) -> RootAnswer:
        """The bounds and the root of the best tree so far."""
        least, in_hand, line, cut = self.frontier.state.tolist()
        lower = min(least, in_hand, self.frontier.bounds[: self.frontier.size[0]].min(initial=np.inf))
        return RootAnswer(float(lower), least, None if line < 0 else (int(line), int(cut)))

    def run(self, look: Look | None = None) -> RootAnswer:
        """Search to the end; an exception that ``look`` raises leaves the bounds as they hold then."""
        pairs = self.query.depth == 2
        most = 1 + min(MOST_CUTS, int(SLICE / self._table.codes.size)) if pairs else 1
        while True:
            own, room = self.frontier, self.frontier.size[0] + most
            if room > len(own.bounds):  # an interval becomes at most two
                bounds, items = np.pad(own.bounds, (0, room)), np.pad(own.items, ((0, room), (0, 0)))
                self.frontier = own._replace(bounds=bounds, items=items)
            if cuts.search_pairs(self._table, self._lines, self.frontier, most) if pairs else self._deeper(look):
                return self.answer
            if look is not None:
                look()

    def _deeper(self, look: Look | None) -> bool:
        cut = int(cuts.take(self.frontier))
        if cut < 0:
            return True
        line, costs = int(self.frontier.in_hand[cuts.LINE]), np.zeros(4 if len(self.query.least) else 2)
        here = self._table.codes[self._lines.features[line]] <= cut
        for side in (1, 0):
            rows = self._table.kept(here == (side == 1))
            costs[side] = find(rows, self.query.of_side(line, side), look).upper
        cuts.give_back(self._table, self._lines, self.frontier, cut, costs)
        return False


ROUNDING = 1e-12  # what sums of floats are off by at most, as a share of the summed absolute costs


class EveryCutSearch(Search):
    """Trees by evaluated root cuts and bounds between them; any number of cuts.

    With a ``time_limit``, in seconds, trees of less depth are searched first; a value or profile that is not proved by
    then raises OracleInexact.
    """

    def __init__(self, trees: TreesOn, *, time_limit: float | None = None) -> None:
        self._trees, self._literals, self._time_limit = trees, trees.literals, time_limit
        least, counts = trees.asked
        self._sizes = np.ascontiguousarray(counts.T)
        tested = ~trees.closed[:, trees.literals.first[:-1]]
        self._query = RootQuery(trees.depth, trees.most_leaves, tested, least)
        self._by_table = TreeSearch(trees, by_codes=True)

    def log_weights(self, costs: Floats, row: int, rate: float) -> Floats:
        return self._by_table.log_weights(costs, row, rate)

    def under(self, rows: Sequence[SideConstraint]) -> Any:
        return self._by_table.under(rows)

    def value(self, costs: Floats) -> float:
        lower, upper, _, stop = self._search_cuts(costs)
        if stop is not Stop.OPTIMAL:
            raise OracleInexact(f"the search stopped with '{stop}' between {lower:g} and {upper:g}: give it more time")
        return upper

    def profile(self, costs: Floats, row: int) -> Floats:
        price = 2.0 * (costs.max(axis=1) - costs.min(axis=1)).sum()
        profile = np.empty(costs.shape[1])
        for action in range(len(profile)):
            priced = costs.copy()
            priced[row] += price
            priced[row, action] = costs[row, action]
            profile[action] = self.value(priced)
        return profile

    def minimise(self, costs: Floats) -> tuple[float, DecisionTree]:
        return self._costed(costs, self._search_cuts(costs)[2])

    def answer(self, costs: Floats) -> tuple[float, float, DecisionTree, Stop]:
        lower, _, best, stop = self._search_cuts(costs)
        upper, tree = self._costed(costs, best)
        return upper if stop is Stop.OPTIMAL else min(upper, lower), upper, tree, stop

    def _search_cuts(self, costs: Floats) -> tuple[float, float, RootCuts, Stop]:
        """Return bounds on the least total cost, the search that has found the best tree, and why it ended."""
        rows, searches = all_rows(self._literals, self._orders, costs, self._sizes), list[RootCuts]()
        cheapest, whole = float(costs.min(axis=1).sum()), bool((costs == np.rint(costs)).all())
        rounding = 0.0 if whole else ROUNDING * float(np.abs(costs).sum())

        def bounds() -> tuple[float, float]:
            last = searches[-1]
            lower = last.answer.lower if last.query.depth == self._trees.depth else 0.0
            return cheapest + lower - rounding, cheapest + min(search.answer.upper for search in searches)

        name, limit = f"trees of depth {self._trees.depth} on every cut", self._time_limit
        with LongSearch(name, time_limit=limit) as watched:
            for depth in range(self._trees.depth if limit is None else 2, self._trees.depth + 1):
                searches.append(RootCuts(rows, replace(self._query, depth=depth)))
                searches[-1].run(lambda: watched.look(*bounds()))
        stop = Stop.TIME_LIMIT if watched.timed_out else Stop.OPTIMAL
        return *bounds(), min(searches, key=lambda search: search.answer.upper), stop

    def _costed(self, costs: Floats, best: RootCuts) -> tuple[float, DecisionTree]:
        with LongSearch("the best tree"):  # it is quick, and an interrupt stays one
            table = all_rows(self._literals, self._orders, costs, self._sizes)
            tree = DecisionTree(self._node(costs, table, best.query, best.answer.root), self._trees.names)
        return float(costs[np.arange(len(costs)), tree.predict(self._literals.contexts)].sum()), tree

    def _node(self, costs: Floats, table: RootTable, query: RootQuery, root: tuple[int, int] | None) -> Node:
        if root is None:
            return Leaf(int(costs[table.numbers].sum(axis=0).argmin()))
        line, cut = root
        f = int(query.lines.features[line])
        sides = []
        for side in (1, 0):
            rows, asked = table.kept((table.codes[f] <= cut) == (side == 1)), query.of_side(line, side)
            sides.append(self._node(costs, rows, asked, find(rows, asked).root))
        # The test is the cut above the last of the rows here that it holds at.
        last = table.numbers[np.flatnonzero(table.codes[f] == cut)[0]]
        test = int(self._literals.first[f]) + int(self._literals.codes[f, last])
        return split(self._literals.test(test), *sides)

    @cached_property
    def _orders(self) -> npt.NDArray[np.int32]:
        return np.array([np.argsort(code, kind="stable") for code in self._literals.codes], dtype=np.int32)
