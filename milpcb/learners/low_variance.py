"""ILOVETOCONBANDITS and RandomizedUCB: a low-variance mixture of policies, found anew each time the rounds double.

Both solve (OP) of Agarwal, Hsu, Kale, Langford, Li & Schapire (2014) by coordinate descent. A sub-distribution Q over
policies enters it only through its *mass* (m, K), the weight of the policies that play a on context j, and a history
through how often each context was seen and the estimated rewards there. So no policy is stored.
"""

from abc import abstractmethod
from collections.abc import Iterator
from typing import Any, cast

import numpy as np

from milpcb.core.checks import check_confidence, real
from milpcb.learners.base import Learner
from milpcb.learners.needs import require, require_contexts
from milpcb.protocols import Policy, ValueOracle
from milpcb.types import Floats, Ints

TOLERANCE = 1e-9  # in units of 2K: a violation below it is rounding
PSI = 100.0  # the psi of the theorem


def smooth(mass: Floats, mu: float) -> Floats:
    """Return Q^mu (m, K) = (1 - K mu) mass + mu: Q with the probability mu of each action mixed in."""
    return np.asarray((1 - mass.shape[1] * mu) * mass + mu)


def descend(
    counts: Floats, rewards: Floats, best: float, mu: float, slope: float, mass: Floats, oracle: ValueOracle
) -> Iterator[Floats]:
    """Yield the mass (m, K) of Q before each coordinate step; the last one yielded solves (OP).

    (OP) is sum_pi Q(pi) b_pi <= 2K, and V_pi(Q) <= 2K + b_pi for every policy pi: V_pi(Q) is the mean over the history
    of 1 / Q^mu(pi(x)|x), and b_pi = slope * (best - mean reward of pi). Paper, Algorithm 2: shrink Q so that sum_pi
    Q(pi) (2K + b_pi) <= 2K, find the policy that violates its constraint most, by D (one oracle call), raise its weight
    by (V + D) / (2 (1 - K mu) S), S the mean of the squares of the terms of V. From mass 0 that takes at most 4
    ln(1 / (K mu)) / mu steps.

    Contexts were seen ``counts`` (m,) times, n >= 1 in all; ``rewards`` (m, K) are sums of r / p over the rounds that
    played the action on the context, ``best`` is the largest mean reward of any policy, 0 < ``mu`` < 1/K, ``slope`` is
    1 / (psi mu) in the paper. Raises OracleInexact unless the oracle proves its answers.
    """
    (m, K), n = rewards.shape, counts.sum()
    limit, share, rows = 2.0 * K, counts / n, np.arange(m)
    while True:
        earned = float((mass * rewards).sum()) / n
        spent = float(mass[0].sum()) * (limit + slope * best) - slope * earned
        mass = mass * (limit / spent) if spent > limit else mass
        yield mass
        q = smooth(mass, mu)
        least_cost, labels = best_policy(oracle, np.asarray(-(counts[:, None] / q + slope * rewards)))
        violation = float(-least_cost / n - limit - slope * best)
        if violation <= TOLERANCE * limit:
            return
        inverse = 1 / q[rows, labels]
        mass = mass.copy()
        mass[rows, labels] += float((share @ inverse + violation) / (2 * (1 - K * mu) * (share @ inverse**2)))


def best_policy(oracle: ValueOracle, costs: Floats) -> tuple[float, Ints]:
    """Return the least total cost and the labels (m,) of a policy attaining it; raises OracleInexact if not proved."""
    answer = oracle.minimise(costs)
    return answer.value, cast("Policy", answer.policy).predict(oracle.contexts)  # what is proved is attained


class EpochLearner(Learner):
    """Base of ILOVETOCONBANDITS and RandomizedUCB: epochs that end after rounds 2, 4, 8, ...

    At the end of an epoch (OP) is solved on all rounds so far, from the Q of the epoch before (warm start), and the
    weight that Q lacks to 1 goes to the policy with the best estimate. In between, ``act`` reads a table.
    """

    kept = ("_mu", "_counts", "_rewards", "_mass", "_table")
    stochastic = True
    oracle: ValueOracle

    def __init__(self, oracle: ValueOracle, *, horizon: int | None = None, seed: int = 0, delta: float = 0.05) -> None:
        super().__init__(oracle, horizon=horizon, seed=seed)
        require(type(self).__name__, oracle, "minimise")
        require_contexts(type(self).__name__, oracle)
        self.delta = check_confidence(delta, "delta", 0.05)
        self._counts = np.zeros(oracle.n_contexts)
        self._rewards = np.zeros((oracle.n_contexts, self.n_actions))
        self._mass = np.zeros_like(self._rewards)
        self._mu = 0.5 / self.n_actions
        self._complete(best_policy(oracle, self._rewards)[1])  # nothing is known yet: it may be any policy

    @abstractmethod
    def exploration(self, t: int) -> float:
        """Return mu <= 1/(2K), the least probability of an action after ``t`` rounds."""

    @abstractmethod
    def slope(self, t: int) -> float:
        """Return b_pi per unit of estimated regret after ``t`` rounds."""

    def _act(self, row: int) -> Floats:
        return np.array(self._table[row])

    def _learn(self, row: int, action: int, cost: float, probability: float) -> None:
        self._counts[row] += 1
        self._rewards[row, action] += (1.0 - cost) / probability
        t = self.played + 1
        if t < 2 or t & (t - 1):
            return
        least_cost, best = best_policy(self.oracle, -self._rewards)
        self._mu = self.exploration(t)
        history = self._counts, self._rewards, -least_cost / t
        for mass in descend(*history, self._mu, self.slope(t), self._mass, self.oracle):
            self._mass = mass
        self._complete(best)

    def _complete(self, labels: Ints) -> None:
        """Make the table of q: what Q lacks to 1 goes to the policy that plays ``labels`` (m,)."""
        full = self._mass.copy()
        full[np.arange(len(labels)), labels] += max(0.0, 1.0 - float(full[0].sum()))
        self._table = smooth(full, self._mu)


