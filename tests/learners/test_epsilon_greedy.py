"""Epsilon-greedy: its schedule, what it trains on and when, and the regret of its guarantee."""

from typing import Any

import numpy as np
import pytest

from milpcb import learners, open_oracle
from milpcb.learners import EpsilonGreedy
from milpcb.rng import draw_action
from policies import DecisionTrees, FiniteClass

from .rounds import LABELINGS, drawn, play

GOOD = np.where(np.arange(2) == LABELINGS[1][:, None], 0.1, 0.9)  # the policy [0, 1, 0, 1] is right
ROWS = np.arange(4)


def greedy(horizon: int | None = None, labelings: Any = LABELINGS, n_actions: int = 2, **options: Any) -> Any:
    """Return the learner on a list of labelings."""
    contexts = np.arange(float(np.shape(labelings)[1]))[:, None]
    oracle = open_oracle(FiniteClass(labelings, n_actions), contexts, kind="search")
    return EpsilonGreedy(oracle, **{"seed": 0, "horizon": horizon, **options})


# --------------------------------------------------------------------------- schedule and training


def test_it_explores_at_the_published_rate() -> None:
    """The rarer action has e_t / K, e_t = min(1, (K log N / (3 t))^(1/3)), from round 2; round 1 is uniform."""
    rounds, _ = play(greedy(), 200, GOOD, 0)
    assert rounds[0][3].tolist() == [0.5, 0.5]
    for t, (*_, q) in enumerate(rounds[1:], start=2):
        assert q.min() == pytest.approx(min(1, (2 * np.log(4) / (3 * t)) ** (1 / 3)) / 2)
        assert q.sum() == pytest.approx(1, abs=1e-15)
    rounds, _ = play(greedy(scale=3.0), 60, GOOD, 0)
    assert [q.min() for *_, q in rounds[:27]] == [0.5] * 27
    assert rounds[59][3].min() == pytest.approx(1.5 / 60 ** (1 / 3))


@pytest.mark.parametrize(
    ("ratio", "trainings"), [(2.0, [1, 2, 4, 8, 16, 32]), (1.5, [1, 2, 3, 5, 8, 12, 18, 27]), (1.0, range(1, 41))]
)
def test_it_trains_when_the_rounds_have_grown_by_the_ratio(ratio: float, trainings: Any) -> None:
    """One question after each of these rounds, and no other."""
    learner, asked = greedy(ratio=ratio), []
    for t in range(1, 41):
        calls = learner.oracle.calls
        feed(learner, 0, 0, 0.5, 0.5)
        asked += [t] * (learner.oracle.calls - calls)
    assert asked == list(trainings)


@pytest.mark.parametrize("seed", range(5))
def test_it_follows_the_best_policy_on_the_estimates_of_the_last_training(seed: int) -> None:
    """Between trainings the likelier action is that of the labeling of least sum of c / q over agreeing rounds."""
    rounds, _ = play(greedy(), 130, np.random.default_rng(seed).random((4, 2)), seed)
    totals, best = np.zeros((4, 2)), None
    for t, (row, action, cost, q) in enumerate(rounds):
        if t in (1, 2, 4, 8, 16, 32, 64, 128):
            best = LABELINGS[totals[ROWS, LABELINGS].sum(axis=1).argmin()]
        if best is not None and t > 3:
            assert q.argmax() == best[row]
        totals[row, action] += cost / q[action]


def feed(learner: Any, row: int, action: int, cost: float, probability: float) -> None:
    """Let the algorithm learn a round that it did not play."""
    learner._learn(row, action, cost, probability)
    learner.played += 1


def test_estimates_from_all_rounds_are_unbiased_exactly() -> None:
    """The mean over y of what learn adds, weighted by q, is the cost vector, also when q is far from uniform."""
    costs, added = np.array([0.3, 1.0, 0.8]), np.zeros((2, 3))
    saved = greedy(labelings=[[0, 1], [2, 1]], n_actions=3)
    play(saved, 100, np.full((2, 3), 0.5), 0, labelings=np.array([[0, 1], [2, 1]]))
    for action in range(3):
        learner = greedy(labelings=[[0, 1], [2, 1]], n_actions=3)
        learner.restore(saved.state())
        q = learner.act(1)
        assert q.max() > 0.7
        learner.learn(1, action, costs[action], q[action])
        added += q[action] * (learner.estimates() - saved.estimates())
    assert added == pytest.approx(np.array([[0, 0, 0], costs]), abs=1e-12)


