"""A rule with a score for each action: it prints as the scores, and the action of the highest one is played."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from milpcb.types import Floats, Ints
from policies.drawing import chain, fan
from policies.exports import AllOf, Decision, Reaches, Term, chain_of
from policies.leaves import LeafSummary
from policies.linear.rule import Steps, points_lines, points_of, points_text
from policies.names import Names
from policies.rule import Rule

if TYPE_CHECKING:
    import networkx as nx


@dataclass(frozen=True, repr=False)
class HighestScore(Rule):
    """Play the action of the highest score, of equal scores the one of the lowest number.

    The score of action a is ``bases[a]`` and the sum of ``weights[a]`` times points, see LinearRule for ``steps``. The
    parts of ``leaves`` are the actions.
    """

    weights: tuple[tuple[int, ...], ...]
    bases: tuple[int, ...]
    steps: Steps
    names: Names = field(default=Names(), compare=False)

    @classmethod
    def _from_plain(cls, data: dict[str, Any], names: Names) -> Self:
        rule = super()._from_plain(data, names)
        if len(rule.bases) != len(rule.weights) or any(len(row) != len(rule.steps) for row in rule.weights):
            raise ValueError("its bases, weights and steps are not one for each action and feature")
        return rule

    @property
    def n_features(self) -> int:
        """One feature a weight."""
        return len(self.steps)

    @property
    def leaf_actions(self) -> tuple[int, ...]:
        """All actions; where no feature has a weight, the one of the highest base."""
        return tuple(range(len(self.bases))) if self._used else (self.bases.index(max(self.bases)),)

    def decision(self) -> Decision:
        """Return the chain of actions, each with the differences of its score to those of later actions."""
        *earlier, last = range(len(self.bases))
        if not self._used:
            return self.leaf_actions[0]
        reached = {a: [self._ahead(a, b) for b in range(a + 1, len(self.bases))] for a in earlier}
        possible = {a: parts for a, parts in reached.items() if all(part.terms or part.cut <= 0 for part in parts)}
        tests = {a: tuple(part for part in parts if part.terms) for a, parts in possible.items()}
        always = [a for a, parts in tests.items() if not parts]  # whoever is ahead of all later ones everywhere
        actions = [a for a in tests if not always or a < always[0]]
        return chain_of([AllOf(tests[a]) for a in actions], [*actions, always[0] if always else last])

    def _ahead(self, action: int, other: int) -> Reaches:
        """Return that the score of an action is at least that of a later one."""
        pairs = zip(self.weights[action], self.weights[other], self.steps, strict=True)
        terms = [Term(w - v, i, steps) for i, (w, v, steps) in enumerate(pairs) if w != v and steps != ()]
        return Reaches(tuple(terms), self.bases[other] - self.bases[action])

    def _leaf(self, contexts: Floats) -> Ints:
        points = points_of(contexts[:, : len(self.steps)], self.steps)
        scores = points @ np.array(self.weights, dtype=float).T + np.array(self.bases)
        return scores.argmax(axis=1) if self._used else np.zeros(len(contexts), dtype=np.int64)

    @property
    def _used(self) -> list[int]:
        """The features whose weights are not the same for all actions."""
        columns = enumerate(zip(*self.weights, strict=True))
        return [i for i, column in columns if len(set(column)) > 1 and self.steps[i] != ()]

    @property
    def _formulas(self) -> list[str]:
        """The scores, and what their points are, in lines."""
        lines = []
        for action, (base, weights) in enumerate(zip(self.bases, self.weights, strict=True)):
            parts = [f"{weights[i]:+d}*{points_text(self.names, self.steps, i)}" for i in self._used if weights[i]]
            lines.append(" ".join([f"score of {self.names.action(action)} = {base}", *parts]))
        return [*lines, *points_lines(self.names, self.steps, self._used)]

    def __str__(self) -> str:
        if not self._used:
            return f"play {self.names.action(self.leaf_actions[0])}"
        return "\n".join([*self._formulas, "play the action of the highest score, of equal scores the first"])

    def graph(self, leaves: Sequence[LeafSummary] | None = None) -> nx.DiGraph:
        """Return the scores with an edge to each action; see Rule.graph."""
        if not self._used:
            return chain((), self.leaf_actions, self.names, leaves)
        tests = [f"{self.names.action(action)} has the highest" for action in self.leaf_actions]
        return fan("\n".join(self._formulas), tests, self.leaf_actions, self.names, leaves)


def bases_of(scores: Floats, labels: Ints) -> Ints:
    """Return bases (K,), none negative, with which ``scores`` (g, K) of integers are highest at the ``labels`` (g,).

    Of an action that is played it is the least that puts it ahead of the others where it is played; any other action
    is just behind everywhere.
    """
    K = scores.shape[1]
    bases, played = np.zeros(K), np.unique(labels)
    own = scores[np.arange(len(labels)), labels]
    behind = scores - own[:, None]
    for _ in range(K):
        for a in played:
            for b in played:
                least = bases[b] + behind[labels == a, b].max() + (a > b)
                bases[a] = max(bases[a], least) if a != b else bases[a]
    others = np.setdiff1d(np.arange(K), played)
    bases[others] = ((own + bases[labels])[:, None] - scores).min(axis=0)[others] - 1
    return np.asarray((bases - bases.min()).astype(np.int64))
