"""Checks the costs and rewards that a service reports, and turns rewards into costs."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from numbers import Real
from typing import Any

from milpcb.core.checks import real, unit_cost
from milpcb.errors import InputError, shown

UNIT = (0.0, 1.0)  # where rewards lie if nothing else is given: the reward r is the cost 1 - r


def cost_of(cost: Any, reward: Any, rewards: Sequence[float] | None) -> float:
    """Return a cost in [0, 1], as it is or of a reward in the range ``rewards``, None for 0 to 1; raises InputError."""
    if (cost is None) == (reward is None):
        raise InputError("give either cost=... or reward=..., as in learn(decision, cost=0.5)")
    if reward is None:
        return cost if type(cost) is float and 0.0 <= cost <= 1.0 else unit_cost("the cost", _number("cost", cost))
    least, most = rewards or UNIT
    wanted = f"in the range {least:g} to {most:g} (for another give it from the start, as in reward_range=(0, 10))"
    earned = real("reward", _number("reward", reward), wanted, lambda number: least <= number <= most)
    return (most - earned) / (most - least)


def _number(name: str, value: Any) -> Any:
    """Return a number of any type as one of Python's: True is 1, and an array without dimensions is what it holds.

    Raises InputError on everything else, and names its type.
    """
    if getattr(value, "shape", None) == () and hasattr(value, "item"):
        value = value.item()
    if isinstance(value, Decimal) and not value.is_nan():
        return float(value)
    if not isinstance(value, Real):
        hint = f": convert it, as in {name}=float(...)" if isinstance(value, (str, bytes)) else ""
        raise InputError(f"{name} must be a number, got {shown(value)}, which is of type {type(value).__name__}{hint}")
    return int(value) if isinstance(value, bool) else value
