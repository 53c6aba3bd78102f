"""The optimisation problem (OP) of Agarwal, Hsu, Kale, Langford, Li & Schapire (2014), solved by coordinate descent.

A sub-distribution Q over policies (weights that sum to at most 1) enters (OP) only through its *mass* (m, K): entry (j,
a) is the weight of the policies that play a on context j, and every row sums to the weight of Q. A history enters only
through how often each context was seen and the estimated reward of each of its actions. So no policy is stored, and
neither time nor memory grows with the rounds played or with the number of policies in Q.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import cast

import numpy as np

from milpcb.protocols import Policy, ValueOracle
from milpcb.types import Floats, Ints

TOLERANCE = 1e-9  # in units of 2K: a violation below it is rounding


def smooth(mass: Floats, mu: float) -> Floats:
    """Return Q^mu (m, K): Q with the probability mu of each action mixed in, (1 - K mu) mass + mu."""
    return np.asarray((1 - mass.shape[1] * mu) * mass + mu)


def completed(mass: Floats, labels: Ints) -> Floats:
    """Return the mass (m, K) of a distribution: what Q lacks to 1 goes to the policy that plays ``labels`` (m,)."""
    full = mass.copy()
    full[np.arange(len(labels)), labels] += max(0.0, 1.0 - float(mass[0].sum()))
    return full


def best_policy(oracle: ValueOracle, costs: Floats) -> tuple[float, Ints]:
    """Return the least total cost and the labels (m,) of a policy attaining it; raises OracleInexact if not proved."""
    answer = oracle.minimise(costs)
    value = answer.value
    return value, cast("Policy", answer.policy).predict(oracle.contexts)  # what is proved is attained


@dataclass(frozen=True)
class LowVariance:
    """(OP) on one history: sum_pi Q(pi) b_pi <= 2K, and V_pi(Q) <= 2K + b_pi for every policy pi.

    V_pi(Q) is the mean over the history of 1 / Q^mu(pi(x)|x), and b_pi = slope * (best - mean reward of pi): policies
    that did well must be estimated well, those that did badly need not be. Always feasible.

    Parameters
    ----------
    counts : (m,), how often each context was seen; their sum n >= 1
    rewards : (m, K), the sum of r / p over the rounds that played the action on the context
    best : the largest mean reward of any policy, its sum of rewards over n
    mu : the least probability of an action, 0 < mu < 1/K
    slope : 1 / (psi mu) in the paper

    """

    counts: Floats
    rewards: Floats
    best: float
    mu: float
    slope: float

    @property
    def limit(self) -> float:
        """Return 2K, the right-hand side of (OP)."""
        return float(2 * self.rewards.shape[1])

    def rescaled(self, mass: Floats) -> Floats:
        """Return ``mass``, shrunk if need be so that sum_pi Q(pi) (2K + b_pi) <= 2K."""
        earned = float((mass * self.rewards).sum()) / self.counts.sum()
        spent = float(mass[0].sum()) * (self.limit + self.slope * self.best) - self.slope * earned
        return mass * (self.limit / spent) if spent > self.limit else mass

    def costs(self, q: Floats) -> Floats:
        """Return (m, K): the policy of least total cost is that with the largest V_pi - b_pi, for q = Q^mu (m, K)."""
        return np.asarray(-(self.counts[:, None] / q + self.slope * self.rewards))

    def violation(self, least_cost: float) -> float:
        """Return D = max over pi of V_pi - (2K + b_pi), from the least total ``costs``."""
        return float(-least_cost / self.counts.sum() - self.limit - self.slope * self.best)

    def weight(self, q: Floats, labels: Ints, violation: float) -> float:
        """Return (V + D) / (2 (1 - K mu) S), what the paper's step adds to the policy that plays ``labels`` (m,)."""
        inverse = 1 / q[np.arange(len(labels)), labels]
        share = self.counts / self.counts.sum()
        second = 2 * (1 - q.shape[1] * self.mu) * (share @ inverse**2)
        return float((share @ inverse + violation) / second)


def descend(problem: LowVariance, mass: Floats, oracle: ValueOracle) -> Iterator[Floats]:
    """Yield the mass (m, K) of Q before each coordinate step from ``mass``; the last one yielded solves ``problem``.

    Paper, Algorithm 2: shrink, find the policy that violates its constraint most (one oracle call), raise its weight.
    From mass 0 there are at most 4 ln(1 / (K mu)) / mu steps (as the paper's potential shows). Raises as
    ``best_policy``.
    """
    while True:
        mass = problem.rescaled(mass)
        yield mass
        q = smooth(mass, problem.mu)
        least_cost, labels = best_policy(oracle, problem.costs(q))
        violation = problem.violation(least_cost)
        if violation <= TOLERANCE * problem.limit:
            return
        mass = mass.copy()
        mass[np.arange(len(labels)), labels] += problem.weight(q, labels, violation)
