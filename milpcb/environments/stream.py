"""The mechanism of the built-in environments: contexts drawn i.i.d. from a pool, Bernoulli costs with given chances.

Everything that a round shows is a function of the seed and the round alone. Rounds are drawn a block at a time and only
one block is kept, so memory does not grow with the horizon.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from milpcb.core.checks import instance, real, whole
from milpcb.errors import InputError
from milpcb.protocols import Policy, PolicyClass
from milpcb.rng import check_seed, child
from milpcb.types import Floats, Ints

BLOCK = 4096


# Functions of the increasing ``rounds`` (n,) and of the context ``rows`` (n,) that they show:
Chances = Callable[[Ints, Ints], Floats]  # (n, K), P[cost = 1] of each action
Labelling = Callable[[Ints, Ints], Ints]  # (n,), the right action


@dataclass(frozen=True)
class Phases:
    """From round ``starts[p]`` on, and until the next phase starts, ``labels[p, j]`` is the right action of row j.

    ``starts`` (P,) is non-decreasing and begins with 0; of phases that start together the last one counts. ``labels``
    (S, m) begin anew where they are fewer than the phases.
    """

    starts: Ints
    labels: Ints

    def __call__(self, rounds: Ints, rows: Ints) -> Ints:
        """Return (n,) right actions of the context ``rows`` (n,) at ``rounds`` (n,)."""
        phase = np.searchsorted(self.starts, rounds, side="right") - 1
        return np.asarray(self.labels[phase % len(self.labels), rows])


@dataclass(frozen=True)
class Labelled:
    """One action is right: it has the chance ``cost_right``, every other ``cost_wrong``."""

    labelling: Labelling
    n_actions: int
    cost_right: float
    cost_wrong: float

    def __call__(self, rounds: Ints, rows: Ints) -> Floats:
        """Return (n, K) chances."""
        chance = np.full((len(rows), self.n_actions), self.cost_wrong)
        chance[np.arange(len(rows)), self.labelling(rounds, rows)] = self.cost_right
        return chance


@dataclass(frozen=True)
class Steps:
    """A whole table of chances (m, K) at a time: ``tables`` (S, m, K), table s from round ``starts[s]`` (S,) on."""

    starts: Ints
    tables: Floats

    def __call__(self, rounds: Ints, rows: Ints) -> Floats:
        """Return (n, K) chances."""
        step = np.searchsorted(self.starts, rounds, side="right") - 1
        return np.asarray(self.tables[step, rows])


@dataclass(frozen=True)
class _Block:
    number: int
    rows: list[int]
    costs: Floats


class BernoulliStream:
    """Rounds 0..horizon-1: a row drawn uniformly from the pool, and K independent Bernoulli costs.

    Parameters
    ----------
    contexts : (m, d) read-only floats, the pool
    chances : P[cost = 1] of every action, on any row at any round; 0 and 1 make costs deterministic
    n_actions : K
    horizon : number of rounds, >= 1
    seed : non-negative integer
    planted : the policies that ``chances`` favours, for reports

    Raises
    ------
    InputError (bad horizon or seed)

    """

    def __init__(
        self,
        contexts: Floats,
        chances: Chances,
        n_actions: int,
        *,
        horizon: int,
        seed: int,
        planted: tuple[Policy, ...] = (),
    ) -> None:
        self.contexts = contexts
        self.order: Ints | None = None  # the rows are drawn i.i.d.: nothing of their order is known beforehand
        self.planted = planted
        self.chances = chances
        self.horizon = whole("horizon", horizon, 1)
        self._n_actions = n_actions
        self._seed = check_seed(seed)
        self._block = self._draw(0)

    def reveal(self, t: int) -> int:
        """Return the row of ``contexts`` that round ``t`` (0-based) shows; raises InputError outside the horizon."""
        return self._block_of(t).rows[t % BLOCK]

    def costs(self, t: int) -> Floats:
        """Return the costs (K,), 0 or 1 and read-only, of round ``t``; raises InputError outside the horizon."""
        row: Floats = self._block_of(t).costs[t % BLOCK]
        return row

    def _block_of(self, t: int) -> _Block:
        check_round(t, self.horizon)
        block = self._block
        if block.number != t // BLOCK:
            block = self._block = self._draw(t // BLOCK)
        return block

    def _draw(self, number: int) -> _Block:
        """Draw a whole block even where the horizon cuts it: the same rounds come first at any horizon."""
        rng = child(self._seed, "environment", "rounds", number)
        first = number * BLOCK
        n = min(BLOCK, self.horizon - first)
        rows = rng.integers(len(self.contexts), size=BLOCK)[:n]
        uniform = rng.random((BLOCK, self._n_actions))[:n]
        costs = (uniform < self.chances(np.arange(first, first + n), rows)).astype(np.float64)
        costs.setflags(write=False)
        return _Block(number, rows.tolist(), costs)


def check_opening(n_actions: int, policies: PolicyClass, horizon: int) -> None:
    """Raise InputError unless the class plays the environment's ``n_actions`` and the horizon has a round."""
    whole("horizon", horizon, 1)
    instance("policies", policies, PolicyClass, "a policy class, as in DecisionTrees(n_actions=3)")
    if policies.n_actions != n_actions:
        raise InputError(
            f"the policy class has {policies.n_actions} actions, the environment {n_actions}; give both the same"
        )


def check_round(t: int, horizon: int) -> None:
    """Raise InputError unless ``t`` is a round (0-based) of the horizon."""
    if not 0 <= t < horizon:
        raise InputError(f"round {t} is outside the horizon; give a round from 0 to {horizon - 1}")


def check_probability(name: str, value: Any) -> None:
    """Raise InputError unless ``value`` is a number from 0 to 1."""
    real(name, value, "a probability from 0 to 1", lambda number: 0 <= number <= 1)
