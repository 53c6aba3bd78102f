"""The oracle as the class's own exact search, without a solver."""

from __future__ import annotations

from milpcb.constraints import LabelConstraint
from milpcb.errors import InputError
from milpcb.oracles.base import Oracle
from milpcb.oracles.term_table import TermTable
from milpcb.protocols import Opened, Policy, Search, Table
from milpcb.types import Floats, Stop


class SearchOracle(Oracle):
    """Exact answers from ``opened.search()``; side constraints need kind "milp"."""

    def __init__(self, opened: Opened, contexts: Floats, *, constraints: tuple[LabelConstraint, ...] = ()) -> None:
        super().__init__(opened, contexts)
        self._opened = opened
        self._search = self._open(opened, constraints)

    def _open(self, opened: Opened, constraints: tuple[LabelConstraint, ...]) -> Search:
        """Return the search that all questions go to."""
        if constraints:
            raise InputError("kind 'search' cannot hold side constraints; open the oracle with kind 'milp'")
        opened.require("search")
        self.can |= opened.can & {"action_weights"}
        if "terms" in opened.can:
            self.can |= {"columns"}
        return opened.search()

    @property
    def log_derivations(self) -> float:
        """See Oracle.log_derivations; where totals of terms are kept it is that of the terms, to the last bit."""
        return self._opened.terms().log_derivations if "columns" in self.can else super().log_derivations

    def _column_table(self) -> Table:
        """Return a table of the totals of the class's terms; raises InputError where there are none."""
        if "columns" not in self.can:
            self._opened.require("terms")
            raise InputError(
                'a list of policies has no columns; use oracle kind "search" or "milp", or put noise on contexts'
            )
        return TermTable(self._opened.terms(), self._context, self._count)

    def _noiseless_table(self) -> Table:
        """Return a table of the totals of terms where there are some."""
        return self._column_table() if "columns" in self.can else super()._noiseless_table()

    def _minimise(self, costs: Floats) -> tuple[float, float, Policy, Stop]:
        value, policy = self._search.minimise(costs)
        return value, value, policy, Stop.OPTIMAL

    def _value(self, costs: Floats) -> float:
        return self._search.value(costs)

    def _profile(self, costs: Floats, row: int) -> Floats:
        return self._search.profile(costs, row)

    def _log_weights(self, costs: Floats, row: int, rate: float) -> Floats:
        if "action_weights" not in self.can:
            self._opened.require("action_weights")
        return self._search.log_weights(costs, row, rate)
