"""Rel(empty) by Monte Carlo against its definition: every future of a tiny setting, listed."""

from collections import Counter

import numpy as np
import pytest

from milpcb import Empirical, FinitePool, Sampler, Transductive, open_oracle
from milpcb.environments.planted import Planted
from milpcb.errors import InputError
from milpcb.oracles.base import Oracle
from milpcb.oracles.growing import GrowingOracle
from milpcb.plugins import registry
from milpcb.protocols import ContextModel
from milpcb.relaxations.paper import Paper
from milpcb.relaxations.value import Estimate, RelaxationValue, Setting
from policies import DecisionTrees, FiniteClass
from tests.contexts.laws import has_law

CONTEXTS = np.array([[0.0], [1.0]])
LABELINGS = [[0, 0], [0, 1], [1, 1]]
WEIGHTS = [0.75, 0.25]
ORDER = [1, 0, 1]
RELAXATIONS = registry.names("relaxation")
Key = tuple[int, ...]


def tiny(noise: str = "paper", pool: ContextModel | None = None, horizon: int = 3) -> Setting:
    """Return three policies of two actions on two contexts."""
    oracle = open_oracle(FiniteClass(LABELINGS, 2), CONTEXTS, kind="enumeration")
    return Setting(registry.load("relaxation", noise)(), oracle, pool or FinitePool(CONTEXTS, WEIGHTS), horizon)


def futures(setting: Setting, scale: float, shown: list[list[float]]) -> dict[Key, float]:
    """Return the law of the summed noise (2, 2), round by round; ``shown[t][j]`` is P[round t shows context j]."""
    rate, law = setting.relaxation.rate(scale, 2), {(0, 0, 0, 0): 1.0}
    kept = [(float(share), xi.tolist()) for share, xi in setting.relaxation.law(2)]
    for first, second in shown:
        step: dict[Key, float] = {}
        for total, p in law.items():
            u, v, x, y = total
            step[total] = step.get(total, 0.0) + p * (1 - rate)
            for share, (i, j) in kept:
                for key, chance in (((u + i, v + j, x, y), first), ((u, v, x + i, y + j), second)):
                    step[key] = step.get(key, 0.0) + p * rate * share * chance
        law = step
    return {total: p for total, p in law.items() if p > 0}


def exact(setting: Setting, scale: float, shown: list[list[float]]) -> float:
    """Return Rel(empty) by its definition: the expected largest noise of a policy, and what exploring costs."""
    sup = sum(
        p * max(total[a] + total[2 + b] for a, b in LABELINGS) for total, p in futures(setting, scale, shown).items()
    )
    explored = {"paper": 2, "bistro": 2}.get(type(setting.relaxation).__name__.lower(), 1)  # K, or K - 1
    return float(setting.relaxation.unit(scale) * sup + len(shown) * explored / scale)


def estimate(setting: Setting, rng: np.random.Generator, draws: int) -> Estimate:
    """Return Rel(empty) at L = 4."""
    return setting.estimates(np.array([4.0]), rng, draws)[0]


def test_a_known_order_and_a_sampler_have_their_own_value() -> None:
    """Transductive rounds show the listed contexts; a sampler of the pool's law has the pool's value."""
    known = tiny(pool=Transductive(CONTEXTS, ORDER))
    at = estimate(known, np.random.default_rng(0), draws=3000)
    assert abs(at.mean - exact(known, 4.0, [[float(j == row) for j in (0, 1)] for row in ORDER])) < 2 * at.half_width

    oracle = GrowingOracle(DecisionTrees(2, 1, thresholds=((0.5,),)), [[0.0]])
    drawn = Setting(Paper(), oracle, Sampler(lambda n, rng: rng.random((n, 1)) > WEIGHTS[0]), 3)
    like = Setting(Paper(), open_oracle(DecisionTrees(2, 1), CONTEXTS, kind="search"), FinitePool(CONTEXTS, WEIGHTS), 3)
    pair = [estimate(g, np.random.default_rng(1), draws=1500) for g in (drawn, like)]
    assert abs(pair[0].mean - pair[1].mean) < 1.5 * (pair[0].half_width + pair[1].half_width)


