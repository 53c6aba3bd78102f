"""The audited oracle: an exact search, with a share of its answers proved again by a solver."""

from collections.abc import Sequence
from typing import cast

import numpy as np

from milpcb.constraints import LabelConstraint
from milpcb.core.checks import real
from milpcb.errors import OracleDisagreement
from milpcb.oracles.base import Oracle
from milpcb.oracles.query import Query
from milpcb.oracles.search import SearchOracle
from milpcb.plugins import registry
from milpcb.protocols import Opened, Policy
from milpcb.types import Answer, Floats, Stop


class AuditedOracle(SearchOracle):
    """Exact answers from the class's own search; a share of the queries is answered by a solver as well.

    The first query and then every ``round(1 / audit)``-th is audited; a profile is one query. Action weights are no
    minimum, so no program can audit them; queries to a table of leaf totals are not audited either. A disagreement
    raises OracleDisagreement with both values; an audit that a time limit cuts short raises OracleInexact. ``audits``
    counts the answers proved twice.

    Parameters
    ----------
    solver : the solver of the audits
    time_limit : seconds for one solve, None for no limit
    audit : the share of the queries, 0 < audit <= 1, that the solver answers too

    """

    _counters = ("calls", "seconds", "_closed", "_n_asked", "audits")

    def __init__(
        self,
        opened: Opened,
        contexts: Floats,
        *,
        solver: str = "highs",
        constraints: tuple[LabelConstraint, ...] = (),
        time_limit: float | None = None,
        audit: float = 0.01,
    ) -> None:
        share = "a share of the queries, above 0 and at most 1"
        audit = real("audit", audit, share, lambda number: 1e-12 < number <= 1.0)
        super().__init__(opened, contexts, constraints=constraints)
        self._milp: Oracle = registry.load("oracle", "milp")(
            opened, contexts, solver=solver, constraints=constraints, time_limit=time_limit
        )
        self._solver = solver
        self._every = round(1.0 / audit)
        self._n_asked = self.audits = 0

    def route(self) -> list[str]:
        audits = "every query" if self._every == 1 else f"one query in {self._every}"
        return [*super().route(), f"audited: {audits}, by a solver", *self._milp.route()]

    def close(self) -> None:
        super().close()
        self._milp.close()

    def _answer(self, costs: Floats) -> tuple[float, float, Policy | None, Stop]:
        lower, upper, policy, stop = super()._answer(costs)
        if self._due():
            found: tuple[float, float, Policy | None, Stop] = self._milp.ask("answer", costs)
            proved = Answer(*found, 0.0).value
            self._compare(upper, proved, costs, "least total cost")
            labels = cast("Policy", policy).predict(self._opened_class.contexts)  # a search always holds one
            attained = float(costs[np.arange(len(costs)), labels].sum())
            self._compare(upper, attained, costs, "cost of the policy it returned", "that policy costs")
        return lower, upper, policy, stop

    def _value(self, costs: Floats) -> float:
        value = super()._value(costs)
        if self._due():
            self._compare(value, self._milp.ask("value", costs), costs, "least total cost")
        return value

    def _profile(self, costs: Floats, row: int) -> Floats:
        profile = super()._profile(costs, row)
        if self._due():
            for action, proved in enumerate(self._milp.ask("profile", costs, row)):
                what = f"least total cost with action {action} on context {row}"
                self._compare(float(profile[action]), float(proved), costs, what)
        return profile

    def _profiles(self, costs: Floats, rows: Sequence[int]) -> Floats:
        return np.array([self._profile(costs, row) for row in rows])

    def _keeps_leaf_totals(self) -> bool:
        return False  # as queries to them are not audited

    def _due(self) -> bool:
        due = self._n_asked % self._every == 0
        self._n_asked += 1
        self.audits += due
        return due

    def _compare(self, found: float, proved: float, costs: Floats, what: str, by: str = "") -> None:
        """Raise OracleDisagreement unless the values are equal, for real costs up to what a solver proves."""
        query = Query(costs)
        slack = 0.0 if query.whole else 2 * query.tolerance
        if found != proved and not abs(found - proved) <= slack:
            raise OracleDisagreement(
                f"query {self._n_asked}, {what}: the search found {found:.12g}, "
                f"{by or f'the MILP on {self._solver} proves'} {proved:.12g}; report it with the config that made it"
            )
