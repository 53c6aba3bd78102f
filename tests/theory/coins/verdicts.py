"""The verdict on a learner: by how much its mean certificate and bound exceed mean regret where they do least.

What a learner plays is compared with its definition, after every history.
"""

from collections.abc import Iterable
from typing import Any

import numpy as np

from tests.theory.coins.definitions import largest_difference
from tests.theory.coins.games import CoinGame
from tests.theory.coins.learners import CoinLearner
from tests.theory.coins.slacks import ROUNDING, Verdict, worst_of
from tests.theory.coins.trees import least_slacks, tree

NAMES = ("E[regret] <= E[certificate]", "E[regret] <= E[bound]", "q = its definition")


def judge_learner(learner: CoinLearner, games: Iterable[CoinGame]) -> Verdict:
    """Return the verdict over all games, rounds and oblivious costs 0 and 1.

    What does not apply is NaN: the bound of a learner that has none, and whatever has no definition.
    """
    return worst_of(NAMES, ((str(game), _excess(learner, game)) for game in games), ROUNDING)


def _excess(learner: CoinLearner, game: CoinGame) -> list[float]:
    """Return by how much each statement is violated in one game."""
    oracle, coins, labelings = game.oracle(), game.coins(), np.array(game.labelings)
    differences: list[float] = []

    def visit(seen: Any) -> None:
        if learner.definition is not None and seen.played < len(game.rows):
            row = game.rows[seen.played]
            differences.append(largest_difference(learner.definition, seen, row, labelings, coins))

    minimiser = None if learner.minimiser is None else learner.minimiser(oracle)
    root = tree(learner.make(oracle, len(game.rows), coins), game.rows, minimiser, visit, coins)
    certificate, bound = -least_slacks(root, game.rows, labelings)
    return [float(certificate), float(bound), max(differences, default=np.nan)]
