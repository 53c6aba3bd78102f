"""A bandit that starts from a rule of a log: its features and actions, its file, rewards without a range."""

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from milpcb import Bandit
from milpcb.estimators import LoggedPolicyTree
from policies import DecisionTrees, ThresholdRules, from_json
from tests.inside import state_of

TREES = DecisionTrees(
    2, depth=1, thresholds=[[], [30, 60]], feature_names=["region", "age"], action_names=["letter", "call"]
)
VALUES: dict[str, list[Any]] = {"region": ["north", "south"]}


def learnt(**more: Any) -> Any:
    """Return the rule of a log with age, region and further columns: the old are called, others get a letter."""
    age = [20 + i % 50 for i in range(400)]
    done = ["call" if i % 3 else "letter" for i in range(400)]
    right = [(age[i] > 45) == (done[i] == "call") for i in range(400)]
    table = pl.DataFrame({"age": age, "region": ["north", "south"] * 200, **more})
    tree = LoggedPolicyTree(max_depth=1).fit(table, done, reward=np.array(right, dtype=int), propensity="randomised")
    return from_json(tree.to_json())


@pytest.mark.parametrize("more", [{}, {"chance": [0.5] * 400, "visits": list(range(400))}], ids=["few", "more"])
def test_a_learnt_rule_decides_by_its_own_tests(more: dict[str, Any], tmp_path: Path) -> None:
    """Its columns may come in another order, and be more than those of the class: no test reads them."""
    bandit = Bandit(TREES, seed=0, values=VALUES, baseline=learnt(**more))
    bandit.save(tmp_path / "b.json")
    for served in (bandit, Bandit.load(tmp_path / "b.json")):
        for age in (21, 40, 55, 69):
            decision = served.act({"age": age, "region": "south"})
            assert (decision.action, decision.probability) == ("call" if age > 45 else "letter", 1.0)


def test_a_rule_on_numbers_alone_is_placed_by_name() -> None:
    """Neither the class nor the rule has strings; the rule has one feature more, in front."""
    names = {"feature_names": ["visits", "age"], "action_names": ["letter", "call"]}
    rule = ThresholdRules(2, max_cuts=1, thresholds=[[], [45]], **names).on(np.array([[0, 20], [0, 60.0]]))
    chosen = rule.search().minimise(np.array([[0.0, 1], [1, 0]]))[1]
    ages = DecisionTrees(2, depth=1, thresholds=[[30]], feature_names=["age"], action_names=["letter", "call"])
    bandit = Bandit(ages, seed=0, baseline=chosen)
    assert [bandit.act([age]).action for age in (40, 50)] == ["letter", "call"]


def test_rewards_from_0_to_1_need_no_range(tmp_path: Path) -> None:
    """The reward r is the cost 1 - r, also after a save; the statement speaks of what was earned."""
    bandit = Bandit(TREES, seed=0, values=VALUES, keep_log=True)
    assert "earned" not in bandit.statement()
    for reward in (1, 0):
        bandit.learn(bandit.act({"age": 50, "region": "north"}), reward=reward)
        bandit.save(tmp_path / "b.json")
        bandit = Bandit.load(tmp_path / "b.json")
    assert [entry[2] for entry in state_of(bandit)["log"]] == [0.0, 1.0]
    assert "2 decisions earned 1 in all, 0.5 each" in bandit.statement()


def test_a_bandit_prints_its_baseline_by_name() -> None:
    """An action by its name, a policy by its class."""
    assert "baseline = 'call'" in repr(Bandit(TREES, values=VALUES, baseline="call"))
    assert "baseline = DecisionTree" in repr(Bandit(TREES, values=VALUES, baseline=learnt()))
