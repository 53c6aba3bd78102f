"""E[regret] <= E[certificate] and <= E[telescoped bound], exactly: every coin, every oblivious sequence of costs."""

from typing import Any

import numpy as np
import pytest

from milpcb.learners import EpochGreedy, EpsilonGreedy, Exp4
from tests.theory.coins.games import ALL_GAMES, QUICK_GAMES, THREE_ACTIONS, CoinGame
from tests.theory.coins.learners import LEARNERS, CoinLearner, exp4
from tests.theory.coins.slacks import ROUNDING
from tests.theory.coins.trees import tree
from tests.theory.coins.verdicts import judge_learner

THREE = CoinGame(THREE_ACTIONS, (1, 0, 1), ((2.0, 0.0, -1.0, 0.0, 1.0, 0.0),))
WITHOUT_NOISE = [ALL_GAMES[1], ALL_GAMES[3], ALL_GAMES[7], THREE]  # others differ from these by their noise alone
# Draws of adaptive noise multiply the histories; it is judged in shorter games, once with two vectors of noise.
GAMES = {"ftpl, adaptive": [*QUICK_GAMES, ALL_GAMES[5], THREE]}


def without_coins(kind: Any) -> CoinLearner:
    """Return a learner that draws no noise within its calls."""
    return CoinLearner(kind.__name__, lambda oracle, horizon, _: kind(oracle, horizon=horizon))


@pytest.mark.parametrize(
    "played", [*LEARNERS, without_coins(EpsilonGreedy), without_coins(EpochGreedy)], ids=lambda played: played.name
)
def test_mean_regret_is_at_most_what_the_run_proves(played: CoinLearner) -> None:
    """After every round, for every oblivious 0/1 sequence; with equality where nothing costs anything."""
    verdict = judge_learner(played, GAMES.get(played.name, WITHOUT_NOISE))
    assert verdict.violations() == []
    assert verdict.excess[0] == pytest.approx(0.0, abs=ROUNDING)
    assert np.isnan(verdict.excess[1]) != played.name.startswith(("exp4", "fixed", "ftpl"))


def check_telescoped(learner: Any) -> None:
    """Assert the step behind the bound: costs less the potential of the estimates are at most the sum of the d.

    The potential is -(1/eta) log of the mean over the policies of exp(-eta L), at the rate of the last round.
    """
    if not learner.played:
        return
    state, labelings = learner.state(), learner.oracle.labelings
    rate = state["last_rate"]
    totals = learner.ledger.totals(labelings.shape[1], learner.n_actions)[np.arange(labelings.shape[1]), labelings]
    each = totals.sum(axis=1)
    potential = each.min() - np.log(np.exp(-rate * (each - each.min())).mean()) / rate
    assert state["gaps"] >= learner.ledger.cost - potential - ROUNDING
    assert learner.bound() >= learner.certificate() - ROUNDING


@pytest.mark.parametrize("rate", ["fixed", "anytime", "adaptive", "certified", 3.0])
@pytest.mark.parametrize("game", [ALL_GAMES[7], ALL_GAMES[3], THREE], ids=str)
def test_the_telescope_of_exp4_holds_on_every_path(rate: Any, game: CoinGame) -> None:
    """Whatever the rates, as long as they never increase."""
    tree(exp4(game.oracle(), len(game.rows), game.coins(), rate=rate), game.rows, visit=check_telescoped)


class Increasing(Exp4):
    """Plays at rates that grow."""

    @property
    def rate(self) -> float:
        return float(0.01 * 30.0**self.played)


def test_rates_that_increase_are_caught() -> None:
    """The step behind the bound fails on some path."""
    with pytest.raises(AssertionError):
        tree(Increasing(ALL_GAMES[3].oracle(), horizon=4), ALL_GAMES[3].rows, visit=check_telescoped)
