"""E[regret] <= E[certificate] and E[regret] <= E[telescoped bound], exactly: every coin, every oblivious sequence of costs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pytest

from milpcb import FinitePool, open_oracle
from milpcb.learners import BistroPlus, EpochGreedy, EpsilonGreedy, Exp4, Uniform
from milpcb.learners.exp4 import _gap
from milpcb.protocols import Learner
from milpcb.theory.coins import least_slacks, means, tree
from milpcb.types import Answer, Floats
from policies import FiniteClass

ROUNDING = 1e-9
# Two actions on two contexts, all four policies; and three actions on two contexts, five policies.
GAMES = {
    "two actions": (np.array([[0, 0], [0, 1], [1, 0], [1, 1]]), [0, 1, 0, 0]),
    "one context": (np.array([[0], [1]]), [0, 0, 0, 0]),
    "three actions": (np.array([[0, 1], [1, 1], [2, 0], [0, 0], [2, 2]]), [1, 0, 1]),
}


def oracle_of(labelings: Any) -> Any:
    """Return the oracle that lists the policies."""
    contexts = np.arange(float(labelings.shape[1]))[:, None]
    return open_oracle(FiniteClass(labelings, labelings.max() + 1), contexts, kind="enumeration")


def bistro(oracle: Any, horizon: int, seed: int) -> Learner:
    """Return BISTRO+ with half noise, at a scale that leaves it something to decide."""
    return BistroPlus(oracle, FinitePool(oracle.contexts), horizon=horizon, seed=seed, noise="half", scale=4)


LEARNERS: dict[str, Callable[..., Learner]] = {
    **{f"exp4, {rate}": partial(Exp4, rate=rate) for rate in ("fixed", "anytime", "adaptive", "certified", 3.0)},
    "epsilon-greedy": EpsilonGreedy,
    "epsilon-greedy, scale 0.5": partial(EpsilonGreedy, scale=0.5),
    "epoch-greedy": EpochGreedy,
    "half noise, seed 0": partial(bistro, seed=0),
    "half noise, seed 1": partial(bistro, seed=1),
}


def slacks(make: Callable[..., Learner], game: str, visit: Any = lambda _: None, minimiser: Any = None) -> Floats:
    """Return the least slacks of a learner in a game."""
    labelings, rows = GAMES[game]
    oracle = oracle_of(labelings)
    root = tree(lambda: make(oracle, horizon=len(rows)), rows, minimiser and minimiser(oracle), visit)
    return least_slacks(root, rows, labelings)


def check_telescoped(learner: Any) -> None:
    """Assert the step behind the bound: costs less the potential of the estimates are at most the sum of the d.

    The potential is -(1/eta) log of the mean over the policies of exp(-eta L), at the rate of the last round.
    """
    if not isinstance(learner, Exp4) or not learner.played:
        return
    labelings, rate = learner.oracle.labelings, learner._last_rate  # type: ignore[attr-defined]  # it lists its policies
    totals = learner.ledger.totals(labelings.shape[1], learner.n_actions)[np.arange(labelings.shape[1]), labelings]
    each = totals.sum(axis=1)
    potential = each.min() - np.log(np.exp(-rate * (each - each.min())).mean()) / rate
    assert learner._gaps >= learner.ledger.cost - potential - ROUNDING
    assert learner.bound() >= learner.certificate() - ROUNDING


@pytest.mark.parametrize("game", GAMES)
@pytest.mark.parametrize("name", LEARNERS)
def test_mean_regret_is_at_most_what_the_run_proves(name: str, game: str) -> None:
    """After every round, for every oblivious 0/1 sequence; with equality where nothing costs anything."""
    certificate, bound = slacks(LEARNERS[name], game, check_telescoped)
    assert certificate == pytest.approx(0.0, abs=ROUNDING)
    assert certificate >= -ROUNDING
    assert np.isnan(bound) or bound >= -ROUNDING
    assert np.isnan(bound) != name.startswith("exp4")


def test_a_fixed_rate_spends_exactly_its_sum() -> None:
    """With one rate nothing is lost in the telescope: the sum of the d is costs less the potential."""
    labelings, rows = GAMES["two actions"]
    oracle = oracle_of(labelings)
    learner = Exp4(oracle, horizon=4, rate=0.7)
    for row, action, cost in zip(rows, (0, 1, 1, 0), (1.0, 0.25, 1.0, 0.5), strict=True):
        q = learner.act(row)
        learner.learn(row, action, cost, float(q[action]))
    totals = learner.ledger.totals(2, 2)[np.arange(2), labelings].sum(axis=1)
    potential = -np.log(np.exp(-0.7 * totals).mean()) / 0.7
    assert learner.bound() == pytest.approx(np.log(4) / 0.7 + learner.ledger.cost - potential, abs=1e-12)


def test_means_are_means() -> None:
    """One context, one round, uniform play: regret 1/2, and the certificate of a policy that is never wrong is 1 - 0."""
    labelings, rows = np.array([[0], [1]]), [0]
    root = tree(lambda: Uniform(2), rows, oracle_of(labelings))
    (found,) = means(root, rows, np.array([[1, 0]]), labelings)
    assert found[:2] == (0.5, 0.5)
    (found,) = means(root, rows, np.array([[1, 1]]), labelings)
    assert found[:2] == (0.0, 1.0)


# ------------------------------------------------------------------- mutants


class Overshooting(Exp4):
    """Estimates twice the cost."""

    def _learn(self, row: int, action: int, cost: float, probability: float) -> Any:
        super()._learn(row, action, cost, probability)
        return 2 * cost / probability


class OfAnother(Exp4):
    """Divides by the probability of another action."""

    def _act(self, row: int) -> Floats:
        self.shown = super()._act(row)
        return self.shown

    def _learn(self, row: int, action: int, cost: float, probability: float) -> Any:
        super()._learn(row, action, cost, probability)
        return cost / max(1e-3, float(self.shown[action - 1]))


class NotTheLeast:
    """Answers with the second least total as if it were the least."""

    def __init__(self, oracle: Any) -> None:
        self.oracle, self.contexts = oracle, oracle.contexts
        self.n_contexts, self.n_actions = oracle.n_contexts, oracle.n_actions

    def minimise(self, costs: Floats) -> Answer:
        """Return a total that some policy attains, but not the least."""
        totals = costs[np.arange(self.n_contexts), self.oracle.labelings].sum(axis=1)
        return replace(self.oracle.minimise(costs), upper=float(np.sort(totals)[1]))


class LooksAhead(Exp4):
    """Measures what a round adds at the rate that this round led to."""

    def _learn(self, row: int, action: int, cost: float, probability: float) -> None:
        before, rate = self._gaps, self.rate
        super()._learn(row, action, cost, probability)
        self._gaps = before + _gap(cost, probability, cost / probability, self.rate)
        self._last_rate = rate


class Increasing(Exp4):
    """Plays at rates that grow."""

    def _next_rate(self, played: int) -> float:
        return float(0.01 * 30.0**played)


@pytest.mark.parametrize("mutant", [Overshooting, OfAnother])
def test_estimates_that_overshoot_are_caught(mutant: Any) -> None:
    """Some sequence of costs has a mean certificate below its mean regret, at either kind of rate."""
    for rate in ("fixed", "certified"):
        assert slacks(partial(mutant, rate=rate), "two actions")[0] < -0.01


@pytest.mark.parametrize("name", ["exp4, fixed", "exp4, certified", "epsilon-greedy"])
def test_a_minimum_that_is_none_is_caught(name: str) -> None:
    """A total that only some policy attains certifies too much."""
    assert slacks(LEARNERS[name], "two actions", minimiser=NotTheLeast)[0] < -0.01


def test_a_rate_that_looks_ahead_is_caught() -> None:
    """The step behind the bound fails on some path."""
    with pytest.raises(AssertionError):
        slacks(partial(LooksAhead, rate="adaptive"), "two actions", check_telescoped)


def test_a_rate_that_increases_is_caught() -> None:
    """The mean bound falls below mean regret, and the step behind it fails."""
    assert slacks(Increasing, "one context")[1] < -0.01
    with pytest.raises(AssertionError):
        slacks(Increasing, "one context", check_telescoped)
