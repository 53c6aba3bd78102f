"""The exact search over trees of depth 2 with so many cuts of each feature that pairs of them cannot be gone through.

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

So the value is proved, and of several best trees one is found, always the same, not that of the lowest number. A
profile is one search for each action, with the others made too dear at its context. Action weights are sums over all
trees, which FeaturePairSearch has up to a size that policies/trees/routes.py counts.
"""

from __future__ import annotations

from heapq import heappop, heappush
from itertools import count

import numpy as np

from milpcb.types import Bools, Floats, Ints
from policies.literals import Literals
from policies.names import Names
from policies.trees import feature_pairs
from policies.trees.feature_search import FeaturePairSearch
from policies.trees.root_bounds import RootQuery
from policies.trees.rule import Leaf

FIRST_CUTS = 31


class EveryCutSearch(FeaturePairSearch):
    """Trees of depth 2, the only ``depth``, by evaluated root cuts and bounds between them; any number of cuts."""

    def __init__(self, literals: Literals, n_actions: int, depth: int, names: Names) -> None:
        super().__init__(literals, n_actions, depth, names)
        ordered = np.take_along_axis(literals.codes, self._orders, axis=1)
        self._gaps = np.diff(ordered, axis=1, append=ordered[:, -1:]) != 0
        self._few_codes, self._few_first, self._few = _fewer(literals, FIRST_CUTS)

    def value(self, costs: Floats) -> float:
        """Return the least total cost."""
        return self._best_root(costs)[0]

    def profile(self, costs: Floats, row: int) -> Floats:
        """Return (K,): the least total cost by the action at ``row``, from one search each."""
        price = 1.0 + np.ceil((costs.max(axis=1) - costs.min(axis=1)).sum())
        profile = np.empty(self._n_actions)
        for action in range(self._n_actions):
            priced = costs.copy()
            priced[row] += price
            priced[row, action] = costs[row, action]
            profile[action] = self._best_root(priced)[0]
        return profile

    def _chosen(self, costs: Floats, path: tuple[int, ...], here: Bools) -> Leaf | int:
        return super()._chosen(costs, path, here) if path else self._best_root(costs)[1]

    def _best_root(self, costs: Floats) -> tuple[float, int]:
        """Return the least total cost of all trees, and the literal at the root of one that attains it."""
        query = RootQuery(costs, self._literals, self._orders, self._gaps)
        root = self._first_root(query)
        best = query.evaluate(*root, *query.nothing)
        least = best.left.min() + best.right.min()
        numbers = count()
        intervals = [(segments.bound(), next(numbers), query.whole(segments)) for segments in query.segments]
        intervals.sort()
        while intervals and intervals[0][0] < least:
            *_, interval = heappop(intervals)
            middle = query.middle(interval)
            if middle is not None and middle.left.min() + middle.right.min() < least:
                least, root = middle.left.min() + middle.right.min(), (interval.segments.feature, middle.cut)
            for half in interval.halves(middle):
                bound = query.bound(half)
                if bound < least and half.high.cut > half.low.cut + 1:
                    heappush(intervals, (bound, next(numbers), half))
        return float(least + query.cheapest), int(self._literals.first[root[0]] + root[1])

    def _first_root(self, query: RootQuery) -> tuple[int, int]:
        """Return the feature and the cut at the root of the best tree over a few cuts of each feature."""
        p = len(self._few)
        near, far, best = np.empty((p + 1, self._n_actions)), np.empty(p + 1), np.empty(self._n_actions)
        everywhere = np.ones(p + 1, bool)
        feature_pairs.two_tests(None, query.differences, everywhere, self._few_codes, self._few_first, near, far, best)
        literal = self._few[(near[1:].min(axis=1) + far[1:]).argmin()]
        feature = int(np.searchsorted(self._literals.first, literal, side="right")) - 1
        return feature, int(literal - self._literals.first[feature])


def _fewer(literals: Literals, most: int) -> tuple[Ints, Ints, Ints]:
    """Return codes (d, g) and first literals (d + 1,) of at most so many quantile cuts a feature, and their numbers."""
    codes, chosen = [], []
    for i, code in enumerate(literals.codes):
        n_cuts = int(literals.first[i + 1] - literals.first[i])
        below = np.cumsum(np.bincount(code, minlength=n_cuts + 1))
        levels = np.arange(1, most + 1) / (most + 1)
        kept = np.unique(np.minimum(np.searchsorted(below, levels * len(code)), n_cuts - 1))
        codes.append(np.searchsorted(kept, np.arange(n_cuts + 1)).astype(np.uint8)[code])
        chosen.append(literals.first[i] + kept)
    return np.array(codes), 1 + np.cumsum([0, *map(len, chosen)]), np.concatenate(chosen)
