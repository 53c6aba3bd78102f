"""The class of decision trees: its settings, and what it is on given contexts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np

from milpcb.checks import whole
from milpcb.errors import InputError
from milpcb.protocols import Opened, Search, Terms
from milpcb.types import Floats
from policies.cuts import CuttingClass, Thresholds, check_thresholds
from policies.literals import LARGEST, Literals, Test, every_test
from policies.names import Names
from policies.trees.limits import Limits
from policies.trees.program import TreeEncoding
from policies.trees.routes import Route, route, too_many_cuts
from policies.trees.rule import DecisionTree, Leaf, Node, Split

MOST_DEPTH = 12
MOST_SUBTREES = 10**8  # of depth 2, each looked at by one pass of a kernel: hours


@dataclass(frozen=True)
class DecisionTrees(CuttingClass):
    """Decision trees of a given depth.

    Parameters
    ----------
    n_actions : K >= 2
    depth : number of tests on the longest path, >= 1
    thresholds : number of quantile cuts per feature, "all" for a cut between any two values of a feature, or one list
        of cut points per feature; a feature that only takes 0 and 1 gives one literal. Kind "search" goes through pairs
        of literals, pairs of features, or at depth 2 root cuts with bounds between them, whichever is the least counted
        work; it is ``OpenedTrees.route``
    max_leaves, max_features : limits on the number of leaves and of distinct features of a tree
    min_leaf_size : every leaf holds at least this many rows of the contexts
    feature_names, action_names : used in printed rules

    """

    n_actions: int
    depth: int = 2
    thresholds: Thresholds = 3
    max_leaves: int | None = None
    max_features: int | None = None
    min_leaf_size: int | None = None
    feature_names: Sequence[str] | None = None
    action_names: Sequence[str] | None = None

    def __post_init__(self) -> None:
        whole("n_actions", self.n_actions, 2)
        if whole("depth", self.depth, 1) > MOST_DEPTH:
            raise InputError(
                f"depth must be at most {MOST_DEPTH}, 4096 leaves, got {self.depth}; no oracle can go deeper"
            )
        for limit in ("max_leaves", "max_features", "min_leaf_size"):
            if getattr(self, limit) is not None:
                whole(limit, getattr(self, limit), 1)
        object.__setattr__(self, "thresholds", check_thresholds(self.thresholds))

    def _on(self, contexts: Floats, names: Names) -> OpenedTrees:
        if self.min_leaf_size is not None and self.min_leaf_size > len(contexts):
            raise InputError(
                f"min_leaf_size = {self.min_leaf_size}, but there are only {len(contexts)} rows of contexts: "
                "no tree keeps it, not even one leaf; make it smaller"
            )
        return OpenedTrees(self, Literals.of(contexts, self.thresholds), names, contexts)

    def _terms(self, cuts: tuple[tuple[float, ...], ...], names: Names) -> Terms:
        tests = every_test(cuts)
        reason = self.no_terms(len(tests))
        if reason:
            raise InputError(reason)
        return _tree_terms(tests, self.n_actions, self.depth, names)

    def no_terms(self, p: int) -> str:
        """Return why trees over p literals have no recursion over totals that can be kept, or nothing if they have."""
        if self.limits:
            return "kept totals of trees know no max_leaves, max_features or min_leaf_size; put noise on contexts"
        if (2 * p) ** self.depth * self.n_actions > LARGEST:
            return (
                f"trees of depth {self.depth} over {p} literals have more than {LARGEST:,} terms; "
                "use less depth or fewer thresholds"
            )
        return ""

    @property
    def limits(self) -> Limits:
        """The structure limits."""
        return Limits(self.max_leaves, self.max_features, self.min_leaf_size)


class OpenedTrees(Opened):
    """Decision trees on fixed contexts.

    ``log_size`` is (2^D - 1) log p + 2^D log K, an upper bound: it counts full trees over p literals, not labelings.
    ``route`` is what the search goes through (policies/trees/routes.py).
    """

    def __init__(self, trees: DecisionTrees, literals: Literals, names: Names, contexts: Floats) -> None:
        """Take the literals of the trees on ``contexts`` (m, d)."""
        self._trees, self._literals, self._names, self._given = trees, literals, names, contexts
        self._limits = trees.limits
        self._depth = depth = trees.depth if len(literals) else 0
        self.n_actions = trees.n_actions
        self.group, self.contexts = literals.group, literals.contexts
        p = len(literals)
        self.log_size = float((2**depth - 1) * np.log(max(1, p)) + 2**depth * np.log(self.n_actions))
        self.cannot = {}
        if p * (2 * p) ** max(0, depth - 1) > LARGEST:
            self.cannot["program"] = (
                f"trees of depth {depth} over {p} literals need more than {LARGEST:,} columns; "
                "use less depth or fewer thresholds"
            )
        if (2 * p) ** max(0, depth - 2) > MOST_SUBTREES:
            reason = (
                f"a search of trees of depth {depth} over {p} literals looks at more than {MOST_SUBTREES:,} subtrees "
                "a question; use less depth or fewer thresholds"
            )
            self.cannot |= dict.fromkeys(("search", "action_weights"), reason)
        self.route = route(literals, depth)
        if self.route is not Route.LITERALS and (reason := too_many_cuts(literals, depth)):
            self.cannot["action_weights"] = reason
            if self.route is Route.FEATURES:
                self.cannot["search"] = reason
        if self._limits:
            reason = "the search over trees knows no max_leaves, max_features or min_leaf_size; use oracle kind 'milp'"
            self.cannot |= dict.fromkeys(("search", "action_weights"), reason)
        if no_terms := trees.no_terms(p):
            self.cannot["terms"] = no_terms
        self.can = (Opened.can | {"search", "action_weights", "fixed", "terms"}) - set(self.cannot)

    def program(self, *, constrained: bool = False) -> TreeEncoding:
        """Return the AND/OR encoding; an LP suffices unless leaves or features are limited or constraints are added."""
        return TreeEncoding(
            self._literals, self.n_actions, self._depth, self._limits, self._names, constrained=constrained
        )

    def search(self) -> Search:
        """Return the exact search."""
        # The compiler takes its time: only for those who search.
        from policies.trees.every_cut import EveryCutSearch
        from policies.trees.feature_search import FeaturePairSearch
        from policies.trees.search import TreeSearch

        searches = {Route.LITERALS: TreeSearch, Route.FEATURES: FeaturePairSearch, Route.ROOTS: EveryCutSearch}
        return searches[self.route](self._literals, self.n_actions, self._depth, self._names)

    def terms(self) -> Terms:
        """Return the leaves (path, action) over the literals that divide these contexts."""
        return _tree_terms(self._literals.tests, self.n_actions, self._depth, self._names)

    def policies(self) -> Iterator[DecisionTree]:
        """List all trees within the limits, small depths first; a split has two different sides."""
        for root in _all_nodes(self._literals.tests, self.n_actions, self._depth):
            if self._allowed(root):
                yield DecisionTree(root, self._names)

    def draw(self, rng: np.random.Generator) -> DecisionTree:
        """Return a random full tree: a path does not repeat a literal while others are left, siblings differ.

        Under structure limits the depth is random too, and the first allowed tree of many is taken (or one leaf).
        """
        tests = self._literals.tests
        if not self._limits:
            return DecisionTree(_random_node(tests, self.n_actions, self._depth, rng), self._names)
        for _ in range(1000):
            root = _random_node(tests, self.n_actions, int(rng.integers(self._trees.depth + 1)), rng)
            if self._allowed(root):
                return DecisionTree(root, self._names)
        return DecisionTree(Leaf(int(rng.integers(self.n_actions))), self._names)

    def fixed(self) -> DecisionTrees:
        """Return the class with these cut points, explicit from now on."""
        return self._trees.with_cuts_of(self._given, self._names)

    def _allowed(self, root: Node) -> bool:
        return not self._limits or self._limits.allow(root, self.contexts[self.group])


def _tree_terms(tests: list[Test], n_actions: int, depth: int, names: Names) -> Terms:
    from policies.trees.terms import TreeTerms  # the compiler takes its time: only for those who keep totals

    return TreeTerms(tests, n_actions, depth, names)


def _all_nodes(tests: list[Test], n_actions: int, depth: int) -> Iterator[Node]:
    yield from (Leaf(a) for a in range(n_actions))
    if depth == 0:
        return
    below = list(_all_nodes(tests, n_actions, depth - 1))
    for feature, threshold, binary in tests:
        for yes, no in product(below, below):
            if yes != no:
                yield Split(feature, threshold, yes, no, binary)


def _random_node(tests: list[Test], n_actions: int, depth: int, rng: np.random.Generator) -> Node:
    if depth == 0 or not tests:
        return Leaf(int(rng.integers(n_actions)))
    f = int(rng.integers(len(tests)))
    feature, threshold, binary = tests[f]
    rest = tests[:f] + tests[f + 1 :]
    yes = _random_node(rest, n_actions, depth - 1, rng)
    no = _random_node(rest, n_actions, depth - 1, rng)
    while no == yes:
        no = _random_node(rest, n_actions, depth - 1, rng)
    return Split(feature, threshold, yes, no, binary)
