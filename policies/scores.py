"""The base class of policies that play by the range in which a score falls, with integer or real weights."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from milpcb.core.decimals import written
from milpcb.types import Floats, Ints
from policies.drawing import LeafSummary, drawn, fan
from policies.names import Names
from policies.rule import Rule

if TYPE_CHECKING:
    import networkx as nx


class ScoreRule(Rule):
    """Play the action whose number is that of the ``cuts`` (K-1,), increasing, at or below the score.

    Where no feature has a weight the score is 0. Scores are added up in float64. The parts of ``leaves`` are the ranges
    of the score that are not empty, as printed.
    """

    weights: tuple[float, ...]
    names: Names

    @property
    @abstractmethod
    def _bounds(self) -> tuple[float, ...]:
        """The cuts."""

    @property
    @abstractmethod
    def _used(self) -> list[int]:
        """The features that the score depends on."""

    @property
    @abstractmethod
    def _formula(self) -> list[str]:
        """Formula of the score, in lines."""

    def _points(self, contexts: Floats) -> Floats:
        return contexts[:, : len(self.weights)]

    @property
    def n_features(self) -> int:
        return len(self.weights)

    @property
    def leaf_actions(self) -> tuple[int, ...]:
        """The action of each range: of two the upper one first, of more from low to high."""
        cuts = self._bounds
        if not self._used:
            return (sum(cut <= 0 for cut in cuts),)
        if len(cuts) == 1:
            return (1, 0)
        return (0, *(a for a, (low, high) in enumerate(pairwise(cuts), 1) if low != high), len(cuts))

    def _leaf(self, contexts: Floats) -> Ints:
        scores = self._points(contexts) @ np.array(self.weights, dtype=float)
        actions = self.leaf_actions
        part = np.zeros(len(self._bounds) + 1, dtype=np.int64)
        part[list(actions)] = np.arange(len(actions))
        return np.asarray(part[np.searchsorted(self._bounds, scores, side="right")])

    def _range(self, action: int) -> str:
        cuts = [written(cut) for cut in self._bounds]
        if action == 0:
            return f"score < {cuts[0]}"
        return f"score >= {cuts[-1]}" if action == len(cuts) else f"{cuts[action - 1]} <= score < {cuts[action]}"

    def __str__(self) -> str:
        plays = [f"play {self.names.action(action)}" for action in self.leaf_actions]
        if not self._used:
            return plays[0]
        if len(self._bounds) == 1:
            return "\n".join([*self._formula, f"{plays[0]} if {self._range(1)}, else {plays[1]}"])
        ranges = map(self._range, self.leaf_actions)
        return "\n".join([*self._formula, *(f"{play} if {where}" for play, where in zip(plays, ranges, strict=True))])

    def graph(self, leaves: Sequence[LeafSummary] | None = None) -> nx.DiGraph:
        if not self._used:
            return drawn(self.leaf_actions[0], self.names, leaves)
        ranges = [self._range(action) for action in self.leaf_actions]
        return fan("\n".join(self._formula), ranges, self.leaf_actions, self.names, leaves)


def weighted_sum(terms: Iterable[tuple[float, str]]) -> str:
    """Return weights and what they multiply as one line: "score = +2*age -1*smoker"."""
    parts = (f"{'-' if weight < 0 else '+'}{written(abs(weight))}*{name}" for weight, name in terms)
    return f"score = {' '.join(parts)}"