class ILoveToConBandits(EpochLearner):
    """ILOVETOCONBANDITS (Agarwal et al. 2014): sqrt(T) regret for i.i.d. rounds; the law of contexts need not be known.

    With d_t = log(16 t^2 N / delta): mu = min(1/(2K), sqrt(d_t / (K t))) and b_pi = regret of pi / (psi mu) in (OP).
    Oracle: one best policy an epoch and one a coordinate step, O~(sqrt(K T / log(N / delta))) in all.

    Parameters
    ----------
    oracle, horizon, seed : as of every learner; how rounds are played depends on the oracle alone
    psi : b_pi is estimated regret over psi mu. 100 in the theorem; 0.01 to 1 has far less regret at T <= 1e6
    delta : the probability with which the theorem may fail

    """

    def __init__(
        self, oracle: ValueOracle, *, horizon: int | None = None, seed: int = 0, psi: float = PSI, delta: float = 0.05
    ) -> None:
        self.psi = real("psi", psi, "finite and positive (the theorem has 100)", lambda number: number > 0)
        super().__init__(oracle, horizon=horizon, seed=seed, delta=delta)

    def exploration(self, t: int) -> float:
        return float(min(0.5 / self.n_actions, np.sqrt(self._d(t) / (self.n_actions * t))))

    def slope(self, t: int) -> float:
        return 1.0 / (self.psi * self.exploration(t))

    def guarantee(self) -> float:
        """Return ``high_probability_bound()`` plus delta T for when it fails."""
        return self.high_probability_bound() + self.delta * (self.horizon or 0)

    def high_probability_bound(self) -> float:
        """Return the theorem's bound (arXiv 1402.0555v2), of probability 1 - delta; infinite unless psi = 100.

        It exceeds T until T is about 1e9. The best policy in hindsight may cost less than that of least expected cost,
        which the theorem compares with, by sqrt(T log N / 2) in expectation; that is not added.
        """
        if self.psi != PSI or self.horizon is None:
            return np.inf
        T, K = self.horizon, self.n_actions
        taus = 2.0 ** np.arange(1, 200)
        d = self._d(taus)
        rare = taus[np.argmax(d / taus <= 1 / (4 * K)) - 1]  # the last epoch before m_0
        last = taus[np.argmax(taus >= T)]
        constant = 4 * PSI + 4 * np.sqrt(2.0) * (1 + 94.1)
        estimation = 4 * K * self._d(rare) + np.sqrt(8 * K * self._d(last) * last)
        return float(constant * estimation + np.sqrt(8 * T * np.log(2 / self.delta)))

    def _d(self, t: Any) -> Any:
        return np.log(16.0) + 2 * np.log(t) + self.oracle.log_size - np.log(self.delta)


class RandomizedUCB(EpochLearner):
    """RandomizedUCB (Dudik, Hsu, Kale, Karampatziakis, Langford, Reyzin & Zhang 2011) without the ellipsoid method.

    Setting: pairs of context and costs i.i.d.; nothing is guaranteed. Published (constants as we know them): with n = t
    - 1 rounds seen, C = 2 log(N n / delta), beta = n / (180 C) and D(pi) the estimated regret, P minimises sum_pi P(pi)
    D(pi) such that V_Z(P) <= max(4K, beta D(Z)^2) for every distribution Z over policies. Here, derived for this
    project: V_pi(P) <= 2K + sqrt(K beta) D(pi) for every policy, and sum_pi P(pi) sqrt(K beta) D(pi) <= 2K. That is
    (OP). It is linear in pi, so it holds for every Z, and implies the published constraint: with u = sqrt(beta) D(Z),
    2K + sqrt(K) u is 4K at u = 2 sqrt(K), and at most u^2 from there on. The minimum is not sought, but sum_pi P(pi)
    D(pi) <= 2 sqrt(K / beta), and P is found after rounds 2, 4, 8, ... only.

    Parameters
    ----------
    oracle, horizon, seed : as of every learner; how rounds are played depends on the oracle alone
    delta : the failure probability in the confidence widths

    """

    def exploration(self, t: int) -> float:
        return float(min(0.5 / self.n_actions, np.sqrt(self._c(t + 1) / (2 * self.n_actions * (t + 1)))))

    def slope(self, t: int) -> float:
        return float(np.sqrt(self.n_actions * t / (180 * self._c(t))))

    def _c(self, t: int) -> float:
        return float(2 * (self.oracle.log_size + np.log(t / self.delta)))
