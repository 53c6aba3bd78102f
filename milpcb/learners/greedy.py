"""The greedy family: epsilon-greedy, epoch-greedy and explore-then-commit play what looks best, and explore."""

from __future__ import annotations

from math import ceil
from typing import Literal, get_args

import numpy as np

from milpcb import rng
from milpcb.core.checks import choice, real, whole
from milpcb.errors import InputError
from milpcb.learners.base import Learner
from milpcb.learners.logged_costs import LoggedCosts, deviation, luck
from milpcb.protocols import ValueOracle
from milpcb.types import Floats


class GreedyLearner(Learner):
    """A learner that plays the policy of its last training, and explores; the subclasses choose when.

    Setting: rounds (context, costs) i.i.d.; there is no guarantee when costs change with time.
    """

    stochastic = True

    def __init__(self, oracle: ValueOracle, *, horizon: int | None, seed: int) -> None:
        super().__init__(oracle, horizon=horizon, seed=seed)
        self._log = LoggedCosts(type(self).__name__, oracle)

    def estimates(self) -> Floats | None:
        """Return the estimates that policies are trained on, summed by context (m, K)."""
        return self._log.totals()


Data = Literal["all", "exploration"]
MOST = 1e6  # a scale from which on every round that there can be explores


class EpsilonGreedy(GreedyLearner):
    """In round t: uniform with probability e_t = min(1, a / t^(1/3)), else the best policy of the last training.

    Setting: rounds (context, costs) i.i.d.; there is no guarantee when costs change with time.
    Guarantee: to leading order, and if it trained in every round, E[regret] <= 4.5 / 3^(1/3) T^(2/3) (K log N)^(1/3)
    = 3.12 (...) for a = (K log N / 3)^(1/3) and ``data = "exploration"`` (derived for this project). ``guarantee()``
    is not that constant but a bound that holds at every T: the sum of all e_t, of what the policy then in force may
    lose (see milpcb.learners.logged_costs), and of sqrt(T log N / 2). Training at powers of 2 on all data makes it up
    to 14% more to leading order.
    Oracle: one minimiser per training, about log2(T) in the whole run at the default ``ratio``.

    Parameters
    ----------
    oracle : the policy class, opened on the contexts of the pool
    horizon : number of rounds T that the guarantee is for, and that may be played; None: no end, and no guarantee. How
        rounds are played does not depend on it
    seed : non-negative integer; used by ``data = "exploration"`` alone
    scale : a > 0; None takes the one above
    data : what the policy is trained on: "all" rounds, each estimated by (c / q) e_y; or the rounds of "exploration"
        alone, by K c e_y. Whether a round explored is drawn once its action is known, which has the same law as a coin
        before it
    ratio : training takes place after round 1, and again when there are ``ratio`` >= 1 times as many rounds; 2 means
        after rounds 1, 2, 4, 8, ..., 1 after every round

    """

    kept = ("_training", "_rng", "_log")

    def __init__(
        self,
        oracle: ValueOracle,
        *,
        horizon: int | None = None,
        seed: int = 0,
        scale: float | None = None,
        data: Data = "all",
        ratio: float = 2.0,
    ) -> None:
        super().__init__(oracle, horizon=horizon, seed=seed)
        self._data = choice("data", data, get_args(Data))
        if scale is None:
            scale = float(np.cbrt(self.n_actions * self._log.log_size / 3))
        self.scale = real("scale (a)", scale, "finite and above 0", lambda a: a > 0)
        self.ratio = real("ratio", ratio, "finite and at least 1", lambda factor: factor >= 1)
        self._training = 1
        self._rng = rng.child(seed, "learner", "exploration")

    @property
    def least_chance(self) -> float:
        """e_t / K."""
        return self._epsilon() / self.n_actions

    def _act(self, row: int) -> Floats:
        """Return e_t / K for every action, and the rest to the policy's (K,); uniform before there is one."""
        return self._log.play(row, self._epsilon())

    def _learn(self, row: int, action: int, cost: float, probability: float) -> None:
        """Add the estimate of c_t, and train when it is time."""
        if self._data == "all":
            self._log.add(row, action, cost / probability)
        elif self._rng.random() * self.n_actions * probability < self._epsilon():
            self._log.add(row, action, self.n_actions * cost)
        if self.played + 1 == self._training:
            self._log.train()
            self._training = self._after(self._training)

    def guarantee(self) -> float:
        """Return the bound on expected regret for i.i.d. rounds, at this T, a, K and class; inf with no horizon."""
        if self.horizon is None:
            return np.inf
        ends = [1]
        while ends[-1] < self.horizon:
            ends.append(min(self.horizon, self._after(ends[-1])))
        seen = np.array(ends[:-1], dtype=float)
        lost = (np.diff(ends) * np.minimum(1.0, self._deviation(seen))).sum()
        once, T = np.array([1.0, self.horizon])
        explored = 1.0 + self._explored(T) - self._explored(once)  # round 1 is uniform
        return float(explored + lost + luck(self.horizon, self._log.log_size))

    def _epsilon(self) -> float:
        """Return e_t of the current round; a round before the first training explores for certain."""
        return 1.0 if not self._log.trained else min(1.0, self.scale / (self.played + 1) ** (1 / 3))

    def _after(self, training: int) -> int:
        return max(training + 1, ceil(self.ratio * training))

    def _deviation(self, seen: Floats) -> Floats:
        """Return what the best-looking policy on ``seen`` rounds may lose a round; sums are bounded by integrals."""
        K, log_size = self.n_actions, self._log.log_size
        if self._data == "all":  # estimate (c / q) e_y: mean R, second moment at most K / e_s
            inverse = self._inverses(seen + 1) - self._inverses(np.ones(1))
            return np.asarray(deviation(K * inverse, log_size, seen))
        explored = self._explored(seen + 1) - self._explored(np.ones(1))
        return np.asarray(deviation(K * explored, log_size, explored))  # K c e_y: mean e_s R, second moment K e_s

    def _explored(self, t: Floats) -> Floats:
        """Return the integral of e from 0 to ``t``; e is 1 up to a^3."""
        a = min(self.scale, MOST)
        return np.where(t <= a**3, t, 1.5 * a * t ** (2 / 3) - 0.5 * a**3)

    def _inverses(self, t: Floats) -> Floats:
        """Return the integral of 1 / e from 0 to ``t``."""
        a = min(self.scale, MOST)
        return np.where(t <= a**3, t, 0.75 / a * t ** (4 / 3) + 0.25 * a**3)


