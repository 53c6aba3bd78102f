"""Parts of a log without rows of some action, by the bins of its columns: see milpcb.offline.overlap.

They are looked for in a sample, before the pass that adds up, so that the pass can count which rows lie in them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from milpcb.data.columns import Column
from milpcb.offline.moments import Codes
from milpcb.offline.overlap import compared, completed, expected_of, parts_without
from milpcb.types import Bools, Floats, Ints


@dataclass(frozen=True)
class CodedPart:
    """A part in which an action was never done, or nearly so.

    ``tests`` are column, whether its bin is up to a number or above, and that number; ``words`` name who is in it.
    """

    action: int
    tests: tuple[tuple[int, bool, int], ...]
    words: str

    def within(self, codes: Codes) -> Bools:
        """Return which rows, by their bins (d, n), are in it."""
        found = np.ones(codes.shape[1], dtype=bool)
        for column, up, cut in self.tests:
            found &= (codes[column] <= cut) == up
        return found


def coded_parts(
    columns: Sequence[Column],
    cuts: Sequence[tuple[float, ...]],
    codes: Codes,
    action: Ints,
    propensity: Floats,
    least: float,
) -> tuple[CodedPart, ...]:
    """Return the parts of a sample with these bins (d, n); ``propensity`` is (n, K), see ``expected_of``."""
    tests = [
        compared(str(f), codes[f].astype(float), float(cut), up=up)
        for f, own in enumerate(cuts)
        for cut in range(len(own))
        for up in (True, False)
    ]
    each = np.ones(len(action))
    expected = expected_of(action, propensity, each)
    found = []
    for part in parts_without(tests, action, each, expected, least):
        coded = tuple((int(test.name), test.up, int(np.floor(test.cut))) for test in part.tests)
        words = " and ".join(_in_words(columns[f], cuts[f], up, cut) for f, up, cut in coded)
        found.append(CodedPart(part.action, coded, words))
    return tuple(found)


def _in_words(column: Column, cuts: tuple[float, ...], up: bool, cut: int) -> str:
    return column.test("<=" if up else ">", cuts[cut], binary=cuts == (0.5,))


def barred(parts: Sequence[CodedPart] | None, codes: Codes, chances: Floats) -> Bools | None:
    """Return the cells (n, K) of rows in which no rows of the log stand; None for none, and where ``parts`` is None.

    ``chances`` (n, K) are propensities, NaN where they are not known.
    """
    if parts is None:
        return None
    cells = completed(chances) == 0
    for part in parts:
        cells[part.within(codes), part.action] = True
    return cells if cells.any() else None
