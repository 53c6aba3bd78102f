"""E[regret] <= E[certificate] and <= E[telescoped bound], exactly: every coin, every oblivious sequence of costs."""

from collections import Counter
from functools import partial
from typing import Any

import numpy as np
import pytest

from milpcb.learners import EpochGreedy, EpsilonGreedy, Exp4, Learner, Uniform
from milpcb.learners.exp4 import path_gap
from tests.theory.coins.draws import Coins
from tests.theory.coins.games import ALL_FOUR, ALL_GAMES, OPPOSITE, QUICK_GAMES, THREE_ACTIONS, CoinGame
from tests.theory.coins.learners import LEARNERS, CoinLearner, exp4, ftpl
from tests.theory.coins.mutants import MUTANTS, IncreasingExp4
from tests.theory.coins.trees import least_slacks, means, tree
from tests.theory.coins.verdicts import ROUNDING, judge_learner

NOISE = ((1.0, 0.0),)
GAMES = {
    "two actions": CoinGame(ALL_FOUR, (0, 1, 0, 0), ((0.4, 0.0, 0.0, 0.4),)),
    "one context": CoinGame(OPPOSITE, (0, 0, 0, 0), ((1.0, -1.0),)),
    "three actions": CoinGame(THREE_ACTIONS, (1, 0, 1), ((2.0, 0.0, -1.0, 0.0, 1.0, 0.0),)),
}


def without_coins(kind: Any, **options: Any) -> CoinLearner:
    """Return a learner that draws no noise within its calls."""
    return CoinLearner(kind.__name__, lambda oracle, horizon, _: kind(oracle, horizon=horizon, **options))


MORE = [
    *(CoinLearner(f"exp4, {rate}", partial(exp4, rate=rate)) for rate in ("fixed", "anytime", 3.0)),
    without_coins(EpsilonGreedy),
    without_coins(EpochGreedy),
]
# Adaptive noise, whose draws multiply the histories, is judged once: in quick games, in one with two vectors of noise,
# and with three actions. What takes no time is played with a look at every node, too.
QUICK_LEARNERS = [played for played in LEARNERS if not played.name.startswith("ftpl")]
SEVERAL = [*QUICK_GAMES, ALL_GAMES[5], GAMES["three actions"]]


def slacks(played: CoinLearner, game: CoinGame, visit: Any = lambda _: None) -> Any:
    """Return the least slacks of a learner in a game."""
    oracle, coins = game.oracle(), game.coins()
    learner = played.make(oracle, len(game.rows), coins)
    return least_slacks(tree(learner, game.rows, visit=visit, coins=coins), game.rows, oracle.labelings)


def check_telescoped(learner: Any) -> None:
    """Assert the step behind the bound: costs less the potential of the estimates are at most the sum of the d.

    The potential is -(1/eta) log of the mean over the policies of exp(-eta L), at the rate of the last round.
    """
    if not isinstance(learner, Exp4) or not learner.played:
        return
    state, labelings = learner.state(), learner.oracle.labelings  # type: ignore[attr-defined]  # it lists policies
    rate = state["last_rate"]
    totals = learner.ledger.totals(labelings.shape[1], learner.n_actions)[np.arange(labelings.shape[1]), labelings]
    each = totals.sum(axis=1)
    potential = each.min() - np.log(np.exp(-rate * (each - each.min())).mean()) / rate
    assert state["gaps"] >= learner.ledger.cost - potential - ROUNDING
    assert learner.bound() >= learner.certificate() - ROUNDING


@pytest.mark.parametrize("game", GAMES)
@pytest.mark.parametrize("played", [*QUICK_LEARNERS, *MORE], ids=lambda played: played.name)
def test_mean_regret_is_at_most_what_the_run_proves(played: CoinLearner, game: str) -> None:
    """After every round, for every oblivious 0/1 sequence; with equality where nothing costs anything."""
    certificate, bound = slacks(played, GAMES[game], check_telescoped)
    assert certificate == pytest.approx(0.0, abs=ROUNDING)
    assert certificate >= -ROUNDING
    assert np.isnan(bound) or bound >= -ROUNDING
    assert np.isnan(bound) != played.name.startswith(("exp4", "fixed"))


