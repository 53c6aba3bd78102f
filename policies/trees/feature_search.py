"""The exact search over trees by pairs of features, for classes with many cuts of each feature."""

from __future__ import annotations

from functools import cached_property

import numpy as np
import numpy.typing as npt

from milpcb.types import Bools, Floats, Ints
from policies.trees import small_leaves
from policies.trees.feature_pairs import one_or_two_tests
from policies.trees.feature_triples import three_tests
from policies.trees.limited import COMPILED_DEPTH
from policies.trees.search import Allowed, Filled, TreeSearch
from policies.trees.semirings import Array, Soft


class FeaturePairSearch(TreeSearch):
    """The recursion of TreeSearch, its tables filled by the codes of contexts; sums are in double precision.

    Which leaves are too small is one table for trees of depth 1 or 2. At depth 3 the table of each root would be too
    large to keep, so the counts are more planes of the tables of costs.
    """

    def _pattern(self, row: int) -> Bools:
        return np.append(True, self._literals.pattern(row))

    def _run(self, soft: Soft, costs: Floats, pattern: Bools, height: int, allowed: Allowed) -> tuple[float, Filled]:
        differences = np.ascontiguousarray((costs[:, 1:] - costs[:, :1]).T)
        asked = differences, pattern, self._codes, self._first, *self._filled
        if height < COMPILED_DEPTH:
            one_or_two_tests(soft, height, *allowed, *asked)
        else:
            three_tests(soft, allowed.small, self._row_limits[1], allowed.sets, self._orders, *asked)
        return float(costs[:, 0].sum()), self._filled

    @cached_property
    def _codes(self) -> Array:
        """Those of the contexts (d + 1, g), and of a feature without cuts."""
        return np.pad(self._literals.codes, ((0, 1), (0, 0)))

    @cached_property
    def _first(self) -> Ints:
        """The number (d + 2,) of each feature's first literal, counted from 1."""
        return 1 + np.append(self._literals.first, len(self._literals))

    @cached_property
    def _filled(self) -> Filled:
        below, literals = max(1, self._leaves // 2), len(self._anywhere)
        return Filled(
            near=np.empty((below, literals, self._n_actions)),
            far=np.empty((below, literals)),
            best=np.empty((self._leaves, self._n_actions)),
        )

    @cached_property
    def _orders(self) -> npt.NDArray[np.int32]:
        """The contexts (d, g) in the order of each feature's codes."""
        return np.array([np.argsort(code, kind="stable") for code in self._literals.codes], dtype=np.int32)

    def _too_small(self, path: tuple[int, ...], here: Bools) -> Array:
        least, counts = self._row_limits
        height = self._depth - len(path) // 2
        if height == COMPILED_DEPTH:
            return least
        others = len(self._orders) if height == 2 else 1
        small = np.zeros((len(self._anywhere), others, 2, 2), dtype=np.int32)
        small_leaves.fill(height, least, counts * here, self._codes, self._first, small)
        return small
