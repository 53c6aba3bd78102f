"""Runs of BISTRO+ with one thing wrong that the law and the answers of the relaxation do not show."""

import numpy as np

from milpcb.learners import BistroPlus
from milpcb.relaxations.coordinate import Signed
from milpcb.relaxations.paper import Half, Paper
from milpcb.theory.exact import Variant
from milpcb.theory.runs import Run
from milpcb.types import Floats, Ints


class _HalfTheSigns(Half):
    def noise(self, counts: Ints, n_actions: int, rng: np.random.Generator) -> Ints:
        return super().noise(counts // 2, n_actions, rng)


class _NoNoiseStated(Signed):
    def guarantee(self, scale: float, horizon: int, n_actions: int, log_size: float) -> float:
        del log_size
        return super().guarantee(scale, horizon, n_actions, 0.0)


class _OneRoundShort(BistroPlus):
    def _draw_totals(self) -> None:
        self.horizon -= 1
        super()._draw_totals()
        self.horizon += 1


class _Unmixed(BistroPlus):
    def _act(self, row: int) -> Floats:
        super()._act(row)
        return self._reply(row).q_star


RUN_MUTANTS = [
    Run(Variant("half, half of the signs", _HalfTheSigns())),
    Run(Variant("signed, no noise stated", _NoNoiseStated())),
    Run(Variant("paper, one round short", Paper()), learner=_OneRoundShort),
    Run(Variant("paper, no mixing", Paper()), learner=_Unmixed),
]
