"""Checks the costs and rewards that a service reports, and turns rewards into costs."""

from __future__ import annotations

from collections.abc import Sequence

from milpcb.core.checks import real, unit_cost
from milpcb.errors import InputError


def cost_of(cost: float | None, reward: float | None, rewards: Sequence[float] | None) -> float:
    """Return a cost in [0, 1], as it is or of a reward within the range ``rewards``; raises InputError."""
    if (cost is None) == (reward is None):
        raise InputError("give either cost=... or reward=..., as in learn(decision, cost=0.5)")
    if reward is None:
        return unit_cost("the cost", cost)
    if rewards is None:
        raise InputError("to learn rewards, give the range that they lie in, as in Bandit(..., reward_range=(0, 10))")
    least, most = rewards
    earned = real("reward", reward, f"in the range {least:g} to {most:g}", lambda number: least <= number <= most)
    return (most - earned) / (most - least)
