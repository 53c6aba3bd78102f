"""Low-variance mixtures: (OP) by enumeration, the potential, the schedule, and the constraint of RandomizedUCB."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from milpcb.learners import ILoveToConBandits, RandomizedUCB
from milpcb.learners.low_variance import descend, smooth
from milpcb.types import Answer, Floats, Ints

from .rounds import each_round, listed, mass_of, table_of


def recorded(oracle: Any) -> list[Ints]:
    """Return the list of the labels of all answers to come."""
    answers, minimise = list[Ints](), oracle.minimise

    def remembered(costs: Floats) -> Answer:
        answer: Answer = minimise(costs)
        answers.append(answer.policy.predict(oracle.contexts))  # type: ignore[union-attr]
        return answer

    oracle.minimise = remembered
    return answers


@dataclass
class Log:
    """A history round by round, and every quantity of (OP) by its definition on it."""

    labelings: Ints  # (N, m)
    K: int
    x: Ints
    a: Ints
    r: Floats
    p: Floats

    def mean_rewards(self) -> Floats:
        """Return the estimated mean reward of every policy."""
        return np.array([np.mean(self.r / self.p * (pi[self.x] == self.a)) for pi in self.labelings])

    def regrets(self) -> Floats:
        """Return the estimated regret of every policy."""
        rewards = self.mean_rewards()
        return np.asarray(rewards.max() - rewards)

    def variances(self, q: Floats, power: int = 1) -> Floats:
        """Return the mean of 1 / q(pi(x)|x)^power over the history, for every policy."""
        return np.array([np.mean(q[self.x, pi[self.x]] ** -float(power)) for pi in self.labelings])

    def mass(self, Q: Floats) -> Floats:
        """Return (m, K), the weight of the policies that play each action."""
        m = self.labelings.shape[1]
        return np.array([np.bincount(self.labelings[:, j], Q, minlength=self.K) for j in range(m)])

    def potential(self, Q: Floats, mu: float, b: Floats) -> float:
        """Return the potential of the paper."""
        q, u = smooth(self.mass(Q), mu)[self.x], 1 / self.K
        entropy = (u * np.log(u / q) + q - u).sum(axis=1).mean()
        return float(len(self.x) * mu * (entropy / (1 - self.K * mu) + Q @ b / (2 * self.K)))

    def problem(self, mu: float, slope: float) -> tuple[Floats, Floats, float, float, float]:
        """Return the same history as counts and sums, with the largest mean reward, and mu and slope."""
        m = self.labelings.shape[1]
        rewards = np.zeros((m, self.K))
        np.add.at(rewards, (self.x, self.a), self.r / self.p)
        counts = np.bincount(self.x, minlength=m).astype(float)
        return counts, rewards, float(self.mean_rewards().max()), mu, slope


def random_log(rng: np.random.Generator) -> Log:
    """Return a random class and history."""
    K, m, N, n = (int(v) for v in rng.integers([2, 2, 1, 3], [5, 8, 30, 60]))
    labelings = np.unique(rng.integers(0, K, (N, m)), axis=0)
    x, a = rng.integers(0, rng.integers(1, m + 1), n), rng.integers(0, K, n)
    return Log(labelings, K, x, a, rng.random(n), rng.uniform(0.05, 1, n))


# --------------------------------------------------------------------------- the optimisation problem


@pytest.mark.parametrize("seed", range(20))
def test_coordinate_descent_solves_op(seed: int) -> None:
    """Replayed by definition: each step is the paper's, lowers the potential; at the end both families of (OP) hold."""
    rng = np.random.default_rng(seed)
    log = random_log(rng)
    K, n = log.K, len(log.x)
    mu, psi = float(rng.uniform(0.05, 1) / (2 * K)), float(10 ** rng.uniform(-2, 2))
    b = log.regrets() / (psi * mu)
    oracle = listed(log.labelings, K)
    answers = recorded(oracle)
    masses = list(descend(*log.problem(mu, 1 / (psi * mu)), np.zeros((log.labelings.shape[1], K)), oracle))
    assert len(answers) == len(masses)  # one call a step, and one that finds nothing to fix

    Q, potentials = np.zeros(len(log.labelings)), []
    for mass, answer in zip(masses, answers, strict=True):
        Q *= min(1.0, 2 * K / max(float(Q @ (2 * K + b)), 1e-300))
        assert mass == pytest.approx(log.mass(Q), abs=1e-9)
        q = smooth(log.mass(Q), mu)
        V, S = log.variances(q), log.variances(q, 2)
        D = V - (2 * K + b)
        chosen = int(np.flatnonzero((log.labelings == answer).all(axis=1))[0])
        assert D[chosen] == pytest.approx(D.max(), abs=1e-9 * V.max())
        potentials.append(log.potential(Q, mu, b))
        if len(potentials) < len(masses):
            Q[chosen] += (V[chosen] + D[chosen]) / (2 * (1 - K * mu) * S[chosen])

    assert Q @ b <= 2 * K * (1 + 1e-9)
    assert Q.sum() <= 1 + 1e-9
    assert (V - b <= 2 * K * (1 + 1e-8)).all()
    assert (np.diff(potentials) <= -n * mu**2 / (4 * (1 - K * mu)) + 1e-9).all()
    assert len(masses) - 1 <= 4 * np.log(1 / (K * mu)) / mu


