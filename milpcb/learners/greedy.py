"""The greedy family: epsilon-greedy, epoch-greedy and explore-then-commit play the best policy so far, and explore."""

from math import ceil
from typing import Any

import numpy as np

from milpcb.core.checks import real, whole
from milpcb.errors import InputError
from milpcb.learners.base import Learner
from milpcb.learners.needs import played_on, require
from milpcb.protocols import ValueOracle
from milpcb.types import Floats


class LoggedCosts:
    """Estimated costs of played actions, in a table that the oracle keeps, and the policy last trained on them."""

    def __init__(self, oracle: ValueOracle) -> None:
        self._oracle = oracle
        self._table = oracle.table(noise=None)
        self._policy: Any = None
        self._actions: dict[int, int] = {}  # of the policy, on the rows that it was asked about
        self.trained = False
        self._trained_on: Any = None  # the totals that the policy is best on, where rows may still arrive

    def add(self, row: int, action: int, amount: float) -> None:
        """Add to the estimated cost of an action at a context."""
        if amount:
            self._table.add(row, action, amount)

    def train(self) -> None:
        """Train: find a policy of least estimated cost (one minimiser); raises OracleInexact unless it is proved."""
        answer = self._table.minimise()
        _ = answer.value  # raises unless the minimum is proved
        self._policy = answer.policy
        self._actions, self.trained = {}, True  # a round costs no more where there are many contexts
        self._trained_on = self._table.state() if hasattr(self._oracle, "extend") else None

    def action(self, row: int) -> int:
        """Return the action of the policy, once there is one."""
        if row not in self._actions:
            self._actions[row] = played_on(self._policy, self._oracle.contexts, row)
        return self._actions[row]

    def state(self) -> dict[str, Any]:
        """Return table and policy: its labels of the contexts, and the totals that it is best on."""
        labels = list(self._actions.values()) if self.trained else None
        if self._policy is not None:
            labels = self._policy.predict(self._oracle.contexts).tolist()
        return {"table": self._table.state(), "labels": labels, "trained_on": self._trained_on}

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from a saved state."""
        labels, self._trained_on = state["labels"], state["trained_on"]
        self._policy, self._actions, self.trained = None, dict(enumerate(labels or [])), labels is not None
        self._table = self._oracle.table(noise=None)
        if self._trained_on is not None:
            self._table.restore(self._trained_on)
            self._policy = self._table.minimise().policy  # for the rows that are still to arrive
        self._table.restore(state["table"])


class GreedyLearner(Learner):
    """A learner for i.i.d. rounds that plays the policy of its last training; subclasses choose when it explores."""

    stochastic = True

    def __init__(self, oracle: ValueOracle, *, horizon: int | None, seed: int) -> None:
        super().__init__(oracle, horizon=horizon, seed=seed)
        require(type(self).__name__, oracle, "minimise")
        self._log_size = max(oracle.log_size, float(np.log(2)))
        self._log = LoggedCosts(oracle)

    def _epsilon(self) -> float:
        """Return the probability of uniform play in the round to come."""
        return 0.0 if self._log.trained else 1.0

    def _act(self, row: int) -> Floats:
        epsilon = self._epsilon()
        q = np.full(self.n_actions, epsilon / self.n_actions)
        if epsilon < 1.0:
            q[self._log.action(row)] += 1.0 - epsilon
        return q

    def _luck(self) -> float:
        """Return sqrt(T log N / 2), which bounds E max_pi (T R(pi) - cost of pi): N sums of T variables of range 1."""
        return float(np.sqrt((self.horizon or 0) * self._log_size / 2))

    def _deviation(self, second_moment: Any, weight: Any) -> Floats:
        """Return a bound on E[R(pi^)] - R(pi*) for the policy pi^ of least sum of estimates (derived for this project).

        Estimates Y_s(pi) >= 0 have means w_s R(pi), ``weight`` is the sum of the w_s; ``second_moment`` bounds that of
        the E[Y_s(pi)^2]. As exp(-u) <= 1 - u + u^2 / 2 for u >= 0, lower tails are sub-Gaussian: the mean of the
        largest of N shortfalls is at most sqrt(2 second_moment log N), that of pi*'s excess is 0.
        """
        return np.asarray(np.sqrt(2 * np.asarray(second_moment) * self._log_size) / weight)


MOST = 1e6  # a scale from which on every round that there can be explores


class EpsilonGreedy(GreedyLearner):
    """In round t: uniform with probability e_t = min(1, a / t^(1/3)), else the best policy of the last training.

    Setting: i.i.d. rounds, each estimated by (c / q) e_y; trainings, each one minimiser, are after rounds 1, 2, 4, 8,
    ... by default. Guarantee (derived for this project): to leading order, for a = (K log N / 3)^(1/3), E[regret] <=
    3.6 T^(2/3) (K log N)^(1/3), 3.25 (...) for a training in every round; at every T the sum of all e_t, of the losses
    of the policies in force, and of sqrt(T log N / 2).

    Parameters
    ----------
    oracle, horizon, seed : as of every learner; how rounds are played depends on the oracle alone
    scale : a > 0; None takes the one above
    ratio : training takes place again when there are ``ratio`` >= 1 times as many rounds; 1 is after every round

    """

    kept = ("_training", "_log")

    def __init__(
        self,
        oracle: ValueOracle,
        *,
        horizon: int | None = None,
        seed: int = 0,
        scale: float | None = None,
        ratio: float = 2.0,
    ) -> None:
        super().__init__(oracle, horizon=horizon, seed=seed)
        if scale is None:
            scale = float(np.cbrt(self.n_actions * self._log_size / 3))
        self.scale = real("scale (a)", scale, "finite and above 0", lambda a: a > 0)
        self.ratio = real("ratio", ratio, "finite and at least 1", lambda factor: factor >= 1)
        self._training = 1

    @property
    def least_chance(self) -> float:
        """e_t / K."""
        return self._epsilon() / self.n_actions

    def _learn(self, row: int, action: int, cost: float, probability: float) -> None:
        self._log.add(row, action, cost / probability)
        if self.played + 1 == self._training:
            self._log.train()
            self._training = self._after(self._training)

    def guarantee(self) -> float:
        """Return the bound of the class's docstring, inf with no horizon; sums are bounded by integrals.

        An estimate (c / q) e_y has the mean R, and a second moment of at most K / e_s.
        """
        if self.horizon is None:
            return np.inf
        ends = [1]
        while ends[-1] < self.horizon:
            ends.append(min(self.horizon, self._after(ends[-1])))
        seen = np.array(ends[:-1], dtype=float)
        once, T = np.array([1.0, self.horizon])
        lost = self._deviation(self.n_actions * (self._inverses(seen + 1) - self._inverses(once)), seen)
        explored = 1.0 + self._explored(T) - self._explored(once)  # round 1 is uniform
        return float(explored + (np.diff(ends) * np.minimum(1.0, lost)).sum() + self._luck())

    def _epsilon(self) -> float:
        return 1.0 if not self._log.trained else min(1.0, self.scale / (self.played + 1) ** (1 / 3))

    def _after(self, training: int) -> int:
        return max(training + 1, ceil(self.ratio * training))

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

    Setting: i.i.d. rounds; T need not be known. s_l = floor(1 / eps_l), where eps_l = min(1, sqrt(2 K log N / l))
    bounds what the policy may lose in a round. Guarantee: E[regret] <= 2 L(T) + sqrt(T log N / 2), L(T) the number of
    epochs begun by round T: to leading order 3.30 T^(2/3) (K log N)^(1/3). The algorithm and the argument are Langford
    & Zhang's (2007); eps_l and the constant are derived for this project. Oracle: one minimiser per epoch.

    Parameters
    ----------
    oracle, horizon, seed : as of every learner; how rounds are played depends on the oracle alone

    """

    kept = ("_epoch", "_greedy_left", "_log")

    def __init__(self, oracle: ValueOracle, *, horizon: int | None = None, seed: int = 0) -> None:
        super().__init__(oracle, horizon=horizon, seed=seed)
        self._unit = 2 * self.n_actions * self._log_size  # eps_l = sqrt(unit / l)
        self._epoch = 0
        self._greedy_left = 0

    def _epsilon(self) -> float:
        return 0.0 if self._greedy_left else 1.0

    def _learn(self, row: int, action: int, cost: float, probability: float) -> None:
        if self._greedy_left:
            self._greedy_left -= 1
            return
        self._log.add(row, action, cost / probability)
        self._log.train()
        self._epoch += 1
        self._greedy_left = int(max(1.0, np.sqrt(self._epoch / self._unit)))

    def guarantee(self) -> float:
        """Return the bound on expected regret for i.i.d. rounds, infinite without a horizon.

        L whole epochs take at least sum_l 1 / eps_l >= u / 3 + (2 / 3) L^(3/2) / u^(1/2) rounds, u = 2 K log N, if L >=
        u, and at least 2 L in any case. That bounds the whole epochs in T rounds, and at most one more has begun.
        """
        if self.horizon is None:
            return np.inf
        T, unit = self.horizon, self._unit
        whole_epochs = min(T / 2, (1.5 * np.sqrt(unit) * max(T - unit / 3, unit * 2 / 3)) ** (2 / 3))
        return float(2 * (whole_epochs + 1) + self._luck())


