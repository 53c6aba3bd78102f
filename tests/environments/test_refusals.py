"""Settings that no environment and no model of contexts takes: each is one line that names it."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from milpcb import FinitePool, Sampler, Transductive
from milpcb.environments.mirror import Mirror
from milpcb.environments.planted import AlternatingLeader, Drifting, LateBloomer, Parity, Planted, Seasonal, Switching
from milpcb.environments.recorded import Supervised
from policies import DecisionTrees
from tests.refused import refused


def opened(environment: Any) -> Any:
    """Return a stream of an environment, on trees with as many actions."""
    return environment.open(DecisionTrees(environment.n_actions, depth=1), 9, 7)


CASES: list[tuple[Callable[[], object], str]] = [
    (lambda: Planted(n_actions=1), "n_actions"),
    (lambda: Planted(cost_wrong="high"), "cost_wrong"),
    (lambda: Planted(cost_right=0.6, cost_wrong=0.3), "swap them"),
    (lambda: Switching(switch_at=0.5), "switch_at"),
    (lambda: Switching(switch_at=(1.0,)), "switch_at"),
    (lambda: Switching(switch_at=("half",)), "switch_at"),
    (lambda: Switching(switch_at=(0.6, 0.5)), "switch_at"),
    (lambda: Supervised("wines"), "'wine'"),
    (lambda: LateBloomer(early=1.5), "early"),
    (lambda: LateBloomer(cost_other=-1), "cost_other"),
    (lambda: Drifting(speed=0), "speed"),
    (lambda: Drifting(n_policies=1), "n_policies"),
    (lambda: Seasonal(season=0), "season"),
    (lambda: Seasonal(n_seasons=1), "n_seasons"),
    (lambda: AlternatingLeader(n_turns=0), "n_turns"),
    (lambda: Supervised(permute_every=0), "permute_every"),
    (lambda: Parity(n_features=1), "n_features"),
    (lambda: Mirror("hedge"), "'hedge'"),
    (lambda: Mirror("best_in_hindsight"), "'best_in_hindsight'"),
    (lambda: Mirror("epsilon_gredy"), "'epsilon_greedy'"),
    (lambda: Mirror(copies=0), "copies"),
    (lambda: Mirror(options=["x"]), "options"),
    (lambda: Mirror(oracle="milp"), "oracle"),
    (lambda: opened(Mirror(oracle={"kind": "serch"})), "'search'"),
    (lambda: opened(Mirror("exp4", oracle={"kind": "milp"})), "action_weights"),
    (lambda: opened(Mirror(options={"rounds": 3})), "'rounds'"),
    (lambda: FinitePool([[1.0], [2.0]], weights=[1.0]), "one per context"),
    (lambda: FinitePool([[1.0], [2.0]], weights=[0.0, 0.0]), "positive sum"),
    (lambda: FinitePool([[np.nan]]), "is nan"),
    (lambda: Transductive([[1.0]], [0, 1]), "order"),
    (lambda: Sampler(3), "draw"),
    (lambda: Sampler(np.zeros).attach(FinitePool([[1.0]]), 9), "GrowingOracle"),
    (lambda: Transductive([[1.0]], [0.5]), "order"),
    (lambda: Transductive([[1.0]], [0, 0]).future(0, 3, 0.5, np.random.default_rng(0)), "order"),
    (lambda: Planted().open(DecisionTrees(2), 10, 0), "the policy class has 2 actions, the environment 3"),
    (lambda: Supervised().open(DecisionTrees(3), 10, 0), "the policy class has 3 actions, the environment 2"),
]


@pytest.mark.parametrize(("make", "named"), CASES)
def test_a_setting_that_cannot_be_is_named(make: Callable[[], object], named: str) -> None:
    """When the environment is made, or opened for a class and a horizon."""
    refused(make, named)
