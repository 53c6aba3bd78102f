"""Uniform play, Hedge, Exp4.P and the best policy in hindsight: what learners are compared with."""

from typing import Any

import numpy as np
import pytest

from milpcb.errors import InputError
from milpcb.learners import BestInHindsight, Exp4P, Hedge
from milpcb.types import Floats

from .rounds import drawn, listed

LABELINGS = np.array([[0, 1, 2, 0], [1, 1, 1, 1], [2, 0, 1, 2], [0, 0, 0, 0]])


def hedge(horizon: int, **options: float | None) -> Hedge:
    """Return Hedge over the four labelings."""
    return Hedge(listed(LABELINGS), horizon=horizon, **options)  # type: ignore[arg-type]


def shown(learner: Hedge, row: int, costs: Any) -> Floats:
    """Play a round in which action 0 is drawn, show all costs, and return q."""
    q = learner.act(row)
    learner.learn(row, 0, costs[0], q[0])
    learner.learn_all(row, costs)
    return q


@pytest.mark.parametrize("rate", [None, 0.0, 0.7])
def test_hedge_weights_follow_the_definition(rate: float | None) -> None:
    """q(a) is the normalised sum of exp(-rate * cost) over the policies that play a; the bound is that of the rate."""
    learner, rng, totals = hedge(50, rate=rate), np.random.default_rng(0), np.zeros(4)
    for _ in range(20):
        row, costs = int(rng.integers(4)), rng.random(3)
        weights = np.exp(-learner.rate * totals)
        expected = np.bincount(LABELINGS[:, row], weights, minlength=3) / weights.sum()
        assert shown(learner, row, costs) == pytest.approx(expected, abs=1e-12)
        totals += costs[LABELINGS[:, row]]
    known = {None: np.sqrt(50 * np.log(4) / 2), 0.0: np.inf, 0.7: np.log(4) / 0.7 + 0.7 * 50 / 8}
    assert learner.guarantee() == pytest.approx(known[rate])


# ------------------------------------------------------------------- Exp4.P


def exp4p(horizon: int, labelings: Any = LABELINGS, **options: float) -> Exp4P:
    """Return Exp4.P over the labelings."""
    return Exp4P(listed(labelings, 3), horizon=horizon, **options)  # type: ignore[arg-type]


def test_exp4p_follows_the_published_box() -> None:
    """Step by step the box of Beygelzimer et al. (2011), with advice vectors, rewards and the uniform expert."""
    T, K, delta = 80, 3, 0.1
    N = len(LABELINGS) + 1
    learner, rng = exp4p(T, delta=delta), np.random.default_rng(0)
    p_min, w = np.sqrt(np.log(N) / (K * T)), np.ones(N)
    for _ in range(60):
        row, costs = int(rng.integers(4)), rng.random(K)
        advice = np.vstack([np.eye(K)[LABELINGS[:, row]], np.full(K, 1 / K)])
        p = (1 - K * p_min) * (w @ advice) / w.sum() + p_min
        q = learner.act(row)
        assert np.abs(q - p).max() < 1e-10
        action = int(rng.choice(K, p=q))
        learner.learn(row, action, costs[action], q[action])
        reward = np.zeros(K)
        reward[action] = (1 - costs[action]) / p[action]
        gain, spread = advice @ reward, advice @ (1 / p)
        w *= np.exp(p_min / 2 * (gain + spread * np.sqrt(np.log(N / delta) / (K * T))))


def test_exp4p_has_the_published_guarantee() -> None:
    """6 sqrt(K T log(N / delta)), the uniform expert counted; where that needs more rounds, the horizon is refused."""
    assert exp4p(1000).guarantee() == pytest.approx(6 * np.sqrt(3 * 1000 * np.log(5 / 0.05)))
    assert exp4p(1000, delta=0.2).guarantee() == pytest.approx(6 * np.sqrt(3 * 1000 * np.log(5 / 0.2)))
    least = int(np.ceil(np.log(5 / 0.05) / 3))
    assert exp4p(least).guarantee() > least
    with pytest.raises(InputError, match=r"log\(N / delta\) <= K T, but 4\.605 > 3: raise the horizon"):
        exp4p(least - 1)


def test_exp4p_plays_uniformly_where_the_guarantee_is_void() -> None:
    """With T < K log N the floor is 1/K."""
    assert exp4p(2).act(0) == pytest.approx(np.full(3, 1 / 3))
    assert exp4p(200).act(0).min() >= np.sqrt(np.log(5) / 600)


def test_exp4p_gives_no_weight_to_experts_far_behind() -> None:
    """However far: the floor is all that the actions of others have left, and no weight is too large for a number."""
    learner, floor = exp4p(1000), np.sqrt(np.log(5) / 3000)
    learner.restore({**learner.state(), "log_weights": [2000.0, 0.0, 0.0, 0.0, 0.0]})
    assert learner.act(1) == pytest.approx([floor, 1 - 2 * floor, floor])


# ------------------------------------------------------------------- the best policy in hindsight


def test_the_best_policy_has_no_regret_in_the_end() -> None:
    """After T rounds its cost is the least of any policy; earlier, another may be ahead, never the other way round."""
    T, rng = 60, np.random.default_rng(5)
    rows, costs = rng.integers(0, 4, T), rng.random((T, 3))
    by_policy = costs[np.arange(T)[:, None], LABELINGS[:, rows].T].cumsum(axis=0)
    best = LABELINGS[by_policy[-1].argmin()]
    learner = BestInHindsight(best, n_actions=3)
    paid = np.cumsum([drawn(learner, int(row)) @ cost for row, cost in zip(rows, costs, strict=True)])
    regret = paid - by_policy.min(axis=1)
    assert regret[-1] == pytest.approx(0.0, abs=1e-12)
    assert regret.min() > -1e-12
    assert regret.max() > 0.1
    assert learner.guarantee() == 0.0
