"""Policies by definition: the best trees over raw features, and every way to write a policy of a small class.

``best`` knows no literals, bins or tables: a tree is made of tests ``x[feature] <= cut`` of all features and all cuts,
a box of intervals of features, a score of weights. ``written`` has the derivations that action weights count.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from itertools import combinations, permutations, product
from typing import Any

import numpy as np

from milpcb.types import Floats, Ints
from policies import BoxRules, DecisionTrees, FiniteClass, LinearRules, RuleLists, ThresholdRules
from policies.cuts import cut_points, every_cut
from policies.literals import Literals
from policies.trees.rule import Leaf

MOST_WRITTEN = 40_000


def totals(costs: Floats, labels: Ints) -> Floats:
    """Return the total costs (N,) of labelings (N, m)."""
    found = np.zeros(len(labels))
    for j, played in enumerate(labels.T):  # one context after the other: the table of all is long
        found += costs[j, played]
    return found


def profile(costs: Floats, labels: Ints, row: int) -> Floats:
    """Return (K,): the least total of labelings (N, m) that play each action at a row."""
    found = totals(costs, labels)
    return np.array([found[labels[:, row] == a].min(initial=np.inf) for a in range(costs.shape[1])])


def best(policies: Any, contexts: Floats, costs: Floats, row: int) -> Floats | None:
    """Return (K,): the least total of the policies that play each action at a row; None where nothing defines it."""
    if isinstance(policies, DecisionTrees):
        return _best_tree(policies, contexts, costs, row)
    if isinstance(policies, BoxRules):
        return profile(costs, boxed(policies, contexts), row)
    if isinstance(policies, LinearRules) and (contexts == np.rint(contexts)).all():
        return profile(costs, scored(policies, contexts), row)
    return None


# ------------------------------------------------------------------------------------------------ over raw features


def _best_tree(trees: DecisionTrees, contexts: Floats, costs: Floats, row: int) -> Floats:
    """Try every set of features and all tests; the best for a set of rows, a bit each, is found once."""
    m, d, K = *contexts.shape, costs.shape[1]
    bits, everyone, needed = 2 ** np.arange(m), 2**m - 1, Needed(trees, m)
    cuts = every_cut(contexts, trees.thresholds)
    tests = [(f, int(bits @ (contexts[:, f] <= cut))) for f, points in enumerate(cuts) for cut in points]

    def of(features: tuple[int, ...]) -> Floats:
        sides = {holds for f, holds in tests if f in features}

        @cache
        def below(rows: int, depth: int, leaves: int) -> Floats:
            here = np.flatnonzero(rows & bits)
            least = np.full(K, np.inf)
            if needed.kept_by(here):
                sums = costs[here].sum(axis=0)
                least = sums if rows >> row & 1 else np.full(K, sums.min())
            for holds in sides if depth and leaves != 1 else ():
                if (yes := rows & holds) and (no := rows & ~holds):
                    for left in range(1, leaves) if leaves else (0,):  # 0: leaves are not counted
                        both = below(yes, depth - 1, left) + below(no, depth - 1, leaves - left)
                        least = np.minimum(least, both)
            return least

        counted = trees.max_leaves or 0
        return below(everyone, trees.depth, counted if counted < 2**trees.depth else 0)

    sets = combinations(range(d), min(d, trees.max_features or d))
    return np.min([of(features) for features in sets], axis=0)


class Needed:
    """Rows that a leaf must hold: of all, and of each logged action."""

    def __init__(self, trees: DecisionTrees, m: int) -> None:
        counted = trees.logged_actions is not None
        self._logged = np.array(trees.logged_actions if counted else np.zeros(m, dtype=int))
        self._least = trees.min_leaf_size or 0, (trees.min_action_rows or 0) if counted else 0
        self._n_actions = trees.n_actions if counted else 1

    def kept_by(self, rows: Ints) -> bool:
        """Return whether a leaf may hold these rows, and no others."""
        counts = np.bincount(self._logged[rows], minlength=self._n_actions)
        return bool(len(rows) >= self._least[0] and counts.min() >= self._least[1])


def is_allowed(policies: Any, contexts: Floats, policy: Any) -> bool:
    """Return whether a tree keeps the limits of its class: depth, leaves, features and rows, counted in the tree."""
    if not isinstance(policies, DecisionTrees):
        return True
    needed, used, leaves, depths = Needed(policies, len(contexts)), set[int](), [], []

    def walk(node: Any, here: Ints, depth: int) -> None:
        if isinstance(node, Leaf):
            leaves.append(here)
            depths.append(depth)
            return
        used.add(node.feature)
        holds = contexts[here, node.feature] <= node.threshold
        walk(node.yes, here[holds], depth + 1)
        walk(node.no, here[~holds], depth + 1)

    walk(policy.root, np.arange(len(contexts)), 0)
    few = len(leaves) <= (policies.max_leaves or len(leaves)) and len(used) <= (policies.max_features or len(used))
    return few and max(depths) <= policies.depth and all(map(needed.kept_by, leaves))


def boxed(boxes: BoxRules, contexts: Floats) -> Ints:
    """Return the labels of all boxes: an interval of each of so many features, an action inside and one outside."""
    sides: list[list[Any]] = []
    for column, points in zip(contexts.T, every_cut(contexts, boxes.thresholds), strict=True):
        ends = [-np.inf, *points, np.inf]
        sides.append([(low < column) & (column <= high) for low, high in combinations(ends, 2)])
    held = {np.ones(len(contexts), bool).tobytes()}
    for used in combinations(range(len(sides)), min(len(sides), boxes.max_features)):
        held |= {np.all(parts, axis=0).tobytes() for parts in product(*(sides[f] for f in used))}
    actions = list(product(range(boxes.n_actions), repeat=2))
    return np.array([np.where(np.frombuffer(inside, dtype=bool), a, b) for inside in held for a, b in actions])


def scored(rules: LinearRules, points: Floats) -> Ints:
    """Return all labels by weights, at most so many features having some, on integers."""
    if rules.scores == "each":
        return _highest(rules, points)
    found, d = set[tuple[int, ...]](), points.shape[1]
    for weights in product(range(-int(rules.max_weight or 0), int(rules.max_weight or 0) + 1), repeat=d):
        if np.count_nonzero(weights) <= (rules.max_features or d):
            scores = points @ np.array(weights)
            for cuts in product([*np.unique(scores), np.inf], repeat=rules.n_actions - 1):
                found.add(tuple((scores[:, None] >= np.array(cuts)).sum(axis=1).tolist()))
    return np.array(sorted(found))


def _highest(rules: LinearRules, points: Floats) -> Ints:
    """Return those by the highest of K scores, of weights and bases in a box."""
    found, K, d = set[tuple[int, ...]](), rules.n_actions, points.shape[1]
    for chosen in product(range(-rules.max_weight, rules.max_weight + 1), repeat=K * d):
        weights = np.reshape(chosen, (d, K))
        if np.count_nonzero(weights.any(axis=1)) > (rules.max_features or d):
            continue
        scores = points @ weights
        furthest = (K - 1) * (int(np.ptp(scores)) + 1)
        bases = np.array(list(product(range(-furthest, furthest + 1), repeat=K - 1)))
        labels = (scores + np.pad(bases, ((0, 0), (1, 0)))[:, None]).argmax(axis=2)
        found |= set(map(tuple, np.unique(labels, axis=0).tolist()))
    return np.array(sorted(found))


# ------------------------------------------------------------------------------------------------ derivations


def written(policies: Any, contexts: Floats, opened: Any) -> Ints | None:
    """Return the labels (N, m) of every way to write a policy; None where they are not listed, or are too many."""
    find = DERIVATIONS.get(type(policies))
    return opened.labelings() if find is None else find(policies, contexts, opened)


def _of_trees(trees: Any, contexts: Floats, opened: Any) -> Ints | None:
    """Any literal at each inner node, any action at each leaf; under limits each tree within them."""
    if trees.max_features:
        return None
    literals, K, count = Literals.of(contexts, trees.thresholds), opened.n_actions, opened.n_actions
    truth, m, needed = literals.truth[literals.group], len(contexts), Needed(trees, len(contexts))
    for _ in range(trees.depth):
        count = len(literals) * count**2 + K * bool(trees.limits)
    if count > MOST_WRITTEN:
        return None

    def below(depth: int, here: Ints) -> list[tuple[int, Any]]:
        """Return the leaves and the labels, 0 elsewhere, of each tree on the contexts ``here``."""
        stopped = [(1, np.where(np.isin(np.arange(m), here), a, 0)) for a in range(K) if needed.kept_by(here)]
        if depth == 0 or not len(literals):
            return stopped
        grown = [
            (leaves + more, yes + no)
            for holds in truth.T
            for leaves, yes in below(depth - 1, here[holds[here]])
            for more, no in below(depth - 1, here[~holds[here]])
        ]
        return grown + (stopped if trees.limits else [])

    most = trees.max_leaves or 2**trees.depth
    found = [labels for leaves, labels in below(trees.depth, np.arange(m)) if leaves <= most]
    return np.array(found, dtype=np.int64).reshape(-1, m)


def _of_thresholds(rules: Any, contexts: Floats, opened: Any) -> Ints:
    """A feature, at most so many of its cuts that divide the contexts differently, any action for each piece."""
    found = []
    for column, cuts in zip(contexts.T, cut_points(contexts, rules.thresholds), strict=True):
        different = {tuple(column <= cut): cut for cut in cuts}
        for used in range(min(rules.max_cuts, len(different)) + 1) if different else ():
            for chosen in combinations(sorted(different.values()), used):
                piece = np.searchsorted(chosen, column)
                found += [np.array(actions)[piece] for actions in product(range(opened.n_actions), repeat=used + 1)]
    return np.array(found or [np.full(len(contexts), a) for a in range(opened.n_actions)])


def _of_lists(lists: Any, contexts: Floats, opened: Any) -> Ints | None:
    """Different literals, a side that goes on for all but the last, an action for each rule and the default.

    Of the last literal it is the side that holds on fewer contexts that ends there.
    """
    literals, found = Literals.of(contexts, lists.thresholds), []
    truth = (literals.truth ^ (literals.truth.mean(axis=0) > 0.5))[literals.group]
    depth = min(lists.max_rules, truth.shape[1])
    if (2 * max(1, truth.shape[1])) ** depth * opened.n_actions ** (depth + 1) > MOST_WRITTEN:
        return None
    for order in permutations(range(truth.shape[1]), depth):
        for sides in product((False, True), repeat=max(0, depth - 1)):
            for *actions, default in product(range(opened.n_actions), repeat=depth + 1):
                labels = np.full(len(truth), default)
                for literal, side, action in list(zip(order, (*sides, False), actions, strict=False))[::-1]:
                    labels[truth[:, literal] != side] = action
                found.append(labels)
    return np.array(found)


def _of_scores(rules: Any, contexts: Floats, opened: Any) -> Ints | None:
    """A set of columns, and a labeling of all combinations of their values; None where columns are alike."""
    del contexts
    points = opened.scored.points
    if len(opened.scored.columns) < points.shape[1]:
        return None
    found: list[Ints] = []
    for support in combinations(range(points.shape[1]), opened.scored.limit):
        grid = np.array(list(product(*(np.unique(points[:, c]) for c in support))))
        at = [int(np.flatnonzero((grid == point).all(axis=1))[0]) for point in points[:, support]]
        found += [labels[at] for labels in scored(replace(rules, max_features=None), grid)]
    return np.array(found)[:, opened.group]


DERIVATIONS: dict[type, Callable[..., Ints | None]] = {
    DecisionTrees: _of_trees,
    ThresholdRules: _of_thresholds,
    RuleLists: _of_lists,
    LinearRules: _of_scores,
    FiniteClass: lambda rules, _contexts, _opened: np.asarray(rules.table),  # repeats included
}
