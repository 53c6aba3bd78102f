"""Certificates for planned looks (statement 24): the exact chance of being wrong, over all plans of costs 0 and 1."""

from collections.abc import Sequence
from fractions import Fraction
from itertools import product
from typing import Any, NamedTuple

import numpy as np
import pytest

from milpcb.blocks import Blocks
from milpcb.learners import Learner
from milpcb.ledger import Ledger
from milpcb.types import Ints
from tests.theory.coins.changes import sequences_of, uniform
from tests.theory.coins.confidence import HalfThePrice, Statement, optimistic, worst_chances
from tests.theory.coins.games import OPPOSITE, CoinGame
from tests.theory.coins.learners import exp4
from tests.theory.coins.trees import Node, tree

FOUR = ((0,), (1,), (2,), (3,))


class Looks(NamedTuple):
    """A game, ends of blocks, after which numbers of rounds one looks, and how many looks are paid for."""

    game: CoinGame
    ends: tuple[int, ...]
    at: tuple[int, ...]
    planned: int
    statement: Statement


FAIR = CoinGame(OPPOSITE, (0,) * 4, ((1.0, -1.0),))
MANY = CoinGame(FOUR, (0,) * 2, ((0.0,) * 4,))
LOOKS = {
    "the end": Looks(FAIR, (2, 4), (4,), 1, Statement(0.95, 0.3)),
    "twice": Looks(FAIR, (1, 2, 4), (2, 4), 2, Statement(0.95, 0.56)),
    "four actions": Looks(MANY, (1, 2), (2,), 1, Statement(0.9, 0.5)),
}


def wrong_chance(make: Any, looks: Looks, kind: type[Ledger] = Ledger, *, reacts: bool = False) -> Fraction:
    """Return the greatest chance that a certificate is wrong at one of the looks.

    It is over all plans of costs; if the world ``reacts``, over all ways to choose them by the actions before.
    """
    game, n, statement = looks.game, len(looks.ends), looks.statement
    oracle, coins, m = game.oracle(), game.coins(), len(game.labelings[0])
    block = np.searchsorted(looks.ends[:-1], np.arange(len(game.rows)), side="right")
    every, turns = sequences_of(np.array(game.labelings), n)
    learner = make(oracle, len(game.rows), coins)
    learner.ledger = kind([statement.stake])
    learner.ledger.blocks = Blocks(looks.ends, planned=True)
    learner.ledger.bet()

    def stated(learner: Learner) -> tuple[int, list[float]]:
        """Return the number of rounds, and certificates against one policy, and against 1, 2, ... in turn."""
        found = learner.ledger.in_turn(oracle, n, 1 - statement.delta, looks.planned)
        alone = learner.ledger.confident(oracle, 1 - statement.delta, looks.planned)
        return learner.played, [alone, *(learner.ledger.cost - turn.total for turn in found)]

    def is_wrong(node: Node, totals: Ints) -> bool:
        played, bounds = node.seen
        most = [1, *range(1, len(bounds))]
        return played in looks.at and any(
            node.paid - totals[turns <= number].min() > bound for number, bound in zip(most, bounds, strict=True)
        )

    root = tree(learner, game.rows, oracle, stated, coins)
    rows = (block * m + np.array(game.rows)).tolist()
    if reacts:
        (chance,) = worst_chances(root, rows, every, is_wrong)
        return Fraction(chance)
    vectors = list(product((0, 1), repeat=oracle.n_actions))
    plans = product(vectors, repeat=len(rows))
    return max(_chance(root, rows, every, np.array(plan), is_wrong) for plan in plans)


def _chance(node: Node, rows: Sequence[int], labelings: Ints, plan: Ints, wrong: Any, totals: Any = 0) -> Fraction:
    """Return the chance that something is ``wrong`` from a node on, with the costs ``plan`` (rounds, K) that follow."""
    if wrong(node, np.broadcast_to(totals, len(labelings))):
        return Fraction(1)
    if not rows:
        return Fraction(0)
    paid = totals + plan[0][labelings[:, rows[0]]]
    return sum(
        (
            weight * _chance(following, rows[1:], labelings, plan[1:], wrong, paid)
            for (action, cost), successors in node.after.items()
            if cost == plan[0][action]
            for weight, following in successors
        ),
        start=Fraction(0),
    )


@pytest.mark.parametrize("make", [uniform, exp4, optimistic], ids=["uniform", "exp4", "optimistic"])
@pytest.mark.parametrize("looks", LOOKS.values(), ids=LOOKS)
def test_no_plan_makes_a_certificate_wrong_more_often_than_delta(make: Any, looks: Looks) -> None:
    """Against one policy and several in turn at once, at all planned looks."""
    assert wrong_chance(make, looks) <= looks.statement.allowed


def test_a_world_that_reacts_makes_it_wrong_too_often() -> None:
    """Where the best policy in hindsight is no fixed one, its number is not for nothing."""
    looks = Looks(FAIR, (4,), (4,), 1, Statement(0.95, 0.55))
    assert wrong_chance(uniform, looks) <= looks.statement.allowed
    assert wrong_chance(uniform, looks, reacts=True) == Fraction(7, 8)


def test_half_the_price_is_too_little() -> None:
    """The chance comes near to what is allowed."""
    assert wrong_chance(uniform, LOOKS["the end"], HalfThePrice) > LOOKS["the end"].statement.allowed
