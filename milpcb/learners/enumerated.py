"""Learners that go through a list of all policies each round: Hedge, Exp4.P, PolicyElimination."""

from typing import Any, ClassVar

import numpy as np

from milpcb.core.checks import check_confidence, real
from milpcb.errors import InputError
from milpcb.learners.base import Learner
from milpcb.learners.low_variance import smooth
from milpcb.learners.needs import check_pool, require
from milpcb.protocols import ContextModel
from milpcb.types import Floats, Ints


class Hedge(Learner):
    """Hedge with full information: exponential weights over all N labelings (Freund & Schapire 1997).

    Guarantee: regret <= log N / eta + eta T / 8, whatever the costs and contexts: sqrt(T log N / 2) for the usual rate.

    Parameters
    ----------
    oracle, horizon, seed : as of every learner
    rate : eta >= 0 of the weights exp(-eta * total cost); None for sqrt(8 log N / T)

    """

    full_information: ClassVar[bool] = True
    kept = ("_totals",)
    horizon: int

    def __init__(self, oracle: Any, *, horizon: int, seed: int = 0, rate: float | None = None) -> None:
        super().__init__(oracle, horizon=horizon, seed=seed)
        require("hedge", oracle, "enumerate")
        self._labelings = np.ascontiguousarray(oracle.labelings.T)  # (m, N): a round reads one row
        self._log_size = float(np.log(self._labelings.shape[1]))
        usual = float(np.sqrt(8 * self._log_size / horizon))
        self.rate = real("rate", usual if rate is None else rate, "finite and 0 or more", lambda eta: eta >= 0)
        self._totals = np.zeros(self._labelings.shape[1])

    def _act(self, row: int) -> Floats:
        weights = np.exp(-self.rate * (self._totals - self._totals.min()))
        mass = np.bincount(self._labelings[row], weights, minlength=self.n_actions)
        return np.asarray(mass / mass.sum())

    def _learn(self, row: int, action: int, cost: float, probability: float) -> None:
        """Learn nothing from the played action alone."""

    def _learn_all(self, row: int, costs: Floats) -> None:
        self._totals += costs[self._labelings[row]]

    def guarantee(self) -> float:
        if not self.rate:
            return np.inf if self._log_size else 0.0
        return self._log_size / self.rate + self.rate * self.horizon / 8


class Exp4P(Learner):
    """Exp4.P (Beygelzimer, Langford, Li, Reyzin & Schapire 2011): a regret bound that holds with high probability.

    Setting: contexts and costs may be adversarial. With N experts, all listed policies and the uniform-random one, and
    rewards r = 1 - c,

        q(a) = (1 - K p) W_a / W + p,    p = sqrt(log N / (K T)),
        log w(pi) += (p / 2) (r / q(y) [pi(x) = y] + sqrt(log(N / delta) / (K T)) / q(pi(x))).

    Guarantee (their Theorem 2, constant as quoted): with probability 1 - delta the regret is at most 6 sqrt(K T log(N /
    delta)), if log(N / delta) <= K T. Where T < K log N, p is 1/K, which is uniform play.

    Parameters
    ----------
    oracle, horizon, seed : as of every learner
    delta : the probability, 0 < delta < 1, with which the guarantee may fail

    """

    kept = ("_log_weights", "_q")
    horizon: int

    def __init__(self, oracle: Any, *, horizon: int, seed: int = 0, delta: float = 0.05) -> None:
        super().__init__(oracle, horizon=horizon, seed=seed)
        require("exp4p", oracle, "enumerate")
        K = self.n_actions
        self._labelings = np.ascontiguousarray(oracle.labelings.T)  # (m, N - 1): a round reads one row
        n_experts = self._labelings.shape[1] + 1
        rounds = K * horizon
        self._confidence = float(np.log(n_experts / check_confidence(delta, "delta", 0.05)) / rounds)
        if self._confidence > 1.0:
            raise InputError(
                f"exp4p needs log(N / delta) <= K T, but {self._confidence * rounds:.4g} > {rounds}: "
                "raise the horizon or delta"
            )
        self._floor = min(1.0 / K, float(np.sqrt(np.log(n_experts) / rounds)))
        self._log_weights = np.zeros(n_experts)  # the uniform expert is the last
        self._q = np.full(K, 1.0 / K)

    def _act(self, row: int) -> Floats:
        weights = np.exp(self._log_weights - self._log_weights.max())
        mass = np.bincount(self._labelings[row], weights[:-1], minlength=self.n_actions)
        share = (mass + weights[-1] / self.n_actions) / weights.sum()
        self._q = (1.0 - self.n_actions * self._floor) * share + self._floor
        return self._q.copy()

    def _learn(self, row: int, action: int, cost: float, probability: float) -> None:
        credit = np.sqrt(self._confidence) / self._q
        credit[action] += (1.0 - cost) / probability
        credit *= self._floor / 2
        self._log_weights[:-1] += credit[self._labelings[row]]
        self._log_weights[-1] += credit.mean()

    def guarantee(self) -> float:
        return float(6 * self.n_actions * self.horizon * np.sqrt(self._confidence))


LARGEST = 60_000


