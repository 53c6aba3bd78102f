"""Which leaves of trees by pairs of features are too small; compiled kernels on the arrays of feature_pairs.py.

The cuts of a feature are nested, so a leaf grows or shrinks as one of its cuts moves up, and so do its counts. For a
literal f and another feature one number a leaf is therefore enough, not one for each cut. With f out as s, the leaf
where the other feature's cut number k

    holds (t = 1) is too small for k < small[f, feature, s, 1], and the one where it
    fails (t = 0) is too small for k >= small[f, feature, s, 0].

A k beyond the cuts holds everywhere, so that the leaf is a whole side of f. ``small`` is (p + 1, d, 2, 2) for trees of
depth 2, and (p + 1, 1, 2, 2) for those of depth 1, where the other feature has no cuts; small[0, -1, 1, 1] is 1 where
all contexts together are too few for a leaf, else 0.

A leaf is too small where one of its counts is below what is asked for, ``least`` (C,); ``counts`` (C, g) are those of
the contexts.
"""

from __future__ import annotations

import numpy as np

from milpcb.core.kernels import compiled
from policies.trees.semirings import Array

Small = Array | None


@compiled()
def fill(depth: int, least: Array, counts: Array, codes: Array, first: Array, small: Array) -> None:
    """Fill ``small`` for trees of depth 1 or 2; of two features only the entries of the first are filled."""
    last = len(codes) - 1
    totals = np.array([count.sum() for count in counts])
    small[0, -1, 1, 1] = 1 if too_few(least, totals) else 0
    for f in range(last):
        for g in range(f, last) if depth == 2 else range(last, last + 1):
            table = np.zeros((len(counts), first[f + 1] - first[f] + 1, first[g + 1] - first[g] + 1))
            add_up(codes[f], codes[g], counts, 0, codes.shape[1], table)
            accumulate(table)
            fill_pair(least, table, small[first[f] : first[f + 1], g if depth == 2 else 0])


@compiled()
def add_up(codes: Array, others: Array, planes: Array, start: int, stop: int, table: Array) -> None:
    """Add the numbers of the contexts from ``start`` to ``stop`` to the entries of their two codes."""
    for a in range(len(planes)):
        plane, sums = planes[a], table[a]
        for j in range(start, stop):
            sums[codes[j], others[j]] += plane[j]


@compiled()
def accumulate(table: Array) -> None:
    """Replace the entries of a table by their sums up to each pair of codes."""
    for a in range(table.shape[0]):
        for k in range(table.shape[1]):
            row = 0.0
            for other in range(table.shape[2]):
                row += table[a, k, other]
                table[a, k, other] = row + (table[a, k - 1, other] if k else 0.0)


@compiled()
def fill_pair(least: Array, table: Array, small: Array) -> None:
    """Fill small (B, 2, 2) from the table (C, B + 1, B' + 1) of a pair of features.

    As counts grow or shrink with the other cut, it is enough to count the cuts where they are too low.
    """
    last, other_last = table.shape[1] - 1, table.shape[2] - 1
    for k in range(last):
        for s in range(2):
            small[k, s, 0], small[k, s, 1] = other_last, 0
            for c in range(len(least)):
                held, all_rows = table[c, k], table[c, last]
                enough = too_low = 0
                every = held[other_last] if s else all_rows[other_last] - held[other_last]
                for other in range(other_last + 1):
                    count = held[other] if s else all_rows[other] - held[other]
                    too_low += count < least[c]
                    enough += every - count >= least[c]
                small[k, s, 0] = min(small[k, s, 0], enough)
                small[k, s, 1] = max(small[k, s, 1], too_low)


@compiled()
def too_small(small: Array, s: int, t: int, other: int) -> bool:
    """Return whether the leaf of a literal and a cut of the other feature is too small, by their small (2, 2)."""
    return bool(other < small[s, 1] if t else other >= small[s, 0])


@compiled()
def too_few(least: Array, counts: Array) -> bool:
    """Return whether one of the ``counts`` (C,) of a leaf is below what is asked for."""
    few = False
    for c in range(len(least)):
        few = few or bool(counts[c] < least[c])
    return few
