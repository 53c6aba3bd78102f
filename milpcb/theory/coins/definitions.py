"""What some learners play, by definition: from a list of policies and the ledger's estimates, not from their tables."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from milpcb.theory.coins.draws import Coins
from milpcb.types import Floats, Ints

# Returns the law of the action (K,) on a row, for a learner between two rounds and the labelings (N, m) of its class.
Definition = Callable[[Any, int, Ints, Coins], Floats]


TIE = 1e-9


def of_exp4(learner: Any, row: int, labelings: Ints, coins: Coins) -> Floats:
    """Each policy weighs exp(-rate * its total)."""
    del coins
    totals = _totals(_estimates(learner, labelings), labelings)
    weights = np.exp(-learner.rate * (totals - totals.min()))
    return _shares(weights, labelings[:, row], learner.n_actions)


def of_leader(learner: Any, row: int, labelings: Ints, coins: Coins) -> Floats:
    """The least total with noise over the rate is followed; NaN where two actions tie, up to rounding."""
    law = np.zeros(learner.n_actions)
    estimates = _estimates(learner, labelings)
    for vector, chance in zip(coins.vectors, coins.chances, strict=True):
        totals = _totals(estimates + vector.reshape(estimates.shape) / learner.epsilon, labelings)
        leaders = np.unique(labelings[totals < totals.min() + TIE, row])
        law[leaders[0]] += chance if len(leaders) == 1 else np.nan
    return law


def largest_difference(definition: Definition, learner: Any, row: int, labelings: Ints, coins: Coins) -> float:
    """Return by how much the law of the learner's next action differs from the definition; the learner stays as it is.

    The difference is the largest of all actions, 0 where the definition leaves the law open.
    """
    expected, state = definition(learner, row, labelings, coins), learner.state()
    if np.isnan(expected).any():
        return 0.0
    found = np.zeros(learner.n_actions)

    def act() -> Floats:
        learner.restore(state)
        return np.asarray(learner.act(row))

    for chance, q in coins.runs(act):
        found += chance * q
    learner.restore(state)
    return float(np.abs(found - expected).max())


def _estimates(learner: Any, labelings: Ints) -> Floats:
    return np.asarray(learner.ledger.totals(labelings.shape[1], learner.n_actions))


def _totals(costs: Floats, labelings: Ints) -> Floats:
    """Return the total (N,) of each policy."""
    return np.asarray(costs[np.arange(labelings.shape[1]), labelings].sum(axis=1))


def _shares(weights: Floats, played: Ints, n_actions: int) -> Floats:
    return np.asarray(np.bincount(played, weights, n_actions) / weights.sum())
