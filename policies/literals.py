"""Literals: the tests on one feature that trees and rule lists consist of, and their outcome at each context."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from milpcb.types import Bools, Floats, Ints
from policies.cuts import Distinct, Thresholds, cut_points, is_binary

Test = tuple[int, float, bool]  # feature, threshold, whether the feature only takes 0 and 1
LARGEST = 5_000_000  # columns of a program: beyond it memory runs out before the solver begins


@dataclass(frozen=True)
class Literals:
    """The tests ``x[feature] <= threshold`` that split the contexts in two, one for each way to split them.

    Where features are counted, there is one for each split and feature.

    Literals are numbered feature by feature, the lowest cut first: those of ``features[i]`` are ``first[i]`` up to
    ``first[i + 1] - 1``. ``codes[i]`` (g,) is how many of its cuts lie below the value at each distinct
    context: literal ``first[i] + k`` holds where the code is at most k. Codes take one byte where they fit. ``cuts``
    (p,) are the thresholds, ``binary`` marks which of all features only take 0 and 1; ``group`` (m,) and ``contexts``
    (g, d) are those of Opened.
    """

    features: Ints
    first: Ints
    cuts: Floats
    codes: Ints
    binary: list[bool]
    group: Ints
    contexts: Floats

    @classmethod
    def of(cls, contexts: Floats, thresholds: Thresholds, *, by_feature: bool = False) -> Literals:
        """Return the literals on ``contexts`` (m, d), for each feature that makes a split if ``by_feature``."""
        with_cuts = zip(contexts.T, cut_points(contexts, thresholds), strict=True)
        columns = [Column.of(f, values, cuts) for f, (values, cuts) in enumerate(with_cuts)]
        columns = [column for column in (columns if by_feature else _split_once(columns)) if len(column.cuts)]
        features = np.array([column.feature for column in columns], dtype=np.int64)
        first = np.cumsum([0, *(len(column.cuts) for column in columns)])
        cuts = np.concatenate([np.zeros(0), *(column.cuts for column in columns)])
        largest = max((len(column.cuts) for column in columns), default=0)
        codes = np.empty((len(columns), len(contexts)), dtype=np.min_scalar_type(largest))
        for i, column in enumerate(columns):
            codes[i] = column.codes
        binary = [is_binary(column) for column in contexts.T]
        distinct = Distinct.codes(codes, len(contexts))
        if len(distinct.first) < len(contexts):
            codes, contexts = np.ascontiguousarray(codes[:, distinct.first]), contexts[distinct.first]
        return cls(features, first, cuts, codes, binary, distinct.group, contexts)

    def __len__(self) -> int:
        return len(self.cuts)

    @cached_property
    def tests(self) -> list[Test]:
        """All tests, as the rules have them."""
        return [self.test(literal) for literal in range(len(self))]

    def test(self, literal: int) -> Test:
        """Return one test."""
        feature = int(self.features[self._place(literal)[0]])
        return feature, float(self.cuts[literal]), self.binary[feature]

    def holds(self, literal: int) -> Bools:
        """Return (g,): at which distinct contexts a literal holds."""
        i, cut = self._place(literal)
        return np.asarray(self.codes[i] <= cut)

    def pattern(self, row: int) -> Bools:
        """Return (p,): whether each literal holds at one distinct context."""
        return np.arange(len(self)) >= np.repeat(self.first[:-1] + self.codes[:, row], np.diff(self.first))

    @cached_property
    def truth(self) -> Bools:
        """Whether each literal holds at each distinct context (g, p): p times the memory of the codes."""
        return outcomes(self.contexts, self.tests)

    def _place(self, literal: int) -> tuple[int, int]:
        i = int(np.searchsorted(self.first, literal, side="right")) - 1
        return i, literal - int(self.first[i])


def every_test(cuts: Sequence[Sequence[float]]) -> list[Test]:
    """Return the tests of all cut points, a list for each feature, even if they divide no contexts."""
    return [(f, float(cut), False) for f, points in enumerate(cuts) for cut in points]


def outcomes(contexts: Floats, tests: list[Test]) -> Bools:
    """Return (m, tests): whether a test holds at a context."""
    feature, threshold = (np.array([test[part] for test in tests]) for part in (0, 1))
    return np.asarray(contexts[:, feature.astype(np.int64)] <= threshold)


@dataclass(frozen=True)
class Column:
    """A feature's cut points (B,), and the number of those below its value at each context: ``codes`` (m,)."""

    feature: int
    cuts: Floats
    codes: Ints

    @classmethod
    def of(cls, feature: int, values: Floats, cuts: Floats) -> Column:
        """Return the column of ``values`` (m,); of cuts between the same two values the lowest is kept."""
        codes = np.searchsorted(cuts, values).astype(np.min_scalar_type(len(cuts)))  # a million rows, of one byte each
        column = cls(feature, cuts, codes)
        below = column.sums(np.ones(len(values)))
        return column.only(np.diff(below, prepend=0.0) > 0)

    def sums(self, weights: Floats) -> Floats:
        """Return (B,): the sum of ``weights`` (m,) at or below each cut."""
        return np.asarray(np.cumsum(np.bincount(self.codes, weights, len(self.cuts) + 1))[:-1], dtype=float)

    def only(self, kept: Bools) -> Column:
        """Return the column with the cuts that ``kept`` (B,) marks."""
        if kept.all():
            return self
        fewer = np.append(0, np.cumsum(kept)).astype(self.codes.dtype)
        return Column(self.feature, self.cuts[kept], fewer[self.codes])


def _split_once(columns: list[Column]) -> list[Column]:
    """Return the columns without the cuts that split the contexts as an earlier column's cut does.

    A split is known by two sums of random numbers over the side that is not that of the first context. The sums are
    exact; two different splits have both alike with a chance of (m / 2^53)^2, 2^-66 for a million contexts.
    """
    n_rows = len(columns[0].codes)
    keys = np.random.default_rng(0).integers(2**53 // n_rows, size=(2, n_rows)).astype(float)
    splits = []
    for column in columns:
        sums = np.array([column.sums(key) for key in keys])
        holds = np.arange(len(column.cuts)) >= column.codes[0]  # at the first context
        splits.append(np.where(holds, keys.sum(axis=1)[:, None] - sums, sums))
    real, imaginary = np.concatenate(splits, axis=1)
    _, first = np.unique(real + 1j * imaginary, return_index=True)
    kept = np.zeros(len(real), bool)
    kept[first] = True
    ends = np.cumsum([len(column.cuts) for column in columns])[:-1]
    return [column.only(own) for column, own in zip(columns, np.split(kept, ends), strict=True)]
