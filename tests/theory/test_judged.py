"""Statements of runs, judged exactly on small games: every coin, and costs that are the worst for each statement.

Learners, ledgers and blocks with one thing wrong are caught by the same verdicts.
"""

from collections.abc import Callable
from fractions import Fraction
from functools import partial
from itertools import product
from typing import Any

import numpy as np
import pytest

from milpcb.ledger import OWN, Ledger
from tests.theory.coins.baseline import GAMES, PROMISES, PROMISING, PROMISING_MUTANTS, broken, judge_promise
from tests.theory.coins.changes import IN_TURN, IN_TURN_GAMES, IN_TURN_MUTANTS, in_turn_chances, judge_in_turn
from tests.theory.coins.confidence import (
    CONFIDENT,
    CONFIDENT_MUTANTS,
    STATEMENTS,
    Statement,
    chances,
    judge_confident,
    optimistic,
)
from tests.theory.coins.games import ALL_GAMES, OPPOSITE, QUICK_GAMES, CoinGame
from tests.theory.coins.guard import GUARD_MUTANTS, GUARDED, SETTINGS, judge_guard
from tests.theory.coins.late import DELAYS, LATE, LATE_MUTANTS, judge_late
from tests.theory.coins.learners import CoinLearner, exp4
from tests.theory.coins.mutants import MUTANTS
from tests.theory.coins.one_draw import DRAW_MUTANTS, DRAWN, LONG, Enumerated, judge_draw
from tests.theory.coins.paths import FOLLOWED, PATH_MUTANTS, judge_paths
from tests.theory.coins.slacks import Judged, Verdict
from tests.theory.coins.verdicts import judge_learner

Judge = Callable[[], Verdict]


def each(judge: Callable[..., Any], judged: Any, *setting: Any) -> dict[str, Judge]:
    """Return a judge of each, by its name."""
    return {f"{judge.__name__}, {one.name}": partial(judge, one, *setting) for one in judged}


def judge_mutant(mutant: CoinLearner) -> Verdict:
    """Return the verdict of the first quick game in which a learner is caught."""
    verdicts = (judge_learner(mutant, [game]) for game in QUICK_GAMES)
    return next(verdict for verdict in verdicts if not verdict.passes)


FIRST = (GAMES[:1], PROMISES[:1])
LONGER = Judged("exp4, optimistic, in longer games", optimistic)
HOLDS: dict[str, Judge] = {
    **{
        name: partial(judge, games=QUICK_GAMES[: 2 if "ftpl" in name else 3])  # draws of noise multiply the histories
        for name, judge in each(judge_confident, CONFIDENT).items()
    },
    **each(judge_confident, [LONGER], [ALL_GAMES[3], *ALL_GAMES[7:]]),
    **each(judge_in_turn, IN_TURN),
    **each(judge_promise, PROMISING[:1]),
    **each(judge_promise, PROMISING[1:], GAMES, PROMISES[:2]),
    **each(judge_late, LATE),
    **each(judge_guard, GUARDED),
    **each(judge_draw, DRAWN),
    **each(judge_paths, FOLLOWED, 4),
}
CAUGHT: dict[str, Judge] = {
    **each(judge_confident, CONFIDENT_MUTANTS, QUICK_GAMES),
    **each(judge_in_turn, IN_TURN_MUTANTS),
    **each(judge_promise, PROMISING_MUTANTS, *FIRST),
    **each(judge_late, LATE_MUTANTS, DELAYS[1:3]),
    **each(judge_guard, GUARD_MUTANTS, SETTINGS[:2]),
    **each(judge_draw, DRAW_MUTANTS),
    **each(judge_paths, PATH_MUTANTS),
    **each(judge_mutant, MUTANTS),
}


@pytest.mark.parametrize("judge", HOLDS.values(), ids=HOLDS)
def test_what_is_stated_holds(judge: Judge) -> None:
    """On every path, in the mean over all coins, or but for a chance that is exact: no q and no sum is rounded."""
    verdict = judge()
    assert verdict.violations() == []
    assert verdict.rounding or {type(excess) for excess in verdict.excess} == {Fraction}


@pytest.mark.parametrize("judge", CAUGHT.values(), ids=CAUGHT)
def test_one_thing_wrong_is_caught(judge: Judge) -> None:
    """By far more than rounding; and the verdict names what is wrong, and the game."""
    verdict = judge()
    assert not verdict.passes
    assert np.nanmax(np.array(verdict.excess, dtype=float)) > 1e-3
    assert any(place in verdict.violations()[0] for place in verdict.places)


def test_one_draw_is_judged_on_all_costs() -> None:
    """Of three rounds; and a kept leader of signed noise breaks its guarantee by a tenth at T = 1 and L = 5."""
    assert Enumerated(DRAWN[0], LONG[0]).games == 64
    assert judge_draw(DRAW_MUTANTS[-1]).excess[1] == Fraction(1, 10)


def test_the_chances_come_near_to_what_is_allowed() -> None:
    """Not by a factor is a price too high: of a chance of 0.27 nine tenths are used, of 0.3 and 0.1 as much nearly."""
    fair = next(judged for judged in CONFIDENT if judged.name == "half noise")
    assert chances(fair, GAME, Statement(0.95, 0.27))[0] == Fraction(1, 4)
    assert Statement(0.95, 0.3).allowed == 1 - Fraction(0.7) != Fraction(3, 10)
    used = [broken(PROMISING[0], GAMES[0], promise)[0] / promise.delta for promise in (PROMISES[0], PROMISES[3])]
    assert used[0] > 0.89
    assert used[1] > 0.8
    assert in_turn_chances(IN_TURN[0], IN_TURN_GAMES[0])[:2] == [Fraction(1, 4)] * 2


GAME = CoinGame(OPPOSITE, (0, 0, 0), ((1.0, -1.0),))


@pytest.mark.parametrize("statement", STATEMENTS[::3], ids=str)
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