class EpochGreedy(GreedyLearner):
    """Epoch l: one uniform round, a training on the l uniform rounds so far, then s_l rounds of the policy it gives.

    Setting: rounds (context, costs) i.i.d.; there is no guarantee when costs change with time. T need not be known.
    s_l = floor(1 / eps_l), where eps_l = min(1, sqrt(2 K log N / l)) bounds what the policy may lose in a round (see
    milpcb.learners.logged_costs). So each epoch loses at most 1 in its uniform round and at most s_l eps_l <= 1 in the
    others. Guarantee: E[regret] <= 2 L(T) + sqrt(T log N / 2), L(T) the number of epochs begun by round T: to leading
    order 3.30 T^(2/3) (K log N)^(1/3). The algorithm and the argument are Langford & Zhang's; eps_l and the constant
    are derived for this project.
    Oracle: one minimiser per epoch, at most L(T) in all, so about T^(-1/3) calls a round.

    Parameters
    ----------
    oracle : the policy class, opened on the contexts of the pool
    horizon : number of rounds T that the guarantee is for, and that may be played; None: no end, and no guarantee. How
        rounds are played does not depend on it
    seed : not used

    """

    kept = ("_epoch", "_greedy_left", "_log")

    def __init__(self, oracle: ValueOracle, *, horizon: int | None = None, seed: int = 0) -> None:
        super().__init__(oracle, horizon=horizon, seed=seed)
        self._unit = 2 * self.n_actions * self._log.log_size  # eps_l = sqrt(unit / l)
        self._epoch = 0
        self._greedy_left = 0

    def _act(self, row: int) -> Floats:
        """Return 1/K for every action in the first round of an epoch, then all mass on the policy's action (K,)."""
        return self._log.play(row, 0.0 if self._greedy_left else 1.0)

    def _learn(self, row: int, action: int, cost: float, probability: float) -> None:
        """After a uniform round add the estimate c / q e_y and train; greedy rounds add no data."""
        if self._greedy_left:
            self._greedy_left -= 1
            return
        self._log.add(row, action, cost / probability)
        self._log.train()
        self._epoch += 1
        self._greedy_left = int(max(1.0, np.sqrt(self._epoch / self._unit)))

    def guarantee(self) -> float:
        """Return the bound on expected regret for i.i.d. rounds, at this T, K and class; infinite without a horizon.

        L whole epochs take at least sum_l 1 / eps_l >= u / 3 + (2 / 3) L^(3/2) / u^(1/2) rounds, u = 2 K log N, if L >=
        u, and at least 2 L in any case. That bounds the whole epochs in T rounds, and at most one more has begun.
        """
        if self.horizon is None:
            return np.inf
        T, unit = self.horizon, self._unit
        whole_epochs = min(T / 2, (1.5 * np.sqrt(unit) * max(T - unit / 3, unit * 2 / 3)) ** (2 / 3))
        return float(2 * (whole_epochs + 1) + luck(T, self._log.log_size))


