"""Streams of rounds, drawn a block at a time, so that memory does not grow with the horizon."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from milpcb.core.checks import instance, whole
from milpcb.errors import InputError
from milpcb.protocols import Policy, PolicyClass
from milpcb.rng import check_seed, child
from milpcb.types import Floats, Ints

BLOCK = 4096


@dataclass(frozen=True)
class Steps:
    """Tables (S, m, K) of chances, used in turn again and again, each from its round of ``starts`` (P,), first 0."""

    starts: Ints
    tables: Floats

    def __call__(self, rounds: Ints, rows: Ints) -> Floats:
        """Return (n, K) chances."""
        step = np.searchsorted(self.starts, rounds, side="right") - 1
        return np.asarray(self.tables[step % len(self.tables), rows])


class _Block(NamedTuple):
    number: int
    rows: list[int]
    costs: Any  # (n, K)


class BlockStream(ABC):
    """Rounds on rows of ``contexts`` (m, d), ``size`` of them at a time; ``order`` (T,) are all rows where known."""

    size = BLOCK

    def __init__(self, contexts: Floats, horizon: int, order: Ints | None = None) -> None:
        self.contexts, self.horizon, self.order = contexts, whole("horizon", horizon, 1), order
        self.contexts.setflags(write=False)
        self._block = _Block(-1, [], None)

    def reveal(self, t: int) -> int:
        """Return the row of ``contexts`` that round ``t`` (0-based) shows; raises InputError outside the horizon."""
        return self._block_of(t).rows[t % self.size]

    def costs(self, t: int) -> Floats:
        """Return the costs (K,) of round ``t``, read-only; raises InputError outside the horizon."""
        row: Floats = self._block_of(t).costs[t % self.size]
        return row

    def _block_of(self, t: int) -> _Block:
        if not 0 <= t < self.horizon:
            raise InputError(f"round {t} is outside the horizon; give a round from 0 to {self.horizon - 1}")
        number = t // self.size
        if self._block.number != number:
            rows, costs = self._draw(number)
            costs.setflags(write=False)
            self._block = _Block(number, rows.tolist(), costs)
        return self._block

    @abstractmethod
    def _draw(self, number: int) -> tuple[Ints, Floats]:
        """Return the rows (n,) and costs (n, K) of a block."""


class TableStream(BlockStream):
    """Rounds on ``rows`` (T,), which learners may know or not, at costs (T, K) computed when they are asked for."""

    def __init__(self, contexts: Floats, rows: Ints, costs: Callable[[], Floats], *, known: bool) -> None:
        super().__init__(contexts, len(rows), rows if known else None)
        self.size = self.horizon
        self._rows, self._costs = rows, costs

    def _draw(self, number: int) -> tuple[Ints, Floats]:
        del number  # there is one
        return self._rows, self._costs()


class BernoulliStream(BlockStream):
    """A row drawn evenly from the contexts (m, d) in each round, K independent costs; ``planted`` is for reports.

    ``chances`` are P[cost = 1] (n, K), by the increasing rounds (n,) and the rows (n,) that they show.
    """

    def __init__(
        self,
        contexts: Floats,
        chances: Callable[[Ints, Ints], Floats],
        n_actions: int,
        *,
        horizon: int,
        seed: int,
        planted: tuple[Policy, ...] = (),
    ) -> None:
        super().__init__(contexts, horizon)
        self.chances, self.planted = chances, planted
        self._n_actions, self._seed = n_actions, check_seed(seed)

    def _draw(self, number: int) -> tuple[Ints, Floats]:
        rng = child(self._seed, "environment", "rounds", number)
        first = number * BLOCK
        n = min(BLOCK, self.horizon - first)  # of a whole block: the same rounds come first at any horizon
        rows = rng.integers(len(self.contexts), size=BLOCK)[:n]
        uniform = rng.random((BLOCK, self._n_actions))[:n]
        return rows, (uniform < self.chances(np.arange(first, first + n), rows)).astype(np.float64)


def check_opening(n_actions: int, policies: PolicyClass, horizon: int) -> None:
    """Raise InputError unless the class plays the environment's ``n_actions`` and the horizon has a round."""
    whole("horizon", horizon, 1)
    instance("policies", policies, PolicyClass, "a policy class, as in DecisionTrees(n_actions=3)")
    if policies.n_actions != n_actions:
        raise InputError(
            f"the policy class has {policies.n_actions} actions, the environment {n_actions}; give both the same"
        )
