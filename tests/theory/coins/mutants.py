"""Learners with one thing wrong in what they estimate or prove, all of which must be rejected."""

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from milpcb.learners import Exp4
from milpcb.learners.adaptive_noise import AdaptiveNoise
from milpcb.types import Answer, Floats
from tests.theory.coins.definitions import of_fixed_share, of_leader
from tests.theory.coins.learners import CoinLearner, exp4, fixed_share, ftpl
from tests.theory.coins.paths import HalfCharged

# ------------------------------------------------------------------- adaptive noise


class _CountsPastTheCap(AdaptiveNoise):
    def _redraws(self, row: int, action: int, most: int) -> int:
        redraws = super()._redraws(row, action, most)
        return redraws if redraws < most else 10 * most


class _MeasuresOnPlayedNoise(AdaptiveNoise):
    _played: Floats = np.zeros(0)

    def play(self, row: int) -> int:
        self._played = self._draw()
        return self._queries.play(row, self._played)

    def _gain(self, row: int, action: int, estimate: float) -> float:
        return self._queries.add(row, action, estimate, self._played)

    def state(self) -> dict[str, Any]:
        return super().state() | {"played_on": self._played.tolist()}

    def restore(self, state: dict[str, Any]) -> None:
        super().restore(state)
        self._played = np.array(state["played_on"])


class _HalfTheEstimate(AdaptiveNoise):
    def _gain(self, row: int, action: int, estimate: float) -> float:
        return super()._gain(row, action, estimate / 2)


# ------------------------------------------------------------------- Exp4


class OvershootingExp4(Exp4):
    """Estimates twice the cost."""

    def _learn(self, row: int, action: int, cost: float, probability: float) -> Any:
        super()._learn(row, action, cost, probability)
        return 2 * cost / probability


class OfAnother(Exp4):
    """Divides by the probability of another action."""

    def _learn(self, row: int, action: int, cost: float, probability: float) -> Any:
        shown = self._act(row)
        super()._learn(row, action, cost, probability)
        return cost / max(1e-3, float(shown[action - 1]))


# ------------------------------------------------------------------- any learner


class _NotTheLeast:
    def __init__(self, oracle: Any) -> None:
        self.oracle, self.contexts = oracle, oracle.contexts
        self.n_contexts, self.n_actions = oracle.n_contexts, oracle.n_actions
        self.log_union = oracle.log_union

    def minimise(self, costs: Floats) -> Answer:
        answer: Answer = self.oracle.minimise(costs)
        return replace(answer, upper=float(np.sort(self.oracle.totals(costs))[1]))


MUTANTS = [
    CoinLearner("ftpl, counts past the cap", partial(ftpl, leader=_CountsPastTheCap)),
    CoinLearner("ftpl, gain on played noise", partial(ftpl, leader=_MeasuresOnPlayedNoise)),
    CoinLearner("ftpl, adds half", partial(ftpl, leader=_HalfTheEstimate), definition=of_leader),
    CoinLearner("exp4, estimates doubled", partial(exp4, kind=OvershootingExp4)),
    CoinLearner("exp4, probability of another", partial(exp4, kind=OfAnother)),
    CoinLearner("exp4, not the minimum", exp4, _NotTheLeast),
    CoinLearner("fixed share, charged half", partial(fixed_share, kind=HalfCharged), definition=of_fixed_share),
]
