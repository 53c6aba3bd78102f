"""Several tables of the leaf totals of trees, weighed by one compiled call; all that a cost has not changed is kept.

The recursion is that of ``fold`` (policies/trees/terms.py), and nodes are numbered alike. A sum of weights exp(-total)
is kept as a pair (steps, weight), which stands for weight exp(-STEP steps) with whole steps. So no node takes a
logarithm or an exponential, and a cost takes one exponential for each leaf that it changes. All that is kept is a
function of the totals alone, to the last bit: no error adds up, and whoever has the totals can go on.
"""

from __future__ import annotations

from math import floor

import numpy as np

from milpcb.core.kernels import compiled, lower
from milpcb.protocols import SeveralTotals
from milpcb.types import Floats, Ints
from policies.semirings import NO_NAN, Array, exponentials

STEP = 64.0
MOST = 11  # steps that numbers can hold: exp(704)
POWERS = np.exp(-STEP * np.arange(-MOST, MOST + 1.0))
LEAST = POWERS[MOST + 1]


class SeveralTrees(SeveralTotals):
    """Totals (n, J) of the leaves of trees of one depth over p literals."""

    def __init__(self, n_terms: int, n_actions: int, n_literals: int, depth: int) -> None:
        self.totals = np.zeros((n_terms, 0))
        self._n_actions, self._p = n_actions, n_literals
        self._paths = np.arange(n_terms // n_actions)
        self._nodes = sum((2 * n_literals) ** length for length in range(depth + 1))
        self._rate = -1.0  # of what is kept; below 0 where nothing is

    def begin(self, table: int) -> None:
        """Empty a table; the one after the last is a new one."""
        if table == self.totals.shape[1]:
            self.totals = np.pad(self.totals, ((0, 0), (0, 1)))
            n, J = self.totals.shape
            self._sums, self._terms = np.empty((2, self._nodes, J)), np.empty((n, J))
            self._room, self._weights = np.empty((2, n * J)), np.empty((self._n_actions, J))
        self.totals[:, table] = 0.0
        self._rate = -1.0

    def add(self, place: Ints, action: int, amount: float) -> None:
        """Add the cost of an action at a place to all tables."""
        self.totals[place[:, action]] += amount
        if self._rate >= 0:
            kept = self.totals, self._sums, self._terms, self._room
            sum_up_cost(self._rate, self._p, self._n_actions, _paths(place), action, *kept)

    def action_weights(self, place: Ints, rate: float) -> Floats:
        """Return the Exp4 distribution (J, K) of each table at a place."""
        if rate != self._rate:
            kept = self.totals, self._sums, self._terms, self._room
            sum_up(rate, self._p, self._n_actions, self._paths, 2 * self._p, *kept)
            self._rate = rate
        weigh_own(self._p, _paths(place), self._n_actions, self._sums, self._terms, self._room, self._weights)
        return np.asarray((self._weights / self._weights.sum(axis=0)).T)

    def restore(self, totals: Floats) -> None:
        """Go on from totals (n, J)."""
        for table in range(totals.shape[1]):
            self.begin(table)
        self.totals[:] = totals


def _paths(place: Ints) -> Ints:
    """Return the numbers (p^depth,) of the paths that a context may take."""
    return np.asarray(place[:, 0] // place.shape[1])


@compiled(NO_NAN)
def sum_up(
    rate: float,
    p: int,
    n_actions: int,
    paths: Array,
    stride: int,
    totals: Array,
    sums: Array,
    terms: Array,
    room: Array,
) -> None:
    """Fill ``terms`` (n, J) and ``sums`` (2, nodes, J) of some ``paths`` to leaves, and of all nodes on them.

    ``totals`` (n, J) are those of the leaves (path, action) in J tables. Of ``paths``, each ``stride``, one after the
    other, have the same parent, and so on upwards. Working space: room (2, max(p^depth, K) J).
    """
    first = sums.shape[1] - len(totals) // n_actions
    for path in paths:
        _leaf(rate, path * n_actions, n_actions, totals, sums[:, first + path], terms, room)
    _nodes(p, first, paths, stride, sums)


@compiled(NO_NAN)
def sum_up_cost(
    rate: float,
    p: int,
    n_actions: int,
    paths: Array,
    action: int,
    totals: Array,
    sums: Array,
    terms: Array,
    room: Array,
) -> None:
    """Do what ``sum_up`` does for the ``paths`` (p^depth,) of a context, where only totals of one action have risen."""
    first = sums.shape[1] - len(totals) // n_actions
    n_tables = totals.shape[1]
    for i in range(len(paths)):
        term = paths[i] * n_actions + action
        for j in range(n_tables):
            room[0, i * n_tables + j] = STEP * sums[0, first + paths[i], j] - rate * totals[term, j]
    exponentials(room, len(paths) * n_tables)
    for i in range(len(paths)):
        term = paths[i] * n_actions + action
        for j in range(n_tables):
            terms[term, j] = room[0, i * n_tables + j]
    for path in paths:
        term, leaf = path * n_actions, sums[:, first + path]
        moved = False
        for j in range(n_tables):
            weight = 0.0
            for a in range(n_actions):
                weight += terms[term + a, j]
            leaf[1, j] = weight
            moved |= weight < (n_actions + 1) * LEAST
        if moved:
            _leaf(rate, term, n_actions, totals, leaf, terms, room)
    _nodes(p, first, paths, p, sums)


@compiled(NO_NAN)
def weigh_own(p: int, paths: Array, n_actions: int, sums: Array, terms: Array, room: Array, into: Array) -> None:
    """Fill into (K, J) with the weights of the trees by their action at a context, as parts of all in their table.

    ``paths`` (p^depth,) are those of the context. A leaf's weight goes with those of all siblings on its path.
    """
    n_nodes, n_tables = sums.shape[1:]
    into[:] = 0.0
    for i in range(len(paths)):
        path, size = paths[i], len(terms) // n_actions
        first = n_nodes - size
        for j in range(n_tables):
            room[0, j] = sums[0, first + path, j] - sums[0, 0, j]
            room[1, j] = 1.0 / sums[1, 0, j]
        while first > 0:
            other = first + (path ^ 1)
            for j in range(n_tables):
                room[0, j] += sums[0, other, j]
                room[1, j] *= sums[1, other, j]
            path //= 2 * p
            size //= 2 * p
            first -= size
        for j in range(n_tables):
            room[1, j] *= _power(room[0, j])
        for a in range(n_actions):
            for j in range(n_tables):
                into[a, j] += room[1, j] * terms[paths[i] * n_actions + a, j]


@compiled(NO_NAN)
def _leaf(rate: float, term: int, n_actions: int, totals: Array, into: Array, terms: Array, room: Array) -> None:
    """Fill steps and weight (2, J) of the leaf whose terms are ``term`` and after, and these ``terms``."""
    n_tables = into.shape[1]
    for j in range(n_tables):
        least = totals[term, j]
        for a in range(1, n_actions):
            least = lower(least, totals[term + a, j])
        into[0, j] = floor(rate * least / STEP)
        into[1, j] = 0.0
    for a in range(n_actions):
        for j in range(n_tables):
            room[0, a * n_tables + j] = STEP * into[0, j] - rate * totals[term + a, j]
    exponentials(room, n_actions * n_tables)
    for a in range(n_actions):
        for j in range(n_tables):
            into[1, j] += room[0, a * n_tables + j]
            terms[term + a, j] = room[0, a * n_tables + j]


@compiled(NO_NAN)
def _nodes(p: int, first: int, paths: Array, stride: int, sums: Array) -> None:
    """Fill the nodes on ``paths``, the first of whose leaves is the node ``first``; see ``sum_up``."""
    n_tables = sums.shape[2]
    size = sums.shape[1] - first
    step, below = 1, 1
    while first > 0:
        children, size = first, size // (2 * p)
        first -= size
        step *= stride
        below *= 2 * p
        for i in range(0, len(paths), step):
            path = paths[i] // below
            for j in range(n_tables):
                least = np.inf
                for f in range(p):
                    fails = children + 2 * (p * path + f)
                    least = lower(least, sums[0, fails, j] + sums[0, fails + 1, j])
                weight = 0.0
                for f in range(p):
                    fails = children + 2 * (p * path + f)
                    steps = sums[0, fails, j] + sums[0, fails + 1, j] - least
                    weight += sums[1, fails, j] * sums[1, fails + 1, j] * _power(steps)
                while weight < LEAST:
                    weight /= LEAST
                    least += 1.0
                sums[0, first + path, j] = least
                sums[1, first + path, j] = weight


@compiled(NO_NAN)
def _power(steps: float) -> float:
    """Return exp(-STEP steps)."""
    return float(POWERS[MOST + int(lower(steps, float(MOST)))])
