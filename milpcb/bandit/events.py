"""Events that a bandit reports as they happen, for metrics and traces."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from milpcb.bandit.decisions import Decision

_log = logging.getLogger("milpcb")


@dataclass(frozen=True)
class Event:
    """A decision that was made, or overridden, or a cost that was learnt.

    Attributes
    ----------
    kind : "decision", "override" or "cost"
    decision : the decision, also that of the cost
    cost : in [0, 1], also where a reward was learnt; None of the other kinds
    learnt : decisions learnt so far, this one included where it is of a cost

    """

    kind: Literal["decision", "override", "cost"]
    decision: Decision
    cost: float | None
    learnt: int


def send(on_event: Callable[[Event], object] | None, events: list[Event]) -> None:
    """Hand events to a user's function; what it raises is logged, as the decisions were made all the same."""
    if on_event is None:
        return
    for event in events:
        try:
            on_event(event)
        except Exception:  # noqa: BLE001 - whatever a user's function raises
            _log.exception("on_event failed on the %s of decision %s", event.kind, event.decision.id)
