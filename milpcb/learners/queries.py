"""How a perturbed leader queries a table of running totals: by profiles, or by cheapest policies alone."""

from __future__ import annotations

from typing import Protocol, cast

from milpcb.learners.needs import played_on
from milpcb.protocols import Policy, ValueOracle
from milpcb.protocols.oracles import Table
from milpcb.types import Answer, Floats


class TableQueries(Protocol):
    """Queries about the totals of a table with ``noise`` (n_noisy,) added.

    Oracles raise OracleInexact where they stop early.
    """

    table: Table

    def play(self, row: int, noise: Floats) -> int:
        """Return the action on ``row`` of the policy of least total."""
        ...

    def add(self, row: int, action: int, amount: float, noise: Floats) -> float:
        """Add a cost to the table and return by how much the least total rises, both times with the same noise."""
        ...


class Profiles:
    """One profile answers each query; where policies tie, the lowest action is played."""

    def __init__(self, table: Table) -> None:
        self.table = table

    def play(self, row: int, noise: Floats) -> int:
        """Return the action with the least entry."""
        return int(self.table.profile(row, noise).argmin())

    def add(self, row: int, action: int, amount: float, noise: Floats) -> float:
        """Return the rise by one profile: those policies alone that play the action become dearer."""
        profile = self.table.profile(row, noise)
        least = float(profile.min())
        profile[action] += amount
        self.table.add(row, action, amount)
        return float(profile.min()) - least


class Minimisers:
    """A cheapest policy answers each query, two where it plays the action that becomes dearer."""

    def __init__(self, table: Table, oracle: ValueOracle) -> None:
        self.table, self._oracle = table, oracle

    def play(self, row: int, noise: Floats) -> int:
        """Return what the cheapest policy plays."""
        return self._action(self.table.minimise(noise), row)

    def add(self, row: int, action: int, amount: float, noise: Floats) -> float:
        """Return the rise, which is 0 where the cheapest policy plays another action."""
        before = self.table.minimise(noise)
        self.table.add(row, action, amount)
        if self._action(before, row) != action:
            return 0.0
        return self.table.minimise(noise).value - before.value

    def _action(self, answer: Answer, row: int) -> int:
        _ = answer.value  # raises unless the minimum is proved
        return played_on(cast("Policy", answer.policy), self._oracle.contexts, row)  # and then some policy attains it
