"""The exact search over trees by pairs of features, for classes with many cuts of each feature."""

from __future__ import annotations

from functools import cached_property

import numpy as np
import numpy.typing as npt

from milpcb.types import Bools, Floats
from policies.literals import Literals
from policies.names import Names
from policies.trees import feature_pairs
from policies.trees.kernels import Soft
from policies.trees.search import COMPILED_DEPTH, TreeSearch


class FeaturePairSearch(TreeSearch):
    """The recursion of TreeSearch, its tables filled by the codes of contexts; sums are in double precision."""

    def __init__(self, literals: Literals, n_actions: int, depth: int, names: Names) -> None:
        super().__init__(literals, n_actions, depth, names)
        self._first = 1 + literals.first
        n_literals = len(self._anywhere)
        self._near, self._far = np.empty((n_literals, n_actions)), np.empty(n_literals)
        self._best = np.empty(n_actions)

    def _pattern(self, row: int) -> Bools:
        return np.append(True, self._literals.pattern(row))

    def _answers(self, soft: Soft, costs: Floats, pattern: Bools, height: int) -> Floats:
        if not 1 <= height <= COMPILED_DEPTH:
            return super()._answers(soft, costs, pattern, height)
        return self._fill(soft, costs, pattern, height) + self._best

    def _by_root(self, soft: Soft, costs: Floats, pattern: Bools, height: int) -> Floats:
        if height > COMPILED_DEPTH:
            return super()._by_root(soft, costs, pattern, height)
        everywhere = self._fill(soft, costs, pattern, height)
        return np.asarray(self._near[1:] + self._far[1:, None] + everywhere)

    def _fill(self, soft: Soft, costs: Floats, pattern: Bools, height: int) -> float:
        """Fill the answers, as costs beyond those of action 0; return what action 0 costs on all contexts."""
        differences = np.ascontiguousarray((costs[:, 1:] - costs[:, :1]).T)
        literals, filled = self._literals, (self._near, self._far, self._best)
        if height == 1:
            feature_pairs.one_test(soft, differences, pattern, literals.codes, self._first, *filled)
        elif height == 2:
            feature_pairs.two_tests(soft, differences, pattern, literals.codes, self._first, *filled)
        else:
            feature_pairs.three_tests(soft, self._orders, differences, pattern, literals.codes, self._first, *filled)
        return float(costs[:, 0].sum())

    @cached_property
    def _orders(self) -> npt.NDArray[np.int32]:
        """The contexts (d, g) in the order of each feature's codes."""
        return np.array([np.argsort(code, kind="stable") for code in self._literals.codes], dtype=np.int32)
