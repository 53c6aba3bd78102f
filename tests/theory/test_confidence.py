"""What runs state with confidence: the exact chance of being wrong, against costs that react to every action."""

import pytest

from tests.theory.coins.confidence import (
    CONFIDENT,
    CONFIDENT_MUTANTS,
    STATEMENTS,
    Confident,
    Statement,
    chances,
    judge_confident,
    optimistic,
)
from tests.theory.coins.games import ALL_GAMES, OPPOSITE, QUICK_GAMES, CoinGame
from tests.theory.coins.learners import CoinLearner


@pytest.mark.parametrize("judged", CONFIDENT, ids=lambda judged: judged.name)
def test_no_adversary_makes_a_wrong_statement_likelier_than_delta(judged: Confident) -> None:
    """The worst chance over all costs that react to what was played is at most delta, after every round."""
    assert judge_confident(judged, QUICK_GAMES).passes


@pytest.mark.parametrize("game", ALL_GAMES, ids=str)
def test_optimistic_estimates_in_longer_games(game: CoinGame) -> None:
    """In games of four rounds, with several contexts or three actions, too."""
    judged = Confident("exp4, optimistic", CoinLearner("exp4, optimistic", optimistic))
    for statement in STATEMENTS:
        assert max(chances(judged, game, statement)) <= statement.allowed


@pytest.mark.parametrize("judged", CONFIDENT_MUTANTS, ids=lambda judged: judged.name)
def test_statements_with_one_thing_wrong_are_caught(judged: Confident) -> None:
    """Every mutant is wrong more often than it may be, and the verdict says where."""
    verdict = judge_confident(judged, QUICK_GAMES)
    assert not verdict.passes
    assert "above" in verdict.violations()[0]


def test_the_chance_comes_near_to_what_is_allowed() -> None:
    """Not by a factor is the price too high: of a chance of 0.27 nine tenths are used."""
    fair = next(judged for judged in CONFIDENT if judged.name == "half noise")
    floor, _ = chances(fair, CoinGame(OPPOSITE, (0, 0, 0), ((1.0, -1.0),)), Statement(0.95, 0.27))
    assert floor == 1 / 4