@pytest.mark.parametrize("noise", RELAXATIONS)
def test_the_law_at_each_scale_is_that_of_fresh_noise(noise: str) -> None:
    """Sharing rounds between the scales of a grid changes the law at none of them."""
    setting, scales, rng = tiny(noise, horizon=2), np.array([4.0, 5.0, 12.0]), np.random.default_rng(3)
    draws = [list(setting.noise(scales, rng))[::-1] for _ in range(4000)]
    for k, scale in enumerate(scales):
        seen = Counter(tuple(draw[k].ravel().tolist()) for draw in draws)
        assert has_law(seen, futures(setting, float(scale), [WEIGHTS] * 2))


def test_the_intervals_cover_the_truth_as_often_as_they_say() -> None:
    """Of 300 intervals at the best L of a grid some 95 % hold Rel(empty), although its least mean is too low."""
    setting, truth = tiny("half", horizon=8), dict[float, float]()
    rng, inside, low, honest = np.random.default_rng(5), 0, [], []
    for _ in range(300):
        found = setting.value(rng, 12)
        truth = truth or {at.scale: exact(setting, at.scale, [WEIGHTS] * 8) for at in found.grid}
        least = truth[found.best.scale]
        inside += abs(found.best.mean - least) <= found.best.half_width
        low.append(min(at.mean for at in found.grid) - min(truth.values()))
        honest.append(found.best.mean - least)
    assert 0.91 < inside / 300 < 0.985
    error = float(np.std(honest)) / np.sqrt(300)
    assert np.mean(low) < -4 * error
    assert abs(np.mean(honest)) < 3 * error


# --------------------------------------------------------------------------- depth-2 trees at the horizons of the paper


def trees(n_actions: int) -> tuple[Oracle, FinitePool]:
    """Return depth-2 trees on 200 contexts of 12 binary features."""
    policies = DecisionTrees(n_actions, 2)
    contexts = Planted(n_actions=n_actions).open(policies, 1, seed=0).contexts
    return open_oracle(policies, contexts, kind="search"), FinitePool(contexts)


def value(noise: str, horizon: int, draws: int = 50) -> RelaxationValue:
    """Return the value for these trees of three actions."""
    relaxation = registry.load("relaxation", noise)()
    return Setting(relaxation, *trees(3), horizon).value(np.random.default_rng(0), draws)


@pytest.mark.parametrize(
    ("noise", "closed", "low", "high"),
    [("paper", 38_617, 28_200, 29_700), ("half", 12_870, 10_700, 11_300), ("signed", 8_926, 7_000, 8_500)],
)
def test_values_of_small_trees(noise: str, closed: float, low: float, high: float) -> None:
    """A quarter of the paper's closed form is slack on this class, and some of every other's."""
    found = value(noise, 100_000, 100)
    assert min(at.closed_form for at in found.grid) == pytest.approx(closed, rel=2e-3)
    assert low < found.best.mean < high
    assert found.best.half_width < 0.03 * found.best.mean
    assert found.best.upper < found.best.closed_form


@pytest.mark.parametrize("noise", RELAXATIONS)
def test_the_closed_form_bounds_the_value_at_every_scale(noise: str) -> None:
    """The default grid holds valid L around the closed form's best, and the theorem's bound is above each mean."""
    found = value(noise, 20_000)
    scales, mean, half_width, closed_form = np.array(found.grid).T
    assert scales[0] >= registry.load("relaxation", noise)().least_scale(3)
    assert scales[-1] > 3.5 * scales[closed_form.argmin()]
    assert (np.diff(scales) > 0).all()
    assert (mean - half_width < closed_form).all()


def test_an_unknown_law_is_one_clear_line() -> None:
    """One draw, a horizon of 0, and contexts whose law nobody knows are refused."""
    with pytest.raises(InputError, match="draws must be"):
        tiny().value(np.random.default_rng(0), 1)
    with pytest.raises(InputError, match="horizon must be"):
        tiny(horizon=0)
    with pytest.raises(InputError, match="Empirical does not know"):
        tiny(pool=Empirical(CONTEXTS))


def test_the_sups_are_the_oracle_s_answers_centred() -> None:
    """Every draw is the largest -noise of any listed policy, less the mean of -noise over the actions."""
    setting, scales = tiny("coordinate", horizon=6), np.array([2.0, 4.0, 8.0])
    for seed in range(200):
        noise = setting.noise(scales, np.random.default_rng(seed))
        sups = [max(-at[0, a] - at[1, b] for a, b in LABELINGS) + at.sum() / 2 for at in noise][::-1]
        assert setting.sups(scales, np.random.default_rng(seed)).tolist() == sups