# --------------------------------------------------------------------------- the learner

LABELINGS = np.array([[0, 0, 0, 0], [1, 1, 1, 1], [2, 2, 2, 2], [0, 1, 2, 0], [2, 1, 0, 1], [1, 0, 0, 2]])
BEST = 3  # its action costs 0.2 on average, every other 0.8


def learner_on(labelings: Any = LABELINGS, K: int = 3, horizon: int = 10**6, **options: Any) -> ILoveToConBandits:
    """Return the learner on a listed class."""
    return ILoveToConBandits(listed(labelings, K), horizon=horizon, **options)


def costs(row: int, rng: Any) -> Any:
    """Return costs of mean 0.2 for the best policy's action, and 0.8 for any other."""
    return rng.random() * 0.4 + 0.6 * (np.arange(3) != LABELINGS[BEST][row])


@pytest.mark.parametrize("psi", [0.05, 1.0, 100.0])
def test_every_epoch_ends_with_op_solved(psi: float) -> None:
    """Only after rounds 2, 4, 8, ... play changes: both families of (OP) hold on the log, the best gets the rest."""
    learner, K, delta = learner_on(psi=psi), 3, 0.05
    played, before, warm = [], table_of(learner), mass_of(learner)
    steps = 0
    for t, (row, action, cost, q) in enumerate(each_round(learner, 1024, costs), start=1):
        assert (q == before[row]).all()
        played.append((row, action, 1 - cost, q[action]))
        if t < 2 or t & (t - 1):
            continue
        log = Log(LABELINGS, K, *(np.array(column) for column in zip(*played, strict=True)))
        d = np.log(16 * t**2 * len(LABELINGS) / delta)
        mu = min(1 / (2 * K), np.sqrt(d / (K * t)))
        b, mass = log.regrets() / (psi * mu), mass_of(learner)
        total, rewards = mass[0].sum(), log.mean_rewards()
        earned = np.mean(mass[log.x, log.a] * log.r / log.p)
        assert (total * rewards.max() - earned) / (psi * mu) <= 2 * K * (1 + 1e-9)
        assert total <= 1 + 1e-9
        assert (log.variances(smooth(mass, mu)) <= 2 * K + b + 1e-7).all()
        rest = (1 - total) * np.eye(K)[LABELINGS[rewards.argmax()]]
        assert table_of(learner) == pytest.approx((1 - K * mu) * (mass + rest) + mu, abs=1e-9)
        steps += total > 0
        *_, expected = descend(*log.problem(mu, 1 / (psi * mu)), warm, listed(LABELINGS, K))
        assert mass == pytest.approx(expected, abs=1e-9)  # from the Q of the epoch before
        before, warm = table_of(learner), mass.copy()
    assert steps > 0


def test_calls_are_few() -> None:
    """The oracle is asked only as epochs end: once for the best policy, once a step, once to see that none is left."""
    oracle = listed(LABELINGS, 3)
    learner = ILoveToConBandits(oracle, horizon=10**6)
    calls = [oracle.calls] + [oracle.calls for _ in each_round(learner, 1024, costs)]
    asked = np.flatnonzero(np.diff(calls)) + 1
    assert calls[0] == 1
    assert asked.tolist() == [2**m for m in range(1, 11)]
    assert 1 + 2 * 10 <= calls[-1] <= 100


# --------------------------------------------------------------------------- RandomizedUCB

LISTED = np.unique(np.random.default_rng(7).integers(0, 3, (12, 6)), axis=0)
RIGHT, K, DELTA = 4, 3, 0.05


