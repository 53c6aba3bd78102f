"""The verdict on a learner: by how much its mean certificate and bound exceed mean regret where they do least."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np

from milpcb.theory.coins.games import CoinGame
from milpcb.theory.coins.learners import CoinLearner
from milpcb.theory.coins.trees import least_slacks, tree

ROUNDING = 1e-9  # of means that are sums of floats
NAMES = ("E[certificate] - E[regret]", "E[bound] - E[regret]")


@dataclass(frozen=True)
class CoinVerdict:
    """The least slacks over all games, rounds and oblivious costs 0 and 1, and for each of them a game that attains it.

    That of the bound is NaN for a learner that has none.
    """

    name: str
    certificate: float
    bound: float
    places: tuple[CoinGame, CoinGame]

    @property
    def passes(self) -> bool:
        """Whether nothing is violated."""
        return not self.violations()

    def violations(self) -> list[str]:
        """Return what is violated and where, one line each."""
        slacks = (self.certificate, self.bound)
        return [
            f"{name} is {slack:.4f} for {game}"
            for name, slack, game in zip(NAMES, slacks, self.places, strict=True)
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
        root = tree(made, game.rows, minimiser, coins=coins)
        found.append(least_slacks(root, game.rows, np.array(game.labelings)))
        places.append(game)
        tick()
    certificate, bound = (int(column.argmin()) for column in np.array(found).T)
    return CoinVerdict(
        learner.name, float(found[certificate][0]), float(found[bound][1]), (places[certificate], places[bound])
    )
