"""A rule with a score for each action: it prints as the scores, and the action of the highest one is played."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import permutations, product
from math import factorial, prod
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from milpcb.types import Floats, Ints
from policies.drawing import LeafSummary, drawn, fan
from policies.exports.decisions import AllOf, Decision, Reaches, Term, chain_of
from policies.linear.labelings import Labels, ScoreKind, Shape, Words, product_of
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
        return len(self.steps)

    @property
    def leaf_actions(self) -> tuple[int, ...]:
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
        pairs = zip(self.weights[action], self.weights[other], self.steps, strict=True)
        terms = [Term(w - v, i, steps) for i, (w, v, steps) in enumerate(pairs) if w != v and steps != ()]
        return Reaches(tuple(terms), self.bases[other] - self.bases[action])

    def _leaf(self, contexts: Floats) -> Ints:
        points = points_of(contexts[:, : len(self.steps)], self.steps)
        scores = points @ np.array(self.weights, dtype=float).T + np.array(self.bases)
        return scores.argmax(axis=1) if self._used else np.zeros(len(contexts), dtype=np.int64)

    @property
    def _used(self) -> list[int]:
        columns = enumerate(zip(*self.weights, strict=True))
        return [i for i, column in columns if len(set(column)) > 1 and self.steps[i] != ()]

    @property
    def _formulas(self) -> list[str]:
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
        if not self._used:
            return drawn(self.leaf_actions[0], self.names, leaves)
        tests = [f"{self.names.action(action)} has the highest" for action in self.leaf_actions]
        return fan("\n".join(self._formulas), tests, self.leaf_actions, self.names, leaves)


def bases_of(scores: Floats, labels: Ints) -> Ints:
    """Return the least bases (K,), none negative, for which ``scores`` (g, K) are highest at the ``labels`` (g,)."""
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


# The weights that make all that larger ones make of 0, 1, ... columns of two values, of three for three actions alone.
# Of two columns, weights of 1 make every labeling but those that are alike on either diagonal and differ between them,
# which no weights make. Of three columns and three actions weights of 2 make 2 937 labelings: for each of the other
# 3 624 real weights and bases have no solution (scipy's linprog).
_ALL_MADE_BY = (0, 1, 1, 2)
_NEVER = 10**6  # below every score by more than scores differ: an action that is not played


class EachScore(ScoreKind):
    """A score for each action, of which the highest plays: the labelings of a grid by the highest of K integer scores.

    A common shift of the weights of a feature changes no label, so of all alike the smallest are taken. Bases, what a
    score begins with, are any integers. Those that give a labeling form a lattice, and in its least point the base of
    an action that is played is at the least that puts it ahead of an action placed before it at some pattern, action 0
    at 0: so all labelings come from placing the actions one after the other, in every order.
    """

    slower = 3

    @property
    def made_by(self) -> tuple[int, ...]:
        return _ALL_MADE_BY if self.n_actions <= 3 else _ALL_MADE_BY[:3]

    def labels_to_build(self, shapes: Sequence[Shape]) -> int:
        patterns = prod(len(shape.grid) for shape in shapes)
        vectors = prod(n_vectors(shape.bound, self.n_actions) for shape in shapes)
        return vectors * patterns * n_placements(patterns, self.n_actions)

    def weights(self, bounds: Sequence[int]) -> Ints:
        vectors = [feature_weights(bound, self.n_actions) for bound in bounds]
        chosen = product_of([range(len(each)) for each in vectors])
        columns = [each[numbers] for each, numbers in zip(vectors, chosen.T, strict=True)]
        every = np.array(columns, dtype=np.int64).reshape(len(vectors), len(chosen), self.n_actions).transpose(1, 0, 2)
        size = np.abs(every).sum(axis=(1, 2))
        return np.asarray(every[np.lexsort((size, every.any(axis=2).sum(axis=1)))])

    def keys(self, points: Ints, weights: Ints, words: Words) -> tuple[Ints, Ints]:
        scores = np.einsum("ps,nsk->npk", points, weights).astype(np.int32)
        labels = highest(scores, placed(scores))
        return words.keys(labels.reshape(-1, len(points))), np.repeat(np.arange(len(weights)), labels.shape[1])

    def rule(self, points: Floats, weights: Ints, labels: Ints, steps: Steps, names: Names) -> HighestScore:
        bases = bases_of(points @ weights, labels)
        return HighestScore(tuple(map(tuple, weights.T.tolist())), tuple(bases.tolist()), steps, names)


def n_vectors(bound: int, n_actions: int) -> int:
    """Return how many weights a feature may have for K actions in [-bound, bound], those alike but for a shift once."""
    return int((2 * bound + 1) ** n_actions - (2 * bound) ** n_actions)


def n_placements(n_patterns: int, n_actions: int) -> int:
    """Return how many bases are tried for given weights: no fewer than there are labelings."""
    return factorial(n_actions - 1) * prod(k * n_patterns + 1 for k in range(1, n_actions))


def highest(scores: Ints, bases: Ints) -> Labels:
    """Return the labels (n, c, P): the first action of the highest of ``scores`` (n, P, K) with ``bases`` (n, c, K)."""
    best = scores[:, None, :, 0] + bases[:, :, None, 0]
    labels = np.zeros(best.shape, dtype=np.int8)
    for action in range(1, scores.shape[2]):
        own = scores[:, None, :, action] + bases[:, :, None, action]
        labels[own > best] = action
        best = np.maximum(best, own)
    return labels


def placed(scores: Ints) -> Ints:
    """Return bases (n, c, K) that give all labelings of patterns with these ``scores`` (n, P, K); see above."""
    return np.concatenate([_in_order(scores, order) for order in permutations(range(1, scores.shape[2]))], axis=1)


def _in_order(scores: Ints, order: Sequence[int]) -> Ints:
    n, _, K = scores.shape
    bases = np.full((n, 1, K), -_NEVER, dtype=scores.dtype)
    bases[:, :, 0] = 0
    before = [0]
    for action in order:
        ahead = [scores[:, :, b] - scores[:, :, action] + (action > b) for b in before]  # (n, P)
        options = [(bases[:, :, [b]] + least[:, None]).reshape(n, -1) for b, least in zip(before, ahead, strict=True)]
        again = [bases, *(np.repeat(bases, scores.shape[1], axis=1) for _ in before)]
        bases = np.concatenate(again, axis=1)
        bases[:, :, action] = np.concatenate([np.full(again[0].shape[:2], -_NEVER), *options], axis=1)
        before.append(action)
    return bases


def feature_weights(bound: int, n_actions: int) -> Ints:
    """Return the weights (n, K) of one feature, 0 first, of those alike but for a shift the smallest."""
    box = sorted(product(range(-bound, bound + 1), repeat=n_actions), key=lambda w: (sum(map(abs, w)), w))
    smallest: dict[tuple[int, ...], tuple[int, ...]] = {}
    for vector in box:
        smallest.setdefault(tuple(w - vector[0] for w in vector), vector)
    return np.array(list(smallest.values()), dtype=np.int64)
