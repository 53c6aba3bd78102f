"""Chances of wrong statements are fractions, and floats decide what is wrong as rational arithmetic does."""

from fractions import Fraction
from itertools import product

import pytest

from milpcb.ledger import OWN, Ledger
from tests.theory.coins.baseline import GAMES, PROMISES, PROMISING, broken
from tests.theory.coins.confidence import CONFIDENT, STATEMENTS, Statement, chances
from tests.theory.coins.games import OPPOSITE, QUICK_GAMES, CoinGame
from tests.theory.coins.learners import exp4

GAME = CoinGame(OPPOSITE, (0, 0, 0), ((1.0, -1.0),))


@pytest.mark.parametrize("judged", CONFIDENT, ids=lambda judged: judged.name)
def test_the_chance_of_a_wrong_statement_is_a_fraction(judged: object) -> None:
    """Neither q, nor noise, nor the sum over histories is rounded."""
    found = chances(judged, QUICK_GAMES[0], STATEMENTS[0])  # type: ignore[arg-type]
    assert all(isinstance(chance, Fraction) for chance in found)


def test_known_chances() -> None:
    """With fair coins a wrong statement has the chance 1/4 exactly; the float 1 - 0.3 leaves a little more than 0.3."""
    fair = next(judged for judged in CONFIDENT if judged.name == "half noise")
    assert chances(fair, GAME, Statement(0.95, 0.27)).floor == Fraction(1, 4)
    assert Statement(0.95, 0.3).allowed == 1 - Fraction(0.7) != Fraction(3, 10)
    assert all(isinstance(chance, Fraction) for chance in broken(PROMISING[0], GAMES[0], PROMISES[0]))


@pytest.mark.parametrize("statement", STATEMENTS, ids=str)
def test_floats_call_wrong_what_rational_numbers_do(statement: Statement) -> None:
    """Of two policies, after all 512 histories of three rounds: by the product of bets, with no logarithm.

    Where another action was played, a cost of 0 or 1 leaves the share 1 or 1 - lambda of what is held. So "the sum of
    logarithms, less the price, is above the total" is "the product is above N G / delta", a comparison of fractions.
    """
    stake, most, wrong = Fraction(statement.stake), 2 / statement.allowed, 0
    for played in product(product((0, 1), product((0, 1), repeat=2)), repeat=len(GAME.rows)):
        learner = exp4(GAME.oracle(), len(played), GAME.coins())
        learner.ledger = Ledger([statement.stake])
        held = [Fraction(1), Fraction(1)]
        for action, costs in played:
            q = float(learner.act(0)[action])
            learner.learn(0, action, float(costs[action]), q)
            held[action] *= 1 + stake * (costs[action] / Fraction(q) - costs[action])
            held[1 - action] *= 1 - stake * costs[1 - action]
        price = learner.ledger.price(statement.stake, learner.oracle.log_union, 1 - statement.delta)  # type: ignore[union-attr]
        for policy in (0, 1):
            total = sum(costs[policy] for _, costs in played)
            stated = learner.ledger.sums(OWN, 1, 2)[0, policy] - price > total
            assert stated == (held[policy] > most), (played, policy)
            wrong += stated
    assert wrong
