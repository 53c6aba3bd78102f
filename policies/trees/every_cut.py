"""The exact search over trees with so many cuts that pairs of them cannot be enumerated, of any depth from 2 on.

Let V(c) be the least total cost of the trees of depth d with the root cut c of one feature: the best tree of depth
d - 1 on the contexts below the cut, of cost L(c), and the best on those above it, of cost R(c). At depth 2 these are
stumps (trees of one test), and one evaluation of both is a pass of d g K over the contexts, sorted by each feature
beforehand. At more depth each is a search like this one, on the contexts of one side (root_search.py). Costs are
counted from the cheapest action of each context, so that more contexts never cost less. Between two evaluated cuts
u < v of a feature, with the contexts W between them, every cut c has

    V(c) >= L(u) + R(v) + T(W)        T(W): the best tree on W alone whose root, if any, is a cut of this feature
    V(c) >= L(v) + R(u) - D(W)        D(W): the sum of dearest less cheapest costs on W

since the best of a sum is at least the sum of the bests. With S(W), the best subtree of depth d - 1 on W alone, the two
halves of W give T(W) >= min(T(first) + S(second), S(first) + T(second)). Halves are runs of 2^h codes, so at depth 2 S
for all heights h is one more pass for every pair of features; at more depth it is taken as 0, as it does not pay. The
interval with the least bound is halved first, and the search ends when that bound reaches the least V evaluated so far
(root_frontier.py). How many cuts are evaluated depends on the costs, hardly on how many there are: some tens a feature.

Structure limits are kept where a cut is evaluated. Bounds hold without them, as a tree within the limits is a tree; two
things make them as tight as without. Where the tree of another cut is taken to the contexts below u, its leaves lose at
most the rows of W: at depth 2, L(u) and R(v) in the first bound are the best stumps whose leaves are short of so many
rows at most, for slacks of 0, 1, 2, 4, ... rows. At more depth the first bound is left out, as other slacks would
be searches of their own. Where the tree is taken to the contexts below v, leaves gain rows: the second bound is within
the limits. How many leaves there are on either side of the root, and which features are tested, is part of what is
asked: there is a line of root cuts for each way.

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
from policies.literals import Literals
from policies.names import Names
from policies.trees.geometry import cheapest_leaf, grow
from policies.trees.limits import FREE, Limits
from policies.trees.root_search import Root, RootAnswer, RootCuts, RootQuery, find, levels_of
from policies.trees.root_tables import RootTable, all_rows, kept_rows
from policies.trees.rule import DecisionTree, Leaf
from policies.trees.search import TreeSearch
from policies.trees.sets import closed_sets

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

    def __init__(
        self,
        literals: Literals,
        n_actions: int,
        depth: int,
        names: Names,
        limits: Limits = FREE,
        counts: Floats | None = None,
        *,
        time_limit: float | None = None,
    ) -> None:
        self._literals, self._n_actions, self._depth, self._names = literals, n_actions, depth, names
        self._time_limit = time_limit
        rows = np.ones((len(literals.contexts), 1)) if counts is None else counts
        least, asked = limits.asked(rows) if limits else (np.zeros(0), rows.T[:0])
        self._sizes = np.ascontiguousarray(asked.T)
        tested = ~closed_sets(literals, limits, depth)[:, literals.first[:-1]]
        self._query = RootQuery(depth, min(2**depth, limits.max_leaves or 2**depth), tested, levels_of(least))
        self._by_table = TreeSearch(literals, n_actions, depth, names, limits, counts, by_codes=True)

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
        profile = np.empty(self._n_actions)
        for action in range(self._n_actions):
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
        lesser = range(2, self._depth) if self._time_limit is not None else ()
        name = f"trees of depth {self._depth} on every cut"

        def found() -> _Found:
            complete = not (watched.interrupted or watched.timed_out)
            stop = Stop.OPTIMAL if complete else Stop.TIME_LIMIT if watched.timed_out else Stop.INTERRUPTED
            lower = searches[-1].lower if searches[-1].query.depth == self._depth else 0.0
            return _Found(lower, min(searches, key=lambda search: search.upper), stop)

        with LongSearch(name, best_so_far=best_so_far, time_limit=self._time_limit) as watched:
            for depth in (*lesser, self._depth):
                searches.append(RootCuts(rows, replace(self._query, depth=depth)))
                searches[-1].run(lambda: watched.look(*self._bounds(costs, found())))
        return found()

    def _bounds(self, costs: Floats, found: _Found) -> tuple[float, float]:
        """Return the bounds on the least total cost; the lower one allows for the rounding of real costs."""
        least = costs.min(axis=1)
        cheapest = float(least.sum())
        lower, upper = cheapest + found.lower, cheapest + found.best.upper
        if not (costs == np.rint(costs)).all():
            lower -= ROUNDING * float(np.abs(costs).sum())
        return lower, upper

    def _total(self, costs: Floats, tree: DecisionTree) -> float:
        return float(costs[np.arange(len(costs)), tree.predict(self._literals.contexts)].sum())

    def _tree(self, costs: Floats, search: RootCuts) -> DecisionTree:
        """Return the best tree that a search has found."""
        known: dict[tuple[int, ...], tuple[RootQuery, RootAnswer]] = {(): (search.query, search.answer)}

        def choose(path: tuple[int, ...], here: Bools) -> Leaf | int:
            table = kept_rows(rows, here) if path else rows
            if path:
                above, of_above = known[path[:-2]]
                query = above.of_side(cast("Root", of_above.root), path[-1])
                known[path] = query, of_above.sides[path[-1]] if of_above.sides else find(table, query)
            root = known[path][1].root
            return cheapest_leaf(costs, here) if root is None else self._literal(table, root)

        with LongSearch("the best tree"):  # it is quick, and an interrupt stays one
            rows = self._rows_with(costs)
            root = grow(choose, self._literals, np.ones(len(costs), bool))
        return DecisionTree(root, self._names)

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
