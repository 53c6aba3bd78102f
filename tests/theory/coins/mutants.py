"""Learners with one thing wrong in what they estimate or prove, all of which must be rejected."""

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from milpcb.learners import Doubling, Exp4
from milpcb.learners.adaptive_noise import AdaptiveNoise
from milpcb.types import Answer, Floats
from tests.theory.coins.definitions import of_exp4, of_fixed_share, of_leader, sum_of_phases
from tests.theory.coins.learners import CoinLearner, doubling, epsilon_greedy, exp4, fixed_share, ftpl, optimistic_ftpl
from tests.theory.coins.paths import HalfCharged

# ------------------------------------------------------------------- adaptive noise


class Overshoots(AdaptiveNoise):
    """Estimates twice the cost."""

    def _redraws(self, row: int, action: int, most: int) -> int:
        return 2 * super()._redraws(row, action, most)


class CountsPastTheCap(AdaptiveNoise):
    """Where the cap ends the redraws, states ten times as many."""

    def _redraws(self, row: int, action: int, most: int) -> int:
        redraws = super()._redraws(row, action, most)
        return redraws if redraws < most else 10 * most


class MeasuresOnPlayedNoise(AdaptiveNoise):
    """Takes the gain on the noise that made the leader play its action, not on fresh noise."""

    _played: Floats = np.zeros(0)

    def play(self, row: int) -> int:
        """Keep the noise as well."""
        self._played = self._draw()
        return self._queries.play(row, self._played)

    def _gain(self, row: int, action: int, estimate: float) -> float:
        return self._queries.add(row, action, estimate, self._played)

    def state(self) -> dict[str, Any]:
        """Return what was played on as well."""
        return super().state() | {"played_on": self._played.tolist()}

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from a saved state."""
        super().restore(state)
        self._played = np.array(state["played_on"])


class LooksAhead(AdaptiveNoise):
    """Chooses between the rate of the round and a tenth of it when the round is over: the one with the larger gain."""

    def _gain(self, row: int, action: int, estimate: float) -> float:
        noise = self._draw()
        gains = []
        for scale in (1.0, 10.0):
            gains.append(self._queries.add(row, action, estimate, scale * noise))
            self._queries.table.add(row, action, -estimate)
        self._queries.table.add(row, action, estimate)
        return max(gains)


class Increases(AdaptiveNoise):
    """Plays at rates that grow."""

    def _next_scale(self) -> float:
        return self._scale / 10


class HalfTheSpread(AdaptiveNoise):
    """States half of what the noise may have lowered the minimum by."""

    def bound(self) -> float:
        """Return too little."""
        return self._for_bound.mean * self._last_scale / 2 + self._excess


class HalfTheEstimate(AdaptiveNoise):
    """Adds half of the estimate to its table."""

    def _gain(self, row: int, action: int, estimate: float) -> float:
        return super()._gain(row, action, estimate / 2)


class GainOfAll(AdaptiveNoise):
    """Adds an optimistic estimate, and takes the gain of the whole of c J for its bound."""

    def learn(self, row: int, action: int, cost: float, played: int) -> float:
        """Count as gained what was left out of the estimate."""
        estimate = super().learn(row, action, cost, played)
        if self._optimism is not None and cost:
            self._excess -= estimate - self._optimism.estimate(cost, estimate, played + 1)
        return estimate


# ------------------------------------------------------------------- Exp4


class OvershootingExp4(Exp4):
    """Estimates twice the cost."""

    def _learn(self, row: int, action: int, cost: float, probability: float) -> Any:
        super()._learn(row, action, cost, probability)
        return 2 * cost / probability


class HalvingExp4(Exp4):
    """Adds half of the estimate to its table."""

    def _learn(self, row: int, action: int, cost: float, probability: float) -> Any:
        super()._learn(row, action, cost, probability)
        self._table.add(row, action, -cost / probability / 2)


class OfAnother(Exp4):
    """Divides by the probability of another action."""

    def _learn(self, row: int, action: int, cost: float, probability: float) -> Any:
        shown = self._act(row)
        super()._learn(row, action, cost, probability)
        return cost / max(1e-3, float(shown[action - 1]))


class IncreasingExp4(Exp4):
    """Plays at rates that grow."""

    def _next_rate(self, played: int) -> float:
        return float(0.01 * 30.0**played)


class WrongPrior(Exp4):
    """States the potential of the square root of its number of policies."""

    def bound(self, confidence: float | None = None) -> float:
        """Return too little."""
        return super().bound(confidence) - self._log_count / (2 * self._last_rate) if self.played else 0.0


# ------------------------------------------------------------------- doubling


class LastPhaseOnly(Doubling):
    """States the guarantee of the last phase that is reached."""

    def guarantee(self) -> float:
        """Return too little."""
        return self._make(max(self.horizon or 0, 1).bit_length() - 1).guarantee()


class OnePhaseShort(Doubling):
    """States the guarantees of the phases that are over."""

    def guarantee(self) -> float:
        """Return too little where the horizon ends within a phase."""
        return sum(self._make(phase).guarantee() for phase in range(((self.horizon or 0) + 1).bit_length() - 1))


# ------------------------------------------------------------------- any learner


class NotTheLeast:
    """Answers with the second least total as if it were the least."""

    def __init__(self, oracle: Any) -> None:
        self.oracle, self.contexts = oracle, oracle.contexts
        self.n_contexts, self.n_actions = oracle.n_contexts, oracle.n_actions
        self.log_union = oracle.log_union

    def minimise(self, costs: Floats) -> Answer:
        """Return a total that some policy attains, but not the least."""
        answer: Answer = self.oracle.minimise(costs)
        return replace(answer, upper=float(np.sort(self.oracle.totals(costs))[1]))


MUTANTS = [
    CoinLearner("ftpl, estimates doubled", partial(ftpl, leader=Overshoots)),
    CoinLearner("ftpl, counts past the cap", partial(ftpl, leader=CountsPastTheCap)),
    CoinLearner("ftpl, gain on played noise", partial(ftpl, leader=MeasuresOnPlayedNoise)),
    CoinLearner("ftpl, rate looks ahead", partial(ftpl, leader=LooksAhead)),
    CoinLearner("ftpl, rate increases", partial(ftpl, leader=Increases)),
    CoinLearner("ftpl, half the spread", partial(ftpl, leader=HalfTheSpread)),
    CoinLearner("ftpl, adds half", partial(ftpl, leader=HalfTheEstimate), definition=of_leader),
    CoinLearner("ftpl, not the minimum", ftpl, NotTheLeast),
    CoinLearner("ftpl, optimistic, gain of all", partial(optimistic_ftpl, leader=GainOfAll)),
    CoinLearner("exp4, estimates doubled", partial(exp4, kind=OvershootingExp4)),
    CoinLearner("exp4, probability of another", partial(exp4, kind=OfAnother)),
    CoinLearner("exp4, rate increases", partial(exp4, kind=IncreasingExp4)),
    CoinLearner("exp4, half the prior", partial(exp4, kind=WrongPrior)),
    CoinLearner("exp4, adds half", partial(exp4, kind=HalvingExp4), definition=of_exp4),
    CoinLearner("exp4, not the minimum", exp4, NotTheLeast),
    CoinLearner("fixed share, charged half", partial(fixed_share, kind=HalfCharged), definition=of_fixed_share),
    CoinLearner("epsilon-greedy, not the minimum", epsilon_greedy, NotTheLeast),
    CoinLearner("doubling, last phase only", partial(doubling, kind=LastPhaseOnly), stated=sum_of_phases(exp4)),
    CoinLearner("doubling, a phase short", partial(doubling, kind=OnePhaseShort), stated=sum_of_phases(exp4)),
]
