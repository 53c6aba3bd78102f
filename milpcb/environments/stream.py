"""Streams of rounds, and the mechanism of most built-in environments: i.i.d. contexts, Bernoulli costs.

Rounds are drawn a block at a time and only one block is kept, so memory does not grow with the horizon.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple, Never

import numpy as np

from milpcb.core.checks import instance, real, whole
from milpcb.errors import InputError
from milpcb.protocols import Policy, PolicyClass
from milpcb.rng import check_seed, child
from milpcb.types import Floats, Ints

BLOCK = 4096

# P[cost = 1] of each action (n, K), by the increasing ``rounds`` (n,) and the context ``rows`` (n,) that they show
Chances = Callable[[Ints, Ints], Floats]


@dataclass(frozen=True)
class Steps:
    """Tables of chances in turn: ``tables`` (S, m, K), one from each round of ``starts`` (P,) on.

    ``starts`` is non-decreasing and begins with 0; of tables that start together the last one counts. The tables begin
    anew where they are fewer than the starts.
    """

    starts: Ints
    tables: Floats

    @classmethod
    def of_labels(cls, starts: Ints, labels: Ints, n_actions: int, right: float, wrong: float) -> "Steps":
        """Return those of ``labels`` (S, m): the action that a context is labelled with has the chance ``right``."""
        return cls(starts, np.where(labels[:, :, None] == np.arange(n_actions), right, wrong))

    def __call__(self, rounds: Ints, rows: Ints) -> Floats:
        """Return (n, K) chances."""
        step = np.searchsorted(self.starts, rounds, side="right") - 1
        return np.asarray(self.tables[step % len(self.tables), rows])


class CheckedStream(ABC):
    """Rounds on rows of ``contexts`` (m, d); ``order`` (T,) are the rows where they are known; InputError outside."""

    def __init__(self, contexts: Floats, horizon: int, order: Ints | None = None) -> None:
        self.contexts, self.horizon, self.order = contexts, whole("horizon", horizon, 1), order

    def reveal(self, t: int) -> int:
        """Return the row of ``contexts`` that round ``t`` (0-based) shows."""
        return self._row(t if 0 <= t < self.horizon else self._refuse(t))

    def costs(self, t: int) -> Floats:
        """Return the costs (K,) of round ``t``, read-only."""
        return self._shown(t if 0 <= t < self.horizon else self._refuse(t))

    @abstractmethod
    def _row(self, t: int) -> int: ...

    @abstractmethod
    def _shown(self, t: int) -> Floats: ...

    def _refuse(self, t: int) -> Never:
        raise InputError(f"round {t} is outside the horizon; give a round from 0 to {self.horizon - 1}")


class _Block(NamedTuple):
    number: int
    rows: list[int]
    costs: Any  # (n, K)


class BernoulliStream(CheckedStream):
    """A row drawn evenly from the contexts (m, d) in each round, K independent costs; ``planted`` is for reports."""

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
        super().__init__(contexts, horizon)
        self.chances, self.planted = chances, planted
        self._n_actions, self._seed = n_actions, check_seed(seed)
        self._block = self._draw(0)

    def _row(self, t: int) -> int:
        return self._block_of(t).rows[t % BLOCK]

    def _shown(self, t: int) -> Floats:
        row: Floats = self._block_of(t).costs[t % BLOCK]
        return row

    def _block_of(self, t: int) -> _Block:
        if self._block.number != t // BLOCK:
            self._block = self._draw(t // BLOCK)
        return self._block

    def _draw(self, number: int) -> _Block:
        rng = child(self._seed, "environment", "rounds", number)
        first = number * BLOCK
        n = min(BLOCK, self.horizon - first)  # of a whole block: the same rounds come first at any horizon
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


def check_probability(name: str, value: Any) -> None:
    """Raise InputError unless ``value`` is a number from 0 to 1."""
    real(name, value, "a probability from 0 to 1", lambda number: 0 <= number <= 1)
