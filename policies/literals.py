"""Literals: the tests of one feature that trees and rule lists are made of, and their outcome at each context."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from milpcb.types import Bools, Floats, Ints
from policies.cuts import Distinct, Thresholds, cut_points, is_binary

Test = tuple[int, float, bool]  # feature, threshold, whether the feature only takes 0 and 1
LARGEST = 5_000_000  # columns of a program: beyond it memory runs out before the solver begins


@dataclass(frozen=True)
class Literals:
    """The tests ``x[feature] <= threshold`` that split the contexts in two, one for each way of splitting them in two.

    ``tests`` are the p literals, ``truth`` (g, p) marks which holds at which distinct context; ``group`` (m,) and
    ``contexts`` (g, d) are those of Opened.
    """

    tests: list[Test]
    truth: Bools
    group: Ints
    contexts: Floats

    @classmethod
    def of(cls, contexts: Floats, thresholds: Thresholds) -> Literals:
        """Return the literals on ``contexts`` (m, d)."""
        binary = [is_binary(column) for column in contexts.T]
        cuts = cut_points(contexts, thresholds)
        every = [(f, cut, binary[f]) for f, points in enumerate(cuts) for cut in points.tolist()]
        splits: dict[bytes, Test] = {}
        for test, holds in zip(every, outcomes(contexts, every).T, strict=True):
            splits.setdefault((holds ^ holds[0]).tobytes(), test)  # a test and its negation split alike
        tests = [test for key, test in splits.items() if any(key)]
        truth = outcomes(contexts, tests)
        distinct = Distinct.rows(np.pad(truth, ((0, 0), (1, 0))))  # a first column, in case there is no literal
        return cls(tests, truth[distinct.first], distinct.group, contexts[distinct.first])

    def __len__(self) -> int:
        return len(self.tests)


def every_test(cuts: Sequence[Sequence[float]]) -> list[Test]:
    """Return the tests of all cut points, one list for each feature, whether they divide any contexts or not."""
    return [(f, float(cut), False) for f, points in enumerate(cuts) for cut in points]


def outcomes(contexts: Floats, tests: list[Test]) -> Bools:
    """Return (m, tests): which test holds at which context."""
    feature, threshold = (np.array([test[part] for test in tests]) for part in (0, 1))
    return np.asarray(contexts[:, feature.astype(np.int64)] <= threshold)