class ExploreThenCommit(GreedyLearner):
    """Uniform play for n rounds, then for ever the policy that looks best on them.

    Setting: rounds (context, costs) i.i.d.; there is no guarantee when costs change with time, and a change after the
    n-th round is never noticed.
    Guarantee: with n = (T^2 K log N / 2)^(1/3), E[regret] <= n + (T - n) sqrt(2 K log N / n) + sqrt(T log N / 2), that
    is 3 / 2^(1/3) T^(2/3) (K log N)^(1/3) = 2.38 (...) to leading order. The scheme is folklore; the constants are
    derived for this project (see milpcb.learners.logged_costs: each estimate K c has a second moment of at most K).
    Oracle: one minimiser in the whole run, so 1 / T calls a round.

    Parameters
    ----------
    oracle : the policy class, opened on the contexts of the pool
    horizon : number of rounds T
    seed : not used
    rounds : number n of uniform rounds, 1 <= n <= T; None takes the n above, rounded up, and at most T. With n = T all
        play is uniform and the oracle is never asked

    """

    kept = ("_log",)
    horizon: int

    def __init__(self, oracle: ValueOracle, *, horizon: int, seed: int = 0, rounds: int | None = None) -> None:
        super().__init__(oracle, horizon=horizon, seed=seed)
        T = self.horizon
        if rounds is None:
            rounds = min(T, int(np.ceil(np.cbrt(T**2 * self.n_actions * self._log.log_size / 2))))
        self.rounds = whole("rounds", rounds, 1)
        if self.rounds > T:
            raise InputError(f"rounds (n) must be at most the horizon of {T}, got {rounds!r}")

    def _act(self, row: int) -> Floats:
        """Return 1/K for every action, or all mass on the action of the chosen policy (K,)."""
        return self._log.play(row, 0.0)

    def _learn(self, row: int, action: int, cost: float, probability: float) -> None:
        """Add the estimate c / q e_y in the first n rounds; after the last of them, ask for the best policy."""
        t = self.played + 1
        if t <= self.rounds:
            self._log.add(row, action, cost / probability)
        if t == self.rounds < self.horizon:
            self._log.train()

    def guarantee(self) -> float:
        """Return the bound on expected regret for i.i.d. rounds, at this T, n, K and class."""
        n, K, log_size = self.rounds, self.n_actions, self._log.log_size
        return float(n + (self.horizon - n) * deviation(n * K, log_size, n) + luck(self.horizon, log_size))
