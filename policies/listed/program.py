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

from milpcb.listed import ListedSearch
from milpcb.protocols import Objective, Policy
from milpcb.types import Floats
from policies.one_hot import OneHotEncoding


class ListedEncoding(OneHotEncoding):
    """The cost map of the list; a vertex stands for the policy itself."""

    def __init__(self, listed: ListedSearch) -> None:
        super().__init__(x=(len(listed.labels),))
        self._listed = listed

    def objective(self, costs: Floats) -> Objective:
        """Return the total cost of each labeling."""
        return Objective(self._listed.totals(costs))

    def policy(self, number: int, costs: Floats) -> Policy:
        """Return the policy of the list."""
        del costs  # the number names it
        return self._listed.policies[number]
