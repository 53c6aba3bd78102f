"""A set of labelings as paths from one root, those that go on alike merged: the states of a decision diagram.

The 94 572 threshold functions of five binary columns are a tree of 591 614 nodes and a diagram of 30 692 states. To
walk down from the root is to walk the tree; a sum over all labelings looks at each state once.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from milpcb.types import Ints

Labels = npt.NDArray[np.int8]


class Diagram(NamedTuple):
    """The states, level by level, the root first; level p decides the label of pattern p.

    ``child`` (states, K) is the state that a label leads to; behind the last pattern that is one more, and where no
    labeling goes on so, one more still. ``before`` (states, K) counts the labelings below a state that have smaller
    labels there, so that its sum along a path is the number of the labeling. ``first`` (P + 1,) is where levels begin.
    """

    child: npt.NDArray[np.int32]
    before: Ints
    first: Ints

    @classmethod
    def of(cls, labels: Labels) -> Diagram:
        """Return the diagram of labelings (N, P), which are in lexicographic order and all different."""
        n_rows, n_patterns = labels.shape
        n_labels = 1 + int(labels.max())
        new = np.ones((n_rows, n_patterns), dtype=bool)  # whether a path begins or leaves that of the row before
        new[1:] = np.logical_or.accumulate(labels[1:] != labels[:-1], axis=1)
        state, rows = np.zeros(n_rows, dtype=np.int64), np.arange(n_rows)  # of each prefix, and its first row
        counts = np.ones(1, dtype=np.int64)  # of the labelings below each state of the level
        levels: list[tuple[Ints, Ints]] = []
        for p in range(n_patterns - 1, -1, -1):
            shorter = np.flatnonzero(new[:, p - 1]) if p else np.zeros(1, dtype=np.int64)
            child = np.full((len(shorter), n_labels), -1)
            child[np.searchsorted(shorter, rows, side="right") - 1, labels[rows, p]] = state
            child, state = np.unique(child, axis=0, return_inverse=True)
            below = np.where(child >= 0, counts[child], 0).cumsum(axis=1)
            counts, rows, state = below[:, -1], shorter, state.ravel()
            levels.append((child, np.pad(below[:, :-1], ((0, 0), (1, 0)))))
        return cls._joined(levels[::-1])

    def numbers(self, labels: npt.NDArray[np.integer]) -> Ints:
        """Return the numbers (n,) of labelings (n, P)."""
        state, numbers = np.zeros((2, len(labels)), dtype=np.int64)
        for label in labels.T:
            numbers += self.before[state, label]
            state = self.child[state, label].astype(np.int64)
        return numbers

    @classmethod
    def _joined(cls, levels: list[tuple[Ints, Ints]]) -> Diagram:
        """Return the levels one after the other, children counted from the root on."""
        first = np.cumsum([0, *(len(child) for child, _ in levels)])
        numbered = zip((child for child, _ in levels), first[1:], strict=True)
        every = [np.where(child < 0, first[-1] + 1, child + after) for child, after in numbered]
        child = np.concatenate(every).astype(np.int32)  # few bytes, so that processors keep it at hand
        return cls(child, np.concatenate([before for _, before in levels]), first)
