"""The exact chance that a learner with a baseline ever breaks its promise, against costs that react to what was played.

As in tests.theory.coins.confidence the adversary sees every action and chooses costs 0 and 1 so as to break it as
often as it can; statement 18 of milpcb/theory/confidence.md proves that it cannot do so more often than delta. Rounds
may be learnt one round late, too. The coins by which the learner inside is followed are those of a seed: the promise is
kept whatever q depends on. As there, nothing is rounded on the way to the verdict.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from milpcb.bets import Floor
from milpcb.learners import Conservative, Exp4
from milpcb.types import Ints
from tests.theory.coins.confidence import worst_chances
from tests.theory.coins.games import ALL_FOUR, OPPOSITE, CoinGame
from tests.theory.coins.learners import OneRoundLate
from tests.theory.coins.slacks import Judged, Verdict, worst_of
from tests.theory.coins.trees import Node, tree


@dataclass(frozen=True)
class Promise:
    """Total cost is at most (1 + loss) times the baseline's, plus ``allowance``, but with probability ``delta``.

    ``loss`` and ``allowance`` are whole multiples of a half, so that no sum of theirs with integers is rounded.
    """

    loss: float
    allowance: float
    delta: float
    stake: float = 0.95
    share: float = 0.3

    @property
    def allowed(self) -> Fraction:
        """The chance that the float 1 - delta leaves for breaking it."""
        return 1 - Fraction(1 - self.delta)


# In a few rounds only bold stakes and large chances of being wrong prove anything.
PROMISES = (Promise(0.5, 1.0, 0.3), Promise(1.0, 1.0, 0.6, share=0.1), Promise(0.0, 0.5, 0.2), Promise(2.0, 0.0, 0.1))
BASELINE = 0  # the policy of each game that is done today: its first
GAMES = [CoinGame(OPPOSITE, (0, 0, 0, 0, 0), ()), CoinGame(ALL_FOUR, (0, 1, 0, 0), ())]


def judge_promise(judged: Judged, games: Iterable[CoinGame] = GAMES, promises: Sequence[Promise] = PROMISES) -> Verdict:
    """Return the verdict over ``games`` and ``promises``."""
    found = [
        (f"{promise}, {game}", [chance - promise.allowed for chance in broken(judged, game, promise)])
        for game in games
        for promise in promises
    ]
    names = ("the baseline cost less than stated", "promise broken")
    return worst_of(names, found)


def broken(judged: Judged, game: CoinGame, promise: Promise) -> list[Fraction]:
    """Return the worst chances that the baseline ever cost less than the floor, and that the promise is broken."""
    oracle = game.oracle()
    learner = judged.kind(
        oracle,
        inner=Exp4(oracle),
        baseline=game.labelings[BASELINE],
        loss=promise.loss,
        allowance=promise.allowance,
        share=promise.share,
    )
    learner._floor = judged.part(1 - promise.delta, [promise.stake])
    played = OneRoundLate(learner) if judged.late else learner
    root = tree(played, game.rows, oracle, lambda _: learner.floor)

    def floor_is_wrong(node: Node, totals: Ints) -> bool:
        return bool(node.seen > totals[BASELINE])

    def promise_is_broken(node: Node, totals: Ints) -> bool:
        return bool(node.paid > (1 + promise.loss) * totals[BASELINE] + promise.allowance)

    return worst_chances(root, game.rows, np.array(game.labelings), floor_is_wrong, promise_is_broken)


PROMISING = [
    Judged("baseline", Conservative, Floor),
    Judged("baseline, one round late", Conservative, Floor, late=True),
]


# ------------------------------------------------------------------- with one thing wrong


class _FloorByEstimate(Floor):
    def add(self, cost: float, estimate: float) -> None:
        super().add(cost, estimate + cost)


class _NoWorstCase(Conservative):
    def _at_worst(self) -> float:
        return super()._at_worst() - 1


class _ForgetsOpen(Conservative):
    def _at_worst(self) -> float:
        return self.ledger.cost + 1


class _SeesOthers(Conservative):
    def _learn(self, row: int, action: int, cost: float, probability: float) -> float:
        if action != self._action(row):
            self._floor.add(cost, cost)
        return super()._learn(row, action, cost, probability)


PROMISING_MUTANTS = [
    Judged("baseline, e for e - c", Conservative, _FloorByEstimate),
    Judged("baseline, no worst case", _NoWorstCase, Floor),
    Judged("baseline, unknown for free", _ForgetsOpen, Floor, late=True),
    Judged("baseline, any action's cost", _SeesOthers, Floor),
]
