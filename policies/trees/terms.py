"""The leaf totals of decision trees, (path, action), and the recursion over them.

A path is D pairs (literal, outcome), in the order of the tests; a term has the number that it has in an array of shape
(p, 2) * D + (K,), which is also the order of the columns u of the constrained program. A derivation is that of the
search (policies/trees/search.py): any literal at each inner node, any action at each leaf. Where a literal comes twice
on a path with different outcomes no context follows it: its terms cost nothing, and hold noise where there is some.
"""

from collections.abc import Callable, Sequence
from time import perf_counter
from typing import Any

import numpy as np

from milpcb.protocols import Listing, SeveralTables, SideConstraint, Terms, Within
from milpcb.types import Floats, Ints
from policies.literals import Test, outcomes
from policies.names import Names
from policies.semirings import Soft, add_up
from policies.trees.near import NearTrees
from policies.trees.rule import DecisionTree, Leaf, Node, path_totals, split
from policies.trees.sets import fits

AT_ONCE = 2**20  # terms that costs are added to at a time
FEW = 7  # ways up to which numpy adds up faster where those of one kind lie side by side


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
        return NearTrees(outcomes(contexts, self._tests), self.depth, asked).listing(self._tests, self._names)

    def add(self, totals: Floats, contexts: Floats, actions: Ints, amounts: Floats) -> None:
        """Add to the leaves that each context may reach, one context after the other."""
        for part in np.array_split(np.arange(len(actions)), 1 + len(actions) * self.n_touched // AT_ONCE):
            places = self.n_actions * self._paths(contexts[part]) + actions[part, None]
            np.add.at(totals, places.ravel(), np.repeat(amounts[part], self.n_touched))

    def profile(self, totals: Floats, place: Ints) -> Floats:
        """Return (K,): the least total of the trees by the action at ``place``."""
        return self.by_action(None, totals.take(place.T), place[:, 0] // self.n_actions, self.below(None, totals))

    def log_weights(self, totals: Floats, place: Ints, rate: float) -> Floats:
        """Return (K,): log of the summed exp(-rate * total) of the derivations by the action at ``place``."""
        costs = rate * totals
        return -self.by_action(1.0, costs.take(place.T), place[:, 0] // self.n_actions, self.below(1.0, costs))

    def several(self, place: Callable[[int], Ints], count: Callable[[float], float]) -> SeveralTables:
        """Return tables of the leaves that are weighed together."""
        return SeveralTrees(self, place, count)

    def minimise(self, totals: Floats) -> tuple[float, DecisionTree]:
        """Return the least total and a tree that attains it; at each node the lowest-numbered choice wins a tie."""
        least = self.below(None, totals)
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

    def below(self, soft: Soft, totals: Floats) -> list[Floats]:
        """Return the sums (+) (paths, ...) of the trees below all paths of each length, the shortest first.

        ``totals`` (terms, ...) are those of one table, or of several.
        """
        rest = totals.shape[1:]
        sums = [_sums(soft, totals.reshape(-1, self.n_actions, *rest))]
        for _ in range(self.depth):
            sums.append(_sums(soft, (sums[-1][::2] + sums[-1][1::2]).reshape(-1, self.n_literals, *rest)))
        return sums[::-1]

    def change(self, soft: Soft, costs: Floats, paths: Ints, below: list[Floats]) -> None:
        """Bring ``below`` up to date, where the leaves of a context's ``paths`` (n,) cost (n, K, ...) now."""
        p, fails = self.n_literals, 2 * np.arange(self.n_literals)
        below[-1][paths] = _sums(soft, costs)
        for shorter, longer in zip(below[-2::-1], below[:0:-1], strict=True):
            paths = paths[::p] // (2 * p)
            sides = 2 * p * paths[:, None] + fails
            shorter[paths] = _sums(soft, longer[sides] + longer[sides + 1])

    def by_action(self, soft: Soft, own: Floats, path: Ints, below: list[Floats]) -> Floats:
        """Return (K, ...): the sums (+) by the action at a context, where the leaves of its paths cost ``own``.

        They are (K, n, ...). A leaf goes with all siblings above it.
        """
        for sums in below[:0:-1]:
            own = own + sums.take(path ^ 1, axis=0)  # the same path, but for the side at its end
            path = path // (2 * self.n_literals)
        return add_up(soft, own.swapaxes(0, 1))

    def _paths(self, contexts: Floats) -> Ints:
        """Return the numbers (n, p^D) of the paths that contexts may take."""
        sides = 2 * np.arange(self.n_literals) + outcomes(contexts, self._tests)
        paths = np.zeros((len(contexts), 1), np.int64)
        for length in range(1, self.depth + 1):
            longer = 2 * self.n_literals * paths[:, :, None] + sides[:, None, :]
            paths = longer.reshape(len(contexts), self.n_literals**length)
        return paths


def _sums(soft: Soft, ways: Floats) -> Floats:
    """Return the sums (+) (n, ...) of ``ways`` (n, w, ...)."""
    ways = ways.swapaxes(0, 1)
    return add_up(soft, ways if len(ways) > FEW else np.ascontiguousarray(ways))


class SeveralTrees(SeveralTables):
    """Totals (n, J) of the leaves of trees, whose sums are kept, so that a cost changes those of its paths alone.

    ``place`` returns the place of a row, and ``count`` counts a query, given its start. The sums are a function of the
    totals alone, to the last bit.
    """

    def __init__(self, terms: TreeTerms, place: Callable[[int], Ints], count: Callable[[float], float]) -> None:
        """Begin without a table."""
        self._terms, self._place, self._count = terms, place, count
        self.totals = np.zeros((terms.n_terms, 0))
        self._rate, self._below = 0.0, list[Floats]()  # empty where the totals are other ones

    def begin(self, table: int) -> None:
        """Empty a table; the one after the last is a new one."""
        if table == self.totals.shape[1]:
            self.totals = np.pad(self.totals, ((0, 0), (0, 1)))
        self.totals[:, table] = 0.0
        self._below = []

    def add(self, row: int, action: int, amount: float) -> None:
        """Add the cost of an action at a row to all tables."""
        place = self._place(row)
        self.totals[place[:, action]] += amount
        if self._below:
            paths = place[:, 0] // self._terms.n_actions
            self._terms.change(1.0, self._rate * self.totals[place], paths, self._below)

    def action_weights(self, row: int, rate: float) -> Floats:
        """Return the Exp4 distribution (J, K) of each table at a row."""
        start, place = perf_counter(), self._place(row)
        if rate != self._rate or not self._below:
            self._rate, self._below = rate, self._terms.below(1.0, rate * self.totals)
        paths = place[:, 0] // self._terms.n_actions
        sums = self._terms.by_action(1.0, rate * self.totals.take(place.T, axis=0), paths, self._below)
        weights = np.exp(sums.min(axis=0) - sums)
        self._count(start)
        return np.asarray((weights / weights.sum(axis=0)).T)

    def state(self) -> list[Any]:
        """Return the totals of each table."""
        return list(self.totals.T.tolist())

    def restore(self, state: Sequence[Any]) -> None:
        """Go on from saved totals."""
        self.totals = np.reshape(state, (len(state), len(self.totals))).T.astype(float, order="C")
        self._below = []
