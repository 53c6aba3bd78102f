"""Signed estimates: the game of one round against a linear program, the noise against its value, wide bounds."""

from fractions import Fraction

import numpy as np
import pytest
from scipy.optimize import linprog

from milpcb.relaxations.coordinate import Signed
from milpcb.relaxations.game import psi_from_profile
from milpcb.types import Floats

F = Fraction
SIGNED = Signed()


def random_profile(rng: np.random.Generator, K: int) -> Floats:
    """Return V (K,), integers or real ones, some actions played by no policy."""
    V = rng.integers(0, 3, K).astype(float) if rng.random() < 0.5 else rng.exponential(0.5, K)
    V[rng.random(K) < 0.2] = np.inf
    if np.isinf(V).all():
        V[0] = 0.0
    return V


def moved(V: Floats, step: float) -> Floats:
    """Return (K,): by how much ``step`` on each action moves min V, by the definition, in steps."""
    return np.array([((V + step * (np.arange(len(V)) == i)).min() - V.min()) / step for i in range(len(V))])


def game_value(raised: Floats, lowered: Floats) -> float:
    """Return min over q of 1/2 sum_i max(q_i - raised_i, lowered_i - q_i), as a linear program in q and u."""
    K, one = len(raised), np.eye(len(raised))
    rows = np.vstack([np.hstack([one, -2 * one]), np.hstack([-one, -2 * one])])
    solved = linprog(
        np.repeat([0.0, 1.0], K),
        rows,
        np.concatenate([raised, -lowered]),
        np.repeat([[1.0, 0.0]], K, axis=1),
        [1.0],
        bounds=[(0, 1)] * K + [(None, None)] * K,
    )
    return float(solved.fun)


def test_q_wins_the_game_and_the_noise_pays_for_it() -> None:
    """q* attains the least worst cost, below mu; one round of noise lifts Rel by as much or more; q adds (K - 1)/L."""
    for seed in range(100):
        rng = np.random.default_rng(seed)
        K = int(rng.integers(2, 6))
        V, scale = random_profile(rng, K), float(2 * K + rng.exponential(5))
        raised, lowered = moved(V, 1.0), moved(V, -1.0)
        q_star = SIGNED.respond(psi_from_profile(V, -1.0), np.full(K, np.nan))
        assert q_star.sum() == pytest.approx(1)
        assert (q_star <= (raised + lowered) / 2 + 1e-12).all()
        value = game_value(raised, lowered)
        assert SIGNED.loss(q_star, raised, lowered, scale) == pytest.approx(value, abs=1e-9)
        noises = [sign * row for row in np.eye(K) for sign in (-1, 1)]
        lifted = SIGNED.rate(scale, K) * SIGNED.unit(scale) * np.mean([V.min() - (V + xi).min() for xi in noises])
        assert lifted >= value - 1e-9
        q = (1 - K / scale) * q_star + 1 / scale
        assert SIGNED.loss(q, raised, lowered, scale) <= value + (K - 1) / scale + 1e-12


@pytest.mark.parametrize("K", [2, 3, 5])
@pytest.mark.parametrize("gap", [F(0), F(1, 3), F(1), F(2)])
def test_equal_gaps_leave_no_slack(K: int, gap: F) -> None:
    """Where all others are behind by the same gap, the lift is exactly the game's value, (K - 1) (1 - gap)^+ / 2."""
    V = np.array([F(0), *[gap] * (K - 1)])
    noises = [sign * row for row in np.eye(K, dtype=int) for sign in (-1, 1)]
    lifted = F(K - 1) * sum(V.min() - (V + xi).min() for xi in noises) / (2 * K)
    assert lifted == F(K - 1, 2) * max(1 - gap, F(0))
    q_star = SIGNED.respond(psi_from_profile(V, -1), np.full(K, F(1, K)))
    loss = SIGNED.loss(q_star, moved(V, F(1)), moved(V, F(-1)), 1.0)
    assert loss == lifted


@pytest.mark.parametrize(
    ("profile", "q_star"),
    [
        ((0, 1, 1), (1, 0, 0)),
        ((0, 0, 5), (F(1, 2), F(1, 2), 0)),
        ((2, 2, 2), (F(1, 3), F(1, 3), F(1, 3))),
        ((0, F(1, 2), 5), (F(3, 4), F(1, 4), 0)),
        ((0, F(1, 2), F(1, 2)), (F(3, 5), F(1, 5), F(1, 5))),
        ((3, np.inf, np.inf), (1, 0, 0)),
    ],
)
def test_what_is_played(profile: tuple[F, ...], q_star: tuple[F, ...]) -> None:
    """One leader gets all, several share alike, and between integers it is mu over its sum."""
    V = np.array([v if v == np.inf else F(v) for v in profile], dtype=object)
    assert tuple(SIGNED.respond(psi_from_profile(V, -1), V)) == q_star


def test_the_excess_covers_what_wide_bounds_lose() -> None:
    """For any psi between the bounds, q* from the upper ones loses at most ``excess``; exact bounds lose nothing."""
    for seed in range(60):
        rng = np.random.default_rng(seed)
        K = int(rng.integers(2, 6))
        V = rng.integers(0, 4, K).astype(float)
        psi = psi_from_profile(V, -1.0)
        upper, lower = psi + rng.exponential(0.3, K + 1), psi - rng.exponential(0.3, K + 1)
        raised, lowered = moved(V, 1.0), moved(V, -1.0)
        for low, high in ((lower, upper), (psi, psi)):
            q_star = SIGNED.respond(high, np.full(K, np.nan))
            lost = SIGNED.loss(q_star, raised, lowered, 1.0) - game_value(raised, lowered)
            assert lost <= SIGNED.excess(low, high, q_star) + 1e-9
        assert SIGNED.excess(psi, psi, SIGNED.respond(psi, V)) == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize("K", [2, 3, 4])
def test_the_estimate_is_that_of_c_less_a_half_exactly(K: int) -> None:
    """Summed over actions and hits, the expectation is c - 1/2, and the least q = 1/L is enough for a probability."""
    rng, scale = np.random.default_rng(K), F(9)
    for _ in range(30):
        shares = [F(int(n), 100) for n in rng.multinomial(100, np.full(K, 1 / K))]
        q = [(1 - K / scale) * share + 1 / scale for share in shares]
        for i, cost in enumerate(F(int(n), 10) for n in rng.integers(0, 11, K)):
            chance, units = SIGNED.estimate(cost, q[i], scale)  # type: ignore[arg-type]
            assert 0 <= chance <= 1
            assert units in {-1, 1}
            assert q[i] * chance * units * SIGNED.unit(scale) == cost - SIGNED.shift
