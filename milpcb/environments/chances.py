"""The probability P[cost = 1] of every action, a function of the round and the context alone.

An environment is a stream of i.i.d. contexts with one of these tables of chances, or a few of them in turn.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from milpcb.types import Floats, Ints


class Chances(Protocol):
    """The probability of a cost of 1, as a function of round and context."""

    def __call__(self, rounds: Ints, rows: Ints) -> Floats:
        """Return (n, K): P[cost = 1] on the context ``rows`` (n,) at the increasing ``rounds`` (n,)."""
        ...


class Labelling(Protocol):
    """The right action, as a function of round and context."""

    def __call__(self, rounds: Ints, rows: Ints) -> Ints:
        """Return (n,) right actions of the context ``rows`` (n,) at the increasing ``rounds`` (n,)."""
        ...


@dataclass(frozen=True)
class Phases:
    """From round ``starts[p]`` on, and until the next phase starts, ``labels[p, j]`` is the right action of row j.

    ``starts`` (P,) is non-decreasing and begins with 0, ``labels`` is (P, m); of phases that start together the last
    one counts.
    """

    starts: Ints
    labels: Ints

    def __call__(self, rounds: Ints, rows: Ints) -> Ints:
        """Return (n,) right actions of the context ``rows`` (n,) at ``rounds`` (n,)."""
        phase = np.searchsorted(self.starts, rounds, side="right") - 1
        return np.asarray(self.labels[phase, rows])


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
