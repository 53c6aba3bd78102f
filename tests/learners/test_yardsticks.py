"""Uniform play and Hedge: the yardsticks are right too."""

from __future__ import annotations

import numpy as np
import pytest

from milpcb import open_oracle
from milpcb.errors import InputError
from milpcb.learners import Hedge, Uniform
from policies import FiniteClass

CONTEXTS = np.arange(4.0)[:, None]
LABELINGS = np.array([[0, 1, 2, 0], [1, 1, 1, 1], [2, 0, 1, 2], [0, 0, 0, 0]])


def hedge(horizon: int, **options: float) -> Hedge:
    """Return Hedge over the four labelings."""
    return Hedge(open_oracle(FiniteClass(LABELINGS, 3), CONTEXTS, kind="enumeration"), horizon, **options)  # type: ignore[arg-type]


def test_uniform_is_uniform_and_promises_nothing() -> None:
    """Every action has 1/K, there is no guarantee, and a caller cannot change the distribution."""
    learner = Uniform(4)
    learner.act(0)[:] = 9
    assert learner.act(0).tolist() == [0.25] * 4
    assert learner.guarantee() == np.inf


def test_hedge_weights_follow_the_definition() -> None:
    """q(a) is the normalised sum of exp(-rate * cost) over the policies that play a."""
    learner, rng, totals = hedge(50), np.random.default_rng(0), np.zeros(4)
    for _ in range(20):
        row, costs = int(rng.integers(4)), rng.random(3)
        weights = np.exp(-learner.rate * totals)
        expected = np.bincount(LABELINGS[:, row], weights, minlength=3) / weights.sum()
        assert learner.act(row) == pytest.approx(expected, abs=1e-12)
        learner.learn_all(row, costs)
        totals += costs[LABELINGS[:, row]]


@pytest.mark.parametrize("seed", range(5))
def test_hedge_keeps_its_guarantee_on_flipping_costs(seed: int) -> None:
    """Regret is at most sqrt(T log N / 2), also when the leader changes all the time."""
    T = 500
    learner, rng = hedge(T), np.random.default_rng(seed)
    suffered, totals = 0.0, np.zeros(4)
    for t in range(T):
        row = int(rng.integers(4))
        costs = np.roll([0.0, 1.0, 0.5], t + seed)
        suffered += float(learner.act(row) @ costs)
        learner.learn_all(row, costs)
        totals += costs[LABELINGS[:, row]]
    assert suffered - totals.min() <= learner.guarantee()
    assert learner.guarantee() == pytest.approx(np.sqrt(T * np.log(4) / 2))


def test_hedge_continues_from_its_state() -> None:
    """A restored learner plays as the saved one."""
    first, second = hedge(10), hedge(10)
    first.learn_all(1, np.array([1.0, 0.0, 0.5]))
    second.restore(first.state())
    assert (first.act(1) == second.act(1)).all()


def test_hedge_needs_a_list_of_policies() -> None:
    """An oracle that cannot list its labelings is refused, with the line to write."""
    with pytest.raises(InputError, match="enumeration"):
        Hedge(open_oracle(FiniteClass(LABELINGS, 3), CONTEXTS), 10)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="rate"):
        hedge(10, rate=-1.0)
