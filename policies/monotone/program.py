"""Monotone rules: more of a feature never lowers the action; minimum closure of a partial order (min cut).

Policy class
    K ordered actions. x lies below x' when every feature of x, signed by its direction, is at most that of x'; then
    action(x) <= action(x'). With K = 2 action 1 is played on an up-set. On g distinct contexts every monotone labeling
    is in the class; elsewhere a rule plays the largest action of a listed context below (its least monotone extension),
    or the least action of all listed contexts where none is below.
Variables
    y[j, k] in {0, 1}, k = 1..K-1: the action of context j is at least k (in a file y_j_0 is k = 1).
Constraints
    (1)  y[i, k] <= y[j, k]        for each pair i, j such that j covers i: i below j and no context between them
    (2)  y[j, k + 1] <= y[j, k]    k = 1..K-2
    Each row has one 1 and one -1, so the matrix is the transpose of a directed incidence matrix, totally unimodular:
    every vertex is 0/1. Rows of pairs that are not covers follow from (1).
Cost map
    y[j, k] costs costs[j, k] - costs[j, k - 1], and sum_j costs[j, 0] is added. One map serves with and without side
    constraints.
Size
    g (K - 1) columns, (K - 1) rows a cover and g (K - 2) rows (2); no big-M.
"""

from __future__ import annotations

import numpy as np

from milpcb.program import ProgramBuilder
from milpcb.protocols import Encoding, Objective
from milpcb.types import Floats
from policies.monotone.geometry import Order
from policies.monotone.rule import MonotoneRule


class MonotoneEncoding(Encoding):
    """The polytope of (1)-(2) and its cost map."""

    def __init__(self, order: Order, n_actions: int) -> None:
        self._order = order
        b = ProgramBuilder()
        y = b.columns("y", (len(order.contexts), n_actions - 1), upper=1.0, integer=True)
        lower, upper = order.covers
        for smaller, larger in ((y[lower], y[upper]), (y[:, 1:], y[:, :-1])):  # (1), (2)
            if smaller.size:
                b.rows((smaller.reshape(-1, 1), 1.0), (larger.reshape(-1, 1), -1.0), upper=0.0)
        self.program = b.build(integral=True)

    def objective(self, costs: Floats) -> Objective:
        """Return what each step up adds to the costs of action 0."""
        return Objective(np.diff(costs, axis=1).ravel(), float(costs[:, 0].sum()))

    def decode(self, x: Floats, costs: Floats) -> MonotoneRule:
        """Return the rule in which the action of a context is the number of its steps that are 1 in ``x``."""
        del costs  # x holds the labels
        return self._order.rule((x.reshape(len(self._order.contexts), -1) > 0.5).sum(axis=1))
