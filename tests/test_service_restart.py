"""A service that is restarted: no cost is ever credited to another decision than its own."""

from __future__ import annotations

import os
import pickle
import sys
from collections.abc import Iterator
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from milpcb import Bandit, Decision
from milpcb.errors import InputError
from policies import DecisionTrees

SCRIPTS = Path(__file__).parents[1] / "scripts" / "checks"
TREES = DecisionTrees(
    3, 1, thresholds=[[0.5], [0.5]], feature_names=["young", "member"], action_names=["call", "write", "wait"]
)


@pytest.fixture(scope="module")
def service() -> Iterator[Any]:
    """Yield the script that tries much more than is tried here, where it and its processes find it."""
    sys.path.insert(0, str(SCRIPTS))
    yield import_module("service")
    sys.path.remove(str(SCRIPTS))


def lost(path: Path, learner: str = "exp4") -> tuple[Bandit, Decision]:
    """Return a bandit that was saved, acted, crashed and was loaded, and the decision made after it was saved."""
    bandit = Bandit(TREES, learner, seed=2, keep_log=True)
    bandit.learn(bandit.act([0, 1]), cost=0.5)
    bandit.save(path)
    decision = bandit.act([1, 0])
    return Bandit.load(path), decision


def credited(bandit: Bandit) -> list[Any]:
    """Return contexts, actions, costs and laws of what was learnt."""
    return [tuple(line) for line in bandit._state()["log"]]


def test_a_decision_made_after_the_file_is_refused_by_its_id(tmp_path: Path) -> None:
    """The id alone holds nothing to learn from; the line says what would."""
    bandit, decision = lost(tmp_path / "bandit.json")
    before = credited(bandit)
    for _ in range(2):
        with pytest.raises(InputError, match="made after this one was saved; learn takes it then if the whole"):
            bandit.learn(decision.id, cost=1.0)
        bandit.act([1, 0])  # another one's decision, that may not take its place
    assert credited(bandit) == before


@pytest.mark.parametrize("kept", [lambda d: d, lambda d: Decision.from_json(d.to_json())])
def test_a_whole_decision_is_learnt_after_a_crash(tmp_path: Path, kept: Any) -> None:
    """Once, as what it was, beside decisions that were made since; a file written then knows of it."""
    bandit, decision = lost(tmp_path / "bandit.json")
    other = bandit.act([0, 0])
    bandit.learn(kept(decision), cost=0.25)
    bandit.learn(other.id, cost=0.75)
    actions = list(TREES.action_names)
    assert credited(bandit)[1:] == [
        ([1, 0], actions.index(decision.action), 0.25, list(decision.probabilities)),
        ([0, 0], actions.index(other.action), 0.75, list(other.probabilities)),
    ]
    bandit.save(tmp_path / "bandit.json")
    for one in (bandit, Bandit.load(tmp_path / "bandit.json")):
        with pytest.raises(InputError, match="it was learnt already"):
            one.learn(kept(decision), cost=0.25)


def test_what_is_drawn_after_such_a_decision_is_drawn_anew(tmp_path: Path) -> None:
    """The lost decision's draw is made again by the next act; once it is learnt, it may decide nothing further."""
    path = tmp_path / "bandit.json"
    bandit, decision = lost(path)
    untouched = Bandit.load(path)
    assert untouched.act([1, 0]).action == decision.action  # the same draw
    bandit.learn(decision, cost=0.0)
    assert bandit._rounds._rng.random(4).tolist() != Bandit.load(path)._rounds._rng.random(4).tolist()
    again = Bandit.load(path)
    again.learn(decision, cost=0.0)
    assert again.act([1, 0]).probability == bandit.act([1, 0]).probability


def test_a_learner_that_takes_costs_in_order_cannot_take_it(tmp_path: Path) -> None:
    """What came between is gone; the line says so."""
    bandit, decision = lost(tmp_path / "bandit.json", "epsilon_greedy")
    with pytest.raises(InputError, match="EpsilonGreedy takes costs in order: it cannot be learnt any more"):
        bandit.learn(decision, cost=1.0)
    bandit.learn(bandit.act([1, 1]), cost=1.0)


