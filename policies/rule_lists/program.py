"""Rule lists: if, else if, ..., else; a shortest path through the sets of conditions that failed so far.

Policy class
    "if l_1 play a_1, else if l_2 play a_2, ..., else play a_0" with at most R conditions; a condition is a literal
    ``x[feature] <= threshold`` or its negation, any action anywhere. What is known after l conditions have failed is
    the *set* of l outcomes, in whatever order they were asked for. With p literals and D = min(R, p),
    N = K + sum_{r=1..D} p (p - 1) ... (p - r + 1) 2^(r-1) K^r (K - 1).
Variables
    A *cell* of level l is a set of l different literals with an outcome s in {0, 1} of each.
    y_l[s, cell, i, a] in {0, 1}, l = 0..D-1: in the cell, the i-th literal f outside it is tested; its outcome s goes
    on, its outcome 1 - s plays a. At the last level s = 0 only: there both outcomes end the list.
    z[cell, a] in {0, 1} for the cells of level D: the default is a. Encodings without side constraints drop z and a.
Constraints
    (1)  sum y_0 = 1                                                      (sum z = 1 when D = 0)
    (2)  sum_{s, i, a} y_l[s, cell, i, a] = what y_{l-1} sends into the cell     l = 1..D-1
    (3)  sum_a z[cell, a] = what y_{D-1} sends into the cell              constrained encodings only
    A path through the cells: each column leaves one and enters one (the end needs no row), a directed incidence
    matrix, totally unimodular: every vertex is 0/1.
Cost map
    C[cell, a], the total of costs[., a] over the contexts in the cell, is linear in the costs. y_l[s, cell, i, a] costs
    C[cell + (f, 1 - s), a], z[cell, a] costs C[cell, a]. Without side constraints each outcome that ends takes its
    cheapest action: y_l costs min_a C[cell + (f, 1 - s), a], at the last level plus min_a C[cell + (f, 0), a].
Size
    n_l = C(p, l) 2^l cells of level l; 2 n_l (p - l) columns at level l < D - 1, n_l (p - l) at the last; n_l rows. For
    30 literals 1 800 columns at D = 2, but 52 260 at D = 3. Side constraints cost a factor K and n_D K columns. No
    big-M.
"""

from __future__ import annotations

import numpy as np

from milpcb.program import Program, ProgramBuilder
from milpcb.protocols import InvertibleEncoding, Objective
from milpcb.types import Floats, Ints
from policies.names import Names
from policies.rule_lists.geometry import Cells, HeldCells
from policies.rule_lists.rule import RuleList


class RuleListEncoding(InvertibleEncoding):
    """The polytope of (1)-(3) and its cost map."""

    def __init__(self, cells: HeldCells, n_actions: int, names: Names, *, constrained: bool) -> None:
        self._cells, self._names = cells, names
        self._full = constrained or cells.depth == 0  # without literals there are only defaults
        self.program, self._nodes, self._defaults = _polytope(cells, n_actions if self._full else 0)

    def objective(self, costs: Floats) -> Objective:
        """Return the cost of each rule that ends, and of the defaults."""
        totals = self._cells.totals(costs)
        ends = [table.T if self._full else table.min(axis=0)[:, None] for table in totals]
        parts = [end[fired] for end, fired in zip(ends[1:], self._cells.fired, strict=True)]
        if self._full:
            parts.append(ends[-1])
        else:
            parts[-1] = parts[-1] + ends[-1][self._cells.on[-1]]
        return Objective(np.concatenate([part.ravel() for part in parts]))

    def decode(self, x: Floats, costs: Floats) -> RuleList:
        """Return the list whose path is 1 in ``x``; a rule plays its column's action, or its contexts' cheapest."""
        cells, cell, steps = self._cells, 0, []
        totals = cells.totals(costs)
        for level, y in enumerate(self._nodes):
            s, i, a = np.unravel_index(x[y[:, cell]].argmax(), y[:, cell].shape)
            action = a if self._full else totals[level + 1][:, cells.fired[level][s, cell, i]].argmin()
            steps.append((int(cells.literal[level][cell, i]), int(s), int(action)))
            cell = cells.on[level][s, cell, i]
        default = x[self._defaults[cell]] if self._full else -totals[-1][:, cell]
        return cells.rule_list(steps, int(default.argmax()), self._names)

    def encode(self, policy: RuleList) -> Floats:
        """Return the path of the list; rules that it lacks play its default."""
        cells, cell, default = self._cells, 0, policy.default
        x, steps = np.zeros(self.program.n_columns), cells.steps(policy)
        for level, y in enumerate(self._nodes):
            f, s, action = steps[level] if level < len(steps) else (cells.literal[level][cell, 0], 0, default)
            if s == len(y):  # at the last level outcome 0 goes on: what outcome 1 would go on to is the default
                s, action, default = 0, default, action
            i = int(np.flatnonzero(cells.literal[level][cell] == f)[0])
            x[y[s, cell, i, action]] = 1.0
            cell = cells.on[level][s, cell, i]
        x[self._defaults[cell, default]] = 1.0
        return x


def _polytope(cells: Cells, n_end_actions: int) -> tuple[Program, list[Ints], Ints]:
    """Return the program, the columns y_l (S, n_l, p - l, A) and z (n_D, A), none of them without actions."""
    b = ProgramBuilder()
    nodes = [
        b.columns(f"y{level}", (*on.shape, n_end_actions or 1), upper=1.0, integer=True)
        for level, on in enumerate(cells.on)
    ]
    z = b.columns("z", (cells.sizes[-1], n_end_actions), upper=1.0, integer=True)
    leaving = [np.moveaxis(y, 1, 0).reshape(size, -1) for y, size in zip(nodes, cells.sizes, strict=False)]
    if n_end_actions:
        leaving.append(z)
    b.rows((leaving[0], 1.0), lower=1.0, upper=1.0)  # (1)
    for on, y, out in zip(cells.on, nodes, leaving[1:], strict=False):
        entering, present = _by_cell(on, y, len(out))
        b.rows((out, 1.0), (entering, -present), lower=0.0, upper=0.0)  # (2), (3)
    return b.build(integral=True), nodes, z


def _by_cell(on: Ints, y: Ints, n_cells: int) -> tuple[Ints, Floats]:
    """Return the columns (n_cells, k) that enter each cell, and which entries are some (1.0) and which only fill."""
    cells, columns = np.repeat(on.ravel(), y.shape[-1]), y.ravel()
    order = np.argsort(cells, kind="stable")
    counts = np.bincount(cells, minlength=n_cells)
    entering = np.zeros((n_cells, counts.max()), dtype=np.int64)
    present = np.arange(counts.max()) < counts[:, None]
    entering[present] = columns[order]
    return entering, present.astype(float)
