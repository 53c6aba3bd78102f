"""Decisions that a person overrides: certificates, promise, statement, files, crashes, mistakes."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import milpcb
from milpcb import open_oracle
from milpcb.errors import InputError, UnknownNameError
from milpcb.learners import Uniform
from milpcb.policies import DecisionTrees, FiniteClass
from tests.inside import learner_of, state_of

TREES = DecisionTrees(2, depth=1, thresholds=[[0.5]], action_names=["call", "write"])


def overrule(bandit: milpcb.Bandit, decision: milpcb.Decision, cost: float) -> None:
    """Have a person do the other action, and learn what it cost."""
    bandit.override(decision, "write" if decision.action == "call" else "call", by="AB", reason="knows them")
    bandit.learn(decision, cost=cost)


def test_a_person_who_knows_the_costs_cannot_make_certificates_wrong() -> None:
    """Over 300 rounds in which a person steps in just where the costs are worst, with what was drawn before them."""
    bandit, rng, totals, paid = milpcb.Bandit(TREES, seed=1), np.random.default_rng(0), np.zeros((2, 2)), 0.0
    for t in range(300):
        row, costs = t % 2, (rng.random(2) < [0.3, 0.6]).astype(float)
        made = bandit.act([row])
        own = int(made.action == "write")
        if costs[own] < costs[1 - own]:
            overrule(bandit, made, costs[1 - own])
            own = 1 - own
        else:
            bandit.learn(made, cost=costs[own])
        paid += costs[own]
        totals[row] += costs
        assert paid - totals.min(axis=1).sum() <= bandit.certificate(confidence=0.999)
    assert paid == pytest.approx(learner_of(bandit).ledger.cost)
    assert bandit.certificate() <= bandit.bound()
    assert bandit.guarantee() == np.inf
    changes = bandit.changes(confidence=0.9)
    assert changes.certificates[0] >= paid - totals.min(axis=1).sum()
    assert len(bandit.overrides()) == learner_of(bandit).ledger.overridden > 30


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
    events: list[Any] = []
    bandit = milpcb.Bandit(TREES, learner=learner, seed=0, horizon=50, keep_log=True, on_event=events.append)
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
    assert [event.kind for event in events].count("override") == 1
    with pytest.raises(InputError, match="not open"):
        again.learn(first, cost=1.0)


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


def test_mistakes_end_in_one_line() -> None:
    """No action, no decision to override, nobody, twice."""
    bandit = milpcb.Bandit(TREES, seed=0)
    made = bandit.act([0])
    other = "write" if made.action == "call" else "call"
    with pytest.raises(UnknownNameError, match="visit"):
        bandit.override(made, "visit", by="AB")
    for arguments, line in [
        ({"action": made.action, "by": "AB"}, "nothing is overridden"),
        ({"action": other, "by": " "}, "by must be text"),
        ({"action": other, "by": "AB", "reason": 3}, "reason must be text"),
    ]:
        with pytest.raises(InputError, match=line):
            bandit.override(made, **arguments)  # type: ignore[arg-type]
    bandit.override(made, other, by="AB")
    once = state_of(bandit)
    with pytest.raises(InputError, match="already"):
        bandit.override(made, other, by="AB")
    assert state_of(bandit) == once
