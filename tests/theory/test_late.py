"""Costs that come late: estimates, bound and guarantee over all coins and delays of short games; statement 16 too."""

import pytest

from milpcb.errors import InputError
from milpcb.learners import Exp4
from tests.theory.coins.confidence import CONFIDENT, judge_confident
from tests.theory.coins.games import QUICK_GAMES
from tests.theory.coins.late import GAME, LATE, LATE_MUTANTS, JudgedLate, judge_late


@pytest.mark.parametrize("judged", LATE, ids=lambda judged: judged.name)
def test_late_costs_keep_what_is_stated(judged: JudgedLate) -> None:
    """No mean estimate is above its cost, no certificate above the bound, no mean regret above the guarantee."""
    assert judge_late(judged).passes


@pytest.mark.parametrize("judged", LATE_MUTANTS, ids=lambda judged: judged.name)
def test_late_costs_with_one_thing_wrong_are_caught(judged: JudgedLate) -> None:
    """The verdict names where."""
    verdict = judge_late(judged)
    assert not verdict.passes
    assert "delays" in verdict.violations()[0]


def test_certificates_hold_for_late_costs_that_react() -> None:
    """With a confidence, over all rounds, each cost that is not known counting as 1."""
    (late,) = (judged for judged in CONFIDENT if "late" in judged.name)
    assert judge_confident(late, QUICK_GAMES).passes


def test_the_guarantee_for_delays() -> None:
    """It is that of the best fixed rate, is larger than without delays, and is refused for other rates."""
    oracle, log_size = GAME.oracle(), 0.6931471805599453
    late = Exp4(oracle, horizon=50, rate="fixed", delays=200)
    assert late.guarantee() == pytest.approx((2 * (2 * 50 + 2 * 200) * log_size) ** 0.5)
    assert late.guarantee() > Exp4(oracle, horizon=50, rate="fixed").guarantee()
    for options in ({"rate": "certified"}, {"rate": "fixed", "estimates": "optimistic"}):
        with pytest.raises(InputError, match="delays="):
            Exp4(oracle, horizon=50, delays=1.0, **options)
