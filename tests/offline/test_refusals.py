"""Logs, options and restrictions that nothing can be learnt from: each is named in one line."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import milpcb
from milpcb.estimators import LoggedPolicyTree
from milpcb.offline import (
    LoggedRounds,
    cross_evaluate,
    evaluate,
    inference,
    no_worse_than,
    read_log,
    scores,
    settled,
)
from milpcb.offline.planning import Design, plan
from milpcb.offline.restrictions import (
    First,
    Monotone,
    Question,
    alike,
    prices,
)
from policies import DecisionTrees, FiniteClass, ThresholdRules
from tests.refused import refused

N = 60
RNG = np.random.default_rng(0)
X = RNG.integers(0, 2, (N, 2)).astype(float)
TWO, THREE = np.arange(N) % 2, np.arange(N) % 3
COST = RNG.integers(0, 2, N).astype(float)
NAMES = ["b", "a", "c"]
STUMPS = DecisionTrees(2, depth=1, thresholds=[[0.5], [0.5]])
TREES, DEEPER = DecisionTrees(2, depth=1), DecisionTrees(3, depth=2, thresholds=[[0.5], [0.5]])


def log(action: Any = TWO, **changed: Any) -> Any:
    """Return a log of two actions with known propensities."""
    n_actions = len(np.unique(action))
    return read_log(X, action, **{"cost": COST, "propensity": [1 / n_actions] * n_actions} | changed)


def of_three(**options: Any) -> Any:
    """Return scores of a log of three actions that have names."""
    return scores(log(np.array(NAMES)[THREE], actions=NAMES), "ips", **options)


def fitted(kept: int = N, **options: Any) -> LoggedPolicyTree:
    """Return a tree that is fitted to the first rows of a log."""
    tree = LoggedPolicyTree(max_depth=1, method="ips", **options)
    return tree.fit(X[:kept], TWO[:kept], cost=COST[:kept], propensity=[0.5, 0.5])


SCORES = scores(log(), "snips")
OWN: Any = np.empty((N, 1), dtype=object)
OWN[:, 0] = [(0, 1)] * N
LAW = np.tile([0.5, 0.5], (N, 1))
NEVER = LAW.copy()
NEVER[0] = [1.0, 0.0]
ONE_LATE = np.where(np.arange(N)[:, None] < 30, [1.0, 0.0], [0.0, 1.0])

Case = tuple[Callable[[], object], str]
OF_LOGS: list[Case] = [
    (lambda: scores(read_log(OWN, TWO, reward=COST), "dr", cv=2), "default models"),
    (lambda: LoggedRounds(log(propensity=None)), "propensity"),
    (lambda: LoggedRounds(log(cost=np.where(np.arange(N) == 1, 3.0, COST))), "row 1"),
    (lambda: LoggedRounds(log(THREE, propensity=np.full(N, 1 / 3))), f"({N}, 3)"),
    (lambda: LoggedRounds(log(propensity=NEVER)), "'1' had no chance in row 0"),
    (lambda: milpcb.play(LoggedRounds(log()), ["uniform"], N, policies=STUMPS, contexts=X), "horizon"),
]
OF_VALUES: list[Case] = [
    *(
        (lambda given=given: evaluate(of_three(), given), "probabilities")
        for given in (
            np.full((N, 3), 0.3),
            np.tile([1.5, -0.5, 0.0], (N, 1)),
            np.full((N, 3), np.nan),
            {"a": 0.5, "b": 0.5},
            {"a": np.ones(3), "b": np.ones(4), "c": 0.0},
            np.full((N, 3), "x"),
        )
    ),
    (lambda: evaluate(of_three(), {"a": 0.5, "b": 0.5, "d": 0.0}), "'d'"),
    (lambda: evaluate(SCORES, TWO, outcome_range=(0, 0.5)), "outcome_range"),
    *(
        (lambda few=few: cross_evaluate(lambda *_: few, log(), method="snips"), f"{len(few)} actions")
        for few in ([0], [0, 1])
    ),
    (lambda: evaluate(scores(log(propensity="randomised"), "ips"), TWO, interval="adaptive"), "each action"),
    (lambda: evaluate(scores(log(), "ips"), LAW, interval="adaptive"), "does not draw"),
    (
        lambda: evaluate(scores(log(np.repeat([0, 1], 30), propensity=ONE_LATE), "ips"), TWO * 0, interval="adaptive"),
        "row 30",
    ),
    (lambda: cross_evaluate(lambda *_: None, log(), interval="adaptive"), "first rows"),
    (lambda: inference(TREES, X[:5], SCORES), f"5 contexts for {N} scores"),
    (lambda: inference(TREES, X, SCORES, draws=18), "draws"),
    (lambda: plan(STUMPS, Design(2, 3, 0.1, 0.5), 0.1), "2 actions"),
]
OF_LIMITS: list[Case] = [
    *((lambda than=than: no_worse_than(than, outcome=SCORES), "than") for than in (float("nan"), float("inf"), True)),
    (lambda: fitted(constraints=[no_worse_than(fitted().policy_, outcome=SCORES)]), "predict_names"),
    (lambda: no_worse_than("0", outcome=SCORES).rule(TREES, X[:10]), f"{N} rows, there are 10"),
    *(
        (
            lambda kept=kept: fitted(
                kept, constraints=[no_worse_than("0", outcome=SCORES.take(np.arange(N - kept)), margin=1.0)]
            ),
            "rows",
        )
        for kept in (20, 40)
    ),
]
OF_TRIALS: list[Case] = [
    *((lambda known=known: settled(log(propensity=known), STUMPS), "probabilities") for known in ("randomised", None)),
    (lambda: settled(log(group=np.arange(N) // 2), STUMPS), "group"),
    (lambda: settled(log(cost=np.full(N, 3.0)), STUMPS), "outcome_range"),
    (lambda: settled(scores(log(), "dr"), STUMPS), "later rows"),
    (lambda: settled(scores(log(), "ips", sample_weight=np.arange(1.0, N + 1)), STUMPS), "weighted"),
    (lambda: settled(log(), DecisionTrees(2, depth=1)), "cut points"),
    (lambda: settled(log(), STUMPS, 0.0), "eps"),
    (lambda: settled(log(), STUMPS, contexts=X[:9]), "9 rows"),
    (lambda: settled(X, STUMPS), "give a log"),
    (lambda: settled(log(), STUMPS, floor=[0.1, 0.2, 0.3]), "floor"),
    (lambda: settled(log(), STUMPS, expected=X[:, :1]), "a column for each"),
]


def price(restriction: Any, policies: Any = TREES) -> Any:
    """Return the price of a restriction."""
    return prices(Question(policies, X), np.ones((N, policies.n_actions)), [restriction])


OF_WISHES: list[Case] = [
    (lambda: price(First((0,)), ThresholdRules(2)), "first question"),
    (lambda: price(Monotone({0: 1}), DecisionTrees(2, min_leaf_size=2)), "min_leaf_size"),
    (lambda: price(Monotone({0: 1}), FiniteClass([[0] * N, [1] * N], 2)), "rules of columns"),
    (lambda: alike([(0, 1)] * 2000, 10, 2), "too many"),
    (lambda: price(First(()), DEEPER), "columns"),
]


@pytest.mark.parametrize(("call", "named"), OF_LOGS + OF_VALUES + OF_LIMITS + OF_TRIALS + OF_WISHES)
def test_what_cannot_be_asked_of_a_log_is_named(call: Callable[[], object], named: str) -> None:
    """By option, row, action or column."""
    refused(call, named)
