"""Meet in the middle: which heads and tails, sorted by weight, make a derivation that keeps all side constraints.

A derivation is a head and a tail of one state (policies/derivations.py). Each has a weight in each side constraint,
which depends on the constraints alone; a constraint bounds the sum of the two weights.

One constraint. Sort the heads of a state by falling weight and the tails by rising weight: the tails that may follow a
head are a window of neighbours, and both ends of the window only move up from head to head. The same holds for the
heads that a tail may follow. So one pass adds up all windows, in (min, +) or in (log-sum-exp, +), in as many steps as
there are heads and tails, far fewer than there are derivations.
Several constraints. The windows are those of the constraint that leaves the fewest derivations; each of these is
checked against the other constraints, unless it costs too much to matter.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from milpcb.constraints.linear import SORTING
from milpcb.core.long_search import LongSearch
from milpcb.errors import SearchTooLargeError
from milpcb.types import Floats, Ints
from policies.weighted_kernels import Side, windows

MOST_LEFT = 10**9  # derivations that the first of several rows leaves: a few seconds a query at worst


class Weighed(NamedTuple):
    """Heads, or tails: their states (n,), counted from 0 and none of them empty, and their weights (R, n)."""

    state: Ints
    weights: Floats


class Pairing(NamedTuple):
    """Both sides in order of state and of weight in one row: the orders, and the bounds (2, R - 1) of other rows."""

    by_head: Ints
    by_tail: Ints
    heads: Side
    tails: Side
    bounds: Floats

    @property
    def n_left(self) -> int:
        """The number of derivations that keep the first row."""
        return int((self.heads.high - self.heads.low).sum())

    def cheapest_tail(self, head: int) -> int:
        """Return the place of the first tail of least cost among those that may follow the head at a place."""
        tails = np.arange(self.heads.low[head], self.heads.high[head])
        weights = self.heads.weights[head] + self.tails.weights[tails]
        tails = tails[((self.bounds[0] <= weights) & (weights <= self.bounds[1])).all(axis=1)]
        return int(tails[self.tails.costs[tails].argmin()])


def pairing(heads: Weighed, tails: Weighed, bounds: Floats) -> Pairing:
    """Return the pairing under rows with ``bounds`` (2, R), lower and upper, by the row that leaves the fewest.

    Raises SearchTooLargeError where several rows leave too many.
    """
    left = []
    with LongSearch(SORTING) as watched:
        for row in range(bounds.shape[1]):
            left.append(_sorted(row, heads, tails, bounds).n_left)
            watched.look()
    found = _by_row(int(np.argmin(left)), heads, tails, bounds)
    if found.bounds.shape[1] and found.n_left > MOST_LEFT:
        raise SearchTooLargeError(
            f"under several side constraints the search compares {found.n_left:,} policies, more than {MOST_LEFT:,}; "
            "use oracle kind 'milp', or a smaller class"
        )
    return found


def _sorted(row: int, heads: Weighed, tails: Weighed, bounds: Floats) -> Pairing:
    """Return the pairing with the windows of one row, without any further row."""
    by_head = np.lexsort((-heads.weights[row], heads.state))
    by_tail = np.lexsort((tails.weights[row], tails.state))
    falling, rising = heads.weights[row, by_head], tails.weights[row, by_tail]
    states = np.arange(heads.state.max() + 2)
    head_start = np.searchsorted(heads.state[by_head], states)
    tail_start = np.searchsorted(tails.state[by_tail], states)
    lower, upper = bounds[:, row]
    # Turned round, the weights of tails fall, and those of heads rise.
    return Pairing(
        by_head,
        by_tail,
        _side(head_start, tail_start, falling, rising, (lower, upper)),
        _side(tail_start, head_start, -rising, -falling, (-upper, -lower)),
        bounds[:, :0],
    )


def _by_row(row: int, heads: Weighed, tails: Weighed, bounds: Floats) -> Pairing:
    """Return the pairing with the windows of one row, and with the weights in all others."""
    found, others = _sorted(row, heads, tails, bounds), np.arange(bounds.shape[1]) != row
    further = (heads.weights[others][:, found.by_head], tails.weights[others][:, found.by_tail])
    of_heads, of_tails = (np.ascontiguousarray(weights.T) for weights in further)
    return found._replace(
        heads=found.heads._replace(weights=of_heads),
        tails=found.tails._replace(weights=of_tails),
        bounds=np.ascontiguousarray(bounds[:, others]),
    )


def _side(start: Ints, other_start: Ints, weights: Floats, others: Floats, bounds: tuple[float, float]) -> Side:
    """Return one side, with its windows of the other side."""
    low, high = np.empty((2, len(weights)), dtype=np.int64)
    windows(start, other_start, weights, others, *bounds, low, high)
    return Side(start, low, high, np.empty((len(low), 0)), np.empty(len(low)), np.zeros(len(low), np.int8))
