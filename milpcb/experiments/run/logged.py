"""The rounds of a finished cell as a log: the cell is played again, which gives the same rounds to the last bit."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from milpcb import rng
from milpcb.experiments.run.loop import Tally, play
from milpcb.experiments.run.task import CellPlayer
from milpcb.experiments.study.cells import Cell
from milpcb.experiments.study.worlds import World
from milpcb.learners import Learner
from milpcb.types import Floats, Ints

SLICE = 1024  # rounds between two calls of ``tick``


class PlayedRounds(NamedTuple):
    """Rounds as logged: ``rows`` (T,) of the contexts, ``actions``, ``costs`` and ``probabilities`` (T,).

    ``hides_law`` is the learner's (see Learner): then estimates cannot be weighed by these probabilities.
    """

    rows: Ints
    actions: Ints
    costs: Floats
    probabilities: Floats
    hides_law: bool


def rounds_of(cell: Cell, world: World, tick: Callable[[int], None]) -> PlayedRounds:
    """Play a cell and return its rounds; ``tick`` is called now and then with how many there are.

    A run does not keep its rounds: the seed fixes them, and most studies have millions that nobody looks at.
    """
    learner, tally = CellPlayer(cell, world).learner, Tally()
    writer = _Writer(learner)
    actions = rng.child(cell.seed, "actions")
    while tally.round < cell.horizon:
        play(writer, world.stream, tally, min(cell.horizon, tally.round + SLICE), actions)
        tick(tally.round)
    rows, played, costs, probabilities = zip(*writer.rounds, strict=True)
    return PlayedRounds(
        np.array(rows), np.array(played), np.array(costs), np.array(probabilities), bool(learner.hides_law)
    )


class _Writer:
    """A learner whose rounds are written down: row, action, cost, probability."""

    def __init__(self, learner: Learner) -> None:
        self._learner = learner
        self.full_information = learner.full_information
        self.rounds: list[tuple[int, int, float, float]] = []

    def act(self, row: int) -> Floats:
        return self._learner.act(row)

    def learn(self, row: int, action: int, cost: float, probability: float) -> None:
        self._learner.learn(row, action, cost, probability)
        self.rounds.append((row, action, cost, probability))

    def learn_all(self, row: int, costs: Floats) -> None:
        self._learner.learn_all(row, costs)