def test_exploration_rounds_have_the_law_of_a_coin_before_the_action() -> None:
    """A round of action y is kept with probability (e / K) / q_y and then counts K c, so each action's mean is e c."""
    games, c, K = 4000, 0.5, 2
    learner = greedy(data="exploration")
    play(learner, 40, GOOD, 1)
    saved, before, q = learner.state(), learner.estimates(), drawn(learner, 0)
    e = K * q.min()
    for y in range(K):
        kept = 0
        for _ in range(games):
            learner.restore({**saved, "rng": learner.state()["rng"]})
            feed(learner, 0, y, c, q[y])
            gained = learner.estimates()[0, y] - before[0, y]
            assert gained in (0.0, K * c)
            kept += gained > 0
        chance = e / K / q[y]
        assert abs(kept / games - chance) <= 5 * np.sqrt(chance * (1 - chance) / games) + 1e-9
    first = greedy(data="exploration", scale=1e-6)
    feed(first, 0, 1, c, 0.5)  # round 1 is uniform play: it explores for certain
    assert first.estimates().tolist()[0] == [0.0, 2 * c]


@pytest.mark.parametrize(("name", "options"), [("EpsilonGreedy", {"data": "exploration"}), ("EpochGreedy", {})])
def test_kept_totals_lead_to_the_same_play(name: str, options: dict[str, Any]) -> None:
    """Whole costs: the totals of trees' leaves and the matrix of all costs have the same minimisers, ties included."""
    contexts = np.random.default_rng(1).integers(2, size=(40, 5)).astype(float)
    runs = []
    for kind in ({"kind": "search"}, {"kind": "audited", "audit": 1e-9}):
        learner = getattr(learners, name)(open_oracle(DecisionTrees(3), contexts, **kind), horizon=1500, **options)
        rng, qs = np.random.default_rng(2), []
        for row in rng.integers(40, size=1500).tolist():
            qs.append(learner.act(row))
            action = draw_action(qs[-1], rng)
            cost = float(rng.random() < (0.2 if action == contexts[row, 0] + contexts[row, 3] else 0.7))
            learner.learn(row, action, cost, float(qs[-1][action]))
        runs.append((np.array(qs).tobytes(), learner.estimates().tobytes()))
    assert runs[0] == runs[1]


# --------------------------------------------------------------------------- guarantee and regret


def naive(T: int, price: float, scale: float, data: str, trainings: list[int]) -> float:
    """Return the bound round by round: what exploring costs, and what the last training leaves open; no luck."""
    e = [1.0, *(min(1.0, scale / t ** (1 / 3)) for t in range(2, T + 1))]
    total = 1.0
    for t in range(2, T + 1):
        n = max(training for training in trainings if training < t)
        variance = sum(1 / s for s in e[:n]) / n**2 if data == "all" else 1 / sum(e[:n])
        total += e[t - 1] + min(1.0, np.sqrt(2 * price * variance))
    return float(total)


@pytest.mark.parametrize("data", ["all", "exploration"])
@pytest.mark.parametrize("scale", [None, 0.5, 4.0, 1e308])
@pytest.mark.parametrize("T", [1, 2, 100, 700])
def test_guarantee_is_the_sum_over_all_rounds(data: str, scale: float | None, T: int) -> None:
    """The closed form is no less than the sum it stands for, and hardly more."""
    learner = greedy(T, data=data, scale=scale)
    exact = naive(T, 2 * np.log(4), learner.scale, data, [2**i for i in range(12)])
    bound = learner.guarantee() - np.sqrt(T * np.log(4) / 2)
    assert exact - 1e-9 <= bound <= 1.05 * exact + 1


def test_guarantee_has_the_constants_that_the_docstring_says() -> None:
    """To leading order 3.12 T^(2/3) (K log N)^(1/3) with training all the time, at most 14% more by default."""
    T = 10**15
    unit = T ** (2 / 3) * (2 * np.log(4)) ** (1 / 3)
    constant = 4.5 / 3 ** (1 / 3)
    assert greedy(T, data="exploration", ratio=1.01).guarantee() / unit == pytest.approx(constant, rel=0.01)
    assert constant < greedy(T).guarantee() / unit < 1.145 * constant
    assert greedy().guarantee() == np.inf


@pytest.mark.parametrize("data", ["all", "exploration"])
def test_regret_is_within_the_guarantee_on_iid_games(data: str) -> None:
    """Expected regret over seeded games is within a bound that uniform play would break."""
    T = 8000
    regrets = [play(greedy(T, data=data, seed=seed), T, GOOD, seed)[1] for seed in range(4)]
    uniform = play(greedy(T, scale=1e9), T, GOOD, 0)[1]
    assert np.mean(regrets) <= greedy(T, data=data).guarantee() < uniform


# --------------------------------------------------------------------------- state and mistakes
