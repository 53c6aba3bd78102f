"""The range of the costs or rewards of a bandit, and the costs from 0 to 1 that its learner sees for them."""

from __future__ import annotations

from numbers import Real
from typing import Any, NamedTuple

from milpcb.core.checks import check_range, real
from milpcb.core.decimals import THIN, spaced
from milpcb.errors import InputError, shown


class Scale(NamedTuple):
    """The cost or reward that counts as the cost 0, and the one that counts as 1: the greater is best of rewards."""

    best: float
    worst: float

    @classmethod
    def of(cls, cost_range: Any, reward_range: Any) -> Scale:
        """Return the scale of a range (least, greatest), of costs or of rewards; raises InputError."""
        if cost_range is not None and reward_range is not None:
            raise InputError("give either cost_range=... or reward_range=...: a bandit learns costs, or rewards")
        if reward_range is not None:
            return cls(*reversed(check_range("reward_range", reward_range)))
        return COSTS if cost_range is None else cls(*check_range("cost_range", cost_range))

    @classmethod
    def restored(cls, ends: Any) -> Scale:
        """Return the scale whose two ends were saved; raises InputError, TypeError, ValueError on anything else."""
        best, worst = ends
        check_range("scale", sorted((best, worst)))
        return cls(best, worst)

    @property
    def rewards(self) -> bool:
        """Whether it is one of rewards."""
        return self.best > self.worst

    @property
    def unit(self) -> float:
        """A cost of 1 in the unit of costs or rewards."""
        return abs(self.worst - self.best)

    def total(self, n: float, paid: float) -> float:
        """Return what ``n`` decisions cost or earned that cost ``paid`` in [0, n]."""
        return n * self.best + (self.worst - self.best) * paid

    def learnt(self, reward: Any) -> Scale:
        """Return the scale once something is learnt: rewards without a range of their own lie in [0, 1]."""
        return REWARDS if reward is not None and self == COSTS else self

    def paid(self, cost: Any, reward: Any) -> float:
        """Return the cost in [0, 1] of a cost or a reward, one of which is None; raises InputError."""
        if (cost is None) == (reward is None):
            raise InputError("give either cost=... or reward=..., as in learn(decision, cost=0.5)")
        if type(cost) is float and 0.0 <= cost <= 1.0 and self in (COSTS, REWARDS):
            return cost
        if reward is None:
            name, given, scale = "cost", cost, COSTS if self.rewards else self
        else:
            name, given, scale = "reward", reward, self.learnt(reward)
            if not scale.rewards:
                raise InputError("this bandit was made with a cost_range: learn costs, as in learn(decision, cost=...)")
        least, most = sorted(scale)
        wanted = f"in the range {least:g} to {most:g} (for another give it from the start, as in {name}_range=(0, 10))"
        number = real(name, _number(name, given), wanted, lambda number: least <= number <= most)
        return (number - scale.best) / (scale.worst - scale.best)


COSTS, REWARDS = Scale(0.0, 1.0), Scale(1.0, 0.0)  # where nothing else is given


def _number(name: str, value: Any) -> Any:
    if getattr(value, "shape", None) == () and hasattr(value, "item"):
        value = value.item()
    if not isinstance(value, Real):
        hint = f": convert it, as in {name}=float(...)" if isinstance(value, (str, bytes)) else ""
        raise InputError(f"{name} must be a number, got {shown(value)}, which is of type {type(value).__name__}{hint}")
    return int(value) if isinstance(value, bool) else value


def as_count(number: float) -> str:
    """Return a number without its fraction, with a plain space between thousands."""
    return spaced(number, ".0f").replace(THIN, " ")


def counted(n: float, noun: str) -> str:
    """Return a count and its noun: "1 decision", "2 003 decisions"."""
    return f"{as_count(n)} {noun}{'' if n == 1 else 's'}"
