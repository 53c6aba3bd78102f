"""The greedy family: when each explores and trains, what it trains on, and its guarantee."""

from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
import pytest

from milpcb import open_oracle
from milpcb.errors import OracleInexact
from milpcb.learners import EpochGreedy, EpsilonGreedy, ExploreThenCommit
from policies import DecisionTrees
from policies.trees import DecisionTree

from .rounds import LABELINGS, listed, play

GOOD = np.where(np.arange(2) == LABELINGS[1][:, None], 0.1, 0.9)  # the policy [0, 1, 0, 1] is right
ROWS = np.arange(4)
LOG_SIZE = np.log(4)
UNIT = 2 * 2 * LOG_SIZE  # 2 K log N
SEVERAL = [[0, 1], [2, 1]]  # two policies of three actions
FUNCTIONS = np.array(list(product((0, 1), repeat=8)))  # of eight contexts, of which the first plays 0


def greedy(horizon: int | None = None, labelings: Any = LABELINGS, **options: Any) -> Any:
    """Return epsilon-greedy on a list of labelings."""
    return EpsilonGreedy(listed(labelings, kind="search"), **{"seed": 0, "horizon": horizon, **options})


def epochs(horizon: int | None = None, labelings: Any = LABELINGS) -> Any:
    """Return epoch-greedy on a list of labelings."""
    return EpochGreedy(listed(labelings, kind="search"), horizon=horizon)


def etc(horizon: int, labelings: Any = LABELINGS, **options: Any) -> Any:
    """Return explore-then-commit on a list of labelings."""
    return ExploreThenCommit(listed(labelings, kind="search"), horizon=horizon, **options)


def logged(learner: Any) -> Any:
    """Return the estimated costs (m, K) that the learner trains on."""
    return np.array(learner.state()["log"]["table"])


def feed(learner: Any, row: int, action: int, cost: float, probability: float) -> None:
    """Let the algorithm learn a round that it did not play."""
    learner._learn(row, action, cost, probability)
    learner.played += 1


def best_on(totals: Any) -> Any:
    """Return the labeling of least total."""
    return LABELINGS[totals[ROWS, LABELINGS].sum(axis=1).argmin()]


# --------------------------------------------------------------------------- schedules and trainings


def test_epsilon_greedy_explores_at_the_published_rate() -> None:
    """The rarer action has e_t / K, e_t = min(1, (K log N / (3 t))^(1/3)), from round 2; round 1 is uniform."""
    rounds, _ = play(greedy(), 200, GOOD, 0)
    assert rounds[0][3].tolist() == [0.5, 0.5]
    for t, (*_, q) in enumerate(rounds[1:], start=2):
        assert q.min() == pytest.approx(min(1, (2 * LOG_SIZE / (3 * t)) ** (1 / 3)) / 2)
        assert q.sum() == pytest.approx(1, abs=1e-15)
    rounds, _ = play(greedy(scale=3.0), 60, GOOD, 0)
    assert [q.min() for *_, q in rounds[:27]] == [0.5] * 27
    assert rounds[59][3].min() == pytest.approx(1.5 / 60 ** (1 / 3))


@pytest.mark.parametrize(
    ("ratio", "trainings"), [(2.0, [1, 2, 4, 8, 16, 32]), (1.5, [1, 2, 3, 5, 8, 12, 18, 27]), (1.0, range(1, 41))]
)
def test_it_trains_when_the_rounds_have_grown_by_the_ratio(ratio: float, trainings: Any) -> None:
    """One query after each of these rounds, and no other."""
    learner, asked = greedy(ratio=ratio), []
    for t in range(1, 41):
        calls = learner.oracle.calls
        feed(learner, 0, 0, 0.5, 0.5)
        asked += [t] * (learner.oracle.calls - calls)
    assert asked == list(trainings)


