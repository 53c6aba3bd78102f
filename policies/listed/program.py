"""A list of labelings as a program: one column a labeling, the reference for every other encoding.

Policy class
    N labelings of g distinct contexts; labeling n plays labels[n, j] on context j.
Variables
    x[n] in {0, 1}: labeling n is chosen.
Constraints
    sum_n x[n] = 1, a simplex: every vertex is 0/1.
Cost map
    x[n] costs sum_j costs[j, labels[n, j]]. One map serves with and without side constraints.
Size
    N columns and 1 row; no big-M.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from milpcb.program import ProgramBuilder
from milpcb.protocols import Encoding, Objective, Policy
from milpcb.types import Floats, Ints


class ListedEncoding(Encoding):
    """The simplex over the list and its cost map; a vertex stands for the policy itself."""

    def __init__(self, policies: Sequence[Policy], labels: Ints, n_actions: int) -> None:
        self._policies = policies
        self._cell = n_actions * np.arange(labels.shape[1]) + labels
        b = ProgramBuilder()
        x = b.columns("x", (len(labels),), upper=1.0, integer=True)
        b.rows((x[None, :], 1.0), lower=1.0, upper=1.0)
        self.program = b.build(integral=True)

    def objective(self, costs: Floats) -> Objective:
        """Return the total cost of each labeling."""
        return Objective(costs.ravel()[self._cell].sum(axis=1))

    def decode(self, x: Floats, costs: Floats) -> Policy:
        """Return the policy whose column is 1."""
        del costs  # x names the policy
        return self._policies[int(x.argmax())]
