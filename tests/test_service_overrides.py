"""Decisions that a person overrides, or whose cost never comes: certificates, promise, statement, files, mistakes."""

import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import milpcb
from milpcb import open_oracle
from milpcb.learners import Conservative, Uniform
from milpcb.policies import DecisionTrees, FiniteClass
from tests.inside import learner_of, state_of
from tests.refused import refused

TREES = DecisionTrees(2, depth=1, thresholds=[[0.5]], action_names=["call", "write"])


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
    bandit = milpcb.Bandit(TREES, learner=learner, seed=0, horizon=50, keep_log=True)
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
    bandit = milpcb.Bandit(TREES, seed=0, baseline="call", loss=0.0, confidence=0.9, reward_range=None)
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


def test_a_round_that_was_taken_over_and_is_given_up_counts_as_one() -> None:
    """It was paid by another, and nobody knows how much."""
    learner = Conservative(open_oracle(UNNAMED, [[0.0]], kind="search"), inner=Uniform(2), allowance=1.0)
    learner.take_over(0, [0.5, 0.5])
    learner.give_up(played=True)
    assert learner.act(0).tolist() == [1.0, 0.0]
