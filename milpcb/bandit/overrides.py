"""Decisions that a person overrode: what was done instead, by whom and why."""

from __future__ import annotations

from dataclasses import dataclass, replace
from time import time
from typing import Any, Self

from milpcb.core.checks import unit_cost
from milpcb.errors import InputError, shown


@dataclass(frozen=True)
class Override:
    """A decision in whose place a person played another action.

    Attributes
    ----------
    decision : its id
    action, instead : what was drawn, and what was done instead
    by, reason : as given
    made : when it was overridden (Unix time)
    cost : in [0, 1]; None while it is not known

    """

    decision: str
    action: str | int
    instead: str | int
    by: str
    reason: str
    made: float
    cost: float | None = None

    @classmethod
    def of(cls, decision: Any, instead: str | int, by: Any, reason: Any) -> Self:
        """Return that of a decision, as of now; raises InputError where it does what was drawn, or has no name."""
        if str(instead) == str(decision.action):
            raise InputError(f"'{instead}' is what decision '{decision.id}' was: nothing is overridden; learn its cost")
        for name, given in (("by", by), ("reason", reason)):
            if not isinstance(given, str) or (name == "by" and not given.strip()):
                raise InputError(
                    f'{name} must be text, as in override(decision, "wait", by="AB", reason="..."), got {shown(given)}'
                )
        return cls(decision.id, decision.action, instead, by, reason, time())

    def paid(self, cost: float) -> Self:
        """Return it with its cost."""
        return replace(self, cost=cost)


def checked(entries: Any) -> dict[str, Override]:
    """Return saved ones by the id of their decision; raises TypeError, ValueError on what none was saved as."""
    found = [Override(**entry) for entry in entries]
    for entry in found:
        if entry.cost is not None:
            unit_cost("the cost", entry.cost)
    return {entry.decision: entry for entry in found}
