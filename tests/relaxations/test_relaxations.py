"""Every relaxation: its noise is large enough for the per-round game, and its guarantee is what the formulas say."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from scipy.optimize import linprog

from milpcb.plugins import registry
from milpcb.relaxations.base import Relaxation, psi_from_profile
from milpcb.relaxations.coordinate import Signed
from milpcb.types import Floats

NAMES = registry.names("relaxation")
LOG_SIZE = float(3 * np.log(12) + 4 * np.log(3))  # depth-2 trees, 12 literals, K = 3


def relaxation(name: str) -> Relaxation:
    """Return a registered relaxation."""
    made: Relaxation = registry.load("relaxation", name)()
    return made


def one_round(name: str, K: int, scale: float) -> list[tuple[float, np.ndarray]]:
    """Return the law of one future round's noise (K,), in units of L, by its definition."""
    if name in {"coordinate", "signed"}:
        size = 1.0 if name == "coordinate" else 0.5
        kept = [np.eye(K)[i] * sign * size for i in range(K) for sign in (-1, 1)]
    else:
        size = {"half": 0.5}.get(name, 2.0)
        kept = [size * np.array(eps) for eps in product((-1, 1), repeat=K)]
    rate = relaxation(name).rate(scale, K)
    return [(1 - rate, np.zeros(K)), *((rate / len(kept), xi) for xi in kept)]


@pytest.mark.parametrize("name", NAMES)
def test_the_stated_law_is_the_definition(name: str) -> None:
    """``law`` lists the outcomes of one kept round, in units, with probabilities that add up to 1."""
    noise, K = relaxation(name), 3
    law = noise.law(K)
    assert sum(p for p, _ in law) == 1
    stated = sorted((float(p), *(xi * noise.unit(1.0))) for p, xi in law)
    defined = sorted((p / noise.rate(8.0, K), *xi) for p, xi in one_round(name, K, 8.0)[1:])
    assert np.allclose(stated, defined)


@pytest.mark.parametrize("scale", [5.0, 8.0, 20.0])
@pytest.mark.parametrize("K", [2, 3, 4])
@pytest.mark.parametrize("name", [name for name in NAMES if name != "signed"])  # whose game is another
def test_the_noise_dominates_the_game(name: str, K: int, scale: float) -> None:
    """E max(a + xi) >= max a + (1 - gap/L)^+ for any values a of the actions: the relaxation is admissible."""
    law, rng = one_round(name, K, scale), np.random.default_rng(0)
    for _ in range(200):
        a = -np.sort(rng.exponential(rng.choice([0.1, 1.0]), K))[::-1].copy()
        first, second = np.sort(a)[::-1][:2]
        lifted = sum(p * (a + xi).max() for p, xi in law)
        assert lifted - first >= (1 - min(1.0, first - second)) / scale - 1e-12


@pytest.mark.parametrize(
    ("name", "bound"),
    [
        ("paper", 38_617),
        ("half", 12_872),
        ("centred", 29_471),
        ("bistro", 60_783),
        ("coordinate", 12_874),
        ("signed", 8_926),
    ],
)
def test_guarantees_at_a_hundred_thousand_rounds(name: str, bound: float) -> None:
    """The closed forms give the figures that the notes derive for K = 3 and 12 literals."""
    noise = relaxation(name)
    scale = noise.best_scale(100_000, 3, LOG_SIZE)
    assert noise.guarantee(scale, 100_000, 3, LOG_SIZE) == pytest.approx(bound, abs=2)


@pytest.mark.parametrize("name", NAMES)
def test_the_scale_minimises_the_guarantee(name: str) -> None:
    """No other L has a smaller guarantee; short horizons fall back on the least valid L; one policy is no problem."""
    noise = relaxation(name)
    scale = noise.best_scale(100_000, 3, LOG_SIZE)
    least = noise.guarantee(scale, 100_000, 3, LOG_SIZE)
    for factor in (0.5, 0.9, 0.99, 1.01, 1.1, 2.0):
        assert noise.guarantee(scale * factor, 100_000, 3, LOG_SIZE) >= least * (1 - 1e-9)
    assert noise.best_scale(2, 3, 50.0) == noise.least_scale(3)
    alone = noise.best_scale(100, 3, 0.0)
    assert np.isfinite(noise.guarantee(alone, 100, 3, 0.0))


@pytest.mark.parametrize(("T", "scale"), [(1000, 5.0), (10_000, 20.0), (1_000_000, 90.0)])
def test_centring_pays(T: int, scale: float) -> None:
    """Coordinate noise: between the leading order of the centred bound and the bound that does not centre."""
    a = np.geomspace(1e-4, 30, 20_000)
    explored = T * 2 / scale
    centred = np.sqrt(2 * T * scale * (1 - 1 / 3) * LOG_SIZE) + explored
    as_it_is = ((scale * LOG_SIZE + T * (np.cosh(a) - 1)) / a).min() + explored
    assert relaxation("coordinate").guarantee(scale, T, 3, LOG_SIZE) < as_it_is
    if scale == 90.0:
        assert relaxation("coordinate").guarantee(scale, T, 3, LOG_SIZE) == pytest.approx(centred, rel=2e-3)


@pytest.mark.parametrize(("name", "size"), [("coordinate", 1.0), ("signed", 0.5)])
@pytest.mark.parametrize(("K", "T", "scale"), [(2, 50, 4.0), (3, 400, 9.0), (4, 10_000, 30.0)])
def test_one_sign_on_one_action_has_the_moment_bound(name: str, size: float, K: int, T: int, scale: float) -> None:
    """The guarantee is the least moment bound, with E exp(-lambda xi) summed over one round's stated, centred law."""
    law = [(p, scale * (xi - xi.mean())) for p, xi in one_round(name, K, scale)]
    lambdas = np.geomspace(1e-6, 30 / (size * scale), 20_001)
    for action in range(K):
        moment = sum(p * np.exp(-lambdas * xi[action]) for p, xi in law)
        bounds = (LOG_SIZE + T * np.log(moment)) / lambdas + T * (K - 1) / scale
        assert relaxation(name).guarantee(scale, T, K, LOG_SIZE) == pytest.approx(bounds.min(), rel=1e-5)


@pytest.mark.parametrize("K", [2, 3, 5, 10])
def test_signed_is_a_constant_share_of_half_noise(K: int) -> None:
    """To leading order 1.89 (K - 1) K^(-2/3) T^(2/3) (log N)^(1/3): 0.63 to 0.79 of half noise."""
    signed, half, T = relaxation("signed"), relaxation("half"), 10**9
    scale = signed.best_scale(T, K, LOG_SIZE)
    assert scale == pytest.approx((4 * K**2 * T / LOG_SIZE) ** (1 / 3), rel=1e-2)
    bound = signed.guarantee(scale, T, K, LOG_SIZE)
    leading = 3 / 4 ** (1 / 3) * (K - 1) * K ** (-2 / 3) * T ** (2 / 3) * LOG_SIZE ** (1 / 3)
    assert bound == pytest.approx(leading, rel=1e-2)
    assert 0.62 < bound / half.guarantee(half.best_scale(T, K, LOG_SIZE), T, K, LOG_SIZE) < 0.79


# --------------------------------------------------------------------------- signed estimates

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
