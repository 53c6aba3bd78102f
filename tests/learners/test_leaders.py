"""The leader of a learner: the policy of least estimated total cost, whatever the estimates are made of."""

import inspect
from typing import Any

import numpy as np
import pytest

from milpcb import FinitePool
from milpcb.learners import Learner
from milpcb.plugins import registry

from .rounds import each_round, listed

CONTEXTS = np.arange(4.0)[:, None]
LABELINGS = np.array([[1, 1, 1, 1], [2, 0, 1, 2], [0, 1, 2, 0], [0, 0, 0, 0], [2, 2, 0, 1]])
BEST = 2
ROUNDS = 1500
LEARNERS: dict[str, dict[str, Any]] = {
    "bistro_plus": {"queries": "profile", "scale": 6},
    "conservative": {"loss": 1.0, "allowance": 400.0},
    "doubling": {"options": {"queries": "profile", "scale": 6}, "first": 500},
    "epoch_greedy": {},
    "epsilon_greedy": {},
    "exp4": {},
    "explore_then_commit": {"rounds": 300},
    "ftpl": {},
    "guarded": {"inner": "epsilon_greedy"},
    "ilovetoconbandits": {"psi": 1.0},
    "randomized_ucb": {},
}


def opened(name: str, **options: Any) -> Learner:
    """Return a learner on the class of five policies."""
    oracle = listed(LABELINGS)
    cls = registry.load("learner", name)
    given = {"oracle": oracle, "pool": FinitePool(CONTEXTS), "horizon": ROUNDS, "seed": 1, "n_actions": 3}
    asked = {key: value for key, value in given.items() if key in inspect.signature(cls).parameters}
    learner: Learner = cls(**asked, **options)
    return learner


def play(learner: Learner, rounds: int = ROUNDS) -> None:
    """Play a game in which policy BEST costs 0.1 a round, and any other action 0.9."""
    for _ in each_round(learner, rounds, lambda row, _rng: np.where(np.arange(3) == LABELINGS[BEST, row], 0.1, 0.9), 5):
        pass


def totals(learner: Learner) -> Any:
    """Return what each policy is estimated to have cost."""
    estimates = learner.estimates()
    assert estimates is not None
    return np.array([estimates[np.arange(4), labels].sum() for labels in LABELINGS])


@pytest.mark.parametrize("name", LEARNERS)
def test_after_a_clear_game_the_leader_is_the_best_policy(name: str) -> None:
    """The policy of least estimated total is the one that costs least, for every learner that keeps estimates."""
    learner = opened(name, **LEARNERS[name])
    play(learner)
    assert totals(learner).argmin() == BEST
    learner.estimates()[:] = -7.0  # type: ignore[index]  # it is not None: the line above would have failed
    assert totals(learner).argmin() == BEST


def test_all_that_keep_a_table_say_so() -> None:
    """Just the learners above have estimates; those of policies one by one, and those that learn nothing, have none."""
    told = {
        name
        for name in registry.BUILTIN["learner"]
        if registry.load("learner", name).estimates is not Learner.estimates
    }
    assert told == {*LEARNERS, "forgetting"}  # its tables are of a part of the rounds
    assert opened("forgetting").estimates() is None
    assert opened("uniform").estimates() is None


def test_doubling_knows_of_its_phase_alone() -> None:
    """The estimates are those of the learner of the current phase, and a new phase begins with none."""
    learner = opened("doubling", **LEARNERS["doubling"])
    play(learner, 500)
    assert totals(learner).any()
    learner.act(0)
    assert not totals(learner).any()
