"""How much of a large log is resampled: the rows that noise is drawn on, and the number of draws.

The noise of all policies is a process whose covariances are means over rows. A sample of m of n rows estimates them as
well as anything that is done with 1 000 draws; its noise is sqrt(n / m) times as large, which is divided out. Side
constraints on the sample are widened by four standard errors of a sampled total, so that no policy that keeps them on
all rows is lost: the maximum is over a larger class, which makes bounds a little wide, never too narrow.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from milpcb.constraints import Constraint, LabelConstraint, bind_for
from milpcb.offline.log import take_rows
from milpcb.oracles import open_oracle
from milpcb.oracles.base import Oracle
from milpcb.protocols import Opened, PolicyClass
from milpcb.types import Floats, Ints

MOST_ROWS = 10_000  # that a draw goes through
WORK = 1e9  # of all draws: rows times actions times pairs of features; a quarter of a minute on one core


@dataclass(frozen=True, eq=False)
class Sampled:
    """The ``rows`` (m,) of ``n`` that noise is drawn on, the ``oracle`` on them, and their ``members`` of groups."""

    rows: Ints
    oracle: Oracle
    members: Ints | None
    n: int

    @property
    def all(self) -> bool:
        """Whether all rows are there."""
        return len(self.rows) == self.n

    def shares(self, shares: Floats) -> Floats:
        """Return the shares (m,) of the rows of the sample, with sum 1, from those (n,) of all."""
        own = shares[self.rows]
        return np.asarray(own / own.sum())

    def scaled(self, table: Floats, shares: Floats) -> Floats:
        """Return ``table`` (m, K) of these rows times their shares, brought to the noise of all rows."""
        return np.asarray((np.sqrt(len(self.rows) / self.n) * self.shares(shares))[:, None] * table)


def sampled_rows(
    policies: PolicyClass | Opened,
    contexts: Any,
    oracle: Oracle,
    constraints: Sequence[Constraint],
    kind: str,
    group: Ints | None,
    rng: np.random.Generator,
) -> Sampled:
    """Return the rows to draw noise on, all where these are few enough; rows of a group stay together."""
    n, size = oracle.n_contexts, MOST_ROWS
    members = None if group is None else np.unique(group, return_inverse=True)[1]
    if n <= size or isinstance(policies, Opened):
        return Sampled(np.arange(n), oracle, members, n)
    rows = _some(n, size, members, rng)
    own = None if members is None else np.unique(members[rows], return_inverse=True)[1]
    kept = [_widened(rule, rows, n, oracle.n_actions) for rule in bind_for(constraints, policies, contexts)]
    return Sampled(rows, open_oracle(policies, take_rows(contexts, rows), kind=kind, constraints=kept), own, n)


def affordable(asked: int, least: int, n: int, n_actions: int, n_features: int) -> int:
    """Return how many searches on ``n`` rows are made of those ``asked`` for: fewer, but ``least``, where each is long.

    It goes by sizes alone, so that the same log gives the same numbers on every machine.
    """
    return max(least, min(asked, int(WORK / (n * n_actions * max(1.0, n_features**2 / 2)))))


def _some(n: int, size: int, members: Ints | None, rng: np.random.Generator) -> Ints:
    if members is None:
        return np.sort(rng.choice(n, size, replace=False))
    order = rng.permutation(int(members.max()) + 1)
    reached = np.bincount(members)[order].cumsum()
    taken = np.zeros(len(order), bool)
    taken[order[: max(2, int((reached <= size).sum()))]] = True
    return np.flatnonzero(taken[members])


def _widened(rule: LabelConstraint, rows: Ints, n: int, n_actions: int) -> LabelConstraint:
    """Return the rule on some rows: what it forbids outright as it is, others wider by 4 standard errors."""
    weights = rule.matrix(n, n_actions)
    if rule.upper <= 0 and weights.min() >= 0:
        return replace(rule, weights=weights[rows])
    spread = 4 * n * np.sqrt(np.square(weights).max(axis=1).mean() / len(rows))
    return replace(rule, weights=weights[rows] * (n / len(rows)), upper=rule.upper + float(spread))
