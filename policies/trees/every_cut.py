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
far (root_cuts.py). At depth 2 features below that the same two bounds, for each feature by itself, rule out are not
passed. How many cuts are evaluated depends on the costs, hardly on how many there are: some tens a feature.

The sides of a root cut are asked with a cut-off. Let a cut c be evaluated between u and v. No cut between c and v has a
tree of less than L(c) + R(v). So once L(c) is known to be at least (the least cost so far) - R(v), these cuts are ruled
out, c with them, and the search for L(c) stops; that for R(c) likewise. What it returns then is a bound.

Limits are kept where a cut is evaluated. How many leaves there are on either side of the root, and which features are
tested, is part of what is asked: there is a line of root cuts for each way. Under
least sizes of leaves the tree of another cut may lose leaves where it is taken to the contexts below u, so that L(u)
and R(v) of the first bound are those of stumps with leaves of any size; at more depth they are 0, as these would be
searches of their own. Where a tree is taken to the contexts below v, leaves gain rows, so that the second bound holds,
and sides are cut off by it.

So the value is proved, and of several best trees one is found, always the same, not that of the lowest number. A
profile is one search for each action, with the others made too dear at its context. Action weights are sums over all
trees, which TreeSearch has up to a size that policies/trees/routes.py counts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any, NamedTuple, cast

import numpy as np
import numpy.typing as npt

from milpcb.core.long_search import LongSearch
from milpcb.errors import OracleInexact
from milpcb.protocols import Search, SideConstraint
from milpcb.types import Bools, Floats, Stop
from policies.trees.root_cuts import RootTable, all_rows
from policies.trees.root_search import Root, RootCuts, RootQuery, find
from policies.trees.rule import DecisionTree, Leaf, cheapest_leaf, grow
from policies.trees.search import TreeSearch
from policies.trees.sets import TreesOn

# What sums of floats are off by at most, as a share of the summed absolute costs.
ROUNDING = 1e-12


class _Found(NamedTuple):
    """A lower bound on the least cost, counted from the cheapest actions; the best tree so far; and why it ended."""

    lower: float
    best: RootCuts
    stop: Stop


