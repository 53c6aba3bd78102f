"""Every relaxation: its noise is large enough for the per-round game, and its guarantee is what the formulas say."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from milpcb import registry
from milpcb.relaxations.base import Relaxation

NAMES = registry.names("relaxation")
LOG_SIZE = float(3 * np.log(12) + 4 * np.log(3))  # depth-2 trees, 12 literals, K = 3


def relaxation(name: str) -> Relaxation:
    """Return a registered relaxation."""
    made: Relaxation = registry.load("relaxation", name)()
    return made


def one_round(name: str, K: int, scale: float) -> list[tuple[float, np.ndarray]]:
    """Return the law of one future round's noise (K,), in units of L, by its definition."""
    if name == "coordinate":
        kept = [np.eye(K)[i] * sign for i in range(K) for sign in (-1, 1)]
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
    stated = sorted((float(p), *(xi / noise.hit)) for p, xi in law)
    defined = sorted((p / noise.rate(8.0, K), *xi) for p, xi in one_round(name, K, 8.0)[1:])
    assert np.allclose(stated, defined)


@pytest.mark.parametrize("scale", [5.0, 8.0, 20.0])
@pytest.mark.parametrize("K", [2, 3, 4])
@pytest.mark.parametrize("name", NAMES)
def test_the_noise_dominates_the_game(name: str, K: int, scale: float) -> None:
    """E max(a + xi) >= max a + (1 - gap/L)^+ for any values a of the actions: the relaxation is admissible."""
    law, rng = one_round(name, K, scale), np.random.default_rng(0)
    for _ in range(200):
        a = -np.sort(rng.exponential(rng.choice([0.1, 1.0]), K))[::-1].copy()
        first, second = np.sort(a)[::-1][:2]
        lifted = sum(p * (a + xi).max() for p, xi in law)
        assert lifted - first >= (1 - min(1.0, first - second)) / scale - 1e-12


def test_too_little_noise_would_be_noticed() -> None:
    """With three quarters of the coordinate noise the same inequality fails: the test has teeth."""
    a = np.array([0.0, 0.0])
    lifted = sum(p * (a + 0.75 * xi).max() for p, xi in one_round("coordinate", 2, 20.0))
    assert lifted < 1 / 20 - 1e-3


@pytest.mark.parametrize("name", NAMES)
def test_drawn_noise_has_the_law_s_variance(name: str) -> None:
    """The variance of summed draws is count times that of one kept round."""
    noise, K = relaxation(name), 3
    rng = np.random.default_rng(1)
    draws = np.array([noise.noise(np.array([7, 0, 130]), K, rng) for _ in range(6000)]) / noise.hit
    per_round = {"half": 0.25, "coordinate": 1 / 3}.get(name, 4.0)
    assert draws.mean(axis=0) == pytest.approx(np.zeros((3, K)), abs=0.7)
    expected = np.array([7, 0, 130])[:, None] * per_round * np.ones(K)
    assert draws.var(axis=0) == pytest.approx(expected, rel=0.1)


@pytest.mark.parametrize(
    ("name", "bound"), [("paper", 38_617), ("half", 12_872), ("centred", 29_471), ("bistro", 60_783)]
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


def test_coordinate_is_below_its_closed_form() -> None:
    """The numerical bound is at most sqrt(2 T L log N) + L log N / sqrt 12 + T (K - 1) / L."""
    for T, scale in ((1000, 5.0), (10_000, 20.0), (1_000_000, 90.0)):
        closed = np.sqrt(2 * T * scale * LOG_SIZE) + scale * LOG_SIZE / np.sqrt(12) + T * 2 / scale
        assert relaxation("coordinate").guarantee(scale, T, 3, LOG_SIZE) <= closed + 1e-6
