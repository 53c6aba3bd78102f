"""The leaf totals of decision trees, (path, action), and the recursion over them.

A path is D pairs (literal, outcome), in the order of the tests; a term has the number that it has in an array of shape
(p, 2) * D + (K,), which is also the order of the columns u of the constrained program. A derivation is that of the
search (policies/trees/search.py): any literal at each inner node, any action at each leaf. Where a literal comes twice
on a path with different outcomes no context follows it: its terms cost nothing, and hold noise where there is some.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from milpcb.core.kernels import compiled
from milpcb.protocols import Listing, SeveralTotals, SideConstraint, Terms, Within
from milpcb.types import Floats, Ints
from policies.literals import Test, outcomes
from policies.names import Names
from policies.semirings import NO_NAN, Array, Soft, add_all
from policies.trees.near import NearTrees
from policies.trees.rule import DecisionTree, Leaf, Node, path_totals, split
from policies.trees.sets import fits
from policies.trees.states import TreeStates
from policies.trees.totals import Products


@compiled(NO_NAN)
def fold(soft: Soft, depth: int, totals: Array, place: Array, best: Array, own: Array, ways: Array) -> None:
    """Fill own[0] (K,): the answers of all trees by the action they play at a context, from the ``totals`` of leaves.

    ``place`` (p^depth, K) numbers the leaves that the context may reach. An answer is the least total where ``soft`` is
    None; where it is a float (its value is not used), -log of the summed exp(-total). Working space: best (1 + 2 p +
    ... + (2 p)^depth,), the answers of the subtrees below each path, the shortest first; own (p^depth, K), those below
    each path of the context; ways (max(p, 1),).

    Paths of a length are numbered as numbers of base 2 p with the digits 2 f + s, those of the context as numbers of
    base p; so what is below path i of all is at 2 p i + 1 and after.
    """
    n_own, n_actions = place.shape
    p, n_paths = len(ways), len(totals) // n_actions
    first = len(best) - n_paths
    below = best[first:]  # of the paths of the level
    for path in range(n_paths):
        below[path] = add_all(soft, totals[path * n_actions : (path + 1) * n_actions])
    for i in range(n_own):
        for a in range(n_actions):
            own[i, a] = totals[place[i, a]]
    leaves, n_below = n_actions, 1  # terms below a path of the level, and paths of the context below one of its own
    for _ in range(depth):
        n_own //= p
        n_paths //= 2 * p
        for i in range(n_own):
            for a in range(n_actions):
                for f in range(p):
                    child = i * p + f
                    other = place[child * n_below, 0] // leaves ^ 1  # the same path, but for the side at its end
                    ways[f] = own[child, a] + below[other]
                own[i, a] = add_all(soft, ways)
        first -= n_paths
        level = best[first:]
        for path in range(n_paths):
            for f in range(p):
                holds = 2 * (path * p + f) + 1
                ways[f] = below[holds] + below[holds - 1]
            level[path] = add_all(soft, ways)
        below = level
        leaves *= 2 * p
        n_below *= p


@compiled(NO_NAN)
def trace(n_actions: int, totals: Array, best: Array, ways: Array, leaves: Array) -> None:
    """Fill ``leaves`` (2^depth,) with those of a tree of least total, where a test fails before where it holds.

    In: what ``fold`` has left in ``best``. At each node the lowest number wins a tie.
    """
    leaves[0], n = 0, 1
    while n < len(leaves):
        for k in range(n - 1, -1, -1):
            below = 2 * leaves[k] * len(ways) + 1
            for f in range(len(ways)):
                ways[f] = best[below + 2 * f + 1] + best[below + 2 * f]
            fails = below + 2 * np.argmin(ways)
            leaves[2 * k], leaves[2 * k + 1] = fails, fails + 1
        n *= 2
    first = len(best) - len(totals) // n_actions
    for k in range(len(leaves)):
        leaf = (leaves[k] - first) * n_actions
        leaves[k] = leaf + np.argmin(totals[leaf : leaf + n_actions])


@compiled()
def reach(depth: int, sides: Array, place: Array) -> None:
    """Fill place (p^depth, K): the leaves that a context may reach, whose tests come out as ``sides`` (p,), 2 f + s."""
    for i in range(len(place)):
        path = _path(depth, sides, i)
        for a in range(place.shape[1]):
            place[i, a] = path * place.shape[1] + a


@compiled()
def add_cells(depth: int, sides: Array, actions: Array, amounts: Array, totals: Array) -> None:
    """Add ``amounts`` (n,), one after the other, to ``totals`` (paths, K) of the leaves that their contexts may reach.

    In: the ``sides`` (n, p) of the contexts, as in ``reach``, and the ``actions`` (n,).
    """
    n_own = sides.shape[1] ** depth
    for j in range(len(actions)):
        for i in range(n_own):
            totals[_path(depth, sides[j], i), actions[j]] += amounts[j]


@compiled()
def _path(depth: int, sides: Array, i: int) -> int:
    """Return the number of the path that tests, in the order of the digits of ``i`` in base p, come out on."""
    p = len(sides)
    path, below = 0, p**depth
    for _ in range(depth):
        below //= p
        path = path * 2 * p + sides[i // below % p]
    return path


class TreeTerms(Terms):
    """The leaves of all trees of one depth over fixed literals."""

    def __init__(self, tests: list[Test], n_actions: int, depth: int, names: Names) -> None:
        self.n_actions = n_actions
        self._tests, self._names = tests, names
        self.n_literals = p = len(tests)
        self.depth = depth = depth if p else 0
        self.n_touched = p**depth
        self._feature = np.array([feature for feature, *_ in tests], dtype=np.int64)
        self._threshold = np.array([threshold for _, threshold, *_ in tests])
        self._fails = 2 * np.arange(p)
        self.n_terms = (2 * p) ** depth * n_actions
        self.n_features = 1 + max((feature for feature, *_ in tests), default=0)
        self._best = np.empty(sum((2 * p) ** length for length in range(depth + 1)))
        self._own = np.empty((self.n_touched, n_actions))
        self._ways = np.empty(max(1, p))
        self._leaves = np.empty(2**depth, dtype=np.int64)

    def places(self, contexts: Floats) -> list[Ints]:
        """Return the leaves that each context may reach, one for each sequence of literals."""
        sides = self._sides(contexts)
        places = np.empty((len(contexts), self.n_touched, self.n_actions), dtype=np.int64)
        for own, place in zip(sides, places, strict=True):
            reach(self.depth, own, place)
        return list(places)

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
        truth = outcomes(contexts, self._tests)
        if not fits(self.n_literals, self.depth, self.n_actions, self.n_actions - 1, None):
            return None
        states = TreeStates(
            Products(truth, self.n_actions, 0, self.depth), self.n_actions, self.depth, np.zeros(0), None
        )
        return NearTrees(states, truth, asked).listing(self._tests, self._names)

    def add(self, totals: Floats, contexts: Floats, actions: Ints, amounts: Floats) -> None:
        """Add to the leaves that each context may reach, by a compiled pass."""
        add_cells(self.depth, self._sides(contexts), actions, amounts, totals.reshape(-1, self.n_actions))

    def profile(self, totals: Floats, place: Ints) -> Floats:
        """Return (K,): the least total of the trees by the action at ``place``."""
        return self._answers(None, totals, place)

    def log_weights(self, totals: Floats, place: Ints, rate: float) -> Floats:
        """Return (K,): log of the summed exp(-rate * total) of the derivations by the action at ``place``."""
        return -self._answers(1.0, rate * totals, place)

    def several(self) -> SeveralTotals:
        """Return tables of the leaves that are weighed by one compiled call."""
        from policies.trees.several import SeveralTrees  # only for those who keep several

        return SeveralTrees(self.n_terms, self.n_actions, self.n_literals, self.depth)

    def minimise(self, totals: Floats) -> tuple[float, DecisionTree]:
        """Return the least total and a tree that attains it; at each node the lowest-numbered choice wins a tie."""
        fold(None, self.depth, totals, self._anywhere, self._best, self._own, self._ways)
        trace(self.n_actions, totals, self._best, self._ways, self._leaves)
        return float(self._best[0]), DecisionTree(self._grown(self._leaves.tolist(), 0, {}), self._names)

    def _grown(self, leaves: list[int], level: int, known: dict[int, int]) -> Node:
        """Return the tree below a path of length ``level``, where the literals ``known`` have come out so."""
        if len(leaves) == 1:
            return Leaf(leaves[0] % self.n_actions)
        below = self.n_terms // (2 * self.n_literals) ** (level + 1)  # terms of a path one longer
        f = leaves[0] // below % (2 * self.n_literals) // 2
        sides = leaves[: len(leaves) // 2], leaves[len(leaves) // 2 :]
        if f in known:
            return self._grown(sides[known[f]], level + 1, known)
        yes, no = (self._grown(sides[s], level + 1, {**known, f: s}) for s in (1, 0))
        return split(self._tests[f], yes, no)

    def _sides(self, contexts: Floats) -> Ints:
        """Return 2 f + s (n, p): how each test f comes out at each context."""
        return np.ascontiguousarray(self._fails + (contexts[:, self._feature] <= self._threshold))

    def _answers(self, soft: Soft, totals: Floats, place: Ints) -> Floats:
        fold(soft, self.depth, totals, place, self._best, self._own, self._ways)
        return np.asarray(self._own[0].copy())
