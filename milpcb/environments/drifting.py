"""Drifting: who is right moves slowly at random, so no policy is right for long and none is wrong for long."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from milpcb.core.checks import real, whole
from milpcb.environments.chances import Chances, Steps
from milpcb.environments.planted import Planted
from milpcb.rng import child
from milpcb.types import Ints


@dataclass(frozen=True)
class Drifting(Planted):
    """Costs that are never i.i.d. for long, without a moment at which anything happens.

    Breaks learners that average all of the past, and those that commit: what was estimated early is wrong by an amount
    that grows slowly, so no test for a change finds one. Several policies are planted; their weights are the softmax of
    independent random walks, and an action is cheap in proportion to the weight of the policies that play it.

    Parameters
    ----------
    n_actions, n_contexts, n_features, cost_right, cost_wrong : as in ``Planted``
    n_policies : policies planted, >= 2
    n_steps : times at which the weights move, evenly over the horizon, >= 1
    speed : standard deviation of a walk over the whole horizon, > 0

    Raises
    ------
    InputError (a setting out of range)

    """

    n_policies: int = 4
    n_steps: int = 200
    speed: float = 4.0

    def __post_init__(self) -> None:
        super().__post_init__()
        whole("n_policies", self.n_policies, 2)
        whole("n_steps", self.n_steps, 1)
        real("speed", self.speed, "a positive number", lambda number: number > 0)

    def n_planted(self, horizon: int) -> int:
        """Return the number of policies, whatever the horizon."""
        del horizon
        return self.n_policies

    def chances(self, labels: Ints, horizon: int, seed: int) -> Chances:
        """Return chances between cost_right and cost_wrong, by the weight of the policies that play the action."""
        steps = child(seed, "environment", "drift").normal(size=(self.n_steps, self.n_policies))
        walks = np.cumsum(steps * self.speed / np.sqrt(self.n_steps), axis=0)
        weights = np.exp(walks - walks.max(axis=1, keepdims=True))
        weights /= weights.sum(axis=1, keepdims=True)
        plays = labels[:, :, None] == np.arange(self.n_actions)
        right = np.clip(np.einsum("sj,jmk->smk", weights, plays), 0.0, 1.0)
        starts = np.arange(self.n_steps) * horizon // self.n_steps
        return Steps(starts, self.cost_wrong - (self.cost_wrong - self.cost_right) * right)
