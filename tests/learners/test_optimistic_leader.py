"""The adaptive leader with optimistic estimates: what it adds to its table, what that leaves out, and who may ask."""

import json
from typing import Any

import numpy as np
import pytest

from milpcb import open_oracle
from milpcb.bets import proved
from milpcb.learners import ContextualFTPL
from milpcb.ledger import OWN
from policies import FiniteClass

OPPOSITE = FiniteClass([[0, 0], [1, 1], [0, 1]], 2)


def opened(horizon: int | None = 50, **options: Any) -> ContextualFTPL:
    """Return the learner on three policies."""
    oracle = open_oracle(OPPOSITE, np.arange(2.0)[:, None], kind="enumeration")
    return ContextualFTPL(oracle, horizon=horizon, epsilon="adaptive", estimates="optimistic", **options)


def played(learner: ContextualFTPL, rounds: int) -> ContextualFTPL:
    """Play costs of 0, 0.5 and 1."""
    for t in range(rounds):
        q = learner.act(t % 2)
        action = int(q.argmax())
        learner.learn(t % 2, action, (t % 3) / 2, 1.0)
    return learner


def test_the_table_holds_what_the_stake_of_the_run_proves() -> None:
    """By cell c + log(1 + lambda (c J - c)) / l, summed; the ledger keeps c J, which is never less."""
    learner = played(opened(), 40)
    (stake,) = set(learner.ledger.stakes[-1:])
    sums = learner.ledger.sums(OWN + len(learner.ledger.stakes) - 1, 2, 2)
    table = learner._leader._queries.table  # type: ignore[union-attr]
    least = [sums[np.arange(2), labels].sum() for labels in learner.oracle.labelings]  # type: ignore[attr-defined]
    assert table.minimise().value == pytest.approx(min(least))
    assert (sums <= learner.ledger.totals(2, 2) + 1e-9).all()
    assert stake == pytest.approx(2 * np.sqrt(np.log(3) / (2 * 50)))


def test_what_is_left_out_is_at_most_what_the_guarantee_adds() -> None:
    """sum_a q_a^2 E[c J - x] <= lambda (K - 1) (2 K + 1) / (2 K), for every cost, cap and law on a grid."""
    counts = np.arange(1, 4000)
    for K, stake, cost in [(K, stake, cost) for K in (2, 3, 5) for stake in (0.01, 0.2, 0.5) for cost in (0.3, 1.0)]:
        left_out = np.array([cost * J - proved(cost, cost * J, stake) for J in counts.tolist()])
        for first in (1 / K, 0.5, 0.9, 0.99):
            q = np.array([first, *[(1 - first) / (K - 1)] * (K - 1)])
            means = [(left_out * p * (1 - p) ** (counts - 1)).sum() for p in q]
            assert (q**2 * means).sum() <= stake * (K - 1) * (2 * K + 1) / (2 * K) + 1e-9


def test_the_guarantee_adds_it_for_rounds_and_for_rates() -> None:
    """Twice D T lambda, but for the two estimates of the spread that stand in for it."""
    plain, learner = (
        ContextualFTPL(opened().oracle, horizon=50, epsilon="adaptive", estimates=estimates)
        for estimates in ("unbiased", "optimistic")
    )
    added = 0.5 * 2.5 * learner.ledger.stakes[-1] * 50
    assert learner.guarantee() - plain.guarantee() > 2 * added
    assert learner.guarantee() - plain.guarantee() < 4 * added
    assert opened(None).guarantee() == np.inf


def test_without_a_horizon_stakes_fall() -> None:
    """It adds no stake to the ledger's, and goes on from a saved state bit for bit."""
    learner = played(opened(None), 30)
    assert len(learner.ledger.stakes) == len(ContextualFTPL(learner.oracle, epsilon="adaptive").ledger.stakes)
    again = opened(None)
    again.restore(json.loads(json.dumps(learner.state())))
    assert played(again, 20).state() == played(learner, 20).state()
