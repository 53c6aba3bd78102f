"""Every relaxation: its noise is large enough for the per-round game, and its guarantee is what the formulas say."""

from itertools import product

import numpy as np
import pytest

from milpcb.plugins import registry
from milpcb.relaxations.base import Relaxation

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
@pytest.mark.parametrize("name", [name for name in NAMES if name != "signed"])  # whose game is another: test_signed.py
def test_the_noise_dominates_the_game(name: str, K: int, scale: float) -> None:
    """E max(a + xi) >= max a + (1 - gap/L)^+ for any values a of the actions: the relaxation is admissible."""
    law, rng = one_round(name, K, scale), np.random.default_rng(0)
    for _ in range(200):
        a = -np.sort(rng.exponential(rng.choice([0.1, 1.0]), K))[::-1].copy()
        first, second = np.sort(a)[::-1][:2]
        lifted = sum(p * (a + xi).max() for p, xi in law)
        assert lifted - first >= (1 - min(1.0, first - second)) / scale - 1e-12


@pytest.mark.parametrize("name", NAMES)
def test_drawn_noise_has_the_law_s_variance(name: str) -> None:
    """The variance of summed draws is count times that of one kept round."""
    noise, K = relaxation(name), 3
    rng = np.random.default_rng(1)
    draws = np.array([noise.noise(np.array([7, 0, 130]), K, rng) for _ in range(6000)]) * noise.unit(1.0)
    per_round = {"half": 0.25, "coordinate": 1 / 3, "signed": 1 / 12}.get(name, 4.0)
    assert draws.mean(axis=0) == pytest.approx(np.zeros((3, K)), abs=0.7)
    expected = np.array([7, 0, 130])[:, None] * per_round * np.ones(K)
    assert draws.var(axis=0) == pytest.approx(expected, rel=0.1)


@pytest.mark.parametrize("name", NAMES)
def test_noise_of_endless_futures_is_drawn_at_once(name: str) -> None:
    """10^12 rounds on one context are summed from their law, not one by one."""
    noise, rng, counts = relaxation(name), np.random.default_rng(2), np.array([10**12, 3])
    draws = np.array([noise.noise(counts, 3, rng)[0] for _ in range(800)]) * noise.unit(1.0)
    per_round = {"half": 0.25, "coordinate": 1 / 3, "signed": 1 / 12}.get(name, 4.0)
    assert (draws / 1e6).var() == pytest.approx(per_round, rel=0.1)


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
