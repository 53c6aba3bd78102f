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
trees, which FeaturePairSearch has up to a size that policies/trees/routes.py counts.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np

from milpcb.core.long_search import LongSearch
from milpcb.types import Bools, Floats, Stop
from policies.trees.feature_search import FeaturePairSearch
from policies.trees.geometry import cheapest_leaf, grow
from policies.trees.root_search import Root, RootCuts, RootQuery, find, levels_of
from policies.trees.root_tables import RootTable, all_rows, kept_rows
from policies.trees.rule import DecisionTree, Leaf

# What sums of floats are off by at most, as a share of the summed absolute costs.
ROUNDING = 1e-12


class EveryCutSearch(FeaturePairSearch):
    """Trees by evaluated root cuts and bounds between them; any number of cuts."""

    def value(self, costs: Floats) -> float:
        """Return the least total cost."""
        return self._bounds(costs, self._search_cuts(costs)[0])[1]

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
        search, _ = self._search_cuts(costs)
        tree = self._tree(costs, search.root)
        return self._total(costs, tree), tree

    def answer(self, costs: Floats) -> tuple[float, float, DecisionTree, Stop]:
        """Return bounds on the least total cost, a tree that attains the upper one, and why the search stopped."""
        search, interrupted = self._search_cuts(costs, best_so_far=True)
        tree = self._tree(costs, search.root)
        upper = self._total(costs, tree)
        if not interrupted:
            return upper, upper, tree, Stop.OPTIMAL
        return min(upper, self._bounds(costs, search)[0]), upper, tree, Stop.INTERRUPTED

    def _search_cuts(self, costs: Floats, *, best_so_far: bool = False) -> tuple[RootCuts, bool]:
        """Return the search after its end, and whether an interrupt ended it."""
        with LongSearch(f"trees of depth {self._depth} on every cut", best_so_far=best_so_far) as watched:
            search = RootCuts(self._rows_with(costs), self._query)
            search.run(lambda: watched.look(*self._bounds(costs, search)))
        return search, watched.interrupted

    def _bounds(self, costs: Floats, search: RootCuts) -> tuple[float, float]:
        """Return the bounds on the least total cost; the lower one allows for the rounding of real costs."""
        least = costs.min(axis=1)
        cheapest = float(least.sum())
        lower, upper = cheapest + search.lower, cheapest + search.upper
        if not (costs == np.rint(costs)).all():
            lower -= ROUNDING * float(np.abs(costs).sum())
        return lower, upper

    def _total(self, costs: Floats, tree: DecisionTree) -> float:
        return float(costs[np.arange(len(costs)), tree.predict(self._contexts)].sum())

    def _tree(self, costs: Floats, first: Root | None) -> DecisionTree:
        """Return the best tree with this root, None for one leaf."""
        chosen: dict[tuple[int, ...], tuple[RootQuery, Root]] = {}

        def choose(path: tuple[int, ...], here: Bools) -> Leaf | int:
            query, root, table = self._query, first, rows
            if path:
                above, its_root = chosen[path[:-2]]
                query, table = above.of_side(its_root, path[-1]), kept_rows(rows, here)
                root = find(table, query).root
            if root is None:
                return cheapest_leaf(costs, here)
            chosen[path] = query, root
            return self._literal(table, root)

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
    def _query(self) -> RootQuery:
        """All trees of the class."""
        tested = self._sets[:, self._literals.first[:-1]]
        return RootQuery(self._depth, self._most, tested, levels_of(self._row_limits[0]))

    @cached_property
    def _sizes(self) -> Floats:
        """The counts (g, C) of rows that limits ask for."""
        return np.ascontiguousarray(self._row_limits[1].T)
