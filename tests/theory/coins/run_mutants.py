"""Runs of BISTRO+ with one thing wrong that the law, the answers and the estimates of the relaxation do not show."""

import numpy as np

from milpcb.learners import BistroPlus
from milpcb.relaxations.coordinate import Signed
from milpcb.relaxations.paper import Half, Paper
from milpcb.theory.player import Variant
from milpcb.theory.runs import Run
from milpcb.types import Floats, Ints


class HalfTheSigns(Half):
    """Draws half of the rounds that carry noise."""

    def noise(self, counts: Ints, n_actions: int, rng: np.random.Generator) -> Ints:
        """Return (m, K): too little noise."""
        return super().noise(counts // 2, n_actions, rng)


class NoNoiseStated(Signed):
    """States the price of exploring only."""

    def guarantee(self, scale: float, horizon: int, n_actions: int, log_size: float) -> float:
        """Return too little."""
        del log_size
        return super().guarantee(scale, horizon, n_actions, 0.0)


class Twice(BistroPlus):
    """Adds each estimate twice."""

    def _learn(self, row: int, action: int, cost: float, probability: float) -> None:
        before = self._past[row, action]
        super()._learn(row, action, cost, probability)
        self._past[row, action] += self._past[row, action] - before


class OfTheNextRow(BistroPlus):
    """Adds each estimate at another context."""

    def _learn(self, row: int, action: int, cost: float, probability: float) -> None:
        super()._learn((row + 1) % len(self._past), action, cost, probability)


class OneRoundShort(BistroPlus):
    """Draws a future that is one round too short."""

    def _draw_totals(self) -> None:
        self.horizon -= 1
        super()._draw_totals()
        self.horizon += 1


class Unmixed(BistroPlus):
    """Plays q* in the place of q."""

    def _act(self, row: int) -> Floats:
        super()._act(row)
        return self._reply(row).q_star


RUN_MUTANTS = [
    Run(Variant("half, half of the signs", HalfTheSigns())),
    Run(Variant("signed, no noise stated", NoNoiseStated())),
    Run(Variant("paper, counts twice", Paper()), learner=Twice),
    Run(Variant("paper, counts at another row", Paper()), learner=OfTheNextRow),
    Run(Variant("paper, one round short", Paper()), learner=OneRoundShort),
    Run(Variant("paper, no mixing", Paper()), learner=Unmixed),
]
