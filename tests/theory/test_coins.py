"""E[regret] <= E[certificate] and <= E[telescoped bound], exactly: every coin, every oblivious sequence of costs."""

from collections import Counter
from typing import Any

import numpy as np
import pytest

from milpcb.learners import EpochGreedy, EpsilonGreedy, Exp4
from tests.theory.coins.games import ALL_FOUR, ALL_GAMES, OPPOSITE, QUICK_GAMES, THREE_ACTIONS, CoinGame
from tests.theory.coins.learners import LEARNERS, CoinLearner, exp4, ftpl
from tests.theory.coins.slacks import ROUNDING
from tests.theory.coins.trees import means, tree
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
    """After every round, for every oblivious 0/1 sequence; with equality where nothing costs anything.

    And each plays as its definition says, and states the guarantee that it should.
    """
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

    def _next_rate(self, played: int) -> float:
        return float(0.01 * 30.0**played)


def test_rates_that_increase_are_caught() -> None:
    """The step behind the bound fails on some path."""
    with pytest.raises(AssertionError):
        tree(Increasing(ALL_GAMES[3].oracle(), horizon=4), ALL_GAMES[3].rows, visit=check_telescoped)


def test_a_fixed_rate_spends_exactly_its_sum() -> None:
    """With one rate nothing is lost in the telescope: the sum of the d is costs less the potential."""
    game = CoinGame(ALL_FOUR, (0, 1, 0, 0), ())
    labelings = np.array(game.labelings)
    learner = Exp4(game.oracle(), horizon=4, rate=0.7)
    for row, action, cost in zip(game.rows, (0, 1, 1, 0), (1.0, 0.25, 1.0, 0.5), strict=True):
        q = learner.act(row)
        learner.learn(row, action, cost, float(q[action]))
    totals = learner.ledger.totals(2, 2)[np.arange(2), labelings].sum(axis=1)
    potential = -np.log(np.exp(-0.7 * totals).mean()) / 0.7
    assert learner.bound() == pytest.approx(np.log(4) / 0.7 + learner.ledger.cost - potential, abs=1e-12)


def test_a_round_of_adaptive_noise_by_hand() -> None:
    """Two opposite policies, noise +-3 on action 0 at 1/eps = 1/2: both actions have the chance 1/2, and M = 2.

    J is 1 or 2. The fresh leader plays the other action, and the gain is 0; or the same one, and as 1.5 is between the
    two, the gain is J up to 1.5. The spread is 3/2, so the bound is 3/4 + 1 - gain.
    """
    game = CoinGame(OPPOSITE, (0,), ((3.0, 0.0),))
    oracle, coins = game.oracle(), game.coins()
    root = tree(ftpl(oracle, 1, coins), game.rows, coins=coins)
    found = Counter[float]()
    for chance, node in root.after[0, 1]:
        found[node.bound] += chance
    assert found == {1.75: 0.25, 0.75: 0.125, 0.25: 0.125}
    assert sum(chance for chance, _ in root.after[1, 0]) == 0.5
    labelings = np.array(game.labelings)
    (mean,) = means(root, game.rows, np.array([[1, 1]]), labelings)
    assert mean == (0.0, 1.0, 0.75 + 1 - 0.5 * 1.25)
    (mean,) = means(root, game.rows, np.array([[1, 0]]), labelings)
    assert mean[0] == 0.5
