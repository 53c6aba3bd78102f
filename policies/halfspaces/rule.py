"""One halfspace: a score with real weights, and the cut from which on action 1 is played."""

from __future__ import annotations

from dataclasses import dataclass, field

from policies.names import Names
from policies.scores import ScoreRule, weighted_sum


@dataclass(frozen=True, repr=False)
class HalfspaceRule(ScoreRule):
    """Play action 1 where ``weights`` times the features add up to at least ``cut``, else action 0.

    The printed numbers are those that ``predict`` computes with. On contexts that the rule was made for no rounding
    decides; elsewhere a score within rounding of the cut, about 1e-15 of the largest term, may fall on the other side
    of it.
    """

    weights: tuple[float, ...]
    cut: float
    names: Names = field(default=Names(), compare=False)

    @property
    def _bounds(self) -> tuple[float, ...]:
        return (self.cut,)

    @property
    def _used(self) -> list[int]:
        return [i for i, weight in enumerate(self.weights) if weight]

    @property
    def _formula(self) -> list[str]:
        return [weighted_sum((self.weights[i], self.names.feature(i)) for i in self._used)]