class PolicyElimination(Learner):
    """PolicyElimination (Dudik, Hsu, Kale, Karampatziakis, Langford, Reyzin & Zhang 2011) over a list of policies.

    Setting: pairs of context and costs i.i.d.; the law of contexts known (a pool with ``weights``; else the contexts
    seen so far stand for it, and there is no guarantee).

    Round t, with l_t = log(4 N t^2 / delta), b_t = 2 sqrt(2 K l_t / t), mu_t = min(1/(2K), sqrt(l_t / (2 K t)))
    (constants as we know them): choose P over the survivors such that E_x[1 / ((1 - K mu_t) P(pi(x)|x) + mu_t)] <= 2K
    for each of them; play that; drop every policy whose mean estimated reward is more than 2 b_t below the best one's.
    P is solved for again only when t has grown by a factor g: b and mu of the last such round s, and so regret, are
    larger by sqrt(g) at most.

    Parameters
    ----------
    oracle, pool, horizon, seed : as of every learner
    delta : the probability with which the theorem may fail
    growth : g >= 1; 1 is the letter, P in every round

    """

    kept = ("_solved", "_mu", "_counts", "_table", "_alive", "_totals")
    stochastic = True

    def __init__(
        self,
        oracle: Any,
        pool: ContextModel,
        *,
        horizon: int | None = None,
        seed: int = 0,
        delta: float = 0.05,
        growth: float = 1.1,
    ) -> None:
        super().__init__(oracle, horizon=horizon, seed=seed)
        require(type(self).__name__, oracle, "enumerate")
        check_pool(pool)
        pool.attach(oracle, horizon)
        self._labelings = oracle.labelings
        N, m = self._labelings.shape
        if N > LARGEST:
            raise InputError(
                f"policy_elimination goes through all policies every round, at most {LARGEST} of them, "
                f"and the class has {N}; take learner 'ilovetoconbandits', or a smaller class"
            )
        self.delta = check_confidence(delta, "delta", 0.05)
        self.growth = real("growth", growth, "finite and at least 1", lambda factor: factor >= 1)
        self._law: Floats | None = getattr(pool, "weights", None)
        self._actions = np.ascontiguousarray(self._labelings.T)  # (m, N): a round reads one row
        self._solved, self._mu = 0, 0.0
        self._counts = np.zeros(m)
        self._totals = np.zeros(N)  # sums of estimated rewards
        self._alive = np.ones(N, dtype=bool)
        self._solve(0)

    @property
    def survivors(self) -> Ints:
        """Return the numbers of the policies not eliminated."""
        return np.flatnonzero(self._alive)

    def _act(self, row: int) -> Floats:
        return np.array(self._table[row])

    def _learn(self, row: int, action: int, cost: float, probability: float) -> None:
        t = self.played + 1
        self._counts[row] += 1
        self._totals += (1.0 - cost) / probability * (self._actions[row] == action)
        self._alive &= self._totals >= self._totals[self._alive].max() - 2 * t * self.width(t)
        # While mu is at its cap of 1/(2K) every P will do, the one in play too.
        if t + 1 >= self.growth * self._solved and self.exploration(t + 1) < self._mu:
            self._solve(t)

    def width(self, t: int) -> float:
        """Return b_t, the confidence radius after ``t`` rounds."""
        return float(2 * np.sqrt(2 * self.n_actions * self._log(t) / t))

    def exploration(self, t: int) -> float:
        """Return mu_t, the least probability of an action in round ``t`` = 1, 2, ..."""
        return float(min(0.5 / self.n_actions, np.sqrt(self._log(t) / (2 * self.n_actions * t))))

    def guarantee(self) -> float:
        """Return a bound on expected regret for a known law of contexts: the theorem's, plus delta T if it fails.

        16 sqrt(2 g T K log(4 T^2 N / delta)) (constant as we know it), to the policy of least expected cost; the best
        in hindsight may cost less by sqrt(T log N / 2), which is not added.
        """
        if self._law is None or self.horizon is None:
            return np.inf
        bound = 16 * np.sqrt(self.growth * 2 * self.horizon * self.n_actions * self._log(self.horizon))
        return float(bound + self.delta * self.horizon)

    def _log(self, t: int) -> float:
        return float(np.log(4 * len(self._labelings) * float(t) ** 2 / self.delta))

    def _solve(self, t: int) -> None:
        self._solved = t + 1
        self._mu = self.exploration(self._solved)
        law = self._law
        if law is None:  # before the first context, all of them are as likely
            law = self._counts / t if t else np.full(len(self._counts), 1 / len(self._counts))
        mass = spread(self._labelings[self.survivors], law, self._mu, self.n_actions)
        self._table = smooth(mass, self._mu)


def spread(labelings: Ints, law: Floats, mu: float, n_actions: int) -> Floats:
    """Return the mass (m, K) of a distribution P over ``labelings`` (N, m) with V_pi(P) <= 2K for each of them.

    V_pi(P) = E_x[1 / P^mu(pi(x)|x)], x from ``law`` (m,). From the uniform P, steps P(pi) <- P(pi) V_pi / sum P V lower
    the convex f(P) = -E_x sum_a log P^mu(a|x), as in Cover (1984) for portfolios. At its minimum every V_pi <= sum P V
    <= K / (1 - K mu), which is below 2K if mu < 1/(2K): so the steps end (derived for this project).
    """
    N, m = labelings.shape
    cells = labelings + n_actions * np.arange(m)  # places in a flat (m, K) table
    P = np.full(N, 1 / N)
    while True:
        mass = np.asarray(np.bincount(cells.ravel(), np.repeat(P, m), m * n_actions), float).reshape(m, n_actions)
        variance = (law[:, None] / smooth(mass, mu)).ravel()[cells].sum(axis=1)
        if variance.max() <= 2 * n_actions * (1 + 1e-12):
            return mass
        P *= variance / (P @ variance)
