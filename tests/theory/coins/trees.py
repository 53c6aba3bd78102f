"""Exact means over a learner's coins on games small enough to enumerate: regret, certificate and telescoped bound.

Given its seed, a learner whose q is the law of its action is a map from histories to distributions; one that draws
noise within its calls draws it from ``Coins``. So every history of actions, draws and shown costs 0 or 1 is played once
(``tree``), and every oblivious sequence of costs weighs the histories that fit it by their chances (``means``). Nothing
is sampled: what comes out are means, up to rounding.

A chance is a fraction: what the floats of q are, exactly, over their sum, which is how actions are drawn from them
(milpcb.rng.draw_action). So a sum over histories of chances alone is not rounded at all.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from milpcb.learners import Learner
from milpcb.ledger import Minimiser
from milpcb.types import Floats, Ints
from tests.theory.coins.draws import Coins


@dataclass(eq=False)
class Node:
    """A learner after some rounds: what it has paid and proves, and what the next round may lead to.

    ``seen`` is what the visitor of ``tree`` returned.
    ``after`` holds, by action and its cost, 0 or 1, the chance of each next node where that is the action's cost.
    """

    paid: float
    certificate: float
    bound: float
    seen: Any = None
    after: dict[tuple[int, int], list[tuple[Fraction, Node]]] = field(default_factory=dict)


class Means(NamedTuple):
    """Means after one round of one sequence of costs."""

    regret: float
    certificate: float
    bound: float


def tree(
    learner: Learner,
    rows: Sequence[int],
    oracle: Minimiser | None = None,
    visit: Callable[[Learner], Any] = lambda _: None,
    coins: Coins | None = None,
) -> Node:
    """Play every history on the contexts ``rows`` and return the first node; ``visit`` is called at every node.

    The ``learner`` is before its first round; certificates are asked of ``oracle``, None for the learner's own.
    ``coins`` are those that its noise is drawn from, None where it draws none.
    """
    return _Grower(learner, list(rows), oracle, visit, coins or Coins()).node(None)


class _Grower:
    """Plays one learner, which is put back into a saved state before every call; equal states are one node."""

    def __init__(
        self, learner: Learner, rows: list[int], oracle: Minimiser | None, visit: Callable[[Learner], Any], coins: Coins
    ) -> None:
        self._learner, self._rows, self._oracle, self._visit, self._coins = learner, rows, oracle, visit, coins
        self._nodes: dict[str, Node] = {}

    def node(self, state: str | None) -> Node:
        """Return the node of a state between two rounds, None for that before the first, with all that follows it."""
        state = self._state() if state is None else state
        if state not in self._nodes:
            self._nodes[state] = self._grown(state)
        return self._nodes[state]

    def _grown(self, state: str) -> Node:
        learner = self._back(state)
        seen = self._visit(learner)
        node = Node(learner.ledger.cost, learner.certificate(self._oracle), learner.bound(), seen)
        if learner.played == len(self._rows):
            return node
        row = self._rows[learner.played]
        for (begun, action, q), chance in self._begun(state, row).items():
            for cost in (0, 1):
                after = node.after.setdefault((action, cost), [])
                after += [(chance * p, self.node(s)) for s, p in self._ended(begun, row, action, cost, q).items()]
        return node

    def _begun(self, state: str, row: int) -> dict[tuple[str, int, float], Fraction]:
        """Return the chance of each state within the round, action and its q."""

        def act() -> list[tuple[str, int, float, Fraction]]:
            q = self._back(state).act(row).tolist()
            begun, whole = self._state(), sum(map(Fraction, q))
            return [(begun, action, p, Fraction(p) / whole) for action, p in enumerate(q) if p]

        chances: defaultdict[tuple[str, int, float], Fraction] = defaultdict(Fraction)
        for chance, found in self._coins.runs(act):
            for *key, p in found:
                chances[tuple(key)] += chance * p  # type: ignore[index]
        return chances

    def _ended(self, begun: str, row: int, action: int, cost: int, q: float) -> dict[str, Fraction]:
        """Return the chance of each state after the round."""

        def learn() -> str:
            self._back(begun).learn(row, action, float(cost), q)
            return self._state()

        chances: defaultdict[str, Fraction] = defaultdict(Fraction)
        for chance, state in self._coins.runs(learn):
            chances[state] += chance
        return chances

    def _state(self) -> str:
        return json.dumps(self._learner.state())

    def _back(self, state: str) -> Learner:
        self._learner.restore(json.loads(state))
        return self._learner


def least_slacks(root: Node, rows: Sequence[int], labelings: Ints) -> Floats:
    """Return the least of mean certificate - mean regret and of mean bound - mean regret (2,).

    Over all rounds and all oblivious sequences of costs 0 and 1. NaN for the bound of a learner that has none.
    """
    every = np.array(list(product((0, 1), repeat=int(labelings.max()) + 1)))
    levels, least = [({root: 1.0}, np.zeros(len(labelings)))], np.full(2, np.inf)
    for row in rows:
        levels = [
            (_next(level, shown), totals + shown[labelings[:, row]]) for level, totals in levels for shown in every
        ]
        found = [_means(*place) for place in levels]
        slacks = [(mean.certificate - mean.regret, mean.bound - mean.regret) for mean in found]
        least = np.minimum(least, np.min(np.array(slacks), axis=0))
    return least


def _next(level: dict[Node, float], shown: Ints) -> dict[Node, float]:
    """Return the chance of each node after a round with the costs (K,)."""
    chances: defaultdict[Node, float] = defaultdict(float)
    for node, weight in level.items():
        for (action, cost), after in node.after.items():
            if cost == shown[action]:
                for chance, following in after:
                    chances[following] += weight * chance
    return chances


def _means(level: dict[Node, float], totals: Floats) -> Means:
    paid = sum(weight * node.paid for node, weight in level.items())
    certificate = sum(weight * node.certificate for node, weight in level.items())
    bound = sum(weight * node.bound for node, weight in level.items())
    return Means(paid - float(totals.min()), certificate, bound)
