"""The base class of policies that play by the range in which a score falls, with integer or real weights."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from milpcb.core.decimals import written
from milpcb.types import Floats, Ints
from policies.exports.decisions import Decision
from policies.names import Names
from policies.rule import Rule


class ScoreRule(Rule):
    """Play the action whose number is that of the ``cuts`` (K-1,), increasing, at or below the score.

    Where no feature has a weight the score is 0. Scores are added up in float64. The parts of ``leaves`` are the ranges
    of the score that are not empty, as printed.
    """

    weights: tuple[float, ...]
    cuts: tuple[float, ...]
    names: Names

    @property
    def _used(self) -> list[int]:
        """The features that the score depends on."""
        return [i for i, weight in enumerate(self.weights) if weight]

    @property
    def _formula(self) -> list[str]:
        """Formula of the score, in lines: "score = +2*age -1*smoker"."""
        terms = ((self.weights[i], self._factor(i)) for i in self._used)
        parts = (f"{'-' if weight < 0 else '+'}{written(abs(weight))}*{factor}" for weight, factor in terms)
        return [f"score = {' '.join(parts)}"]

    def _factor(self, i: int) -> str:
        return self.names.feature(i)

    def decision(self) -> Decision | None:
        return None if self._used else self.leaf_actions[0]

    def _points(self, contexts: Floats) -> Floats:
        return contexts[:, : len(self.weights)]

    @property
    def n_features(self) -> int:
        return len(self.weights)

    @property
    def leaf_actions(self) -> tuple[int, ...]:
        """The action of each range: of two the upper one first, of more from low to high."""
        cuts = self.cuts
        if not self._used:
            return (sum(cut <= 0 for cut in cuts),)
        if len(cuts) == 1:
            return (1, 0)
        return (0, *(a for a, (low, high) in enumerate(pairwise(cuts), 1) if low != high), len(cuts))

    def _leaf(self, contexts: Floats) -> Ints:
        scores = self._points(contexts) @ np.array(self.weights, dtype=float)
        actions = self.leaf_actions
        part = np.zeros(len(self.cuts) + 1, dtype=np.int64)
        part[list(actions)] = np.arange(len(actions))
        return np.asarray(part[np.searchsorted(self.cuts, scores, side="right")])

    def _range(self, action: int) -> str:
        cuts = [written(cut) for cut in self.cuts]
        if action == 0:
            return f"score < {cuts[0]}"
        return f"score >= {cuts[-1]}" if action == len(cuts) else f"{cuts[action - 1]} <= score < {cuts[action]}"

    def __str__(self) -> str:
        plays = [f"play {self.names.action(action)}" for action in self.leaf_actions]
        if not self._used:
            return plays[0]
        if len(self.cuts) == 1:
            return "\n".join([*self._formula, f"{plays[0]} if {self._range(1)}, else {plays[1]}"])
        ranges = map(self._range, self.leaf_actions)
        return "\n".join([*self._formula, *(f"{play} if {where}" for play, where in zip(plays, ranges, strict=True))])

    @property
    def _fan(self) -> tuple[str, list[str]] | None:
        return ("\n".join(self._formula), [self._range(a) for a in self.leaf_actions]) if self._used else None