@pytest.mark.parametrize("played", LEARNERS, ids=lambda played: played.name)
def test_what_verify_says_of_learners(played: CoinLearner) -> None:
    """Every learner passes on the games of ``milpcb verify``; where nothing costs anything its certificate is exact."""
    verdict = judge_learner(played, SEVERAL if played not in QUICK_LEARNERS else ALL_GAMES)
    assert verdict.passes
    assert verdict.certificate == pytest.approx(0.0, abs=ROUNDING)
    assert np.isnan(verdict.bound) != played.name.startswith(("exp4", "fixed", "ftpl"))


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_what_verify_says_of_mutants(mutant: CoinLearner) -> None:
    """Every mutant is rejected, by far more than rounding, and the verdict names a game that shows it."""
    verdicts = (judge_learner(mutant, [game]) for game in QUICK_GAMES)
    verdict = next(verdict for verdict in verdicts if not verdict.passes)
    assert np.nanmin(verdict.slacks) < -0.01
    place = next(place for slack, place in zip(verdict.slacks, verdict.places, strict=True) if slack < -ROUNDING)
    assert str(place) in verdict.violations()[0]
    assert not judge_learner(mutant, [place]).passes


def test_a_fixed_rate_spends_exactly_its_sum() -> None:
    """With one rate nothing is lost in the telescope: the sum of the d is costs less the potential."""
    game = GAMES["two actions"]
    labelings = np.array(game.labelings)
    learner = Exp4(game.oracle(), horizon=4, rate=0.7)
    for row, action, cost in zip(game.rows, (0, 1, 1, 0), (1.0, 0.25, 1.0, 0.5), strict=True):
        q = learner.act(row)
        learner.learn(row, action, cost, float(q[action]))
    totals = learner.ledger.totals(2, 2)[np.arange(2), labelings].sum(axis=1)
    potential = -np.log(np.exp(-0.7 * totals).mean()) / 0.7
    assert learner.bound() == pytest.approx(np.log(4) / 0.7 + learner.ledger.cost - potential, abs=1e-12)


def test_means_are_means() -> None:
    """One context, one round, uniform play: regret 1/2, the certificate of a policy that is never wrong is 1 - 0."""
    game = CoinGame(OPPOSITE, (0,), NOISE)
    labelings = np.array(game.labelings)
    root = tree(Uniform(2), game.rows, game.oracle())
    (found,) = means(root, game.rows, np.array([[1, 0]]), labelings)
    assert found[:2] == (0.5, 0.5)
    (found,) = means(root, game.rows, np.array([[1, 1]]), labelings)
    assert found[:2] == (0.0, 1.0)


def test_all_draws_are_gone_through() -> None:
    """Two draws, and a third after some of them: each sequence once, with the product of its chances."""
    coins = Coins([[0.0], [1.0], [2.0]], [0.5, 0.25, 0.25])

    def call() -> tuple[float, ...]:
        drawn = [float(coins.draw()[0]) for _ in range(2)]
        return (*drawn, float(coins.draw()[0])) if drawn[1] == 2.0 else tuple(drawn)

    runs = {outcome: chance for chance, outcome in coins.runs(call)}
    assert len(runs) == 3 * 2 + 3 * 3
    assert sum(runs.values()) == pytest.approx(1.0)
    assert runs[1.0, 0.0] == 0.125
    assert runs[0.0, 2.0, 1.0] == 0.5 * 0.25 * 0.25
    assert [chance for chance, _ in coins.runs(lambda: None)] == [1.0]


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
    (mean,) = means(root, game.rows, np.array([[1, 1]]), np.array(game.labelings))
    assert mean == (0.0, 1.0, 0.75 + 1 - 0.5 * 1.25)


# ------------------------------------------------------------------- mutants of a step that means do not show


class LooksAhead(Exp4):
    """Measures what a round adds at the rate that this round led to."""

    def _learn(self, row: int, action: int, cost: float, probability: float) -> None:
        before, rate = self._gaps, self.rate
        super()._learn(row, action, cost, probability)
        self._gaps = before + path_gap(cost, probability, cost / probability, self.rate)
        self._last_rate = rate


@pytest.mark.parametrize(("mutant", "game"), [(LooksAhead, "two actions"), (IncreasingExp4, "one context")])
def test_rates_that_look_ahead_or_increase_are_caught(mutant: type[Learner], game: str) -> None:
    """The step behind the bound fails on some path."""
    with pytest.raises(AssertionError):
        slacks(CoinLearner("mutant", partial(exp4, kind=mutant, rate="adaptive")), GAMES[game], check_telescoped)