@pytest.mark.parametrize("seed", range(2))
def test_each_follows_the_best_policy_on_what_it_was_trained_on(seed: int) -> None:
    """Epsilon-greedy on all rounds up to its last training, epoch-greedy on uniform rounds, the third on the first n.

    Of these, sums of c / q over the rounds in which a policy would have played the same. The third asks once.
    """
    mean = np.random.default_rng(seed).random((4, 2))
    totals, best = np.zeros((4, 2)), None
    for t, (row, action, cost, q) in enumerate(play(greedy(), 130, mean, seed)[0]):
        best = best_on(totals) if t in (1, 2, 4, 8, 16, 32, 64, 128) else best
        assert best is None or t <= 3 or q.argmax() == best[row]
        totals[row, action] += cost / q[action]

    learner, totals, uniform = epochs(), np.zeros((4, 2)), explores(1500, UNIT)  # by the definition of the epochs
    for explored, (row, action, cost, q) in zip(uniform, play(learner, 1500, mean, seed)[0], strict=True):
        assert q.max() == (0.5 if explored else 1.0)
        if explored:
            totals[row, action] += 2 * cost
        else:
            assert q.argmax() == best_on(totals)[row]
    assert learner.oracle.calls == sum(uniform) == learner.state()["epoch"]

    learner, totals = etc(400, rounds=60), np.zeros((4, 2))
    rounds, _ = play(learner, 400, mean, seed)
    for row, action, cost, q in rounds[:60]:
        assert q.tolist() == [0.5, 0.5]
        totals[row, action] += 2 * cost
    assert all(q[best_on(totals)[row]] == 1.0 for row, *_, q in rounds[60:])
    assert learner.oracle.calls == 1
    assert logged(learner).tolist() == totals.tolist()  # the n-th round counts, no later one does


def explores(T: int, unit: float) -> list[bool]:
    """Return whether each of T rounds is the uniform one of its epoch, by the definition of s_l."""
    rounds: list[bool] = []
    epoch = 0
    while len(rounds) < T:
        epoch += 1
        eps = min(1.0, np.sqrt(unit / epoch))
        rounds += [True, *[False] * int(np.floor(1 / eps + 1e-12))]
    return rounds[:T]


def test_a_minimiser_that_is_not_proved_is_refused() -> None:
    """Nothing is committed to."""
    contexts = np.random.default_rng(0).random((20, 3))
    hurried = ExploreThenCommit(
        open_oracle(DecisionTrees(2, 2, thresholds=3), contexts, time_limit=0.0), horizon=10, rounds=1
    )
    with pytest.raises(OracleInexact):
        hurried.learn(0, 0, 1.0, float(hurried.act(0)[0]))
    assert hurried.played == 0
    assert hurried.act(1).tolist() == [0.5, 0.5]


# --------------------------------------------------------------------------- estimates


@pytest.mark.parametrize("make", [greedy, epochs, etc])
def test_estimates_are_unbiased_exactly(make: Callable[..., Any]) -> None:
    """The mean over y of what learn adds, weighted by q, is the cost vector; greedy rounds add nothing."""
    costs, added = np.array([0.3, 1.0, 0.8]), np.zeros((2, 3))
    before = make(10**6, SEVERAL)
    if make is greedy:  # where q is far from uniform
        play(before, 100, np.full((2, 3), 0.5), 0, labelings=np.array(SEVERAL))
    for action in range(3):
        learner = make(10**6, SEVERAL)
        learner.restore(before.state())
        q = learner.act(1)
        assert (q.max() > 0.7) == (make is greedy)
        learner.learn(1, action, costs[action], q[action])
        added += q[action] * (logged(learner) - logged(before))
        if make is epochs:
            held = logged(learner).tolist()
            q = learner.act(0)
            learner.learn(0, int(q.argmax()), 1.0, q.max())
            assert logged(learner).tolist() == held
    assert added == pytest.approx(np.array([[0, 0, 0], costs]), abs=1e-12)


# --------------------------------------------------------------------------- guarantees and regret


def naive(T: int, price: float, scale: float, trainings: list[int]) -> float:
    """Return the bound round by round: what exploring costs, and what the last training leaves open; no luck."""
    e = [1.0, *(min(1.0, scale / t ** (1 / 3)) for t in range(2, T + 1))]
    total = 1.0
    for t in range(2, T + 1):
        n = max(training for training in trainings if training < t)
        total += e[t - 1] + min(1.0, np.sqrt(2 * price * sum(1 / s for s in e[:n])) / n)
    return float(total)


