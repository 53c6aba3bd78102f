"""The evidence of a trial against all rivals of the best-looking policy at once, by one query a stake.

The costs of two policies that play alike nearly everywhere differ little in nearly every row, so their difference is
known long before the value of either. It is tested by betting (statement T1 of milpcb/theory/trials.md): with e_s(a) an
unbiased estimate of the cost of action a in row s, X_s = e_s(pi(x_s)) - e_s(p(x_s)), and a stake l_s >= 0 that is known
before the row, the product of 1 + l_s (X_s + eps) has a mean of at most 1 if pi is better than p by eps or more. Its
logarithm is a sum over entries (context, action). So whether it is above N G / delta for all rivals pi at once, N the
number of leaders p and G that of stakes, is one query a stake. Where one stake does not refute all, those that it
leaves are listed, and each is refuted by any stake.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import log, log1p
from typing import Any, NamedTuple

import numpy as np

from milpcb.oracles.near_best import NearBest
from milpcb.types import Floats, FoundPolicy, Ints

STAKES = tuple(2.0**-step for step in range(7))
INSIDE = 1 - 1e-6  # of the greatest stake there may be, so that no factor is 0
CLOSE = 0.01  # how close the least eps that is refuted is found, as a part of it
MOST = 1000  # rivals that further stakes are tried on


@dataclass(frozen=True, eq=False)
class TrialRows:
    """Rows of a trial as the test reads them; costs are in [0, 1], and nothing of a later row enters an earlier one.

    Attributes
    ----------
    context : (n,) number of the context of each row
    action, cost, chance : (n,) what was done, what it cost, and with which probability it was done
    floor : (n,) the least probability of any action on any context, known before the row
    expected : (n, K) what each action was expected to cost there, in [0, 1]
    reach : (n,) known before the row: at most this is expected of a cost, or at least 1 less this, whichever is more

    """

    context: Ints
    action: Ints
    cost: Floats
    chance: Floats
    floor: Floats
    expected: Floats
    reach: Floats

    @classmethod
    def of(
        cls, context: Ints, action: Ints, cost: Floats, chance: Floats, floor: Floats, K: int, expected: Any = None
    ) -> TrialRows:
        """Return the rows; without anything ``expected``, that is the mean cost of each action in the rows before."""
        if expected is None:
            expected = means_before(action, cost, K)
            reach = np.maximum(expected.max(axis=1), 1 - expected.min(axis=1))
        else:
            reach = np.ones(len(cost))
        return cls(context, action, cost, chance, floor, expected, reach)

    def first(self, n: int) -> TrialRows:
        """Return the first ``n`` rows."""
        return TrialRows(*(column[:n] for column in vars(self).values()))

    @property
    def estimates(self) -> Floats:
        """(n, K) unbiased estimates of all costs."""
        each = np.arange(len(self.cost))
        table = self.expected.copy()
        table[each, self.action] += (self.cost - self.expected[each, self.action]) / self.chance
        return table


def means_before(action: Ints, cost: Floats, K: int) -> Floats:
    """Return the mean cost (n, K) of each action in the rows before each, with half a row of each cost 0 and 1 more."""
    taken = action[:, None] == np.arange(K)
    paid = taken * cost[:, None]
    return np.asarray((np.cumsum(paid, axis=0) - paid + 0.5) / (np.cumsum(taken, axis=0) - taken + 1.0))


class Evidence(NamedTuple):
    """By stake (G of each): what rivals gain by (context, action), what all of them have, and what the least has."""

    tables: list[Floats]
    sure: Floats
    least: Floats


class Refutation:
    """The evidence of rows against all rivals of their leader, by stake."""

    def __init__(self, oracle: Any, log_size: float, rows: TrialRows, confidence: float) -> None:
        """Take an oracle whose contexts the rows are on, for a class of exp(log_size) policies."""
        self._oracle, self._rows = oracle, rows
        self.enough = log_size + log(len(STAKES)) - log1p(-confidence)
        most = INSIDE * rows.floor / rows.reach
        self._stakes = [
            np.minimum(stake, most)[:, None] for stake in STAKES if stake == STAKES[-1] or stake / 2 < most.max()
        ]
        estimates = rows.estimates
        self.policy: FoundPolicy = oracle.minimise(self._table(estimates)).policy
        played = np.asarray(self.policy.predict(oracle.contexts))[rows.context]
        self._more = estimates - estimates[np.arange(len(played)), played][:, None]

    def refutes(self, eps: float) -> bool:
        """Return whether every policy is refuted, by any stake, that would be better than the leader by ``eps``."""
        evidence = self._evidence(eps)
        if evidence.least.max() >= self.enough:
            return True
        if any(self._holds(evidence, self._oracle.minimise(table).policy) for table in evidence.tables):
            return False
        near = self._near(evidence)
        return (
            near.count <= MOST and near.exact and not any(self._holds(evidence, policy) for policy in near.policies())
        )

    def least(self) -> float:
        """Return the least eps for which that is so, or little more; infinite where there is none up to 1."""
        low, high = 0.0, 1.0
        if not self.refutes(high):
            return np.inf
        while high - low > CLOSE * high:
            middle = (low + high) / 2 if low else high / 4
            low, high = (low, middle) if self.refutes(middle) else (middle, high)
        return high

    def rivals(self, eps: float) -> Iterator[FoundPolicy]:
        """Yield the policies that no stake refutes, those with the least evidence against them first."""
        evidence = self._evidence(eps)
        yield from (policy for policy in self._near(evidence).policies() if self._holds(evidence, policy))

    def _evidence(self, eps: float) -> Evidence:
        alike = [np.log1p(stake * eps) for stake in self._stakes]
        factors = zip(self._stakes, alike, strict=True)
        tables = [self._table(np.log1p(stake * (self._more + eps)) - same) for stake, same in factors]
        sure = np.array([same.sum() for same in alike])
        return Evidence(tables, sure, sure + [self._oracle.value(table) for table in tables])

    def _near(self, evidence: Evidence) -> NearBest:
        """Return the policies that the stake does not refute by which most is known of all."""
        best = int(evidence.least.argmax())
        near: NearBest = self._oracle.near_best(
            evidence.tables[best], max(0.0, self.enough - float(evidence.least[best]))
        )
        return near

    def _holds(self, evidence: Evidence, policy: FoundPolicy) -> bool:
        """Return whether no stake refutes a policy."""
        played = np.asarray(policy.predict(self._oracle.contexts))
        each = np.arange(len(played))
        totals = (table[each, played].sum() + sure for table, sure in zip(evidence.tables, evidence.sure, strict=True))
        return all(total < self.enough for total in totals)

    def _table(self, by_row: Floats) -> Floats:
        """Return the sums (m, K) by context of numbers (n, K) by row."""
        m = self._oracle.n_contexts
        return np.stack([np.bincount(self._rows.context, column, m) for column in by_row.T], axis=1)
