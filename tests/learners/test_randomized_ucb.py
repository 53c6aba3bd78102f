"""RandomizedUCB: the published constraint holds for every distribution Z, by enumeration on the log of a run."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from milpcb import open_oracle
from milpcb.learners import RandomizedUCB
from milpcb.rng import draw_action
from milpcb.types import Floats
from policies import FiniteClass

from .rounds import mass_of, table_of

CONTEXTS = np.arange(6.0)[:, None]
LABELINGS = np.unique(np.random.default_rng(7).integers(0, 3, (12, 6)), axis=0)
BEST, K, DELTA = 4, 3, 0.05


def learner_on(labelings: Any = LABELINGS, **options: Any) -> RandomizedUCB:
    """Return the learner on a listed class."""
    oracle = open_oracle(FiniteClass(labelings, K), CONTEXTS, kind="enumeration")
    return RandomizedUCB(oracle, horizon=10**6, **options)


def play(learner: RandomizedUCB, n: int, seed: int = 0, gap: float = 1.0) -> Iterator[tuple[int, int, float, Floats]]:
    """Play against i.i.d. costs, 0 for the best policy's action and ``gap`` for others; yield each round."""
    rng = np.random.default_rng(seed)
    for _ in range(n):
        row = int(rng.integers(6))
        q = learner.act(row)
        action = draw_action(q, rng)
        cost = gap * (action != LABELINGS[BEST][row])
        learner.learn(row, action, cost, float(q[action]))
        yield row, action, cost, q


def mixtures(N: int, rng: np.random.Generator) -> Floats:
    """Return distributions Z over N policies: every point mass, many pairs, and spread ones."""
    pairs = np.eye(N)[rng.integers(0, N, (300, 2))]
    share = rng.random((300, 1))
    return np.vstack([np.eye(N), share * pairs[:, 0] + (1 - share) * pairs[:, 1], rng.dirichlet(np.full(N, 0.3), 300)])


@pytest.mark.parametrize("gap", [1.0, 0.1])
def test_published_constraint_holds_for_every_mixture(gap: float) -> None:
    """After every epoch V_Z <= max(4K, beta D(Z)^2), and sum_pi P(pi) D(pi) <= 2 sqrt(K / beta), from the log."""
    learner, Z = learner_on(), mixtures(len(LABELINGS), np.random.default_rng(1))
    rows, hits = list[int](), list[Floats]()
    epochs = 0
    for n, (row, action, cost, q) in enumerate(play(learner, 2**14, gap=gap), start=1):
        rows.append(row)
        estimate = np.zeros((6, K))
        estimate[row, action] = (1 - cost) / q[action]
        hits.append(estimate)
        if n < 2 or n & (n - 1):
            continue
        epochs += 1
        x = np.array(rows)
        sums = np.sum(hits, axis=0)
        C = 2 * np.log(len(LABELINGS) * n / DELTA)
        beta = n / (180 * C)
        eta = sums[np.arange(6), LABELINGS].sum(axis=1) / n
        D = eta.max() - eta
        V = np.array([np.mean(1 / table_of(learner)[x, pi[x]]) for pi in LABELINGS])
        assert (np.maximum(4 * K, beta * (Z @ D) ** 2) - Z @ V >= -1e-7).all()
        assert (V - np.sqrt(K * beta) * D <= 2 * K + 1e-7).all()

        C_next = 2 * np.log(len(LABELINGS) * (n + 1) / DELTA)
        mu = min(1 / (2 * K), np.sqrt(C_next / (2 * K * (n + 1))))
        assert learner.exploration(n) == pytest.approx(mu)
        assert table_of(learner).min() >= mu * (1 - 1e-9)
        P = (table_of(learner) - mu) / (1 - K * mu)  # mass of the completed distribution
        assert P.sum(axis=1) == pytest.approx(np.ones(6))
        assert eta.max() - (P * sums).sum() / n <= 2 * np.sqrt(K / beta) * (1 + 1e-9)
    assert epochs == 14
    assert mass_of(learner).sum() > 0


@pytest.mark.parametrize("n", [2, 100, 10**5])
def test_slope_is_the_steepest_that_implies_the_published_constraint(n: int) -> None:
    """2K + slope D <= max(4K, beta D^2) for every D, with equality at one: a larger slope would not do."""
    C = 2 * np.log(len(LABELINGS) * n / DELTA)
    beta = n / (180 * C)
    D = np.linspace(0, 10, 5001) * np.sqrt(K / beta)
    room = np.maximum(4 * K, beta * D**2) - 2 * K - learner_on().slope(n) * D
    assert room.min() == pytest.approx(0, abs=1e-9)
    assert D[room.argmin()] == pytest.approx(2 * np.sqrt(K / beta))


def test_regret_is_clearly_below_uniform_play() -> None:
    """On a game with a gap of 1 it has less than 0.6 of uniform play's regret after 2^15 rounds."""
    regret = sum(1 - q[LABELINGS[BEST][row]] for row, _, _, q in play(learner_on(), 2**15))
    assert regret < 0.6 * 2**15 * 2 / 3


def test_one_policy_is_played_but_for_the_floor() -> None:
    """N = 1: its action has 1 - (K - 1) mu."""
    learner = learner_on([LABELINGS[BEST]])
    for _ in play(learner, 4096):
        pass
    mu = np.sqrt(2 * np.log(4097 / DELTA) / (2 * K * 4097))
    assert learner.act(0)[LABELINGS[BEST][0]] == pytest.approx(1 - 2 * mu)


def test_there_is_no_guarantee() -> None:
    """No regret bound is claimed for this form."""
    assert learner_on().guarantee() == np.inf