@pytest.mark.parametrize("scale", [None, 0.5, 4.0, 1e308])
@pytest.mark.parametrize("T", [1, 2, 700])
def test_epsilon_greedy_s_guarantee_is_the_sum_over_all_rounds(scale: float | None, T: int) -> None:
    """The closed form is no less than the sum it stands for, and hardly more."""
    learner = greedy(T, scale=scale)
    exact = naive(T, 2 * LOG_SIZE, learner.scale, [2**i for i in range(12)])
    bound = learner.guarantee() - np.sqrt(T * LOG_SIZE / 2)
    assert exact - 1e-9 <= bound <= 1.05 * exact + 1


@pytest.mark.parametrize("T", [1, 2, 10, 11, 400, 5000, 20_000])
def test_epoch_greedy_s_guarantee_is_twice_the_epochs(T: int) -> None:
    """The closed form is no less than 2 L(T), epochs counted one by one, and hardly more."""
    exact = 2 * sum(explores(T, UNIT))
    assert exact <= epochs(T).guarantee() - np.sqrt(T * LOG_SIZE / 2) <= 1.4 * exact + 4
    log_size = 8 * np.log(2)
    rounds = np.maximum(1.0, np.sqrt(np.arange(1, T) / (4 * log_size))).cumsum()
    L = int((rounds <= T).sum())
    bound = epochs(T, FUNCTIONS).guarantee() - np.sqrt(T * log_size / 2)
    assert 2 * (min(L, T / 2) + 1) <= bound <= 2 * (min(L, T / 2) + 2.1)


def test_explore_then_commit_s_guarantee_is_the_bound_and_n_is_tuned() -> None:
    """It is n + (T - n) sqrt(2 K log N / n) + sqrt(T log N / 2), nearly least over n."""
    T, price = 10_000, 2 * LOG_SIZE
    n = etc(T).rounds
    assert n == int(np.ceil((T**2 * price / 2) ** (1 / 3)))
    expected = n + (T - n) * np.sqrt(2 * price / n) + np.sqrt(T * LOG_SIZE / 2)
    assert etc(T).guarantee() == pytest.approx(expected)
    assert min(etc(T, rounds=n // 2).guarantee(), etc(T, rounds=2 * n).guarantee()) > expected
    assert etc(3).rounds == 3


def test_guarantees_have_the_constants_that_the_docstrings_say() -> None:
    """In units of T^(2/3) (K log N)^(1/3), to leading order; none without a horizon."""
    T = 10**15
    unit = T ** (2 / 3) * (2 * LOG_SIZE) ** (1 / 3)
    assert greedy(T).guarantee() / unit < 3.6
    assert greedy(T, ratio=1.01).guarantee() / unit == pytest.approx(3.25, rel=0.01)
    assert epochs(T).guarantee() / unit == pytest.approx(2 * 1.5 ** (2 / 3) * 2 ** (1 / 3), rel=0.01)
    assert etc(T).guarantee() / unit == pytest.approx(3 / 2 ** (1 / 3), rel=0.01)
    assert greedy().guarantee() == epochs().guarantee() == np.inf


def test_a_training_asks_the_policy_for_no_context_that_is_not_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    """With leaf totals neither a training nor a round costs more where there are many contexts."""
    asked: list[int] = []
    predict = DecisionTree.predict
    monkeypatch.setattr(DecisionTree, "predict", lambda rule, X: asked.append(len(X)) or predict(rule, X))
    contexts = np.arange(50.0)[:, None]
    oracle = open_oracle(DecisionTrees(2, depth=1, thresholds=((9.5, 19.5),)), contexts, kind="search")
    labelings = np.array([np.arange(50) > 9, np.arange(50) <= 9], dtype=np.int64)
    play(EpochGreedy(oracle, horizon=40), 40, labelings.T.astype(float), 0, labelings)
    assert max(asked, default=1) == 1
