"""A rule with a score for each action: it prints as the scores, and the action of the highest one is played."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from milpcb.types import Floats, Ints
from policies.exports.decisions import AllOf, Decision, Reaches, Term, chain_of
from policies.linear.rule import Steps, points_in_words, points_lines, points_of
from policies.names import Names
from policies.rule import Rule


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

    def __post_init__(self) -> None:
        if len(self.bases) != len(self.weights) or any(len(row) != len(self.steps) for row in self.weights):
            raise ValueError("its bases, weights and steps are not one for each action and feature")

    @property
    def n_features(self) -> int:
        return len(self.steps)

    @property
    def leaf_actions(self) -> tuple[int, ...]:
        return tuple(range(len(self.bases))) if self._used else (self.bases.index(max(self.bases)),)

    def decision(self) -> Decision:
        """Return the chain of actions, each with the differences of its score to those of later actions."""
        tests: list[AllOf] = []
        actions: list[int] = []
        for action in range(len(self.bases)):
            ahead = [self._ahead(action, other) for other in range(action + 1, len(self.bases))]
            if any(part.cut > 0 for part in ahead if not part.terms):
                continue  # a later action is ahead of this one everywhere
            actions.append(action)
            if not any(part.terms for part in ahead):
                break
            tests.append(AllOf(tuple(part for part in ahead if part.terms)))
        return chain_of(tests, actions)

    def _ahead(self, action: int, other: int) -> Reaches:
        pairs = zip(self.weights[action], self.weights[other], self.steps, strict=True)
        terms = [Term(w - v, i, steps) for i, (w, v, steps) in enumerate(pairs) if w != v and steps != ()]
        return Reaches(tuple(terms), self.bases[other] - self.bases[action])

    def _leaf(self, contexts: Floats) -> Ints:
        points = points_of(contexts[:, : len(self.steps)], self.steps)
        scores = points @ np.array(self.weights, dtype=float).T + np.array(self.bases)
        return scores.argmax(axis=1) if self._used else np.zeros(len(contexts), dtype=np.int64)

    @property
    def _used(self) -> list[int]:
        """The features that the action depends on."""
        columns = enumerate(zip(*self.weights, strict=True))
        return [i for i, column in columns if len(set(column)) > 1 and self.steps[i] != ()]

    @property
    def _formulas(self) -> list[str]:
        lines = []
        for action, (base, weights) in enumerate(zip(self.bases, self.weights, strict=True)):
            terms = [f"{weights[i]:+d}*{points_in_words(self.names, self.steps, i)}" for i in self._used if weights[i]]
            lines.append(" ".join([f"score of {self.names.action(action)} = {base}", *terms]))
        return [*lines, *points_lines(self.names, self.steps, self._used)]

    def __str__(self) -> str:
        if not self._used:
            return f"play {self.names.action(self.leaf_actions[0])}"
        return "\n".join([*self._formulas, "play the action of the highest score, of equal scores the first"])

    @property
    def _fan(self) -> tuple[str, list[str]] | None:
        tests = [f"{self.names.action(action)} has the highest" for action in self.leaf_actions]
        return ("\n".join(self._formulas), tests) if self._used else None


def bases_of(scores: Floats, labels: Ints) -> tuple[int, ...]:
    """Return the least bases (K,), none negative, for which ``scores`` (g, K) are highest at the ``labels`` (g,)."""
    K = scores.shape[1]
    ahead = np.full((K, K), -np.inf)  # of a base of one action to that of another, at the least
    for action in np.unique(labels):
        own = scores[labels == action]
        ahead[action] = (own - own[:, [action]]).max(axis=0) + (action > np.arange(K))
    bases = np.zeros(K)
    for _ in range(K):
        bases = np.maximum(bases, (ahead + bases).max(axis=1))
    return tuple(bases.astype(np.int64).tolist())
