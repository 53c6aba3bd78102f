"""Exact means over a learner's coins on games small enough to enumerate: regret, certificate and telescoped bound.

A learner whose q is the law of its action is, given its seed, a map from histories to distributions. So every history of
actions and shown costs 0 or 1 is played once (``tree``), and every oblivious sequence of costs weighs the histories that fit it
by the product of their probabilities (``means``). Nothing is sampled: what comes out are means, up to rounding.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import NamedTuple

import numpy as np

from milpcb.ledger import Minimiser
from milpcb.protocols import Learner
from milpcb.types import Floats, Ints


@dataclass
class Node:
    """A learner after some rounds: what it has paid and proves, and, before the last round, its q and what may follow."""

    paid: float
    certificate: float
    bound: float
    q: list[float] = field(default_factory=list)
    after: dict[tuple[int, int], Node] = field(default_factory=dict)  # by action and its cost, 0 or 1


class Means(NamedTuple):
    """Means after one round of one sequence of costs."""

    regret: float
    certificate: float
    bound: float


def tree(
    make: Callable[[], Learner],
    rows: Sequence[int],
    oracle: Minimiser | None = None,
    visit: Callable[[Learner], None] = lambda _: None,
) -> Node:
    """Play every history on the contexts ``rows`` and return the first node; ``visit`` sees the learner at every node.

    ``make`` returns the learner before its first round; certificates are asked of ``oracle``, None for the learner's own.
    """
    return _grow(make, make(), list(rows), oracle, visit)


def _grow(
    make: Callable[[], Learner],
    learner: Learner,
    rows: list[int],
    oracle: Minimiser | None,
    visit: Callable[[Learner], None],
) -> Node:
    visit(learner)
    node = Node(learner.ledger.cost, learner.certificate(oracle), learner.bound())
    if not rows:
        return node
    state = learner.state()
    node.q = learner.act(rows[0]).tolist()
    for action, cost in product(np.flatnonzero(node.q).tolist(), (0, 1)):
        child = make()
        child.restore(state)
        child.act(rows[0])
        child.learn(rows[0], action, float(cost), node.q[action])
        node.after[action, cost] = _grow(make, child, rows[1:], oracle, visit)
    return node


def means(root: Node, rows: Sequence[int], costs: Ints, labelings: Ints) -> Iterator[Means]:
    """Yield the means after each round of the costs (T, K), for the policies (N, m) that regret compares with."""
    level, totals = [(1.0, root)], np.zeros(len(labelings))
    for row, shown in zip(rows, costs, strict=True):
        level = [
            (weight * node.q[action], after)
            for weight, node in level
            for (action, cost), after in node.after.items()
            if cost == shown[action]
        ]
        totals += shown[labelings[:, row]]
        paid, certificate, bound = (
            sum(weight * value for weight, value in column)
            for column in zip(*([(w, n.paid), (w, n.certificate), (w, n.bound)] for w, n in level), strict=True)
        )
        yield Means(paid - totals.min(), certificate, bound)


def least_slacks(root: Node, rows: Sequence[int], labelings: Ints) -> Floats:
    """Return the least of mean certificate - mean regret and of mean bound - mean regret (2,).

    Over all rounds and all oblivious sequences of costs 0 and 1. NaN for the bound of a learner that has none.
    """
    T, K = len(rows), len(root.q)
    slacks = [
        (found.certificate - found.regret, found.bound - found.regret)
        for flat in product((0, 1), repeat=T * K)
        for found in means(root, rows, np.array(flat).reshape(T, K), labelings)
    ]
    return np.asarray(np.min(np.array(slacks), axis=0), dtype=np.float64)
