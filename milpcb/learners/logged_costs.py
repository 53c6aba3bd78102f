"""What learners for i.i.d. rounds share: weighted costs of played actions, and the policy that looks best on them."""

from __future__ import annotations

from typing import Any, cast

import numpy as np

from milpcb.checks import whole, whole_array
from milpcb.learners.needs import require
from milpcb.protocols import Policy, ValueOracle
from milpcb.types import Floats, Ints


class LoggedCosts:
    """Estimated costs ``totals`` (m, K), summed by context row, and the policy last trained on them.

    The policy is kept as its ``labels`` (m,) of the oracle's contexts, None before the first training. ``log_size`` is
    log N, taken as at least log 2: a class of one policy is treated as a class of two.
    """

    def __init__(self, learner: str, oracle: ValueOracle) -> None:
        require(learner, oracle, "minimise")
        self.n_actions = whole("n_actions", oracle.n_actions, 2)
        self.log_size = max(oracle.log_size, float(np.log(2)))
        self.totals = np.zeros((oracle.n_contexts, self.n_actions))
        self.labels: Ints | None = None
        self._oracle = oracle

    def train(self) -> None:
        """Take a policy of least estimated cost (one minimiser); raises OracleInexact unless it is proved."""
        answer = self._oracle.minimise(self.totals)
        _ = answer.value  # raises unless the minimum is proved
        policy = cast("Policy", answer.policy)  # and then some policy attains it
        self.labels = policy.predict(self._oracle.contexts)

    def play(self, row: int, epsilon: float) -> Floats:
        """Return q (K,): uniform with probability ``epsilon``, or before any training, else the policy's action."""
        if self.labels is None:
            return np.full(self.n_actions, 1.0 / self.n_actions)
        q = np.full(self.n_actions, epsilon / self.n_actions)
        q[self.labels[row]] += 1.0 - epsilon
        return q

    def state(self) -> dict[str, Any]:
        """Return estimates and policy."""
        return {"totals": self.totals.tolist(), "labels": None if self.labels is None else self.labels.tolist()}

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from a saved state."""
        self.totals[:] = state["totals"]
        labels = state["labels"]
        self.labels = None if labels is None else whole_array("labels", labels).reshape(len(self.totals))


def luck(horizon: int, log_size: float) -> float:
    """Return sqrt(T log N / 2): what the best policy in hindsight gains, at most, on the best one in expectation.

    Bounds for i.i.d. rounds compare with the policy pi* of least expected cost R. The best in hindsight costs less, in
    expectation by at most E max_pi (T R(pi) - cost of pi), a maximum over N sums of T centred variables of range 1.
    """
    return float(np.sqrt(horizon * log_size / 2))


def deviation(second_moment: Floats | float, log_size: float, weight: Floats | float) -> Floats:
    """Return a bound on E[R(pi^)] - R(pi*) for the policy pi^ of least sum of estimates (derived for this project).

    The estimates Y_s(pi) >= 0 have means w_s R(pi) given the past, and ``weight`` is the sum of the w_s;
    ``second_moment`` bounds the sum of the E[Y_s(pi)^2]. As exp(-u) <= 1 - u + u^2 / 2 for u >= 0, the lower tail of a
    sum of such estimates is sub-Gaussian with that sum as its variance, whatever their range. So the largest of N
    shortfalls is at most sqrt(2 second_moment log N) in expectation, and the excess of pi* has mean 0.
    """
    return np.asarray(np.sqrt(2 * np.asarray(second_moment) * log_size) / weight)
