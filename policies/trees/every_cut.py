"""The exact search over trees of depth 2 with so many cuts that pairs of them cannot be enumerated.

Let V(c) be the least total cost of the trees with the root cut c of one feature: the best stump (tree of one test) on
the contexts below the cut, of cost L(c), and the best on those above it, of cost R(c). One evaluation of both is a pass
of d g K over the contexts, sorted by each feature beforehand. Costs are counted from the cheapest action of each
context, so that more contexts never cost less. Between two evaluated cuts u < v of a feature, with the contexts W
between them, every cut c has

    V(c) >= L(u) + R(v) + T(W)        T(W): the best tree on W alone whose root, if any, is a cut of this feature
    V(c) >= L(v) + R(u) - D(W)        D(W): the sum of dearest less cheapest costs on W

since the best of a sum is at least the sum of the bests. With S(W), the best stump on W alone, the two halves of W give
T(W) >= min(T(first) + S(second), S(first) + T(second)). Halves are runs of 2^h codes, so S for all heights h is one
more pass for every pair of features. The interval with the least bound is halved first, and the search ends when that
bound reaches the least V evaluated so far; it starts from the best root over 31 cuts of each feature. How many cuts are
evaluated depends on the costs, hardly on how many there are: some tens a feature.

Structure limits are kept where a cut is evaluated. Bounds hold without them, as a tree within the limits is a tree; two
things make them as tight as without. Where the tree of another cut is taken to the contexts below u, its leaves lose at
most the rows of W: L(u) and R(v) in the first bound are the best stumps whose leaves are short of so many rows at most
(root_limits.py). Where it is taken to the contexts below v, leaves gain rows: the second bound is within the limits.
Both are sums of parts by feature and by number of leaves, of which only those within the limits are joined.

So the value is proved, and of several best trees one is found, always the same, not that of the lowest number. A
profile is one search for each action, with the others made too dear at its context. Action weights are sums over all
trees, which FeaturePairSearch has up to a size that policies/trees/routes.py counts.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from heapq import heappop, heappush
from itertools import count
from typing import NamedTuple

import numpy as np

from milpcb.types import Bools, Floats, Ints
from policies.literals import Literals
from policies.names import Names
from policies.trees.feature_search import FeaturePairSearch, LimitedFeaturePairSearch
from policies.trees.geometry import cheapest_leaf
from policies.trees.limited import Choice
from policies.trees.limits import Limits
from policies.trees.root_bounds import RootCut, RootQuery
from policies.trees.root_limits import RootLimits
from policies.trees.rule import Leaf

FIRST_CUTS = 31


class Root(NamedTuple):
    """The root of a best tree: its literal, its feature, and what is below it."""

    literal: int
    feature: int
    cut: RootCut


class EveryCutSearch(FeaturePairSearch):
    """Trees of depth 2, the only ``depth``, by evaluated root cuts and bounds between them; any number of cuts."""

    def __init__(self, literals: Literals, n_actions: int, depth: int, names: Names) -> None:
        super().__init__(literals, n_actions, depth, names)
        ordered = np.take_along_axis(literals.codes, self._orders, axis=1)
        self._gaps = np.diff(ordered, axis=1, append=ordered[:, -1:]) != 0
        self._few_literals, self._few = _fewer(literals, FIRST_CUTS)

    def value(self, costs: Floats) -> float:
        """Return the least total cost."""
        return self._best_root(costs)[0]

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
            profile[action] = self._best_root(priced)[0]
        return profile

    def _chosen(self, costs: Floats, path: tuple[int, ...], here: Bools) -> Leaf | int:
        if path:
            return super()._chosen(costs, path, here)
        root = self._best_root(costs)[1]
        return cheapest_leaf(costs, here) if root is None else root.literal

    def _best_root(self, costs: Floats) -> tuple[float, Root | None]:
        """Return the least total cost of all trees, and the root of one that attains it, None for one leaf."""
        query = RootQuery(costs, self._literals, self._orders, self._gaps, self._root_limits)
        root = self._first_root(costs, query)
        least = query.leaf if root is None else query.cost(root.cut)
        numbers = count()
        intervals = [(segments.bound(), next(numbers), query.whole(segments)) for segments in query.segments]
        intervals.sort()
        while intervals and intervals[0][0] < least:
            *_, interval = heappop(intervals)
            feature, middle = interval.segments.feature, query.middle(interval)
            if middle is not None and (cost := query.cost(middle)) < least:
                least, root = cost, self._root_at(feature, middle)
            for half in interval.halves(middle):
                bound = query.bound(half)
                if bound < least and half.high.cut > half.low.cut + 1:
                    heappush(intervals, (bound, next(numbers), half))
        return float(least + query.cheapest), root

    def _first_root(self, costs: Floats, query: RootQuery) -> Root | None:
        """Return the root of the best tree over a few cuts of each feature."""
        few = self._few_search.root(costs)
        if few is None:
            return None
        literal = int(self._few[few])
        feature = int(np.searchsorted(self._literals.first, literal, side="right")) - 1
        cut = literal - int(self._literals.first[feature])
        return self._root_at(feature, query.evaluate(feature, cut, query.nothing, query.nothing))

    def _root_at(self, feature: int, cut: RootCut) -> Root:
        return Root(int(self._literals.first[feature]) + cut.cut, feature, cut)

    @cached_property
    def _few_search(self) -> FeaturePairSearch:
        return FeaturePairSearch(self._few_literals, self._n_actions, self._depth, self._names)

    @cached_property
    def _root_limits(self) -> RootLimits:
        rows = np.ones((len(self._contexts), 1))
        return RootLimits.of(Limits(), rows, self._literals, self._orders)


class LimitedEveryCutSearch(LimitedFeaturePairSearch, EveryCutSearch):
    """The same under structure limits, which root_limits.py is about."""

    def _root(self, costs: Floats) -> tuple[Bools, Choice | None]:
        _, root = self._best_root(costs)
        kept = np.ones(len(self._literals.features), bool)
        if root is None:
            return self._tests(kept), None
        ways = self._root_limits.ways(root.cut.left, root.cut.right)
        way, other = np.unravel_index(ways.argmin(), ways.shape)
        if self._limits.max_features in (1, 2):
            kept = np.arange(len(kept)) == root.feature
        if self._limits.max_features == 2:
            kept[other] = True
        leaves = ((2, 1), (1, 2))[way] if self._limits.max_leaves == 3 else (2, 2)
        return self._tests(kept), Choice(root.literal, *leaves)

    def _tests(self, kept: Bools) -> Bools:
        """Return (1, p + 1): the literals of the features that ``kept`` (d,) marks."""
        return np.append(False, np.repeat(kept, np.diff(self._literals.first)))[None]

    @cached_property
    def _few_search(self) -> LimitedFeaturePairSearch:
        few = self._few_literals, self._n_actions, self._depth, self._names
        every_feature = replace(self._limits, max_features=None)  # a root to begin with, found at once
        return LimitedFeaturePairSearch(*few, every_feature, self._rows)

    @cached_property
    def _root_limits(self) -> RootLimits:
        return RootLimits.of(self._limits, self._rows, self._literals, self._orders)


def _fewer(literals: Literals, most: int) -> tuple[Literals, Ints]:
    """Return at most so many quantile cuts a feature, and their numbers among the literals."""
    codes, chosen = [], []
    for i, code in enumerate(literals.codes):
        n_cuts = int(literals.first[i + 1] - literals.first[i])
        below = np.cumsum(np.bincount(code, minlength=n_cuts + 1))
        levels = np.arange(1, most + 1) / (most + 1)
        kept = np.unique(np.minimum(np.searchsorted(below, levels * len(code)), n_cuts - 1))
        codes.append(np.searchsorted(kept, np.arange(n_cuts + 1)).astype(np.uint8)[code])
        chosen.append(literals.first[i] + kept)
    numbers = np.concatenate(chosen)
    first = np.cumsum([0, *map(len, chosen)])
    return replace(literals, first=first, cuts=literals.cuts[numbers], codes=np.array(codes)), numbers
