"""The exact search over trees by pairs of features, for classes with many cuts of each feature."""

from __future__ import annotations

from functools import cached_property

import numpy as np
import numpy.typing as npt

from milpcb.types import Bools, Floats, Ints
from policies.semirings import Array, Soft
from policies.trees.feature_pairs import one_or_two_tests
from policies.trees.feature_triples import three_tests
from policies.trees.limited import COMPILED_DEPTH
from policies.trees.search import Allowed, Filled, TreeSearch


class FeaturePairSearch(TreeSearch):
    """The recursion of TreeSearch, its tables filled by the codes of contexts; sums are in double precision."""

    def _pattern(self, row: int) -> Bools:
        return np.asarray(self._literals.pattern(row))

    def _run(self, soft: Soft, costs: Floats, pattern: Bools, height: int, allowed: Allowed) -> tuple[float, Filled]:
        planes = np.ascontiguousarray((costs[:, 1:] - costs[:, :1]).T)
        if allowed.counts is not None:
            planes = np.concatenate((planes, allowed.counts))
        contexts = pattern, self._codes, self._first, *self._filled[:3]
        if height < COMPILED_DEPTH:
            one_or_two_tests(soft, height, allowed.least, allowed.sets, planes, *contexts)
        else:
            three_tests(soft, allowed.least, allowed.sets, planes, self._orders, *contexts)
        return float(costs[:, 0].sum()), self._filled

    @cached_property
    def _codes(self) -> Array:
        """Those of the contexts (d + 1, g), and of a feature without cuts."""
        return np.pad(self._literals.codes, ((0, 1), (0, 0)))

    @cached_property
    def _first(self) -> Ints:
        """The number (d + 2,) of each feature's first literal."""
        return np.append(self._literals.first, len(self._literals))

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
