"""Sets of contexts that a halfspace can label as an objective wants, and steps from one to a heavier one."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from milpcb.types import Bools, Floats, Ints

# Sets met before one labeling is good enough.
_MOST_MET = 150


class Agreement:
    """Sets of contexts (g,) that some halfspace labels as the objective wants them, and steps to heavier ones.

    ``conflict(labels, kept)`` returns a set of members, of those kept, that no halfspace labels so, or None; ``met``
    are all that it returned.
    """

    def __init__(self, conflict: Callable[[Bools, Bools], Ints | None], objective: Floats) -> None:
        self.wanted, self.weight = objective < 0, np.abs(objective)
        self.met: list[Ints] = []
        self._find = conflict

    def grow(self, kept: Bools) -> Bools:
        """Return ``kept`` (g,) with each further context, by number, that a halfspace can label with the set so far."""
        for j in self._left_out(kept):
            if self._conflict(more := _with(kept, j, True)) is None:
                kept = more
        return kept

    def swap(self, kept: Bools) -> Bools | None:
        """Return a heavier set: ``kept`` (g,) with one context exchanged for another, then grown.

        None where none is found.
        """
        for j in self._left_out(kept):
            more = _with(kept, j, True)
            for i in self._in_the_way(more, j):
                other = _with(more, i, False)
                if len(self.met) < _MOST_MET and self._conflict(other) is None:
                    grown = self.grow(other)
                    if self.weight[grown].sum() > self.weight[kept].sum():
                        return grown
        return None

    def _left_out(self, kept: Bools) -> Ints:
        """Return the numbers of the contexts of positive weight that are not in ``kept`` (g,)."""
        return np.flatnonzero(~kept & (self.weight > 0))

    def _in_the_way(self, more: Bools, j: int) -> list[int]:
        """Return the contexts other than j of one conflict in the set ``more`` (g,); none where it has no conflict."""
        members = self._conflict(more)
        return [] if members is None else [i for i in members % len(more) if i != j]

    def _conflict(self, kept: Bools) -> Ints | None:
        members = self._find(self.wanted, kept)
        if members is not None:
            self.met.append(members)
        return members


def _with(kept: Bools, j: int, value: bool) -> Bools:
    changed = kept.copy()
    changed[j] = value
    return changed
