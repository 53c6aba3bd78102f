"""The exact search over decision trees: one recursion on the AND/OR graph of the encoding, in two semirings.

Below a node of height d, reached by the contexts S, with x the row that is asked about,
    T_0[S, a] = sum of costs[j, a] over j in S
    T_d[S, a] = (+)_f  T_{d-1}[S on x's side of f, a] (x) (+)_b T_{d-1}[S on the other side of f, b]
over all p literals f. In (min, +) T_D[all, a] is the least total cost of the trees that play a at x. In
(log-sum-exp, +) it is the log of the summed exp(-rate * total cost) over derivations: any literal at each of the
2^D - 1 inner nodes, any action at each of the 2^D leaves; there are exp(log_size) of them. The value is the same
recursion asked about a context at which every literal holds, whether there is one or not.

Heights 1 to 3 are compiled (policies/trees/kernels.py), and keep structure limits (policies/trees/limited.py); above
them the recursion is the few lines below. From depth 3 on sets of tests answer instead, where there are no structure
limits (policies/trees/states.py). There a best tree is read from what its cost was found by
(policies/trees/tracing.py); otherwise each of its nodes takes a search.

The work is the pair histogram, H[f, g, a] = the total cost of action a where f and g hold. Three things make it cheaper
than the matrix product X' diag(costs) X, at every size measured: only g >= f is added up, only differences to action 0,
and in single precision while integers are exact in it.

Whole costs give exact answers while their absolute values add up to less than 2^52. Real costs are rounded as sums in
double precision are, by about 1e-16 of the summed absolute costs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from milpcb.protocols import Search, SideConstraint, Terms, TermSearch
from milpcb.types import Bools, Floats
from policies.literals import Literals
from policies.names import Names
from policies.semirings import Array, Soft
from policies.trees.block import in_blocks, zeros
from policies.trees.geometry import cheapest_leaf, grow, path_totals
from policies.trees.kernels import Sets, search, three_tests
from policies.trees.limited import COMPILED_DEPTH, Choice, feature_sets
from policies.trees.limits import FREE, Limits
from policies.trees.rule import DecisionTree, Leaf

# Integers up to here are exact in single precision, and so is every partial sum bounded by it.
SINGLE = 2.0**24


class TreeSearch(Search):
    """The recursion above on fixed contexts with ``counts`` (g, 1 or 1 + K), within limits up to depth 3.

    What the kernels need is allocated once. Under side constraints leaf totals are asked, those of ``terms``.
    """

    def __init__(
        self,
        literals: Literals,
        n_actions: int,
        depth: int,
        names: Names,
        limits: Limits = FREE,
        counts: Floats | None = None,
        terms: Callable[[], Terms] | None = None,
    ) -> None:
        self._n_actions, self._depth, self._names = n_actions, depth, names
        self._literals, self._contexts, self._limits = literals, literals.contexts, limits
        self._rows = np.ones((len(literals.contexts), 1)) if counts is None else counts
        self._anywhere, self._everyone = np.ones(len(literals), bool), np.ones(len(literals.contexts), bool)
        self._table = np.empty((len(literals.contexts), n_actions))
        self._limited, self._terms = bool(limits), terms
        self._added_up: dict[Any, Any] = {}  # by precision, the counts whose totals the kernels still have
        self._leaves = 2**depth if limits else 1  # whose numbers are kept apart
        self._most = min(2**depth, limits.max_leaves or 2**depth)

    def value(self, costs: Floats) -> float:
        """Return the least total cost."""
        return float(min(self._answers(None, costs, self._anywhere, self._depth).tolist()))

    def profile(self, costs: Floats, row: int) -> Floats:
        """Return (K,): the least total cost by the action at ``row``."""
        return self._answers(None, costs, self._pattern(row), self._depth)

    def log_weights(self, costs: Floats, row: int, rate: float) -> Floats:
        """Return (K,): log of the summed exp(-rate * total cost) of the derivations by the action at ``row``."""
        return -self._answers(1.0, rate * costs, self._pattern(row), self._depth)

    def minimise(self, costs: Floats) -> tuple[float, DecisionTree]:
        """Return the least total cost and a tree that attains it; at each node the lowest-numbered choice wins ties."""
        sets, first = self._root(costs)
        most: dict[tuple[int, ...], int] = {(): self._most}  # how many leaves there may be below each path

        def choose(path: tuple[int, ...], here: Bools) -> Leaf | int:
            split = self._split(costs, path, here, sets, most[path]) if path else first
            if split is None:
                return cheapest_leaf(costs, here)
            f, most[(*path, split.literal, 1)], most[(*path, split.literal, 0)] = split
            return f

        tree = DecisionTree(grow(choose, self._literals, self._everyone), self._names)
        return float(costs[np.arange(len(costs)), tree.predict(self._contexts)].sum()), tree

    def under(self, rows: Sequence[SideConstraint]) -> Any:
        """Return the search over the trees within limits that keep ``rows``; the class has no ``max_features``."""
        if not self._limited or self._terms is None:
            return super().under(rows)
        from policies.trees.constrained import ConstrainedTrees  # only for those who have rows
        from policies.trees.side_arrays import Ends

        terms = self._terms()
        truth = self._patterns.astype(float)
        counts = [path_totals(truth, self._rows, length) for length in range(self._depth + 1)]
        allowed = [~self._limits.too_small(of_paths).ravel() for of_paths in counts]
        add_up = terms.adder(self._contexts)
        of_terms = [row.mapped(add_up) for row in rows]
        trees = self._literals.tests, self._depth, self._names
        return TermSearch(ConstrainedTrees(terms, *trees, of_terms, Ends(allowed, self._most)), self._contexts)

    def _pattern(self, row: int) -> Bools:
        """Return (p,): which literals hold at a context."""
        return np.asarray(self._patterns[row])

    def _root(self, costs: Floats) -> tuple[Sets, Choice | None]:
        """Return the one set (1, p) of tests that a best tree is made of, by halving the list of sets; its root."""
        sets = self._allowed.sets
        least = self._least(costs, sets) if sets is not None and len(sets) > 1 else 0.0
        while sets is not None and len(sets) > 1:
            first, second = np.array_split(sets, 2)
            sets = first if self._least(costs, first) == least else second
        return sets, self._split(costs, (), self._everyone, sets, self._most)

    def _least(self, costs: Floats, sets: Sets) -> float:
        """Return the least total cost of the trees with tests from these sets (n, p), but for a constant."""
        _, filled = self._run(None, costs, self._anywhere, self._depth, self._allowed._replace(sets=sets))
        return float(filled.best[: self._most].min())

    def _split(self, costs: Floats, path: tuple[int, ...], here: Bools, sets: Sets, most: int) -> Choice | None:
        """Return the choice below ``path``, whose contexts are ``here`` (g,).

        Return None where one leaf is best; ``most`` is the number of leaves that there may be.
        """
        height = self._depth - len(path) // 2
        if height == 0 or most == 1:
            return None
        costs = np.where(here[:, None], costs, 0.0)
        if sets is None:
            return Choice(self._best_test(costs, height), most, most)
        allowed = Allowed(self._allowed.least, self._allowed.counts * here, sets)
        _, filled = self._run(None, costs, self._anywhere, height, allowed)
        leaves = np.arange(2 ** (height - 1))
        near, far = filled.near[leaves].min(axis=-1).T, filled.far[leaves].T
        ways = np.where(leaves[:, None] + leaves + 2 <= most, near[:, :, None] + far[:, None, :], np.inf)
        ways[~sets[0]] = np.inf
        if filled.best[0].min() <= ways.min():
            return None
        f, i, j = np.unravel_index(ways.argmin(), ways.shape)
        return Choice(int(f), int(i) + 1, int(j) + 1)

    def _best_test(self, costs: Floats, height: int) -> int:
        """Return the lowest literal at the root of a best tree of a height; nothing is limited."""
        return int(self._by_root(None, costs, self._anywhere, height).min(axis=1).argmin())

    def _answers(self, soft: Soft, costs: Floats, pattern: Bools, height: int) -> Floats:
        """Return T (K,) of all trees of this height, for the context where the literals ``pattern`` (p,) hold.

        The numbers are least total costs where ``soft`` is None, else -log of the summed exp(-total cost).
        """
        if height == 0:
            return np.asarray(costs.sum(axis=0))
        if height > self._compiled:
            return np.asarray(add_up(soft, self._by_root(soft, costs, pattern, height)))
        everywhere, filled = self._run(soft, costs, pattern, height, self._allowed)
        best = add_up(soft, filled.best[: self._most]) if self._limited else filled.best[0]
        return np.asarray(np.add(best, everywhere, dtype=float))

    @cached_property
    def _compiled(self) -> int:
        """Up to which height trees are compiled."""
        return COMPILED_DEPTH

    def _by_root(self, soft: Soft, costs: Floats, pattern: Bools, height: int) -> Floats:
        """Return (p, K): as ``_answers``, but for each test at the root by itself."""
        if height <= self._compiled:
            everywhere, filled = self._run(soft, costs, pattern, height, self._allowed)
            return np.asarray(np.add(filled.near[0] + filled.far[0, :, None], everywhere, dtype=float))
        alternatives = np.empty((len(pattern), self._n_actions))
        for f, near_side in enumerate(pattern):
            on = self._literals.holds(f)[:, None] == near_side
            near = self._answers(soft, np.where(on, costs, 0.0), pattern, height - 1)
            far = self._answers(soft, np.where(on, 0.0, costs), pattern, height - 1)
            alternatives[f] = near + add_up(soft, far)
        return alternatives

    def _run(self, soft: Soft, costs: Floats, pattern: Bools, height: int, allowed: Allowed) -> tuple[float, Filled]:
        """Run the kernel in single precision where that is exact, else in double.

        Return what action 0 costs on all contexts, and the arrays that are filled with what trees cost beyond it.
        """
        self._table[:] = costs
        if soft is None and ("_single" in vars(self) or (costs == np.rint(costs)).all()):  # memory for what is needed
            everywhere, bound = self._search(None, height, SINGLE, pattern, allowed, self._single.room)
            if bound <= SINGLE:
                return everywhere, self._single
        everywhere, _ = self._search(soft, height, np.inf, pattern, allowed, self._double.room)
        return everywhere, self._double

    def _search(
        self, soft: Soft, height: int, largest: float, pattern: Bools, allowed: Allowed, room: Arrays
    ) -> tuple[float, float]:
        """Run the kernels for trees of a height; return what ``kernels.search`` does."""
        least, counts, sets = allowed
        if counts is not None and self._added_up.pop(room.costs.dtype, None) is counts:
            counts = counts[:0]
        everywhere, bound = search(soft, height, largest, self._table, pattern, least, counts, sets, *room)
        if bound <= largest:
            if counts is not None:
                self._added_up[room.costs.dtype] = allowed.counts
            if height == COMPILED_DEPTH:
                three_tests(soft, pattern, least, sets, *room)
        return everywhere, bound

    @cached_property
    def _allowed(self) -> Allowed:
        """All trees of full depth, or within the limits, but for their numbers of leaves."""
        return Allowed(*self._row_limits, self._sets) if self._limited else Allowed(None, None, None)

    @cached_property
    def _sets(self) -> Bools:
        return feature_sets(self._literals, self._limits, self._depth)

    @cached_property
    def _row_limits(self) -> tuple[Floats, Floats]:
        """What a leaf must have at least (C,), and such counts (C, g) of the contexts."""
        return self._limits.asked(self._rows)

    @cached_property
    def _patterns(self) -> Bools:
        return np.ascontiguousarray(self._literals.truth)  # kernels are compiled for each order of memory

    @cached_property
    def _single(self) -> Filled:
        return self._room(np.float32)

    @cached_property
    def _double(self) -> Filled:
        return self._room(np.float64)

    def _room(self, dtype: type[np.floating[Any]]) -> Filled:
        n_counts = len(self._row_limits[0]) if self._limited else 0
        room = arrays(self._patterns, self._n_actions, n_counts, self._leaves, dtype)
        return Filled(room.near[0], room.far[0], room.best[0], room)


def add_up(soft: Soft, alternatives: Floats) -> Any:
    """Return the sum over the first axis, in (min, +) or of -log weights."""
    return alternatives.min(axis=0) if soft is None else -np.logaddexp.reduce(-alternatives, axis=0)


class Allowed(NamedTuple):
    """Which trees are searched: what leaves must have at least (C,), such counts (C, g) of contexts, sets of tests."""

    least: Any
    counts: Any
    sets: Sets


class Filled(NamedTuple):
    """What the kernels find for whole trees, and all arrays that they work on where these are of literals.

    policies/trees/kernels.py has the shapes, here without the first axis.
    """

    near: Array
    far: Array
    best: Array
    room: Any = None


class Arrays(NamedTuple):
    """What the kernels work on, in their order; policies/trees/kernels.py gives the shapes."""

    literals: Array
    costs: Array
    weighted: Array
    pairs: Array
    own: Array
    near: Array
    far: Array
    best: Array


def arrays(truth: Bools, n_actions: int, n_counts: int, leaves: int, dtype: type[np.floating[Any]]) -> Arrays:
    """Return the arrays for the literals ``truth`` (g, p) and so many counts; all but ``literals`` hold zeros."""
    held, p = in_blocks(truth), truth.shape[1]
    blocks, rows, width = held.shape
    planes, below = n_actions - 1 + n_counts, max(1, leaves // 2)
    made = Arrays(
        **zeros(
            dtype,
            literals=held.shape,
            costs=(2, blocks, planes, width),
            weighted=(2, planes, width),
            pairs=(3, planes, p + 2, rows),
            own=(2, 2, p + 1, planes),
            near=(2, below, p, n_actions),
            far=(2, below, p),
            best=(2, leaves, n_actions),
        )
    )
    made.literals[:] = held
    return made
