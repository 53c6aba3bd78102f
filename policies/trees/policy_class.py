"""The class of decision trees: its settings, and the class on given contexts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import comb

import numpy as np

from milpcb.core.checks import whole, whole_array
from milpcb.core.decimals import beyond, spaced
from milpcb.errors import InputError
from milpcb.protocols import Listing, Opened, Search, Terms, Within
from milpcb.types import Floats
from policies.cuts import CuttingClass, Thresholds, check_thresholds
from policies.literals import LARGEST, Literals, every_test
from policies.names import Names
from policies.trees.limits import Limits, TreesOn, context_counts
from policies.trees.program import TreeEncoding
from policies.trees.routes import (
    Route,
    fewest_pairs,
    no_states,
    route,
    too_many_pairs,
    too_slow,
)
from policies.trees.rule import DecisionTree, Leaf, Node, all_nodes, random_node

MOST_DEPTH = 12
COSTS_FROM = 4  # the depth from which states take less time than paths, of which there are D! times as many
MOST_SUBTREES = 10**8  # of depth 2, over all sets of features: hours


@dataclass(frozen=True)
class DecisionTrees(CuttingClass):
    """Decision trees of a given depth.

    Parameters
    ----------
    n_actions : K >= 2
    depth : number of tests on the longest path; 0 is one action for all
    thresholds : number of quantile cuts per feature, "all" for one between any two values, or one list per feature
    max_leaves, max_features : limits on the number of leaves and of distinct features of a tree
    min_leaf_size : every leaf holds at least this many rows of the contexts
    min_action_rows, logged_actions : every leaf holds at least ``min_action_rows`` rows of every action, by the action
        0..K-1 that was logged in each row of the contexts, ``logged_actions`` (m,). Estimates from a log in a
        leaf then rest on so many rows, for every action of the leaf
    feature_names, action_names : used in printed rules

    """

    n_actions: int
    depth: int = 2
    thresholds: Thresholds = 3
    max_leaves: int | None = None
    max_features: int | None = None
    min_leaf_size: int | None = None
    min_action_rows: int | None = None
    logged_actions: Sequence[int] | None = None
    feature_names: Sequence[str] | None = None
    action_names: Sequence[str] | None = None

    def __post_init__(self) -> None:
        whole("n_actions", self.n_actions, 2)
        if whole("depth", self.depth, 0) > MOST_DEPTH:
            raise InputError(
                f"depth must be at most {MOST_DEPTH}, 4096 leaves, got {self.depth}; no oracle can go deeper"
            )
        for limit in ("max_leaves", "max_features", "min_leaf_size", "min_action_rows"):
            if getattr(self, limit) is not None:
                whole(limit, getattr(self, limit), 1)
        if (self.min_action_rows is None) != (self.logged_actions is None):
            raise InputError(
                "min_action_rows and logged_actions belong together: give the least number of rows of each action in a "
                "leaf, and the action that was logged in each row of the contexts"
            )
        if self.logged_actions is not None:
            object.__setattr__(self, "logged_actions", _logged(self.logged_actions, self.n_actions))
        object.__setattr__(self, "thresholds", check_thresholds(self.thresholds))

    def _on(self, contexts: Floats, names: Names) -> OpenedTrees:
        if self.logged_actions is not None and len(self.logged_actions) != len(contexts):
            n, m = len(self.logged_actions), len(contexts)
            raise InputError(f"logged_actions lists {n} actions, but there are {m} rows of contexts")
        return OpenedTrees(self, self._literals(contexts), names, contexts)

    def _literals(self, contexts: Floats) -> Literals:
        """Return the tests of a tree on ``contexts`` (m, d); each feature's own only where few features may be used."""
        literals = Literals.of(contexts, self.thresholds)
        n_features = len(literals.features)
        if self.limits.features_of(n_features, self.depth) == n_features:
            return literals
        return Literals.of(contexts, self.thresholds, by_feature=True)

    def _terms(self, cuts: tuple[tuple[float, ...], ...], names: Names) -> Terms:
        tests = every_test(cuts)
        if reason := self.no_terms(len(tests)):
            raise InputError(reason)
        from policies.trees.terms import TreeTerms  # the compiler takes its time: only for those who keep totals

        return TreeTerms(tests, self.n_actions, self.depth, names)

    def no_terms(self, p: int) -> str:
        """Return why trees over p literals have no recursion over kept totals; "" if they have."""
        if self.limits and p:
            return (
                "trees with max_leaves, max_features, min_leaf_size or min_action_rows have no totals that can be kept "
                "from round to round; give all contexts beforehand, and put noise on contexts"
            )
        counted = f"trees of depth {self.depth} over {p} literals have {{}} terms"
        terms = (2 * p) ** self.depth * self.n_actions
        return beyond(terms, LARGEST, counted, "use less depth or fewer thresholds")

    @property
    def limits(self) -> Limits:
        """The structure limits."""
        return Limits(self.max_leaves, self.max_features, self.min_leaf_size, self.min_action_rows)