def mixtures(N: int, rng: np.random.Generator) -> Floats:
    """Return distributions Z over N policies: every point mass, many pairs, and spread ones."""
    pairs = np.eye(N)[rng.integers(0, N, (300, 2))]
    share = rng.random((300, 1))
    return np.vstack([np.eye(N), share * pairs[:, 0] + (1 - share) * pairs[:, 1], rng.dirichlet(np.full(N, 0.3), 300)])


@pytest.mark.parametrize("gap", [1.0, 0.1])
def test_published_constraint_holds_for_every_mixture(gap: float) -> None:
    """After every epoch V_Z <= max(4K, beta D(Z)^2), and sum_pi P(pi) D(pi) <= 2 sqrt(K / beta), from the log."""
    learner, Z = RandomizedUCB(listed(LISTED, K), horizon=10**6), mixtures(len(LISTED), np.random.default_rng(1))
    rows, hits = list[int](), list[Floats]()

    def costs(row: int, _rng: Any) -> Any:
        return gap * (np.arange(K) != LISTED[RIGHT][row])

    epochs = 0
    for n, (row, action, cost, q) in enumerate(each_round(learner, 2**11, costs), start=1):
        rows.append(row)
        estimate = np.zeros((6, K))
        estimate[row, action] = (1 - cost) / q[action]
        hits.append(estimate)
        if n < 2 or n & (n - 1):
            continue
        epochs += 1
        x = np.array(rows)
        sums = np.sum(hits, axis=0)
        C = 2 * np.log(len(LISTED) * n / DELTA)
        beta = n / (180 * C)
        eta = sums[np.arange(6), LISTED].sum(axis=1) / n
        D = eta.max() - eta
        V = np.array([np.mean(1 / table_of(learner)[x, pi[x]]) for pi in LISTED])
        assert (np.maximum(4 * K, beta * (Z @ D) ** 2) - Z @ V >= -1e-7).all()
        assert (V - np.sqrt(K * beta) * D <= 2 * K + 1e-7).all()

        C_next = 2 * np.log(len(LISTED) * (n + 1) / DELTA)
        mu = min(1 / (2 * K), np.sqrt(C_next / (2 * K * (n + 1))))
        assert learner.exploration(n) == pytest.approx(mu)
        assert table_of(learner).min() >= mu * (1 - 1e-9)
        P = (table_of(learner) - mu) / (1 - K * mu)  # mass of the completed distribution
        assert P.sum(axis=1) == pytest.approx(np.ones(6))
        assert eta.max() - (P * sums).sum() / n <= 2 * np.sqrt(K / beta) * (1 + 1e-9)
    assert epochs == 11
    assert learner.guarantee() == np.inf
    assert mass_of(learner).sum() > 0


@pytest.mark.parametrize("n", [2, 100, 10**5])
def test_slope_is_the_steepest_that_implies_the_published_constraint(n: int) -> None:
    """2K + slope D <= max(4K, beta D^2) for every D, with equality at one: a larger slope would not do."""
    C = 2 * np.log(len(LISTED) * n / DELTA)
    beta = n / (180 * C)
    D = np.linspace(0, 10, 5001) * np.sqrt(K / beta)
    room = np.maximum(4 * K, beta * D**2) - 2 * K - RandomizedUCB(listed(LISTED, K)).slope(n) * D
    assert room.min() == pytest.approx(0, abs=1e-9)
    assert D[room.argmin()] == pytest.approx(2 * np.sqrt(K / beta))


def test_guarantee_is_the_theorem_and_says_nothing() -> None:
    """The number of the paper by hand, plus delta T; above T at 10^6 and 2^20 rounds; none for another psi."""
    K, N, delta = 3, len(LABELINGS), 0.05

    def d(t: float) -> float:
        return float(np.log(16 * t**2 * N / delta))

    m0 = next(m for m in range(1, 99) if d(2**m) / 2**m <= 1 / (4 * K))
    constant = 4 * 100 + 4 * np.sqrt(2) * 95.1
    estimation = 4 * K * d(2 ** (m0 - 1)) + np.sqrt(8 * K * d(2**20) * 2**20)
    for T in (10**6, 2**20):
        bound = constant * estimation + np.sqrt(8 * T * np.log(2 / delta))
        assert learner_on(horizon=T).high_probability_bound() == pytest.approx(bound)
        assert learner_on(horizon=T).guarantee() == pytest.approx(bound + delta * T)
        assert bound > T
    assert learner_on(psi=1.0).guarantee() == np.inf
