"""The exact search over trees by pairs of features, for classes with many cuts of each feature."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from milpcb.types import Bools, Floats
from policies.literals import Literals
from policies.names import Names
from policies.trees import feature_pairs
from policies.trees.kernels import Array, Soft
from policies.trees.search import TreeSearch


class FeaturePairSearch(TreeSearch):
    """The recursion of TreeSearch, its tables filled by codes; sums are in double precision."""

    def __init__(self, literals: Literals, n_actions: int, depth: int, names: Names) -> None:
        super().__init__(literals, n_actions, depth, names)
        self._first = 1 + literals.first
        p = len(literals)
        self._filled = _Filled(
            near=np.empty((1, p + 1, n_actions)), far=np.empty((1, p + 1)), best=np.empty((1, n_actions))
        )

    def _pattern(self, row: int) -> Bools:
        return np.append(True, self._literals.pattern(row))

    def _run(self, soft: Soft, costs: Floats, pattern: Bools, height: int) -> tuple[float, Any]:
        """Run the kernel; return what action 0 costs on all contexts, and the arrays that are filled."""
        differences = np.ascontiguousarray((costs[:, 1:] - costs[:, :1]).T)
        near, far, best = self._filled
        feature_pairs.search(
            soft, height, differences, pattern, self._literals.codes, self._first, near[0], far[0], best[0]
        )
        return float(costs[:, 0].sum()), self._filled


class _Filled(NamedTuple):
    """The answers of a kernel; shapes as in policies/trees/kernels.py."""

    near: Array
    far: Array
    best: Array
