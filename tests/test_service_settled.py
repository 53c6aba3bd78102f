"""A bandit that knows when enough is known: as its log would, in its own units, or refused in one line."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import milpcb
from milpcb import Bandit
from milpcb.offline import settled
from policies import DecisionTrees
from tests.inside import state_of
from tests.refused import refused

TREES = DecisionTrees(
    2, depth=1, thresholds=[[0.5], []], feature_names=["age", "region"], action_names=["letter", "call"]
)
VALUES: dict[str, list[Any]] = {"region": ["north", "south"]}


def played(learner: str, n: int, **options: Any) -> Bandit:
    """Return a bandit after n decisions; calls do well in the north, letters in the south."""
    bandit = Bandit(TREES, learner, seed=0, values=VALUES, keep_log=True, reward_range=(0, 10), **options)
    rng = np.random.default_rng(0)
    for _ in range(n):
        region = str(rng.choice(["north", "south"]))
        decision = bandit.act({"age": int(rng.integers(2)), "region": region})
        good = (decision.action == "call") == (region == "north")
        bandit.learn(decision, reward=10 * float(rng.random() < (0.8 if good else 0.2)))
    return bandit


@pytest.mark.parametrize("learner", ["uniform", "epsilon_greedy"])
def test_a_bandit_ends_when_its_log_does(learner: str, tmp_path: Path) -> None:
    """The least eps is that of the log with the floors of its learner, in units of reward; a file keeps the floors."""
    bandit = played(learner, 800)
    found = bandit.settled(3.0)
    assert found.settled
    assert found.rivals == ()
    assert 0 < found.refuted_eps <= 3.0
    assert "'north'" in str(found.policy) or "north" in str(found.policy)
    log = bandit.log()
    contexts = np.array([[age, region == "north"] for age, region in log.features.iter_rows()], dtype=float)
    cuts = DecisionTrees(2, depth=1, thresholds=[[0.5], [0.5]], action_names=["letter", "call"])
    floor = log.propensity.min(axis=1)
    other = settled(log, cuts, 0.3, contexts=contexts, floor=floor)
    assert 10 * other.refuted_eps == pytest.approx(found.refuted_eps, rel=0.1)  # of a class of about the same size
    bandit.save(tmp_path / "b.json")
    assert Bandit.load(tmp_path / "b.json").settled(3.0).refuted_eps == found.refuted_eps
    assert not bandit.settled(0.001).settled
    assert bandit.settled(0.001).rivals


def test_what_cannot_be_known_is_refused_in_one_line() -> None:
    """Learners without a floor, no log, constraints, actions that are not always there, an eps that is none."""
    short = Bandit(TREES, "uniform", values=VALUES)
    short.learn(short.act({"age": 0, "region": "north"}), cost=1)
    ruled = played("uniform", 20)
    for _ in range(3):
        ruled.learn(ruled.act({"age": 0, "region": "north"}, available=["letter"]), reward=1)
    grown = played("uniform", 20)
    grown.add_action("visit")
    before = [state_of(bandit) for bandit in (short, ruled, grown)]
    for wrong, line in [
        (lambda: played("exp4", 20).settled(1.0), "gives every action a chance"),
        (lambda: short.settled(0.1), "keep_log=True"),
        (lambda: ruled.settled(1.0), "all actions were available"),
        (lambda: grown.settled(1.0), "visit"),
        (lambda: played("exp4", 20, constraints=milpcb.share_at_most("call", 0.5)).settled(1.0), "without constraints"),
        (lambda: played("uniform", 20).settled("little"), "eps"),  # type: ignore[arg-type]
    ]:
        refused(wrong, line)
    assert [state_of(bandit) for bandit in (short, ruled, grown)] == before
