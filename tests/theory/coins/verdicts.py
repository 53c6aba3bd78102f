"""The verdict on a learner: by how much its mean certificate and bound exceed mean regret where they do least.

What a learner plays is compared with its definition, after every history; and the guarantee that it states, with its
own where that is made of others'.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np

from milpcb.learners import Learner
from tests.theory.coins.definitions import Definition, largest_difference, least_excess
from tests.theory.coins.draws import Coins
from tests.theory.coins.games import CoinGame
from tests.theory.coins.learners import CoinLearner
from tests.theory.coins.slacks import ROUNDING
from tests.theory.coins.trees import least_slacks, tree

NAMES = (
    "E[certificate] - E[regret]",
    "E[bound] - E[regret]",
    "difference of q from its definition, negated,",
    "guarantee - its definition",
)


@dataclass(frozen=True)
class CoinVerdict:
    """The least slacks over all games, rounds and oblivious costs 0 and 1, and for each of them a game that attains it.

    That of the bound is NaN for a learner that has none. ``played`` is minus the largest difference between a
    probability that it plays with and the definition's, and ``stated`` the least of its guarantee less the definition's
    over all horizons; NaN for a learner without one.
    """

    name: str
    certificate: float
    bound: float
    played: float
    stated: float
    places: tuple[CoinGame, ...]

    @property
    def slacks(self) -> tuple[float, ...]:
        """The slacks in the order of ``NAMES``."""
        return self.certificate, self.bound, self.played, self.stated

    @property
    def passes(self) -> bool:
        """Whether nothing is violated."""
        return not self.violations()

    def violations(self) -> list[str]:
        """Return what is violated and where, one line each."""
        return [
            f"{name} is {slack:.4f} for {game}"
            for name, slack, game in zip(NAMES, self.slacks, self.places, strict=True)
            if slack < -ROUNDING
        ]


def judge_learner(
    learner: CoinLearner, games: Iterable[CoinGame], tick: Callable[[], None] = lambda: None
) -> CoinVerdict:
    """Return the least slacks over ``games``; ``tick`` is called after each game."""
    places, found = [], []
    for game in games:
        oracle, coins = game.oracle(), game.coins()
        minimiser = None if learner.minimiser is None else learner.minimiser(oracle)
        made = learner.make(oracle, len(game.rows), coins)
        comparison = _Comparison(learner.definition, game, coins)
        root = tree(made, game.rows, minimiser, comparison.visit, coins)
        stated = np.nan if learner.stated is None else least_excess(learner.make, learner.stated, oracle, coins)
        found.append([*least_slacks(root, game.rows, np.array(game.labelings)), -comparison.largest, stated])
        places.append(game)
        tick()
    table = np.array(found)
    certificate, bound, played, stated = table.min(axis=0).tolist()
    worst = tuple(places[place] for place in table.argmin(axis=0).tolist())
    return CoinVerdict(learner.name, certificate, bound, played, stated, worst)


class _Comparison:
    """Compares what a learner plays with its definition at every node of a game; NaN where there is none."""

    def __init__(self, definition: Definition | None, game: CoinGame, coins: Coins) -> None:
        self._definition, self._game, self._coins = definition, game, coins
        self.largest = float("nan") if definition is None else 0.0

    def visit(self, learner: Learner) -> None:
        """Look at the learner between two rounds."""
        rows = self._game.rows
        if self._definition is not None and learner.played < len(rows):
            setting = rows[learner.played], np.array(self._game.labelings), self._coins
            self.largest = max(self.largest, largest_difference(self._definition, learner, *setting))
