"""Decisions whose cost never comes: they are given up, and what is learnt and stated of the others goes on."""

import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from milpcb import Bandit
from milpcb.errors import InputError
from milpcb.learners import Conservative, Uniform
from milpcb.oracles import open_oracle
from policies import DecisionTrees
from tests.inside import learner_of

TREES = DecisionTrees(2, depth=1, thresholds=[[0.5]])


def given(bandit: Bandit, way: str) -> Any:
    """Return a new decision as ``give_up`` takes it."""
    made = bandit.act([0])
    return {"decision": made, "id": made.id, "text": made.to_json()}[way]


@pytest.mark.parametrize("way", ["decision", "id", "text"])
@pytest.mark.parametrize("learner", ["epsilon_greedy", "ftpl", "exp4", "doubling"])
def test_a_bandit_goes_on_after_a_decision_is_given_up(learner: str, way: str) -> None:
    """As if it had not been made: nothing is learnt of it, then or later."""
    options: dict[str, Any] = {"ftpl": {"epsilon": "adaptive", "noise_on": "columns"}}
    options["doubling"] = {"contexts": [[0], [1]]}
    bandit = Bandit(TREES, learner, horizon=None if learner == "doubling" else 100, **options.get(learner, {}))
    bandit.learn(bandit.act([1]), cost=0.5)
    lost = given(bandit, way)
    assert bandit.give_up(lost) == 1
    for again in (lambda: bandit.give_up(lost), lambda: bandit.learn(lost, cost=0.0)):
        with pytest.raises(InputError, match="it was learnt already, or given up"):
            again()
    bandit.learn(bandit.act([0]), cost=0.25)
    assert (learner_of(bandit).played, learner_of(bandit).ledger.cost) == (2, 0.75)


def test_the_file_does_not_grow_with_what_is_given_up(tmp_path: Path) -> None:
    """It is as large as before a thousand outcomes that never came, but for what their count takes."""
    bandit = Bandit(TREES)
    bandit.learn(bandit.act([0]), cost=1.0)
    sizes = []
    for _ in range(2):
        bandit.save(tmp_path / "b.json")
        sizes.append((tmp_path / "b.json").stat().st_size)
        for _ in range(1000):
            bandit.act([0])
        assert bandit.give_up(older_than=timedelta(0)) == 1000
    assert sizes[1] < sizes[0] + 100


def test_those_longer_ago_are_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By the time that passed between, files included; those learnt and those younger are not."""
    now = 1e9
    monkeypatch.setattr("milpcb.bandit.decisions.time", lambda: now)
    bandit = Bandit(TREES)
    old, known, now = bandit.act([0]), bandit.act([0]), now + 86400
    middle, now = bandit.act([0]), now + 86400
    bandit.learn(known, cost=0.5)
    bandit.save(tmp_path / "b.json")
    bandit, now = Bandit.load(tmp_path / "b.json"), now + 60
    assert bandit.give_up(older_than=timedelta(days=3)) == 0
    assert bandit.give_up(older_than=timedelta(days=2)) == 1
    with pytest.raises(InputError, match="or given up"):
        bandit.learn(old, cost=0.5)
    bandit.learn(middle, cost=0.5)


def test_the_promise_of_a_baseline_counts_what_is_given_up_as_one() -> None:
    """With 3 to lose three rounds are risked, and none more when their costs will never be known."""
    learner = Conservative(open_oracle(TREES, [[0.0]], kind="search"), inner=Uniform(2), allowance=3.0)
    for risked in (True, True, True, False, False):
        assert (learner.act(0)[0] < 1.0) == risked
        learner.give_up(played=True)
    assert learner.rounds_of_baseline == 2
    assert json.dumps(learner.inner.ledger.state()) == json.dumps(Uniform(2).ledger.state())


def test_a_round_that_was_taken_over_and_is_given_up_counts_as_one() -> None:
    """It was paid by another, and nobody knows how much."""
    learner = Conservative(open_oracle(TREES, [[0.0]], kind="search"), inner=Uniform(2), allowance=1.0)
    learner.take_over(0, [0.5, 0.5])
    learner.give_up(played=True)
    assert learner.act(0).tolist() == [1.0, 0.0]
