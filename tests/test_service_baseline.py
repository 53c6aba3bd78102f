"""A bandit with a baseline, an action or a rule of a log: its promise through late costs, files and crashes."""

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from milpcb import Bandit, Decision, never, share_at_most
from milpcb.estimators import LoggedPolicyTree
from milpcb.learners import Conservative
from policies import DecisionTrees, from_json
from tests.inside import learner_of, open_decisions, state_of
from tests.refused import refused

NAMES = {"feature_names": ["age", "region"], "action_names": ["call", "write", "wait"]}
TREES = DecisionTrees(3, depth=1, thresholds=[[30, 60], []], **NAMES)


def cost(person: dict[str, Any], action: str | int, rng: Any) -> float:
    """The world: the young should be written to, the others left alone."""
    return float(rng.random() < (0.2 if action == ("write" if person["age"] <= 30 else "wait") else 0.6))


def serve(bandit: Bandit, rounds: int, seed: int) -> tuple[float, list[Decision]]:
    """Decide and learn, up to eight decisions late; return what was paid, and what is still open."""
    rng, late, paid = np.random.default_rng(seed), [], 0.0
    for _ in range(rounds):
        person = {"age": int(rng.integers(18, 80)), "region": str(rng.choice(["north", "south"]))}
        decision = bandit.act(person)
        late.append((decision, cost(person, decision.action, rng)))
        while len(late) > 8:
            known, due = late.pop(int(rng.integers(len(late))))
            bandit.learn(known, cost=due)
            paid += due
    return paid, [known for known, _ in late]


def today() -> Any:
    """Return a policy that was found elsewhere, with cut points of its own."""
    bandit = Bandit(DecisionTrees(3, depth=1, thresholds=[[45], []], **NAMES), seed=1, values={"region": ["north"]})
    for age, action in [(20, "call"), (70, "wait")] * 60:
        decision = bandit.act({"age": age, "region": "north"})
        bandit.learn(decision, cost=float(decision.action != action))
    return bandit.policy()


@pytest.mark.usefixtures("same_draws")
@pytest.mark.parametrize("baseline", ["call", today()], ids=["an action", "a policy"])
def test_a_saved_bandit_keeps_its_promise_and_goes_on_alike(baseline: Any, tmp_path: Path) -> None:
    """With decisions open when it is saved; the baseline reads contexts as they come, not by the class's cut points."""
    bandit = Bandit(TREES, seed=2, values={"region": ["north"]}, baseline=baseline, loss=0.2, confidence=0.9)
    serve(bandit, 600, seed=3)
    bandit.save(tmp_path / "b.json")
    again = Bandit.load(tmp_path / "b.json")
    assert state_of(again)["book"]["open"] == state_of(bandit)["book"]["open"]
    assert serve(bandit, 200, seed=4)[0] == serve(again, 200, seed=4)[0]
    learner = learner_of(again)
    assert isinstance(learner, Conservative)
    assert learner.played == 784
    assert 0 < learner.rounds_of_baseline < 800
    assert learner.ledger.cost <= 1.2 * learner.floor + 1


@pytest.mark.parametrize("contexts", [None, [[20, "north"], [50, "south"], [70, "north"]]], ids=["arriving", "known"])
def test_the_learner_keeps_constraints_and_the_promise(contexts: Any) -> None:
    """A budget of no calls, where calls are the best: only the baseline calls, and all it does is within the loss."""
    limits = [share_at_most("wait", 0.0), never("write", "age > 60")]
    options = {"values": {"region": ["north", "south"]}, "contexts": contexts, "constraints": limits}
    bandit = Bandit(TREES, seed=2, baseline="call", loss=0.3, **options)
    draws, played = np.random.default_rng(3), []
    for _ in range(800):
        age, region = [(20, "north"), (50, "south"), (70, "north")][draws.integers(3)]
        decision = bandit.act([age, region])
        bandit.learn(decision, cost=cost({"age": age}, decision.action, draws))
        played.append((age, decision.action))
    assert {action for _, action in played} == {"call", "write"}
    assert (70, "write") not in played
    learner = learner_of(bandit)
    assert 0 < learner.rounds_of_baseline < 800
    assert learner.ledger.cost <= 1.3 * learner.floor + 1
    assert {"call", "write"} >= set(bandit.policy().predict_names([[20, "north"], [50, "south"], [70, "north"]]))


def test_a_guard_rail_that_the_baseline_breaks_is_noticed() -> None:
    """At the decision that it forbids; no decision is made."""
    bandit = Bandit(TREES, values={"region": ["north"]}, baseline="call", constraints=never("call", "age > 30"))
    bandit.learn(bandit.act([20, "north"]), cost=0.5)
    line = "a guard-rail forbids 'call' for this context, and the baseline plays it"
    refused(lambda: bandit.act([50, "north"]), line)
    assert len(open_decisions(bandit)) == 0
    bandit.learn(bandit.act([20, "north"]), cost=0.5)


# ------------------------------------------------------------------- a rule that was learnt from a log


LETTERS = DecisionTrees(
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
    bandit = Bandit(LETTERS, seed=0, values=VALUES, baseline=learnt(**more))
    bandit.save(tmp_path / "b.json")
    for served in (bandit, Bandit.load(tmp_path / "b.json")):
        for age in (21, 40, 55, 69):
            decision = served.act({"age": age, "region": "south"})
            assert (decision.action, decision.probability) == ("call" if age > 45 else "letter", 1.0)


def test_rewards_from_0_to_1_need_no_range(tmp_path: Path) -> None:
    """The reward r is the cost 1 - r, also after a save; the statement speaks of what was earned."""
    bandit = Bandit(LETTERS, seed=0, values=VALUES, keep_log=True)
    assert "earned" not in bandit.statement()
    for reward in (1, 0):
        bandit.learn(bandit.act({"age": 50, "region": "north"}), reward=reward)
        bandit.save(tmp_path / "b.json")
        bandit = Bandit.load(tmp_path / "b.json")
    assert [entry[2] for entry in state_of(bandit)["log"]] == [0.0, 1.0]
    assert "2 decisions earned 1 in all, 0.5 each" in bandit.statement()
