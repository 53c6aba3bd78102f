"""The exact search of rule lists: the shortest paths of the program, cell by cell (policies/rule_lists/program.py).

Best[cell] is over all ways to go on from a cell, with (+) for "or" and (x) for "and":
    Best[cell] = (+)_a C[cell, a]                                                        at level D: the default
    Best[cell] = (+)_{s, f} ((+)_a C[cell + (f, 1 - s), a]) (x) Best[cell + (f, s)]      below
Read in (min, +), C being total costs, Best of the empty cell is the least total cost. Read in (log-sum-exp, +), C being
-rate * total costs, it is the log of the sum of exp(-rate * total cost) over all derivations: D tests of different
literals, an outcome to go on with at all but the last, an action for each of the D + 1 ends. There are
p (p - 1) ... (p - D + 1) 2^(D - 1) K^(D + 1) of them, and every policy of the class has at least one. By the action a at
a row the same recursion runs through the cells that hold the row:
    At[cell, a] = C[cell, a]                                                             at level D
    At[cell, a] = (+)_{s, f} C[cell + (f, 1 - s), a] (x) Best[cell + (f, s)]             the row is in the end
                             or ((+)_b C[cell + (f, 1 - s), b]) (x) At[cell + (f, s), a]     the row goes on
One pass costs the size of the program: one lookup and one sum for each of its columns (K for those at the row's cells).
"""

from __future__ import annotations

import numpy as np

from milpcb.protocols import Search
from milpcb.types import Floats
from policies.names import Names
from policies.rule_lists.geometry import Cells
from policies.rule_lists.rule import RuleList


class RuleListSearch(Search):
    """The recursion above, a level at a time; an operation (+) is a numpy ufunc."""

    def __init__(self, cells: Cells, n_actions: int, names: Names) -> None:
        self._cells, self._n_actions, self._names = cells, n_actions, names

    def value(self, costs: Floats) -> float:
        """Return the least total cost."""
        ends = [table.min(axis=0) for table in self._cells.totals(costs)]
        return float(self._best(ends, np.minimum)[0][0])

    def minimise(self, costs: Floats) -> tuple[float, RuleList]:
        """Return the least total cost and a list that attains it, followed from the empty cell."""
        cells, cell, steps = self._cells, 0, []
        totals = cells.totals(costs)
        ends = [table.min(axis=0) for table in totals]
        best = self._best(ends, np.minimum)
        for level, (on, fired) in enumerate(zip(cells.on, cells.fired, strict=True)):
            ways = ends[level + 1][fired[:, cell]] + best[level + 1][on[:, cell]]
            s, i = np.unravel_index(ways.argmin(), ways.shape)
            action = totals[level + 1][:, fired[s, cell, i]].argmin()
            steps.append((int(cells.literal[level][cell, i]), int(s), int(action)))
            cell = int(on[s, cell, i])
        return float(best[0][0]), cells.rule_list(steps, int(totals[-1][:, cell].argmin()), self._names)

    def profile(self, costs: Floats, row: int) -> Floats:
        """Return (K,): the least total cost by the action at ``row``."""
        return self._at(self._cells.totals(costs), row, np.minimum)

    def log_weights(self, costs: Floats, row: int, rate: float) -> Floats:
        """Return (K,): log of the summed exp(-rate * total cost) of the derivations by the action at ``row``."""
        return self._at(self._cells.totals(-rate * costs), row, np.logaddexp)

    def _best(self, ends: list[Floats], add: np.ufunc) -> list[Floats]:
        """Return Best of each level, (n_l,); ``ends`` are the sums over actions of each cell."""
        best = [ends[-1]]
        for end, on, fired in zip(ends[:0:-1], self._cells.on[::-1], self._cells.fired[::-1], strict=True):
            best.append(add.reduce(end[fired] + best[-1][on], axis=(0, 2)))
        return best[::-1]

    def _at(self, totals: list[Floats], row: int, add: np.ufunc) -> Floats:
        """Return At of the empty cell, (K,)."""
        cells = self._cells
        ends = [add.reduce(table, axis=0) for table in totals]
        best, own = self._best(ends, add), cells.own(row)
        at = totals[-1]
        for level in range(cells.depth)[::-1]:
            here = own[level]
            on, fired = cells.on[level][:, here], cells.fired[level][:, here]
            # The row has outcome s of the literal, or not: whether it goes on.
            goes_on = cells.truth[row][cells.literal[level][here]] == np.arange(len(on))[:, None, None]
            ended = totals[level + 1][:, fired] + best[level + 1][on]
            gone_on = ends[level + 1][fired] + at[:, on]
            at = np.zeros((self._n_actions, cells.sizes[level]))  # only the row's own cells are ever read
            at[:, here] = add.reduce(np.where(goes_on, gone_on, ended), axis=(1, 3))
        return np.asarray(at[:, 0])
