"""The leaf totals of decision trees, (path, action), and the recursion over them: for one table of totals, or several.

A path is D pairs (literal, outcome), in the order of the tests; a term has the number that it has in an array of shape
(p, 2) * D + (K,), which is also the order of the columns u of the constrained program. A derivation is that of the
search (policies/trees/search.py): any literal at each inner node, any action at each leaf. Where a literal comes twice
on a path with different outcomes no context follows it: its terms cost nothing, and hold noise where there is some.

Paths of all lengths are nodes of a heap: below node n are 2 p n + 1 and after, the failing side of each literal before
the one where it holds. A sum of weights exp(-rate * total) is a pair (T, M), which stands for T - log(M). All that is
kept is a function of the totals alone, to the last bit: no error adds up, and whoever has the totals can go on.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property, reduce
from time import perf_counter
from typing import Any

import numpy as np

from milpcb.core.kernels import compiled, lower
from milpcb.protocols import Listing, SeveralTables, SideConstraint, Terms, Within
from milpcb.types import Floats, Ints
from policies.literals import Test, outcomes
from policies.names import Names
from policies.semirings import NO_NAN, Array, exponentials
from policies.trees.near import NearTrees
from policies.trees.recursion import TreeStates
from policies.trees.rule import DecisionTree, Leaf, Node, path_totals, split
from policies.trees.sets import fits
from policies.trees.totals import Products

LARGE = 1e20  # masses beyond it become 1: the product of those beside a path stays a number
AT_ONCE = 2**20  # terms that costs are added to at a time


@compiled(NO_NAN)
def sum_ways(ways: Array, masses: Array) -> tuple[Array, Array]:
    """Return the sums T and M (n, J) over the second axis of pairs (n, w, J)."""
    n, n_ways, n_tables = ways.shape
    T, M, room = ways[:, 0].copy(), np.zeros((n, n_tables)), np.empty((2, ways.size))
    for i in range(n):
        for w in range(1, n_ways):
            for j in range(n_tables):
                T[i, j] = lower(ways[i, w, j], T[i, j])
    room[0] = (T.reshape(n, 1, n_tables) - ways).ravel()
    exponentials(room, ways.size)
    weights = room[0].reshape(ways.shape)
    for i in range(n):
        for w in range(n_ways):
            for j in range(n_tables):
                M[i, j] += weights[i, w, j] * masses[i, w, j]
        for j in range(n_tables):
            if M[i, j] > LARGE:
                T[i, j], M[i, j] = T[i, j] - np.log(M[i, j]), 1.0
    return T, M


@compiled(NO_NAN)
def sum_up(rate: float, p: int, paths: Array, stride: int, totals: Array, T: Array, M: Array) -> None:
    """Fill T and M (nodes, J) of the leaves of some ``paths``, and of all nodes above them.

    ``totals`` (paths, K, J) are those of the leaves in J tables. Of ``paths``, each ``stride``, one after the other,
    have the same parent, and so on upwards.
    """
    ways, nodes = rate * totals[paths], paths + (len(T) - len(totals))
    T[nodes], M[nodes] = sum_ways(ways, np.ones_like(ways))
    while nodes[0] > 0:
        nodes = (nodes[::stride] - 1) // (2 * p)
        fails = (2 * p * nodes.reshape(-1, 1) + 2 * np.arange(p) + 1).ravel()
        ways, masses = T[fails] + T[fails + 1], M[fails] * M[fails + 1]
        shape = len(nodes), p, totals.shape[2]
        T[nodes], M[nodes] = sum_ways(ways.reshape(shape), masses.reshape(shape))


@compiled(NO_NAN)
def sum_own(rate: float, p: int, paths: Array, totals: Array, T: Array, M: Array) -> Array:
    """Return (K, J): -log of the weights of the trees by their action at a context, whose ``paths`` are (p^D,).

    A leaf goes with the siblings of all nodes on its path.
    """
    n_actions, n_tables = totals.shape[1:]
    ways, masses = np.zeros((n_actions, len(paths), n_tables)), np.ones((n_actions, len(paths), n_tables))
    for a in range(n_actions):
        ways[a] = rate * totals[:, a][paths]
    nodes = paths + (len(T) - len(totals))
    while nodes[0] > 0:
        siblings = ((nodes - 1) ^ 1) + 1
        ways += T[siblings]
        masses *= M[siblings]
        nodes = (nodes - 1) // (2 * p)
    least, mass = sum_ways(ways, masses)
    return least - np.log(mass)


class WeightSums:
    """The sums of weights of all trees below each path, for J tables of totals (paths, K, J)."""

    def __init__(self, p: int, depth: int, n_tables: int) -> None:
        self._p, self._every = p, np.arange((2 * p) ** depth)
        self._T, self._M = np.empty((2, sum((2 * p) ** length for length in range(depth + 1)), n_tables))

    def fill(self, rate: float, totals: Floats, paths: Ints | None = None) -> None:
        """Add up all paths; or those of a context alone, where no others have changed."""
        some, stride = (self._every, 2 * self._p) if paths is None else (paths, self._p)
        sum_up(rate, self._p, some, stride, totals, self._T, self._M)

    def own(self, rate: float, totals: Floats, paths: Ints) -> Floats:
        """Return (K, J): -log of the weights by the action at the context of these paths, of totals added up before."""
        return np.asarray(sum_own(rate, self._p, paths, totals, self._T, self._M))


class TreeTerms(Terms):
    """The leaves of all trees of one depth over fixed literals."""

    def __init__(self, tests: list[Test], n_actions: int, depth: int, names: Names) -> None:
        self.n_actions = n_actions
        self._tests, self._names = tests, names
        self.n_literals = p = len(tests)
        self.depth = depth = depth if p else 0
        self.n_touched = p**depth
        self.n_terms = (2 * p) ** depth * n_actions
        self.n_features = 1 + max((feature for feature, *_ in tests), default=0)

    def places(self, contexts: Floats) -> list[Ints]:
        """Return the leaves that each context may reach, one for each sequence of literals."""
        return list(self.n_actions * self._paths(contexts)[:, :, None] + np.arange(self.n_actions))

    def totals(self, contexts: Floats, costs: Floats) -> Floats:
        """Return the total costs of the leaves."""
        return self.adder(contexts)(costs)

    def adder(self, contexts: Floats) -> Callable[[Floats], Floats]:
        """Return the adder by products of matrices, with the literals of the contexts."""
        truth = outcomes(contexts, self._tests).astype(float)
        return lambda costs: np.ascontiguousarray(path_totals(truth, costs, self.depth)).ravel()

    def under(self, rows: Sequence[SideConstraint]) -> Terms:
        """Return the terms with the recursion over the trees alone that keep ``rows``."""
        from policies.trees.constrained import ConstrainedTerms  # only for those who have rows

        return ConstrainedTerms(self, self._tests, self.depth, self._names, rows)

    def near(self, contexts: Floats, asked: Within) -> Listing | None:
        """Return the trees asked for, where the answers of all states fit memory and the trees are few enough."""
        if not fits(self.n_literals, self.depth, self.n_actions, self.n_actions - 1, None):
            return None
        truth = outcomes(contexts, self._tests)
        source = Products(truth, self.n_actions, 0, self.depth)
        states = TreeStates(source, self.n_actions, self.depth, np.zeros(0), None)
        return NearTrees(states, truth, asked).listing(self._tests, self._names)

    def add(self, totals: Floats, contexts: Floats, actions: Ints, amounts: Floats) -> None:
        """Add to the leaves that each context may reach, one context after the other."""
        for part in np.array_split(np.arange(len(actions)), 1 + len(actions) * self.n_touched // AT_ONCE):
            places = self.n_actions * self._paths(contexts[part]) + actions[part, None]
            np.add.at(totals, places.ravel(), np.repeat(amounts[part], self.n_touched))

    def profile(self, totals: Floats, place: Ints) -> Floats:
        """Return (K,): the least total of the trees by the action at ``place``."""
        own, path = totals.take(place.T), place[:, 0] // self.n_actions
        for below in self._least(totals)[:0:-1]:
            own += below.take(path ^ 1)  # the same path, but for the side at its end
            path //= 2 * self.n_literals
        return np.asarray(own.min(axis=1))

    def log_weights(self, totals: Floats, place: Ints, rate: float) -> Floats:
        """Return (K,): log of the summed exp(-rate * total) of the derivations by the action at ``place``."""
        table = totals.reshape(-1, self.n_actions, 1)
        self._sums.fill(rate, table)
        return -self._sums.own(rate, table, place[:, 0] // self.n_actions)[:, 0]

    def several(self, place: Callable[[int], Ints], count: Callable[[float], float]) -> SeveralTables:
        """Return tables of the leaves that are weighed by one compiled call."""
        return SeveralTrees(self, place, count)

    def minimise(self, totals: Floats) -> tuple[float, DecisionTree]:
        """Return the least total and a tree that attains it; at each node the lowest-numbered choice wins a tie."""
        least = self._least(totals)
        return float(least[0][0]), DecisionTree(self._grown(totals, least, 0, {}), self._names)

    def _grown(self, totals: Floats, least: list[Floats], path: int, known: dict[int, int]) -> Node:
        """Return the tree below a path of the first length in ``least``, where the literals ``known`` came out so."""
        if len(least) == 1:
            return Leaf(int(totals[path * self.n_actions : (path + 1) * self.n_actions].argmin()))
        below, p = least[1:], self.n_literals
        f = int(below[0][2 * p * path : 2 * p * (path + 1)].reshape(p, 2).sum(axis=1).argmin())
        fails = 2 * (p * path + f)
        if f in known:
            return self._grown(totals, below, fails + known[f], known)
        yes, no = (self._grown(totals, below, fails + s, {**known, f: s}) for s in (1, 0))
        return split(self._tests[f], yes, no)

    def _least(self, totals: Floats) -> list[Floats]:
        """Return the least totals of the trees below all paths of each length, the shortest first."""
        least = [reduce(np.minimum, totals.reshape(-1, self.n_actions).T)]
        for _ in range(self.depth):
            least.append((least[-1][::2] + least[-1][1::2]).reshape(-1, self.n_literals).min(axis=1))
        return least[::-1]

    @cached_property
    def _sums(self) -> WeightSums:
        return WeightSums(self.n_literals, self.depth, 1)

    def _paths(self, contexts: Floats) -> Ints:
        """Return the numbers (n, p^D) of the paths that contexts may take."""
        sides = 2 * np.arange(self.n_literals) + outcomes(contexts, self._tests)
        paths = np.zeros((len(contexts), 1), np.int64)
        for length in range(1, self.depth + 1):
            longer = 2 * self.n_literals * paths[:, :, None] + sides[:, None, :]
            paths = longer.reshape(len(contexts), self.n_literals**length)
        return paths


class SeveralTrees(SeveralTables):
    """Totals (n, J) of the leaves of trees, whose sums are kept, so that a cost changes those of its paths alone.

    ``place`` returns the place of a row, and ``count`` counts a query, given its start.
    """

    def __init__(self, terms: TreeTerms, place: Callable[[int], Ints], count: Callable[[float], float]) -> None:
        """Begin without a table."""
        self.totals = np.zeros((terms.n_terms, 0))
        self._sizes, self._n_actions = (terms.n_literals, terms.depth), terms.n_actions
        self._place, self._count = place, count
        self._rate = -1.0  # of the sums; below 0 where they are not filled

    def begin(self, table: int) -> None:
        """Empty a table; the one after the last is a new one."""
        if table == self.totals.shape[1]:
            self.totals = np.pad(self.totals, ((0, 0), (0, 1)))
            self._sums = WeightSums(*self._sizes, table + 1)
        self.totals[:, table] = 0.0
        self._rate = -1.0

    def add(self, row: int, action: int, amount: float) -> None:
        """Add the cost of an action at a row to all tables."""
        place = self._place(row)
        self.totals[place[:, action]] += amount
        if self._rate >= 0:
            self._sums.fill(self._rate, self._by_path, place[:, 0] // self._n_actions)

    def action_weights(self, row: int, rate: float) -> Floats:
        """Return the Exp4 distribution (J, K) of each table at a row."""
        start, place = perf_counter(), self._place(row)
        if rate != self._rate:
            self._sums.fill(rate, self._by_path)
            self._rate = rate
        sums = self._sums.own(rate, self._by_path, place[:, 0] // self._n_actions)
        weights = np.exp(sums.min(axis=0) - sums)
        weights /= weights.sum(axis=0)
        self._count(start)
        return np.asarray(weights.T)

    def state(self) -> list[Any]:
        """Return the totals of each table."""
        return list(self.totals.T.tolist())

    def restore(self, state: Sequence[Any]) -> None:
        """Go on from saved totals."""
        for table in range(len(state)):
            self.begin(table)
        self.totals[:] = np.array(state, dtype=float).T

    @property
    def _by_path(self) -> Floats:
        """The totals (paths, K, J)."""
        return self.totals.reshape(-1, self._n_actions, self.totals.shape[1])
