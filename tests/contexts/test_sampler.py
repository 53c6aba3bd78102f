"""A sampler: fresh contexts every round, merged by the cuts of the class."""

from collections import Counter

import numpy as np
import pytest
from scipy.stats import binom

from milpcb import Sampler
from milpcb.errors import InputError
from milpcb.learners import BistroPlus
from milpcb.oracles.growing import GrowingOracle
from policies import DecisionTrees
from tests.contexts.laws import has_law
from tests.learners.rounds import past

TREES = DecisionTrees(2, depth=1, thresholds=((0.0, 1.0), (0.5,)))


def draw(n: int, rng: np.random.Generator) -> np.ndarray:
    """Return n continuous contexts."""
    return rng.normal(size=(n, 2))


def test_bistro_plus_plays_on_contexts_it_has_never_seen() -> None:
    """Rows appear as contexts arrive or are drawn; their number stays that of the cells between the cuts."""
    rng = np.random.default_rng(0)
    oracle = GrowingOracle(TREES, draw(1, rng), kind="milp")
    learner = BistroPlus(oracle, Sampler(draw), horizon=300, seed=1, scale=8.0)
    for _ in range(40):
        (row,) = oracle.extend(draw(1, rng))
        q = learner.act(int(row))
        assert q.sum() == pytest.approx(1)
        assert q.min() >= 1 / 8 - 1e-12
        learner.learn(int(row), 0, 1.0, q[0])
    assert oracle.n_contexts <= 6
    assert past(learner).shape == (oracle.n_contexts, 2)


def far(n: int, rng: np.random.Generator) -> np.ndarray:
    """Return n contexts of many cells, most of them rare."""
    return np.abs(rng.normal(size=(n, 2))) ** 3


FINE = DecisionTrees(2, depth=1, thresholds=(tuple(np.arange(1.0, 40.0)), tuple(np.arange(1.0, 40.0))))


def play(learner: BistroPlus, oracle: GrowingOracle, rng: np.random.Generator, rounds: int) -> list[list[float]]:
    """Play on fresh contexts; return every q."""
    played = []
    for _ in range(rounds):
        (row,) = oracle.extend(far(1, rng))
        q = learner.act(int(row))
        action = int(rng.random() > q[0])
        learner.learn(int(row), action, float(action != row % 2), q[action])
        played.append(q.tolist())
    return played


def fresh() -> tuple[BistroPlus, GrowingOracle]:
    """Return a learner and its oracle as they are at the start of a run."""
    oracle = GrowingOracle(FINE, [[0.0, 0.0]])
    return BistroPlus(oracle, Sampler(far), horizon=600, seed=1, scale=8.0), oracle


def test_an_oracle_with_other_contexts_is_not_restored_into() -> None:
    """Rows that another context already has are refused in one line, and learner and oracle are as they were."""
    first, oracle = fresh()
    play(first, oracle, np.random.default_rng(0), 5)
    other, grown = fresh()
    grown.extend([[500.0, 0.0]])
    before = other.state()
    with pytest.raises(InputError, match="rows back"):
        other.restore(first.state())
    assert other.state() == before
    assert grown.n_contexts == 2


def test_only_the_rounds_that_carry_noise_are_drawn() -> None:
    """In round t the function is asked for n contexts, n ~ Binomial(T - t, rate), whatever T is; not for n = 0."""
    asked: list[int] = []

    def counted(n: int, rng: np.random.Generator) -> np.ndarray:
        asked.append(n)
        return draw(n, rng)

    oracle, sampler, rng = GrowingOracle(TREES, [[0.0, 0.0]]), Sampler(counted), np.random.default_rng(4)
    sampler.attach(oracle, None)
    for t, rate in ((1, 0.02), (150, 0.02), (199, 0.5)):
        asked.clear()
        for _ in range(800):
            counts = sampler.future(t - 1, 200, rate, rng)  # rounds count from 1 here, from 0 there
            assert counts.sum() == (asked[-1] if counts.any() else 0)
        assert 0 not in asked
        law = dict(enumerate(binom.pmf(range(201 - t), 200 - t, rate)))
        assert has_law(Counter([*asked, *[0] * (800 - len(asked))]), law, least=5)


def test_a_draw_of_another_size_is_refused() -> None:
    """A function that ignores n would bend the law of the noise; the oracle takes none of the contexts in."""
    sampler, oracle = Sampler(lambda n, rng: draw(n + 1, rng)), GrowingOracle(TREES, [[0.0, 0.0]])
    sampler.attach(oracle, None)
    with pytest.raises(InputError, match="returned 51 contexts"):
        sampler.future(0, 51, 1.0, np.random.default_rng(0))
    assert oracle.n_contexts == 1
