"""The exact search of rule lists: totals of all cells, then the recursion over them (policies/rule_lists/fold.py)."""

from __future__ import annotations

from milpcb.protocols import Search
from milpcb.types import Floats
from policies.names import Names
from policies.rule_lists.fold import ListFold
from policies.rule_lists.geometry import HeldCells
from policies.rule_lists.rule import RuleList


class RuleListSearch(Search):
    """The fold on fixed contexts, whose cells are known."""

    def __init__(self, cells: HeldCells, n_actions: int, names: Names) -> None:
        self._cells, self._names = cells, names
        self._fold = ListFold(cells, n_actions)

    def value(self, costs: Floats) -> float:
        """Return the least total cost."""
        return self._fold.value(self._cells.totals(costs))

    def minimise(self, costs: Floats) -> tuple[float, RuleList]:
        """Return the least total cost and a list that attains it, without rules that divide no contexts."""
        found = self._fold.minimise(self._cells.totals(costs))
        return found.total, self._cells.rule_list(found.steps, found.default, self._names)

    def profile(self, costs: Floats, row: int) -> Floats:
        """Return (K,): the least total cost by the action at ``row``."""
        return self._fold.profile(self._cells.totals(costs), self._cells.own(self._cells.truth[row]))

    def log_weights(self, costs: Floats, row: int, rate: float) -> Floats:
        """Return (K,): log of the summed exp(-rate * total cost) of the derivations by the action at ``row``."""
        return self._fold.log_weights(self._cells.totals(-rate * costs), self._cells.own(self._cells.truth[row]))
