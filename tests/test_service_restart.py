"""A service that is restarted: no cost is ever credited to another decision than its own."""

import copy
import os
import pickle
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from milpcb import Bandit, Decision, mean_at_most
from policies import DecisionTrees
from tests.inside import state_of
from tests.refused import refused

TREES = DecisionTrees(
    3, 1, thresholds=[[0.5], [0.5]], feature_names=["young", "member"], action_names=["call", "write", "wait"]
)


def lost(path: Path, learner: str = "exp4") -> tuple[Bandit, Decision]:
    """Return a bandit that was saved, acted, crashed and was loaded, and the decision made after it was saved."""
    bandit = Bandit(TREES, learner, seed=2, keep_log=True)
    bandit.learn(bandit.act([0, 1]), cost=0.5)
    bandit.save(path)
    decision = bandit.act([1, 0])
    return Bandit.load(path), decision


def credited(bandit: Bandit) -> list[Any]:
    """Return contexts, actions, costs, laws and least chances of what was learnt."""
    return [tuple(line) for line in state_of(bandit)["log"]]


def test_a_learner_that_takes_costs_in_order_cannot_take_it(tmp_path: Path) -> None:
    """Decisions in between are gone; the line says so."""
    bandit, decision = lost(tmp_path / "bandit.json", "epsilon_greedy")
    refused(lambda: bandit.learn(decision, cost=1.0), "EpsilonGreedy takes costs in order", "made after it was saved")
    assert len(credited(bandit)) == 1
    bandit.learn(bandit.act([1, 1]), cost=1.0)
    assert [line[0] for line in credited(bandit)] == [[0, 1], [1, 1]]  # not the [1, 0] in between


def test_a_decision_among_actions_that_came_later_waits_for_them(tmp_path: Path) -> None:
    """Its law has more entries than the log would; once they are added it is learnt, and saved."""
    bandit, _ = lost(path := tmp_path / "bandit.json")
    bandit.add_action("visit")
    made, after = bandit.act([1, 0]), Bandit.load(path)
    refused(lambda: after.learn(made, cost=1.0), "add them first")
    after.add_action("visit")
    after.learn(made, cost=1.0)
    after.save(path)
    assert len(credited(Bandit.load(path))) == 2


@pytest.mark.parametrize("change", [{"probability": 0.9}, {"context": (object(),)}, {"seal": "\N{SNOWMAN}"}])
def test_a_changed_decision_is_refused(tmp_path: Path, change: dict[str, Any]) -> None:
    """Whether the bandit knows it or not; nothing is learnt. Schedules in tests/stress change all else."""
    bandit, decision = lost(tmp_path / "bandit.json")
    for one in (decision, bandit.act([1, 0])):
        refused(lambda one=one: bandit.learn(replace(one, **change), cost=0.0), "was changed")
    assert len(credited(bandit)) == 1


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_a_fork_goes_on_with_ids_and_draws_of_its_own() -> None:
    """Parent and child learn what was open, and decide 60 times from the same law, not alike."""
    bandit = Bandit(TREES, seed=1)
    waiting = bandit.act([0, 1])
    reader, writer = os.pipe()
    child = os.fork()
    decisions = [bandit.act([0, 0]) for _ in range(60)]
    made = f"{decisions[0].id} {[decision.action for decision in decisions]}"
    if child == 0:
        try:
            bandit.learn(waiting, cost=0.5)
            os.write(writer, made.encode())
        finally:
            os._exit(0)
    os.close(writer)
    theirs = os.read(reader, 10_000).decode()
    os.waitpid(child, 0)
    bandit.learn(waiting, cost=0.5)
    assert theirs.partition("-")[0] not in ("", made.partition("-")[0])
    assert theirs.partition(" ")[2] not in ("", made.partition(" ")[2])


def test_estimates_stay_right_on_average_when_lost_decisions_are_learnt() -> None:
    """A draw after them depends on their costs, so it may not come of the draw that they came of.

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


# ------------------------------------------------------------------- several at a time


def again(bandit: Bandit, way: str, path: Path) -> Bandit:
    """Return a bandit that goes on from where this one is."""
    if way == "load":
        bandit.save(path)
        return Bandit.load(path)
    return pickle.loads(pickle.dumps(bandit)) if way == "pickle" else copy.deepcopy(bandit)  # noqa: S301 - ours


@pytest.mark.parametrize("way", ["load", "pickle", "copy"])
@pytest.mark.parametrize("options", [{}, {"learner": "ftpl", "epsilon": "adaptive", "noise_on": "columns"}], ids=str)
def test_bandits_that_go_on_from_one_draw_each_their_own(way: str, options: dict[str, Any], tmp_path: Path) -> None:
    """All three, the original included: no two decide alike 60 times."""
    bandit = Bandit(TREES, seed=1, **options)
    others = [again(bandit, way, tmp_path / "b.json") for _ in range(2)]
    made = []
    for one in (bandit, *others):
        decisions = []
        for _ in range(60):
            decisions.append(one.act([0, 0]))
            one.learn(decisions[-1], cost=0.0)  # nothing is learnt of it: the laws stay even
        made.append([decision.action for decision in decisions])
    assert made[0] != made[1] != made[2] != made[0]


# ------------------------------------------------------------------- constraints


def test_a_decision_holds_what_constraints_read_and_no_more(tmp_path: Path) -> None:
    """Of what came beside the features; it is sealed with the rest."""
    bandit = Bandit(TREES, seed=0, constraints=mean_at_most({"call": "price"}, 5))
    bandit.save(tmp_path / "b.json")
    lost = bandit.act({"young": 0, "member": 1, "price": 4, "name": "somebody"})
    assert lost.beside == (("price", 4.0),)
    after = Bandit.load(tmp_path / "b.json")
    refused(lambda: after.learn(replace(lost, beside=(("price", 0.0),)), cost=0.5), "was changed")
    after.learn(lost, cost=0.5)