class ExploreThenCommit(GreedyLearner):
    """Uniform play for n rounds, then for ever the policy that looks best on them.

    Setting: i.i.d. rounds. Guarantee: with n = (T^2 K log N / 2)^(1/3), E[regret] <= n + (T - n) sqrt(2 K log N / n) +
    sqrt(T log N / 2), that is 3 / 2^(1/3) T^(2/3) (K log N)^(1/3) = 2.38 (...) to leading order (folklore; constants
    derived for this project). Oracle: one minimiser in the whole run.

    Parameters
    ----------
    oracle, horizon, seed : as of every learner
    rounds : number n of uniform rounds, 1 <= n <= T; None takes the n above, rounded up, and at most T. With n = T all
        play is uniform and the oracle is never asked

    """

    kept = ("_log",)
    horizon: int

    def __init__(self, oracle: ValueOracle, *, horizon: int, seed: int = 0, rounds: int | None = None) -> None:
        super().__init__(oracle, horizon=horizon, seed=seed)
        T = self.horizon
        if rounds is None:
            rounds = min(T, int(np.ceil(np.cbrt(T**2 * self.n_actions * self._log_size / 2))))
        self.rounds = whole("rounds", rounds, 1)
        if self.rounds > T:
            raise InputError(f"rounds (n) must be at most the horizon of {T}, got {rounds!r}")

    def _learn(self, row: int, action: int, cost: float, probability: float) -> None:
        t = self.played + 1
        if t <= self.rounds:
            self._log.add(row, action, cost / probability)
        if t == self.rounds < self.horizon:
            self._log.train()

    def guarantee(self) -> float:
        """Return the bound of the class's docstring."""
        n = self.rounds
        return float(n + (self.horizon - n) * self._deviation(n * self.n_actions, n) + self._luck())
