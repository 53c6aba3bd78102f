"""A baseline's promise, and decisions that a person overrides, or whose cost never comes: files, crashes, mistakes."""

import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import milpcb
from milpcb import Bandit, Decision, never, open_oracle, share_at_most
from milpcb.estimators import LoggedPolicyTree
from milpcb.learners import Conservative, Uniform
from policies import DecisionTrees, FiniteClass, from_json
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


TWO = DecisionTrees(2, depth=1, thresholds=[[0.5]], action_names=["call", "write"])


def overrule(bandit: milpcb.Bandit, decision: milpcb.Decision, cost: float) -> None:
    """Have a person do the other action, and learn what it cost."""
    bandit.override(decision, "write" if decision.action == "call" else "call", by="AB", reason="knows them")
    bandit.learn(decision, cost=cost)


def test_they_count_in_the_error_of_a_certificate_and_in_the_proof_of_a_change() -> None:
    """The square of its cost is added to those of the error; policies in turn may have paid 1 more there."""
    oracle = open_oracle(FiniteClass([[0], [1]], 2), [[0.0]], kind="enumeration")
    learner, rng = Uniform(2, horizon=3_000), np.random.default_rng(0)
    for t in range(3_000):
        learner.act(0)
        action = int(rng.integers(2))
        learner.learn(0, action, float(action == (t < 1_500)), 0.5)
    free, before = learner.ledger.certify(oracle), learner.ledger.change(oracle, 3, 0.9)
    learner.ledger.pay(0.5)
    held, after = learner.ledger.certify(oracle), learner.ledger.change(oracle, 3, 0.9)
    assert held.value == free.value + 0.5
    assert held.error**2 == pytest.approx(free.error**2 + 0.25, rel=1e-12)
    assert before is not None
    assert after is not None
    assert (after.single, after.in_turn) == (pytest.approx(before.single), pytest.approx(before.in_turn + 1))


@pytest.mark.parametrize("learner", ["exp4", "epsilon_greedy", "uniform"])
def test_they_are_saved_listed_and_stated(learner: str, tmp_path: Path) -> None:
    """With costs that are not known yet, for learners in order too, which go on meanwhile; none is in the log."""
    bandit = milpcb.Bandit(TWO, learner=learner, seed=0, horizon=50, keep_log=True)
    for _ in range(10):
        bandit.learn(bandit.act([0]), cost=0.5)
    first = bandit.act([1])
    bandit.override(first.id, "write" if first.action == "call" else "call", by="AB")
    bandit.learn(bandit.act([0]), cost=1.0)
    bandit.save(tmp_path / "bandit.json")
    again = milpcb.Bandit.load(tmp_path / "bandit.json")
    assert again.overrides() == bandit.overrides()
    assert "Of 12 decisions, a person overrode 1; that cost counts in full." in again.statement()
    again.learn(first, cost=1.0)
    (one,) = again.overrides()
    assert (one.decision, one.action, one.by, one.cost) == (first.id, first.action, "AB", 1.0)
    assert again.statement().startswith("12 decisions cost 7 in all")
    assert len(state_of(again)["log"]) == 11  # type: ignore[arg-type]
    refused(lambda: again.learn(first, cost=1.0), "not open")


def test_a_promise_grows_by_what_a_person_changes() -> None:
    """By 1 for each that is not the baseline's; a person who plays it earns nothing and adds nothing."""
    bandit = milpcb.Bandit(TWO, seed=0, baseline="call", loss=0.0, confidence=0.9, reward_range=None)
    learner: Any = learner_of(bandit)
    for _ in range(5):
        made = bandit.act([0])
        assert made.action == "call"
        overrule(bandit, made, 1.0)
    assert (learner.deviations, learner.floor, learner.unknown, learner.rounds_of_baseline) == (5, 0.0, 0, 0)
    assert "for each decision that a person changed to something else (5 so far)" in bandit.statement()
    made = bandit.act([0])
    bandit.override(made, "write", by="AB")
    bandit.give_up(made)
    assert (learner.unknown, learner.at_limit) == (1, True)


# ------------------------------------------------------------------- costs that never come


UNNAMED = DecisionTrees(2, depth=1, thresholds=[[0.5]])


def given(bandit: milpcb.Bandit, way: str) -> Any:
    """Return a new decision as ``give_up`` takes it."""
    made = bandit.act([0])
    return {"decision": made, "id": made.id, "text": made.to_json()}[way]


@pytest.mark.parametrize("way", ["decision", "id", "text"])
@pytest.mark.parametrize("learner", ["epsilon_greedy", "ftpl", "exp4", "doubling"])
def test_a_bandit_goes_on_after_a_decision_is_given_up(learner: str, way: str) -> None:
    """As if it had not been made: nothing is learnt of it, then or later."""
    options: dict[str, Any] = {"ftpl": {"epsilon": "adaptive", "noise_on": "columns"}}
    options["doubling"] = {"contexts": [[0], [1]]}
    bandit = milpcb.Bandit(UNNAMED, learner, horizon=None if learner == "doubling" else 100, **options.get(learner, {}))
    bandit.learn(bandit.act([1]), cost=0.5)
    lost = given(bandit, way)
    assert bandit.give_up(lost) == 1
    for again in (lambda: bandit.give_up(lost), lambda: bandit.learn(lost, cost=0.0)):
        refused(again, "it was learnt already, or given up")
    bandit.learn(bandit.act([0]), cost=0.25)
    assert (learner_of(bandit).played, learner_of(bandit).ledger.cost) == (2, 0.75)


def test_those_longer_ago_are_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By the time that passed between, files included; those learnt and those younger are not."""
    now = 1e9
    monkeypatch.setattr("milpcb.bandit.decisions.time", lambda: now)
    bandit = milpcb.Bandit(UNNAMED)
    old, known, now = bandit.act([0]), bandit.act([0]), now + 86400
    middle, now = bandit.act([0]), now + 86400
    bandit.learn(known, cost=0.5)
    bandit.save(tmp_path / "b.json")
    bandit, now = milpcb.Bandit.load(tmp_path / "b.json"), now + 60
    assert bandit.give_up(older_than=timedelta(days=3)) == 0
    assert bandit.give_up(older_than=timedelta(days=2)) == 1
    refused(lambda: bandit.learn(old, cost=0.5), "or given up")
    bandit.learn(middle, cost=0.5)


def test_the_promise_of_a_baseline_counts_what_is_given_up_as_one() -> None:
    """With 3 to lose three rounds are risked, and none more when their costs will never be known."""
    learner = Conservative(open_oracle(UNNAMED, [[0.0]], kind="search"), inner=Uniform(2), allowance=3.0)
    for risked in (True, True, True, False, False):
        assert (learner.act(0)[0] < 1.0) == risked
        learner.give_up(played=True)
    assert learner.rounds_of_baseline == 2
    assert json.dumps(learner.inner.ledger.state()) == json.dumps(Uniform(2).ledger.state())