class EveryCutSearch(Search):
    """Trees by evaluated root cuts and bounds between them; any number of cuts.

    With a ``time_limit``, in seconds, trees of less depth are searched first, so that the best tree so far has several
    tests however soon the time is over. A value or profile that is not proved by then raises OracleInexact.
    """

    def __init__(self, trees: TreesOn, *, time_limit: float | None = None) -> None:
        self._trees, self._literals, self._time_limit = trees, trees.literals, time_limit
        self._sizes = np.ascontiguousarray(trees.counts.T)
        tested = ~trees.closed[:, trees.literals.first[:-1]]
        self._query = RootQuery(trees.depth, trees.most_leaves, tested, trees.least)
        self._by_table = TreeSearch(trees, by_codes=True)

    def log_weights(self, costs: Floats, row: int, rate: float) -> Floats:
        """Return (K,): log of the summed exp(-rate * total cost) of the derivations by the action at ``row``."""
        return self._by_table.log_weights(costs, row, rate)

    def under(self, rows: Sequence[SideConstraint]) -> Any:
        """Return the search over the trees within limits that keep ``rows``."""
        return self._by_table.under(rows)

    def value(self, costs: Floats) -> float:
        """Return the least total cost."""
        found = self._search_cuts(costs)
        lower, upper = self._bounds(costs, found)
        if found.stop is not Stop.OPTIMAL:
            raise OracleInexact(
                f"the search stopped with '{found.stop}' between {lower:g} and {upper:g}: give it more time"
            )
        return upper

    def profile(self, costs: Floats, row: int) -> Floats:
        """Return (K,): the least total cost by the action at ``row``, from one search each.

        The price of the other actions is twice the range of all totals: in the unit of the costs, and no digit longer.
        """
        price = 2.0 * (costs.max(axis=1) - costs.min(axis=1)).sum()
        profile = np.empty(costs.shape[1])
        for action in range(len(profile)):
            priced = costs.copy()
            priced[row] += price
            priced[row, action] = costs[row, action]
            profile[action] = self.value(priced)
        return profile

    def minimise(self, costs: Floats) -> tuple[float, DecisionTree]:
        """Return the least total cost and a tree that attains it."""
        tree = self._tree(costs, self._search_cuts(costs).best)
        return self._total(costs, tree), tree

    def answer(self, costs: Floats) -> tuple[float, float, DecisionTree, Stop]:
        """Return bounds on the least total cost, a tree that attains the upper one, and why the search stopped."""
        found = self._search_cuts(costs, best_so_far=True)
        tree = self._tree(costs, found.best)
        upper = self._total(costs, tree)
        lower = upper if found.stop is Stop.OPTIMAL else min(upper, self._bounds(costs, found)[0])
        return lower, upper, tree, found.stop

    def _search_cuts(self, costs: Floats, *, best_so_far: bool = False) -> _Found:
        """Return what is known at the end of the search, whether it is complete or not."""
        rows, searches = self._rows_with(costs), list[RootCuts]()
        lesser = range(2, self._trees.depth) if self._time_limit is not None else ()
        name = f"trees of depth {self._trees.depth} on every cut"

        def found() -> _Found:
            complete = not (watched.interrupted or watched.timed_out)
            stop = Stop.OPTIMAL if complete else Stop.TIME_LIMIT if watched.timed_out else Stop.INTERRUPTED
            lower = searches[-1].answer.lower if searches[-1].query.depth == self._trees.depth else 0.0
            return _Found(lower, min(searches, key=lambda search: search.answer.upper), stop)

        with LongSearch(name, best_so_far=best_so_far, time_limit=self._time_limit) as watched:
            for depth in (*lesser, self._trees.depth):
                searches.append(RootCuts(rows, replace(self._query, depth=depth)))
                searches[-1].run(lambda: watched.look(*self._bounds(costs, found())))
        return found()

    def _bounds(self, costs: Floats, found: _Found) -> tuple[float, float]:
        """Return the bounds on the least total cost; the lower one allows for the rounding of real costs."""
        least = costs.min(axis=1)
        cheapest = float(least.sum())
        lower, upper = cheapest + found.lower, cheapest + found.best.answer.upper
        if not (costs == np.rint(costs)).all():
            lower -= ROUNDING * float(np.abs(costs).sum())
        return lower, upper

    def _total(self, costs: Floats, tree: DecisionTree) -> float:
        return float(costs[np.arange(len(costs)), tree.predict(self._literals.contexts)].sum())

    def _tree(self, costs: Floats, search: RootCuts) -> DecisionTree:
        """Return the best tree that a search has found."""
        known: dict[tuple[int, ...], tuple[RootQuery, Root | None]] = {(): (search.query, search.answer.root)}

        def choose(path: tuple[int, ...], here: Bools) -> Leaf | int:
            table = rows.kept(here) if path else rows
            if path:
                above, root = known[path[:-2]]
                query = above.of_side(cast("Root", root), path[-1])
                known[path] = query, find(table, query).root
            root = known[path][1]
            return cheapest_leaf(costs, here) if root is None else self._literal(table, root)

        with LongSearch("the best tree"):  # it is quick, and an interrupt stays one
            rows = self._rows_with(costs)
            root = grow(choose, self._literals, np.ones(len(costs), bool))
        return DecisionTree(root, self._trees.names)

    def _literal(self, table: RootTable, root: Root) -> int:
        """Return the number of a root's test: it is the cut above the last of the rows here that it holds at."""
        f = root.feature
        last = table.numbers[np.flatnonzero(table.codes[f] == root.cut)[0]]
        return int(self._literals.first[f]) + int(self._literals.codes[f, last])

    def _rows_with(self, costs: Floats) -> RootTable:
        return all_rows(self._literals, self._orders, costs, self._sizes)

    @cached_property
    def _orders(self) -> npt.NDArray[np.int32]:
        """The contexts (d, g) in the order of each feature's codes."""
        return np.array([np.argsort(code, kind="stable") for code in self._literals.codes], dtype=np.int32)