@pytest.mark.parametrize(
    "change",
    [
        {"action": "sing"},
        {"probability": 0.9},
        {"probabilities": (0.1, 0.8, 0.1)},
        {"context": (0, 0)},
        {"seal": "0" * 64},
        {"context": (object(),)},
        {"seal": "\N{SNOWMAN}"},
        {"seal": 5},
    ],
)
def test_a_changed_decision_is_refused(tmp_path: Path, change: dict[str, Any]) -> None:
    """Whether the bandit knows it or not; nothing is learnt."""
    bandit, decision = lost(tmp_path / "bandit.json")
    known = bandit.act([1, 0])
    for one in (decision, known):
        with pytest.raises(InputError, match="was changed") as caught:
            bandit.learn(replace(one, **change), cost=0.0)
        assert "\n" not in str(caught.value)
    assert len(credited(bandit)) == 1


def test_a_decision_made_up_is_refused() -> None:
    """As one that names what another was."""
    bandit = Bandit(TREES)
    decision = bandit.act([0, 0])
    for wrong in (Decision("5", "wait", 0.9, (0.05, 0.05, 0.9), (0, 0)), replace(decision, id="5")):
        with pytest.raises(InputError, match="is another bandit's, or was changed"):
            bandit.learn(wrong, cost=1.0)


@pytest.mark.parametrize("text", ["", "{}", "[1]", '{"id": "a"}', '{"id": 1, "id": 2}', "[" * 10_000])
def test_what_is_no_decision_is_refused(text: str) -> None:
    """With one line."""
    with pytest.raises(InputError, match="this is no decision") as caught:
        Decision.from_json(text)
    assert "\n" not in str(caught.value)


def test_ids_are_never_given_twice(tmp_path: Path) -> None:
    """By bandits of one seed, loaded from one file, and in processes forked from one."""
    first = Bandit(TREES, seed=1)
    first.save(tmp_path / "bandit.json")
    every = [first, *(Bandit.load(tmp_path / "bandit.json") for _ in range(3)), Bandit(TREES, seed=1)]
    ids = [bandit.act([0, 0]).id for bandit in every for _ in range(20)]
    assert len(set(ids)) == 100


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_a_fork_goes_on_with_ids_of_its_own() -> None:
    """Also where another thread is in the middle of a decision; the lock is free in the child."""
    bandit = Bandit(TREES, seed=1)
    waiting = bandit.act([0, 1])
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            bandit.learn(waiting, cost=0.5)
            os.write(writer, bandit.act([0, 0]).id.encode())
        finally:
            os._exit(0)
    os.close(writer)
    theirs = os.read(reader, 100).decode()
    os.waitpid(child, 0)
    ours = bandit.act([0, 0]).id
    assert theirs.partition("-")[0] != ours.partition("-")[0]
    bandit.learn(waiting, cost=0.5)


def test_random_schedules_credit_each_cost_to_its_own_decision(service: Any, tmp_path: Path) -> None:
    """Act, save, crash, load, copy, learn late, forge: a share of what scripts/checks/service.py runs."""
    wrong, counts = service.try_schedules(20, 0, tmp_path, steps=60)
    assert wrong == []
    assert min(counts["crashes"], counts["learnt after a crash"], counts["refused"], counts["credited"]) > 20


def test_estimates_stay_right_on_average_when_lost_decisions_are_learnt() -> None:
    """What is drawn after them hangs on their costs, so it may not come of the draw that they came of.

    Here it would: with the draw of the lost decision the mean estimate of action 1 would be 1.49 instead of 1.
    """
    trees, estimates = DecisionTrees(2, 1, thresholds=[[0.5]]), []
    for seed in range(600):
        bandit = Bandit(trees, seed=seed, rate=2.0)
        kept = pickle.dumps(bandit)
        first = bandit.act([0])
        after = pickle.loads(kept)  # noqa: S301 - our own
        after.learn(first, cost=float(first.action == 0))
        second = after.act([0])
        estimates.append((second.action == 1) / second.probability)
    assert np.mean(estimates) == pytest.approx(1.0, abs=0.2)  # 6 standard errors
