"""Play and statements of some learners, by definition: from lists of policies, the ledger's estimates, and phases."""

from collections.abc import Callable
from itertools import pairwise, product
from math import prod
from typing import Any

import numpy as np

from milpcb.learners import Learner
from milpcb.types import Floats, Ints
from tests.theory.coins.draws import Coins

# Returns the law of the action (K,) on a row, for a learner between two rounds and the labelings (N, m) of its class.
Definition = Callable[[Any, int, Ints, Coins], Floats]

Make = Callable[[Any, int, Coins], Learner]  # a learner on an oracle, for a horizon

TIE = 1e-9


def of_fixed_share(learner: Any, row: int, labelings: Ints, coins: Coins) -> Floats:
    """Each sequence of policies, one a block, weighs its prior times exp(-rate * its total): all starts are awake.

    In each block after the first, a policy is drawn anew with probability alpha, which may be the one before.
    """
    del coins
    n, N = learner.block + 1, len(labelings)
    tables = np.zeros((n, labelings.shape[1], learner.n_actions))
    tables[: learner.ledger.count()] = learner.ledger.by_block(0, *tables.shape[1:])
    totals = np.array([_totals(table, labelings) for table in tables])  # (n, N)
    weights, last = [], []
    for policies in product(range(N), repeat=n):
        stays = [learner.share / N + (1 - learner.share) * (one == next_) for one, next_ in pairwise(policies)]
        weights.append(prod(stays, start=1 / N) * np.exp(-learner.rate * totals[range(n), policies].sum()))
        last.append(policies[-1])
    return _shares(np.array(weights), labelings[last, row], learner.n_actions)


def of_leader(learner: Any, row: int, labelings: Ints, coins: Coins) -> Floats:
    """The least total with noise over the rate is followed; NaN where two actions tie, up to rounding."""
    estimates, law = _estimates(learner, labelings), np.zeros(learner.n_actions)
    for vector, chance in zip(coins.vectors, coins.chances, strict=True):
        totals = _totals(estimates + vector.reshape(estimates.shape) / learner.epsilon, labelings)
        leaders = np.unique(labelings[totals < totals.min() + TIE, row])
        law[leaders[0]] += float(chance) if len(leaders) == 1 else np.nan
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
        found += float(chance) * q
    learner.restore(state)
    return float(np.abs(found - expected).max())


def _estimates(learner: Any, labelings: Ints) -> Floats:
    return np.asarray(learner.ledger.totals(labelings.shape[1], learner.n_actions))


def _totals(costs: Floats, labelings: Ints) -> Floats:
    """Return the total (N,) of each policy."""
    return np.asarray(costs[np.arange(labelings.shape[1]), labelings].sum(axis=1))


def _shares(weights: Floats, played: Ints, n_actions: int) -> Floats:
    return np.asarray(np.bincount(played, weights, n_actions) / weights.sum())