class OpenedTrees(Opened):
    """Decision trees on fixed contexts.

    ``log_size`` is (2^D - 1) log p + 2^D log K, an upper bound: it counts full trees over p literals, not labelings,
    and of the limits it uses only that a tree has more leaves than depth. ``route`` is the search that is chosen
    (policies/trees/routes.py).
    """

    search_keeps_rows = True

    def __init__(self, trees: DecisionTrees, literals: Literals, names: Names, contexts: Floats) -> None:
        """Take the literals of the trees on ``contexts`` (m, d)."""
        self._trees, self._literals, self._names, self._given = trees, literals, names, contexts
        self._limits = trees.limits
        self._depth = depth = min(trees.depth, (trees.max_leaves or 2**trees.depth) - 1) if len(literals) else 0
        self.n_actions = trees.n_actions
        self.group, self.contexts = literals.group, literals.contexts
        self._counts = context_counts(self.group, trees.n_actions, trees.logged_actions)
        if self._limits.too_small(self._counts.sum(axis=0)):
            raise InputError(
                f"not even one leaf of all {len(contexts)} rows of contexts keeps min_leaf_size and min_action_rows; "
                "make them smaller"
            )
        self._every = TreesOn(literals, self.n_actions, depth, names, self._limits, self._counts)
        p = len(literals)
        self.log_size = float((2**depth - 1) * np.log(max(1, p)) + 2**depth * np.log(self.n_actions))
        self.route = route(self._every)
        self.keeps_totals = depth < COSTS_FROM or self.route is not Route.LITERALS
        self.unsupported = {what: reason for what, reason in self._lacking().items() if reason}
        every = Opened.capabilities | {"search", "action_weights", "fixed", "totals", "constraints", "time_limit"}
        self.capabilities = every - self.unsupported.keys()

    def _lacking(self) -> dict[str, str]:
        """Return the reasons for what may be lacking, each empty where nothing is against it."""
        limits, depth, p, used = self._limits, self._depth, len(self._literals), len(self._literals.features)
        columns = f"trees of depth {depth} over {p} literals need {{}} columns"
        by_roots, n_sets = self.route is Route.ROOTS, comb(used, limits.features_of(used, depth)) if limits else 1
        found = {
            "program": beyond(p * (2 * p) ** max(0, depth - 1), LARGEST, columns, "use less depth or fewer thresholds"),
            "search": too_slow(self._every) if by_roots else "",
            "totals": self._trees.no_terms(p),
            "constraints": too_many_pairs(fewest_pairs(p, depth)),
        }
        if found["program"] and found["search"]:
            found["program"] = found["search"]
        if by_roots and (reason := no_states(self._every, Route.FEATURES)):
            found["action_weights"] = f"action weights are sums over all trees, by states: {reason}"
        if limits.min_action_rows is not None:
            found["fixed"] = "logged_actions belong to the contexts they were given for, so that no others may arrive"
        if n_sets > 1:
            found["action_weights"] = (
                "trees with max_features are found set by set of features, and some are in several sets: their weights "
                "do not add up; use oracle kind 'enumeration'"
            )
            found["constraints"] = (
                "the search holds no side constraints together with max_features, as a subtree then depends on more "
                "than the contexts it is for; use oracle kind 'milp'"
            )
            if not by_roots and n_sets * p ** max(1, depth - 2) > MOST_SUBTREES:
                what = f"max_features = {limits.max_features} leaves {spaced(n_sets)} sets to search"
                found["search"] = f"{what}; use oracle kind 'milp'"
        return found

    def program(self, *, constrained: bool = False) -> TreeEncoding:
        """Return the AND/OR encoding; an LP suffices unless leaves or features are limited or constraints are added."""
        return TreeEncoding(self._every, constrained=constrained)

    def search_within(self, time_limit: float) -> Search:
        """Return the search by root cuts, whatever the route: it has bounds and a best tree at any moment."""
        from policies.trees.every_cut import EveryCutSearch

        if self._depth < 2:  # over at once
            return self.search()
        return EveryCutSearch(self._every, time_limit=time_limit)

    def search(self) -> Search:
        # The compiler takes its time: only for those who search.
        from policies.trees.every_cut import EveryCutSearch
        from policies.trees.search import TreeSearch

        if self.route is Route.ROOTS:
            return EveryCutSearch(self._every)
        return TreeSearch(self._every, by_codes=self.route is Route.FEATURES)

    def describe_search(self) -> str:
        p, d, g = len(self._literals), len(self._literals.features), len(self.contexts)
        limits = " within the limits of size," if self._limits else ""
        return (
            f"all trees of depth {self._depth}{limits} by {self.route}: the fewest steps "
            f"for {p} tests of {d} features on {g} contexts"
        )

    def terms(self) -> Terms:
        from policies.trees.terms import TreeTerms

        return TreeTerms(self._literals.tests, self.n_actions, self._depth, self._names)

    def near(self, asked: Within) -> Listing | None:
        return self.terms().near(self.contexts, asked) if "totals" in self.capabilities else None

    def policies(self) -> Iterator[DecisionTree]:
        for root in all_nodes(self._literals.tests, self.n_actions, self._depth):
            if self._allowed(root):
                yield DecisionTree(root, self._names)

    def draw(self, rng: np.random.Generator) -> DecisionTree:
        """Return a random full tree; under limits of a random depth, the first allowed of many, or one leaf."""
        tests = self._literals.tests
        if not self._limits:
            return DecisionTree(random_node(tests, self.n_actions, self._depth, rng), self._names)
        for _ in range(1000):
            root = random_node(tests, self.n_actions, int(rng.integers(self._trees.depth + 1)), rng)
            if self._allowed(root):
                return DecisionTree(root, self._names)
        return DecisionTree(Leaf(int(rng.integers(self.n_actions))), self._names)

    def fixed(self) -> DecisionTrees:
        return self._trees.with_cuts_of(self._given, self._names)

    def _allowed(self, root: Node) -> bool:
        return not self._limits or self._limits.allow(root, self.contexts, self._counts)


def _logged(actions: Sequence[int], n_actions: int) -> tuple[int, ...]:
    logged = whole_array("logged_actions", actions)
    if logged.ndim != 1 or logged.min(initial=0) < 0 or logged.max(initial=0) >= n_actions:
        raise InputError(f"logged_actions must be one action 0..{n_actions - 1} for each row of the contexts")
    return tuple(logged.tolist())
