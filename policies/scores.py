"""Policies that add up a score and play by the range it falls in: what those with integer and with real weights share."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from milpcb.types import Floats, Ints
from policies.decimals import written
from policies.drawing import leaf_label
from policies.leaves import LeafSummary
from policies.names import Names
from policies.rule import Rule

if TYPE_CHECKING:
    import networkx as nx


class ScoreRule(Rule):
    """Play the action whose number is that of the ``cuts`` (K-1,), increasing, at or below the score.

    Where no feature has a weight the score is 0. Scores are added up in float64. The parts of ``leaves`` are the ranges of
    the score that are not empty, as printed.
    """

    weights: tuple[float, ...]
    names: Names

    @property
    @abstractmethod
    def _bounds(self) -> tuple[float, ...]:
        """The cuts."""

    @property
    @abstractmethod
    def _formula(self) -> list[str]:
        """What the score is, in lines; [] where it is 0 whatever the context."""

    def _points(self, contexts: Floats) -> Floats:
        """Return what the weights multiply, (n, d)."""
        return contexts[:, : len(self.weights)]

    @property
    def n_features(self) -> int:
        """One feature a weight."""
        return len(self.weights)

    @property
    def leaf_actions(self) -> tuple[int, ...]:
        """The action of each range."""
        return tuple(action for action, _ in self._ranges)

    def _leaf(self, contexts: Floats) -> Ints:
        scores = self._points(contexts) @ np.array(self.weights, dtype=float)
        part = np.zeros(len(self._bounds) + 1, dtype=np.int64)
        part[list(self.leaf_actions)] = np.arange(len(self.leaf_actions))
        return np.asarray(part[np.searchsorted(self._bounds, scores, side="right")])

    @property
    def _ranges(self) -> list[tuple[int, str]]:
        """The actions that are played, and at which scores."""
        if not self._formula:
            return [(sum(cut <= 0 for cut in self._bounds), "")]
        cuts = [written(cut) for cut in self._bounds]
        lowest, highest = (0, f"score < {cuts[0]}"), (len(cuts), f"score >= {cuts[-1]}")
        if len(cuts) == 1:
            return [highest, lowest]
        between = [(a, f"{low} <= score < {high}") for a, (low, high) in enumerate(pairwise(cuts), 1) if low != high]
        return [lowest, *between, highest]

    def __str__(self) -> str:
        plays = [(f"play {self.names.action(action)}", where) for action, where in self._ranges]
        if not self._formula:
            return plays[0][0]
        if len(self._bounds) == 1:
            (high, where), (low, _) = plays
            return "\n".join([*self._formula, f"{high} if {where}, else {low}"])
        return "\n".join([*self._formula, *(f"{play} if {where}" for play, where in plays)])

    def graph(self, leaves: Sequence[LeafSummary] | None = None) -> nx.DiGraph:
        """Return the score with an edge for each range, to the leaf that is played there; see Rule.graph."""
        import networkx as nx

        graph = nx.DiGraph()
        if self._formula:
            graph.add_node(0, label="\n".join(self._formula))
        for part, (action, where) in enumerate(self._ranges):
            leaf = part + 1 if self._formula else 0
            graph.add_node(leaf, label=leaf_label(part, action, self.names, leaves), action=action)
            if where:
                graph.add_edge(0, leaf, label=where)
        return graph


def weighted_sum(terms: Iterable[tuple[float, str]]) -> str:
    """Return weights and what they multiply as one line: "score = +2*age -1*smoker"."""
    parts = (f"{'-' if weight < 0 else '+'}{written(abs(weight))}*{name}" for weight, name in terms)
    return f"score = {' '.join(parts)}"
