"""Environments that mislead learners which are sure too early: late, drifting and hidden signals."""

from dataclasses import dataclass

import numpy as np

from milpcb.core.checks import whole
from milpcb.environments.planted import Planted
from milpcb.environments.stream import Steps, check_probability
from milpcb.rng import child
from milpcb.types import Floats, Ints

STEPS = 200  # times at which the weights of drifting policies move, evenly over the horizon
SPEED = 4.0  # standard deviation of such a walk over the whole horizon


@dataclass(frozen=True)
class LateBloomer(Planted):
    """One policy pays in every round of an early phase and in none afterwards; over the run it is by far the best.

    Breaks learners that act on early confidence. Policies planted: the late bloomer and the decoy, which is free early
    on and ordinary later. All other actions cost 1 with probability 1/2.

    Parameters
    ----------
    n_actions, n_contexts, n_features : as in ``Planted``
    cost_right : P[cost = 1] of the late bloomer's action in the late phase
    cost_wrong : P[cost = 1] of every other action in the late phase, at least ``cost_right``
    early : fraction of the horizon that the early phase lasts, from 0 to 1

    """

    n_policies = 2  # the late bloomer, then the decoy
    cost_right: float = 0.0
    cost_wrong: float = 0.5
    early: float = 0.1

    def __post_init__(self) -> None:
        super().__post_init__()
        check_probability("early", self.early)

    def chances(self, labels: Ints, horizon: int, seed: int) -> Steps:
        del seed
        m, rows = labels.shape[1], np.arange(labels.shape[1])
        early = np.full((m, self.n_actions), 0.5)
        late = np.full((m, self.n_actions), self.cost_wrong)
        early[rows, labels[1]] = 0.0
        early[rows, labels[0]] = 1.0
        late[rows, labels[0]] = self.cost_right
        return Steps(np.array([0, round(self.early * horizon)]), np.array([early, late]))


@dataclass(frozen=True)
class Drifting(Planted):
    """Costs that are never i.i.d. for long, without a moment at which anything happens.

    Breaks learners that average all of the past, and those that commit. Four policies are planted; their weights are
    the softmax of independent random walks, and an action is cheap in proportion to the weight of those that play it.

    Parameters
    ----------
    n_actions, n_contexts, n_features, cost_right, cost_wrong : as in ``Planted``

    """

    n_policies = 4

    def chances(self, labels: Ints, horizon: int, seed: int) -> Steps:
        steps = child(seed, "environment", "drift").normal(size=(STEPS, self.n_policies))
        walks = np.cumsum(steps * SPEED / np.sqrt(STEPS), axis=0)
        weights = np.exp(walks - walks.max(axis=1, keepdims=True))
        weights /= weights.sum(axis=1, keepdims=True)
        plays = labels[:, :, None] == np.arange(self.n_actions)
        right = np.clip(np.einsum("sj,jmk->smk", weights, plays), 0.0, 1.0)
        starts = np.arange(STEPS) * horizon // STEPS
        return Steps(starts, self.cost_wrong - (self.cost_wrong - self.cost_right) * right)


@dataclass(frozen=True)
class Parity(Planted):
    """The right action depends on two features together; either of them alone is no help.

    Breaks linear models and greedy trees: over the pool each of the four values of the two features is equally frequent
    (up to one row). A depth-2 tree has no regret. Nothing is planted.

    Parameters
    ----------
    n_actions, n_contexts, cost_right, cost_wrong : as in ``Planted``; actions beyond the first two are always wrong
    n_features : columns of the pool, >= 2; which two of them matter depends on the seed

    """

    n_policies = 0
    n_actions: int = 2
    n_features: int = 8

    def __post_init__(self) -> None:
        super().__post_init__()
        whole("n_features", self.n_features, 2)

    def contexts(self, seed: int) -> Floats:
        rows = super().contexts(seed).copy()
        corners = np.array([[0, 0], [0, 1], [1, 0], [1, 1]], dtype=np.float64)
        rows[:, self._pair(seed)] = corners[np.arange(self.n_contexts) % 4]
        rows.setflags(write=False)
        return rows

    def chances(self, labels: Ints, horizon: int, seed: int) -> Steps:
        del labels
        one, other = self.contexts(seed)[:, self._pair(seed)].astype(np.int64).T
        return super().chances((one ^ other)[None, :], horizon, seed)

    def _pair(self, seed: int) -> Ints:
        return child(seed, "environment", "pair").permutation(self.n_features)[:2]
