"""Checks the costs and rewards that a service reports, and turns rewards into costs."""

from __future__ import annotations

from collections.abc import Sequence

from milpcb.core.checks import real, unit_cost
from milpcb.errors import InputError

UNIT = (0.0, 1.0)  # where rewards lie if nothing else is given: the reward r is the cost 1 - r


def cost_of(cost: float | None, reward: float | None, rewards: Sequence[float] | None) -> float:
    """Return a cost in [0, 1], as it is or of a reward in the range ``rewards``, None for 0 to 1; raises InputError."""
    if (cost is None) == (reward is None):
        raise InputError("give either cost=... or reward=..., as in learn(decision, cost=0.5)")
    if reward is None:
        return unit_cost("the cost", cost)
    least, most = rewards or UNIT
    hint = "" if rewards else " (for another give it, as in Bandit(..., reward_range=(0, 10)))"
    earned = real("reward", reward, f"in the range {least:g} to {most:g}{hint}", lambda number: least <= number <= most)
    return (most - earned) / (most - least)
