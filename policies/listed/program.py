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

from milpcb.protocols import Objective, Policy
from milpcb.types import Floats, Ints
from policies.one_hot import OneHotEncoding


class ListedEncoding(OneHotEncoding):
    """The cost map of the list; a vertex stands for the policy itself."""

    def __init__(self, policies: Sequence[Policy], labels: Ints, n_actions: int) -> None:
        super().__init__(x=(len(labels),))
        self._policies = policies
        self._cell = n_actions * np.arange(labels.shape[1]) + labels

    def objective(self, costs: Floats) -> Objective:
        """Return the total cost of each labeling."""
        return Objective(costs.ravel()[self._cell].sum(axis=1))

    def policy(self, number: int, costs: Floats) -> Policy:
        """Return the policy of the list."""
        del costs  # the number names it
        return self._policies[number]
