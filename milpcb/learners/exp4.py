"""Exp4 (Auer, Cesa-Bianchi, Freund & Schapire 2002) over a class that may be exponentially large, without listing it."""

from __future__ import annotations

from typing import Any, Literal, Protocol, get_args

import numpy as np

from milpcb.checks import choice, real, whole
from milpcb.learners.needs import require
from milpcb.protocols import Learner, ValueOracle
from milpcb.types import Floats

Rate = Literal["fixed", "anytime", "adaptive"]
# The adaptive rate stays within the anytime rate and this multiple of it.
BOLDEST = 2.0


class WeighingOracle(ValueOracle, Protocol):
    """An oracle with action weights, and the log of the number of derivations they sum over."""

    @property
    def log_derivations(self) -> float:
        """Natural log of that number."""
        ...


class Exp4(Learner):
    """Exponential weights over all policies, fed with importance-weighted costs.

    Setting: nothing is assumed, contexts and costs may both be adversarial (oblivious). Estimates are (c / q) e_y; as
    costs are never negative no exploration needs to be mixed in. The oracle sums the weights of all policies by the
    action they play (``action_weights``): kind "enumeration" over its list, kind "search" by the recursion that finds its
    minimum, with (log-sum-exp, +) in the place of (min, +). So a round costs one pass of that recursion, whatever T and
    N are. Where a class factorises like this (trees, threshold rules, rule lists, boxes, short lists) the guarantee is below
    that of every learner that only asks for minima; those are for classes that do not: linear rules by branch and bound,
    monotone rules, any class under side constraints, unless it is short enough to list.

    With N derivations (a policy that can be written in several ways weighs as often: the prior is uniform over
    derivations), rates that never increase, and v_t = c_t^2 / q_t(y_t), the mean over q_t of the squared estimates,

        E[regret] <= E[ log N / eta_T + (1/2) sum_t eta_t v_t ],    and E[v_t given the past] <= K.

    This is the usual argument: exp(-x) <= 1 - x + x^2 / 2 for x >= 0, and the potential (1/eta) log of the mean weight
    does not decrease in eta. Put in:

    "fixed" : eta = sqrt(2 log N / (K T)) gives E[regret] <= sqrt(2 T K log N).
    "anytime" : a_t = sqrt(log N / (K t)) gives 2 sqrt(T K log N) at every T, as sum_t 1/sqrt(t) <= 2 sqrt(T).
    "adaptive" (derived for this project) : eta_t = sqrt(log N / V) put between a_t and 2 a_t, where
        V = v_1 + ... + v_{t-1}. None of the three ever increases, so eta_t does not; log N / eta_T <= sqrt(T K log N), and
        half the sum is at most K sqrt(log N / K) 2 sqrt(T) = 2 sqrt(T K log N): 3 sqrt(T K log N) in all, at every T. It
        is faster where costs are small: then V is far below K t, and eta_t nearer to the rate that is best for V.

    Parameters
    ----------
    oracle : the policy class, opened on all contexts, with kind "search" or "enumeration"
    horizon : number of rounds T; "anytime" and "adaptive" use it for ``guarantee()`` alone
    rate : "fixed", "anytime", "adaptive", or a number eta >= 0

    """

    horizon: int
    oracle: WeighingOracle

    def __init__(self, oracle: WeighingOracle, *, horizon: int, rate: Rate | float = "fixed") -> None:
        require("exp4", oracle, "action_weights")
        self.n_actions = K = whole("n_actions", oracle.n_actions, 2)
        self._log_count = max(0.0, oracle.log_derivations)
        self._rule = choice("rate", rate, get_args(Rate)) if isinstance(rate, str) else "fixed"
        self._squares = 0.0
        self._estimates = np.zeros((oracle.n_contexts, K))
        self._fixed = _number(rate, float(np.sqrt(2 * self._log_count / (K * horizon))))
        self.rate = self._next_rate(0)

    def _act(self, row: int) -> Floats:
        """Return the weight of the policies that play each action (K,); 0 where no policy plays it."""
        return self.oracle.action_weights(self._estimates, row, self.rate)

    def _learn(self, row: int, action: int, cost: float, probability: float) -> None:
        """Add the estimate (c / q) e_y, and set the next round's rate."""
        self._estimates[row, action] += cost / probability
        self._squares += cost * cost / probability
        self.rate = self._next_rate(self.played + 1)

    def guarantee(self) -> float:
        """Return the bound on expected regret after T rounds; log N / eta + eta K T / 2 for a rate given as a number."""
        if self._log_count == 0:
            return 0.0
        if self._rule == "fixed":
            if self.rate == 0:
                return np.inf
            return float(self._log_count / self.rate + self.rate * self.n_actions * self.horizon / 2)
        factor = 2.0 if self._rule == "anytime" else 1.0 + BOLDEST
        return float(factor * np.sqrt(self.horizon * self.n_actions * self._log_count))

    def estimates(self) -> Floats | None:
        """Return the estimates (c / q) e_y, summed by context (m, K)."""
        return self._estimates.copy()

    def _state(self) -> dict[str, Any]:
        """Return the sum of squares and the table of estimates."""
        return {"squares": self._squares, "estimates": self._estimates.tolist()}

    def _restore(self, state: dict[str, Any]) -> None:
        """Go on from a saved state."""
        self._squares = float(state["squares"])
        self._estimates[:] = state["estimates"]
        self.rate = self._next_rate(self.played)

    def _next_rate(self, played: int) -> float:
        """Return the rate of the next round, from what ``played`` rounds have shown."""
        if self._rule == "fixed":
            return self._fixed
        anytime = float(np.sqrt(self._log_count / (self.n_actions * (played + 1))))
        if self._rule == "anytime":
            return anytime
        wanted = float(np.sqrt(self._log_count / self._squares)) if self._squares else np.inf
        return max(anytime, min(wanted, BOLDEST * anytime))


def _number(rate: Rate | float, default: float) -> float:
    if isinstance(rate, str):
        return default
    return real("rate", rate, '"fixed", "anytime", "adaptive" or a finite number, 0 or more', lambda eta: eta >= 0)
