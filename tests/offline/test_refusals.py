"""Logs, options and restrictions that nothing can be learnt from: each is named in one line."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

import milpcb
from milpcb.estimators import LoggedPolicyTree
from milpcb.offline import LoggedRounds, evaluate, inference, no_worse_than, read_log, scores, settled
from milpcb.offline.planning import Design, plan
from milpcb.offline.restrictions import Question, prices
from policies import DecisionTrees, ThresholdRules
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
    given: dict[str, Any] = {"features": X, "cost": COST, "propensity": [1 / len(set(action))] * len(set(action))}
    return read_log(action=action, **given | changed)


def of_three(**options: Any) -> Any:
    """Return scores of a log of three actions that have names."""
    return scores(log(np.array(NAMES)[THREE], actions=NAMES), "ips", **options)


def fitted(kept: int = N, **options: Any) -> LoggedPolicyTree:
    """Return a tree that is fitted to the first rows of a log."""
    tree = LoggedPolicyTree(max_depth=1, method="ips", **options)
    return tree.fit(X[:kept], TWO[:kept], cost=COST[:kept], propensity=[0.5, 0.5])


SCORES = scores(log(), "snips")
LAW = np.tile([0.5, 0.5], (N, 1))
NEVER = LAW.copy()
NEVER[0] = [1.0, 0.0]
ONE_LATE = np.where(np.arange(N)[:, None] < 30, [1.0, 0.0], [0.0, 1.0])

SIX: dict[str, Any] = {"features": X[:6], "action": ["stay", "go"] * 3, "reward": [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]}
DATES = pd.DataFrame({"x": pd.date_range("2026-01-01", periods=N)}, dtype=object)
DISTINCT = log(features=np.arange(float(N))[:, None], propensity=None)

Case = tuple[Callable[[], object], str]
OF_TABLES: list[Case] = [
    *(
        (lambda name=name, value=value: read_log(**SIX | {name: value}), line)
        for name, value, line in (
            ("reward", None, "give either reward= "),
            ("reward", [1, 2, np.nan, 4, 5, 6], "reward[2] is nan; leave out rows"),
            ("reward", [1, 2, 3, 4, 5, -1e200], "reward[5] is -1e+200; leave out rows"),
            ("action", ["go", None, "go", "stay", "go", "go"], "action[1] is missing"),
            ("action", ["go"] * 6, "one action only, 'go'; there is nothing to choose from"),
            ("actions", ["go", "stay", "wait"], "'wait' is never taken"),
            ("actions", ["go", "stay", "go"], "a name twice"),
            ("features", X[:4], "features has 4 rows"),
            ("propensity", [0.5, 0.0, 0.5, 0.5, 0.5, 0.5], "in row 1 is 0; it must be above 0"),
            ("propensity", np.full((6, 2), 0.4), "of row 0 are [0.4, 0.4], with sum 0.8"),
            ("propensity", np.ones((6, 3)), "shape (6, 3); give (6,)"),
            ("propensity", "randomized", "did you mean 'randomised'"),
            ("propensity", {"p_go": [0.5] * 6, "stay": [0.5] * 6}, "the actions of propensity are"),
        )
    ),
    *(
        (lambda options=options: scores(log(), **{"method": "ips"} | options), line)
        for options, line in (
            ({"cv": N + 1}, f"the log has {N} rows for {N + 1} folds"),
            ({"cv": TWO}, "action '0' must be in two folds"),
            ({"cv": TWO[:7]}, f"a number of folds, or the fold of each of the {N} rows"),
            *(({"sample_weight": each}, f"sample_weight must be {N} numbers") for each in (-COST, COST[:5])),
            ({"sample_weight": TWO}, "all rows with action '0' have a sample_weight of 0"),
            ({"treatment_cost": {"two": 3.0}}, "unknown action in treatment_cost 'two'"),
        )
    ),
    (lambda: scores(read_log(X[:9], [0] * 8 + [1], reward=COST[:9])), "action '1' must be in two folds"),
    (
        lambda: scores(DISTINCT, model_propensity=DecisionTreeClassifier(), min_propensity=0.0),
        "a propensity of 0; give min_propensity",
    ),
    (lambda: scores(log(features=DATES, propensity=LAW), "dr"), "some feature holds other objects"),
    (
        lambda: scores(read_log(X * np.nan, TWO, cost=COST), model_propensity=LogisticRegression()),
        "model_propensity LogisticRegression cannot be fitted to this log: Input X contains NaN",
    ),
]
OF_LOGS: list[Case] = [
    (lambda: scores(log(group=np.arange(N) // 20), "snips"), "3 groups for 5 folds; give more groups, or a smaller cv"),
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
    (lambda: evaluate(SCORES, TWO, interval="bernstein"), "unknown interval"),
    (lambda: evaluate(scores(log(propensity="randomised"), "ips"), TWO, interval="adaptive"), "each action"),
    (lambda: evaluate(scores(log(), "ips"), LAW, interval="adaptive"), "does not draw"),
    (
        lambda: evaluate(scores(log(np.repeat([0, 1], 30), propensity=ONE_LATE), "ips"), TWO * 0, interval="adaptive"),
        "row 30",
    ),
    (lambda: inference(TREES, X[:5], SCORES), f"5 contexts for {N} scores"),
    (lambda: plan(STUMPS, Design(2, 3, 0.1, 0.5), 0.1), "2 actions"),
    *(
        (lambda law=law: Design(2, 2, *law), line)
        for law, line in (
            ((0.6, 0.5), "from 0 to the base of 0.5"),
            ((0.1, 1.5), "share must be from 0 to 1"),
            ((0.0, 0.5, 0.0), "base must be above 0 and at most 1"),
        )
    ),
]
OF_LIMITS: list[Case] = [
    *((lambda than=than: no_worse_than(than, outcome=SCORES), "than") for than in (float("nan"), True, ["0"] * 3)),
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
    (lambda: settled(log(group=np.arange(N) // 2), STUMPS), "without groups"),
    (lambda: settled(log(cost=np.full(N, 3.0)), STUMPS), "outcome_range"),
    (lambda: settled(scores(log(), "dr"), STUMPS), "method 'ips'"),
    (lambda: settled(scores(log(), "ips", sample_weight=np.arange(1.0, N + 1)), STUMPS), "without weights"),
    (lambda: settled(log(), DecisionTrees(2, depth=1)), "cut points"),
    (lambda: settled(log(), STUMPS, contexts=X[:9]), "9 rows"),
    (lambda: settled(X, STUMPS), "settled takes a log"),
    (lambda: settled(log(), STUMPS, floor=[0.1, 0.2, 0.3]), "floor"),
    (lambda: settled(log(), STUMPS, expected=X[:, :1]), "a column for each"),
]


OF_WISHES: list[Case] = [
    (lambda: Question(ThresholdRules(2), X).with_options(depth=1), "no option 'depth'"),
    (lambda: prices(Question(TREES, X), np.ones((N, 2)), [Question(TREES, X)]), "map names to questions"),  # type: ignore[arg-type]
]


@pytest.mark.parametrize(("call", "named"), OF_TABLES + OF_LOGS + OF_VALUES + OF_LIMITS + OF_TRIALS + OF_WISHES)
def test_what_cannot_be_asked_of_a_log_is_named(call: Callable[[], object], named: str) -> None:
    """By option, row, action or column."""
    refused(call, named)
