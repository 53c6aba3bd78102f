"""PolicyElimination against its definition: the constraint on P by enumeration, and who is eliminated when."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from scipy.optimize import linprog

from milpcb import FinitePool, Transductive
from milpcb.learners import PolicyElimination
from milpcb.learners.enumerated import spread
from milpcb.types import Floats, Ints

from .rounds import each_round, listed, table_of

CONTEXTS = np.arange(4.0)[:, None]
LABELINGS = np.array([[0, 0, 0, 0], [1, 1, 1, 1], [0, 1, 1, 0], [1, 0, 0, 1], [0, 1, 0, 0], [0, 1, 1, 1]])
WEIGHTS = np.array([0.4, 0.3, 0.2, 0.1])
BEST, DELTA = 2, 0.05


def learner_on(labelings: Any = LABELINGS, K: int = 2, pool: Any = None, **options: Any) -> PolicyElimination:
    """Return the learner on a listed class."""
    return PolicyElimination(
        listed(labelings, K), pool or FinitePool(CONTEXTS, WEIGHTS), **{"horizon": 10**5, "delta": DELTA, **options}
    )


def play(learner: PolicyElimination, n: int, seed: int = 0) -> Iterator[tuple[int, int, float, Floats]]:
    """Play n rounds at cost 0 for the action of the best policy and 1 for any other; yield each round."""
    return each_round(learner, n, lambda row, _rng: np.arange(2) != LABELINGS[BEST][row], seed, WEIGHTS)


def log_of(t: int, N: int) -> float:
    """Return log(1 / delta_t) by its definition."""
    return float(np.log(1 / (DELTA / (4 * N * t**2))))


def variances(labelings: Ints, law: Floats, q: Floats) -> Floats:
    """Return E_x[1 / q(pi(x)|x)] for every policy."""
    return np.array([sum(law[j] / q[j, pi[j]] for j in np.flatnonzero(law)) for pi in labelings])


# --------------------------------------------------------------------------- the distribution P


@pytest.mark.parametrize("seed", range(20))
def test_spread_meets_the_constraint(seed: int) -> None:
    """On skewed classes, where most policies agree, some P over the list has V <= 2K for each; that P was returned."""
    rng = np.random.default_rng(seed)
    K, m, N = int(rng.integers(2, 5)), 5, 40
    labelings = np.where(rng.random((N, m)) < 0.05, rng.integers(0, K, (N, m)), rng.integers(0, K, m))
    law, mu = rng.dirichlet(np.full(m, 0.7)), float(10 ** rng.uniform(-4, -0.1) / (2 * K))
    mass = spread(labelings, law, mu, K)
    assert variances(labelings, law, (1 - K * mu) * mass + mu).max() <= 2 * K * (1 + 1e-9)
    hits = (labelings[:, :, None] == np.arange(K)).reshape(N, -1).T.astype(float)  # mass of each policy
    found = linprog(np.zeros(N), A_eq=np.vstack([hits, np.ones(N)]), b_eq=np.append(mass.ravel(), 1.0))
    assert found.status == 0


# --------------------------------------------------------------------------- the learner


@pytest.mark.parametrize("growth", [1.0, 1.1, 1.3])
def test_survivors_and_constraint_follow_the_definition(growth: float) -> None:
    """Round by round from the log: mu, the constraint on P for every survivor, and the survivors themselves."""
    N, K = len(LABELINGS), 2
    learner = learner_on(growth=growth)
    alive, sums, solved, mu = np.ones(N, dtype=bool), np.zeros(N), 0, np.inf
    table, mu_played = table_of(learner), learner.state()["mu"]
    supported = alive.copy()  # the policies that P may be made of
    for t, (row, action, cost, q) in enumerate(play(learner, 2000), start=1):
        floor = min(1 / (2 * K), np.sqrt(log_of(t, N) / (2 * K * t)))
        if t >= growth * solved and floor < mu:
            solved, supported, mu = t, alive.copy(), floor
        assert mu_played == pytest.approx(mu)
        assert (q == table[row]).all()
        assert table.min() >= mu * (1 - 1e-12)
        assert table.sum(axis=1) == pytest.approx(np.ones(4))
        unplayed = (LABELINGS[supported][:, :, None] != np.arange(K)).all(axis=0)
        assert table[unplayed] == pytest.approx(mu)
        assert (variances(LABELINGS[alive], WEIGHTS, table) <= 2 * K * (1 + 1e-9)).all()
        assert mu <= np.sqrt(growth) * min(1 / (2 * K), np.sqrt(log_of(t, N) / (2 * K * t))) * (1 + 1e-12)

        sums += (LABELINGS[:, row] == action) * (1 - cost) / q[action]
        b = 2 * np.sqrt(2 * K * log_of(t, N) / t)
        assert learner.width(t) == pytest.approx(b)
        alive &= sums / t >= (sums / t)[alive].max() - 2 * b
        assert learner.survivors.tolist() == np.flatnonzero(alive).tolist()
        table, mu_played = table_of(learner), learner.state()["mu"]
    assert 1 < alive.sum() < N


def test_contexts_seen_stand_for_an_unknown_law() -> None:
    """Without weights the constraint is on the contexts seen so far, and there is no guarantee."""
    labelings = np.hstack([np.zeros((64, 2), dtype=np.int64), np.indices((2,) * 6).reshape(6, -1).T])
    labelings[17, 0] = 1  # stands alone, on a context that is an eighth of the pool and half of what is seen
    pool = Transductive(np.arange(8.0)[:, None], np.zeros(10**5, dtype=np.int64))
    learner = learner_on(labelings, pool=pool, growth=1.0)
    assert learner.guarantee() == np.inf
    counts = np.zeros(8)
    for t in range(200):
        counts[t % 2] += 1
        learner._learn(t % 2, 0, 0.5, 1.0)
        learner.played += 1
        assert (variances(labelings, counts / counts.sum(), table_of(learner)) <= 4 * (1 + 1e-9)).all()
    assert len(learner.survivors) == 64


def test_guarantee_is_the_theorem() -> None:
    """16 sqrt(2 T K log(4 T^2 N / delta)) + delta T at growth 1; growth adds its square root."""
    bound = 16 * np.sqrt(2 * 10**5 * 2 * np.log(4 * 10**10 * 6 / DELTA))
    for growth in (1.0, 1.1, 4.0):
        assert learner_on(growth=growth).guarantee() == pytest.approx(np.sqrt(growth) * bound + DELTA * 10**5)
