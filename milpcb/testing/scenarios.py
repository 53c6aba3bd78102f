"""Instances that the battery of learners plays: contexts, a class that is a list, costs, and the coins of actions."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from milpcb.contexts import FinitePool
from milpcb.learners import Learner
from milpcb.oracles import open_oracle
from milpcb.oracles.base import Oracle
from milpcb.plugins import injection, registry
from milpcb.types import Floats, Ints

HORIZON = 48
N_ACTIONS = 3
# Some action is played by no policy on the last context.
LABELINGS = [[0, 1, 2, 0], [1, 1, 1, 1], [2, 0, 1, 0], [0, 0, 0, 0], [1, 2, 0, 1], [2, 2, 2, 1]]
Make = Callable[..., Learner]


@dataclass(frozen=True)
class Scenario:
    """The labelings (N, m) that a learner competes with, and what each round shows: rows (T,), costs (T, K).

    ``draws`` (T,) are the uniform numbers that actions are drawn with.
    """

    name: str
    labelings: Ints
    rows: Ints
    costs: Floats
    draws: Floats

    @property
    def contexts(self) -> Floats:
        """The contexts (m, 2), no two alike."""
        return np.arange(2.0 * self.labelings.shape[1]).reshape(-1, 2)

    def oracle(self) -> Oracle:
        """Return an oracle that lists the policies."""
        policies = registry.load("policies", "finite_class")(self.labelings, N_ACTIONS)
        return open_oracle(policies, self.contexts, kind="enumeration")

    def learner(self, make: Make, **instead: Any) -> Learner:
        """Return a learner, given what the runtime gives it; ``instead`` replaces some of that, or adds to it."""
        supplied = {
            "oracle": self.oracle(),
            "pool": FinitePool(self.contexts),
            "contexts": self.contexts,
            "horizon": HORIZON,
            "seed": 3,
            "n_actions": N_ACTIONS,
            "best": self.labelings[0],
        }
        asked = injection.arguments(make)
        return make(**{name: value for name, value in supplied.items() if name in asked} | instead)


def instances() -> list[Scenario]:
    """Return the instances: costs of several kinds, and a class of one policy."""
    rng = np.random.default_rng(0)
    labelings = np.array(LABELINGS)
    shape = (HORIZON, N_ACTIONS)
    mixed = np.where(rng.random(shape) < 0.5, rng.integers(0, 2, shape).astype(float), rng.random(shape))
    costs = {"six policies": mixed, "only losses": np.ones(shape), "no loss": np.zeros(shape), "one policy": mixed}
    return [
        Scenario(
            name,
            labelings[:1] if name == "one policy" else labelings,
            rng.integers(0, labelings.shape[1], HORIZON),
            table,
            rng.random(HORIZON),
        )
        for name, table in costs.items()
    ]


def transcript(learner: Learner, instance: Scenario, start: int = 0, stop: int = HORIZON) -> tuple[Floats, Ints]:
    """Play the rounds from ``start`` to ``stop`` and return each q (n, K) and action (n,)."""
    distributions, actions = [], []
    for t in range(start, stop):
        q = learner.act(int(instance.rows[t]))
        distributions.append(np.array(q))
        actions.append(_drawn(q, instance.draws[t]))
        finish_round(learner, int(instance.rows[t]), instance.costs[t], q, actions[-1])
    return np.array(distributions), np.array(actions)


def _drawn(q: Floats, uniform: float) -> int:
    cumulative = q.cumsum()
    return min(int(cumulative.searchsorted(uniform * cumulative[-1], side="right")), N_ACTIONS - 1)


def finish_round(learner: Learner, row: int, costs: Floats, q: Floats, action: int) -> None:
    """Hand the learner the feedback of the round that it acted in."""
    learner.learn(row, action, float(costs[action]), float(q[action]))
    if learner.full_information:
        learner.learn_all(row, costs)
