"""The audited oracle: an exact search, a share of whose answers a solver proves again."""

from __future__ import annotations

from dataclasses import replace
from typing import cast

import numpy as np

from milpcb.constraints import LabelConstraint
from milpcb.errors import InputError, OracleDisagreement
from milpcb.oracles.base import Oracle
from milpcb.oracles.query import Query
from milpcb.oracles.totals import TermTable
from milpcb.plugins import registry
from milpcb.protocols import Listing, Opened, Policy, Table, Within
from milpcb.types import Floats, Stop


class AuditedOracle(Oracle):
    """Exact answers from the class's own search; a share of them is asked of a solver as well.

    The first query and then every ``round(1 / audit)``-th is audited, whatever its kind; a profile is one query.
    Action weights are no minimum, so no MILP can audit them; queries to a table that is kept are not audited either.
    Under side constraints the solver may start at the search's policy, which claims nothing; no bound of the search
    reaches it. A first disagreement raises OracleDisagreement with both values; an audit that a time limit cuts short
    raises OracleInexact. ``audits`` counts what was proved twice.

    Parameters
    ----------
    opened, contexts, constraints : see milpcb.open_oracle
    solver : of the audits
    time_limit : seconds for one solve, None for no limit
    audit : the share of the queries, 0 < audit <= 1, that the solver answers too

    """

    _counters = ("calls", "seconds", "_closed", "_asked", "audits")

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
        if isinstance(audit, bool) or not isinstance(audit, (int, float)) or not 1e-12 < audit <= 1.0:
            raise InputError(f"audit must be a share of the queries, above 0 and at most 1, got {audit!r}")
        super().__init__(opened, contexts, grouped=False)
        self._search: Oracle = registry.load("oracle", "search")(opened, contexts, constraints=constraints)
        self._milp: Oracle = registry.load("oracle", "milp")(
            opened, contexts, solver=solver, constraints=constraints, time_limit=time_limit
        )
        self._opened_class = self._search.opened
        self.capabilities |= self._search.capabilities
        self._solver = solver
        self._every = round(1.0 / audit)
        self._asked = 0
        self.audits = 0

    def route(self) -> list[str]:
        """Return that of the search, how many queries are audited, and the solver's."""
        audits = "every query" if self._every == 1 else f"one query in {self._every}"
        return [*self._search.route(), f"audited: {audits}, by a solver", *self._milp.route()]

    def close(self) -> None:
        """Close the search and the solver's model; see Oracle.close."""
        super().close()
        self._search.close()
        self._milp.close()

    def _minimise(self, costs: Floats) -> tuple[float, float, Policy | None, Stop]:
        answer = self._search.minimise(costs)
        if self._due():
            self._compare(answer.value, self._milp.minimise(costs).value, costs, "least total cost")
            policy = cast("Policy", answer.policy)  # a search always holds one
            attained = float(costs[np.arange(self.n_contexts), policy.predict(self.contexts)].sum())
            self._compare(answer.value, attained, costs, "cost of the policy it returned", "that policy costs")
        return answer.lower, answer.upper, answer.policy, answer.stop

    def _value(self, costs: Floats) -> float:
        value = self._search.value(costs)
        if self._due():
            self._compare(value, self._milp.value(costs), costs, "least total cost")
        return value

    def _profile(self, costs: Floats, row: int) -> Floats:
        profile = self._search.profile(costs, row)
        if self._due():
            for action, proved in enumerate(self._milp.profile(costs, row)):
                what = f"least total cost with action {action} on row {row}"
                self._compare(float(profile[action]), float(proved), costs, what)
        return profile

    def _column_table(self) -> Table:
        self._opened_class.require("totals")
        return TermTable(self._opened_class.terms(), self._context, self._count)

    @property
    def log_derivations(self) -> float:
        """See Oracle.log_derivations: those of the search."""
        return self._search.log_derivations

    def _log_weights(self, costs: Floats, row: int, rate: float) -> Floats:
        with np.errstate(divide="ignore"):  # an action that no policy plays
            return np.log(self._search.action_weights(costs, row, rate))

    def _listing(self, asked: Within) -> Listing | None:
        opened = self._opened_class
        costs = np.zeros((len(opened.contexts), self.n_actions))
        np.add.at(costs, opened.group, asked.costs)
        return opened.near(replace(asked, costs=costs))

    def _due(self) -> bool:
        due = self._asked % self._every == 0
        self._asked += 1
        self.audits += due
        return due

    def _compare(self, found: float, proved: float, costs: Floats, what: str, by: str = "") -> None:
        """Raise OracleDisagreement unless the values are equal, for real costs up to what a solver proves."""
        query = Query(costs)
        slack = 0.0 if query.whole else 2 * query.tolerance
        if found != proved and not abs(found - proved) <= slack:
            raise OracleDisagreement(
                f"query {self._asked}, {what}: the search found {found:.12g}, "
                f"{by or f'the MILP on {self._solver} proves'} {proved:.12g}; report it with the config that made it"
            )
