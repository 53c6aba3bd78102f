"""The recursion of rule lists over the totals of their cells: the shortest paths of the program, cell by cell.

Best[cell] is over all ways to go on from a cell, with (+) for "or" and (x) for "and":
    Best[cell] = (+)_a C[cell, a]                                                        at level D: the default
    Best[cell] = (+)_{s, f} ((+)_a C[cell + (f, 1 - s), a]) (x) Best[cell + (f, s)]      below
Read in (min, +), C being total costs, Best of the empty cell is the least total cost. Read in (log-sum-exp, +), C being
-rate * total costs, it is the log of the sum of exp(-rate * total cost) over all derivations: D tests of different
literals, an outcome to go on with at all but the last, an action for each of the D + 1 ends. There are
p (p - 1) ... (p - D + 1) 2^(D - 1) K^(D + 1) of them, and every policy of the class has at least one. By the action a
at a row the same recursion runs through the cells that hold the row:
    At[cell, a] = C[cell, a]                                                             at level D
    At[cell, a] = (+)_{s, f} C[cell + (f, 1 - s), a] (x) Best[cell + (f, s)]             the row is in the end
                             or ((+)_b C[cell + (f, 1 - s), b]) (x) At[cell + (f, s), a]     the row goes on
One pass costs the size of the program: one lookup and one sum for each of its columns (K for those at the row's cells).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from milpcb.types import Floats, Ints
from policies.recursion import Recursion
from policies.rule_lists.geometry import Cells
from policies.rule_lists.rule import RuleList

Step = tuple[int, int, int]  # a literal, its outcome that goes on, the action of the other


class ListFold(Recursion):
    """The recursion above, a level at a time; an operation (+) is a numpy ufunc.

    Totals are a table (K, n_l) for each level; that of level 0 is not read where there are others. A context is given
    by the cells that hold it, ``own``, an array for each level. ``write`` makes a list of its steps and its default.
    """

    def __init__(self, cells: Cells, n_actions: int, write: Callable[[list[Step], int], RuleList]) -> None:
        self._cells, self._n_actions, self._write = cells, n_actions, write

    def value(self, tables: list[Floats]) -> float:
        """Return the least total."""
        return float(self._best([table.min(axis=0) for table in tables], np.minimum)[0][0])

    def minimise(self, tables: list[Floats]) -> tuple[float, RuleList]:
        """Return the least total and a list that attains it, followed from the empty cell."""
        cells, cell, steps = self._cells, 0, list[Step]()
        ends = [table.min(axis=0) for table in tables]
        best = self._best(ends, np.minimum)
        for level, (on, fired) in enumerate(zip(cells.on, cells.fired, strict=True)):
            ways = ends[level + 1][fired[:, cell]] + best[level + 1][on[:, cell]]
            s, i = np.unravel_index(ways.argmin(), ways.shape)
            action = tables[level + 1][:, fired[s, cell, i]].argmin()
            steps.append((int(cells.literal[level][cell, i]), int(s), int(action)))
            cell = int(on[s, cell, i])
        return float(best[0][0]), self._write(steps, int(tables[-1][:, cell].argmin()))

    def profile(self, tables: list[Floats], own: list[Ints]) -> Floats:
        """Return (K,): the least total by the action at the context."""
        return self._at(tables, own, np.minimum)

    def log_weights(self, logs: list[Floats], own: list[Ints]) -> Floats:
        """Return (K,): the log of the summed weights by the action at the context; ``logs`` are -rate * totals."""
        return self._at(logs, own, np.logaddexp)

    def _best(self, ends: list[Floats], add: np.ufunc) -> list[Floats]:
        """Return Best of each level, (n_l,); ``ends`` are the sums over actions of each cell."""
        best = [ends[-1]]
        for end, on, fired in zip(ends[:0:-1], self._cells.on[::-1], self._cells.fired[::-1], strict=True):
            best.append(add.reduce(end[fired] + best[-1][on], axis=(0, 2)))
        return best[::-1]

    def _at(self, totals: list[Floats], own: list[Ints], add: np.ufunc) -> Floats:
        """Return At of the empty cell, (K,)."""
        cells = self._cells
        ends = [add.reduce(table, axis=0) for table in totals]
        best = self._best(ends, add)
        at = totals[-1]
        for level in range(cells.depth)[::-1]:
            here = own[level]
            on, fired = cells.on[level][:, here], cells.fired[level][:, here]
            # The context has outcome s of the literal, or not: whether it goes on.
            outcomes = own[1] & 1  # the cells of level 1 are (literal, outcome)
            goes_on = outcomes[cells.literal[level][here]] == np.arange(len(on))[:, None, None]
            ended = totals[level + 1][:, fired] + best[level + 1][on]
            gone_on = ends[level + 1][fired] + at[:, on]
            at = np.zeros((self._n_actions, cells.sizes[level]))  # only the context's own cells are ever read
            at[:, here] = add.reduce(np.where(goes_on, gone_on, ended), axis=(1, 3))
        return np.asarray(at[:, 0])
