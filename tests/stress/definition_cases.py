"""Small random classes and costs in any unit, and what is cheapest by definition, over raw features; see definition.py.

Nothing here knows literals, bins or tables: a tree is made of tests ``x[feature] <= cut`` of all features and all cuts,
a box of intervals of features, a score of whole weights.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import cache
from itertools import combinations, product
from typing import Any

import numpy as np

from milpcb.types import Floats, Ints
from policies import BoxRules, DecisionTrees, LinearRules
from policies.cuts import every_cut
from policies.trees.rule import Leaf

EXPONENTS = (-1000, -300, -60, -20, 0, 0, 0, 20, 60, 300, 900)


class Case(ABC):
    """A class on contexts (m, d), costs (m, K) times a unit, and a row that is asked about."""

    def __init__(self, policies: Any, contexts: Floats, rng: np.random.Generator) -> None:
        self.policies, self.contexts = policies, contexts
        shape = (len(contexts), policies.n_actions)
        self.whole = bool(rng.random() < 0.6)
        self.costs: Floats = rng.integers(-9, 10, shape).astype(float) if self.whole else rng.normal(size=shape)
        self.unit = 2.0 ** int(rng.choice(EXPONENTS))
        self.scaled = self.costs * self.unit
        self.row = int(rng.integers(len(contexts)))
        self.range = float((self.costs.max(axis=1) - self.costs.min(axis=1)).sum())

    @abstractmethod
    def profile(self, row: int) -> Floats:
        """Return (K,): the least total of ``scaled`` over the policies that play each action at a row."""

    @abstractmethod
    def allows(self, policy: Any, labels: Ints) -> bool:
        """Return whether a policy with these labels (m,) is of the class."""

    def total(self, labels: Ints) -> float:
        """Return the total of ``scaled`` under labels (m,)."""
        return float(self.scaled[np.arange(len(labels)), labels].sum())


class TreeCase(Case):
    """Trees: any test at each node, any action at each leaf, counted features, leaves and rows."""

    def profile(self, row: int) -> Floats:
        """Try every set of features; what is best for a set of rows is found once."""
        trees = self.policies
        cuts = every_cut(self.contexts, trees.thresholds)
        tests = [(f, self.contexts[:, f] <= cut) for f, points in enumerate(cuts) for cut in points]
        d, m, K = self.contexts.shape[1], *self.costs.shape
        logged = np.array(trees.logged_actions) if trees.logged_actions is not None else None

        def enough(here: Ints) -> bool:
            counts = np.bincount(logged[here], minlength=K) if logged is not None else [m]
            return len(here) >= (trees.min_leaf_size or 0) and min(counts) >= (trees.min_action_rows or 0)

        found = np.full(K, np.inf)
        for used in combinations(range(d), min(d, trees.max_features or d)):

            @cache
            def best(rows: bytes, depth: int, leaves: int, used: tuple[int, ...] = used) -> tuple[float, ...]:
                here = np.flatnonzero(np.frombuffer(rows, dtype=bool))
                totals = self.costs[here].sum(axis=0)
                least = np.full(K, np.inf)
                if leaves == 1 and enough(here):
                    least = totals if row in here else np.full(K, totals.min())
                if depth == 0 or leaves == 1:
                    return tuple(least)
                held = np.frombuffer(rows, dtype=bool)
                for f, holds in tests:
                    if f not in used or not (held & holds).any() or not (held & ~holds).any():
                        continue
                    for left in range(1, leaves):
                        below = best((held & holds).tobytes(), depth - 1, left)
                        above = best((held & ~holds).tobytes(), depth - 1, leaves - left)
                        least = np.minimum(least, np.add(below, above))
                return tuple(least)

            most = min(2**trees.depth, trees.max_leaves or 2**trees.depth)
            everyone = np.ones(m, dtype=bool).tobytes()
            for leaves in range(1, most + 1):
                found = np.minimum(found, best(everyone, trees.depth, leaves))
        return found * self.unit

    def allows(self, policy: Any, labels: Ints) -> bool:
        """Count depth, leaves, features and rows of the tree itself."""
        del labels
        trees, used, leaves = self.policies, set(), []

        def walk(node: Any, here: Ints, depth: int) -> int:
            if isinstance(node, Leaf):
                leaves.append(here)
                return depth
            used.add(node.feature)
            holds = self.contexts[here, node.feature] <= node.threshold
            return max(walk(node.yes, here[holds], depth + 1), walk(node.no, here[~holds], depth + 1))

        depth = walk(policy.root, np.arange(len(self.contexts)), 0)
        logged = np.array(trees.logged_actions) if trees.logged_actions is not None else None
        return (
            depth <= trees.depth
            and len(leaves) <= (trees.max_leaves or len(leaves))
            and len(used) <= (trees.max_features or len(used))
            and all(len(here) >= (trees.min_leaf_size or 0) for here in leaves)
            and (
                logged is None
                or all(
                    np.bincount(logged[here], minlength=trees.n_actions).min() >= trees.min_action_rows
                    for here in leaves
                )
            )
        )


class ListedCase(Case):
    """Classes whose labelings are listed by definition."""

    def __init__(self, policies: Any, contexts: Floats, rng: np.random.Generator, labelings: set[tuple[int, ...]]):
        super().__init__(policies, contexts, rng)
        self._labelings = np.array(sorted(labelings))

    def profile(self, row: int) -> Floats:
        """Go through the list."""
        totals = self.costs[np.arange(len(self.costs)), self._labelings].sum(axis=1)
        played = self._labelings[:, row]
        least = [totals[played == a].min(initial=np.inf) for a in range(self.policies.n_actions)]
        return np.array(least) * self.unit

    def allows(self, policy: Any, labels: Ints) -> bool:
        """Look the labels up."""
        del policy
        return bool((self._labelings == labels).all(axis=1).any())


def _contexts(rng: np.random.Generator, most_rows: int = 8, most_features: int = 4) -> Floats:
    """Return a few contexts; a column may repeat another one, turn it round, or divide less or more than it."""
    shape = (int(rng.integers(3, most_rows + 1)), int(rng.integers(1, most_features + 1)))
    drawn: Floats = [
        rng.integers(0, 2, shape).astype(float),
        rng.integers(0, 4, shape).astype(float),
        np.round(rng.normal(size=shape), 2),
    ][rng.integers(3)]
    for f in range(1, shape[1]):
        kind, earlier = rng.integers(6), drawn[:, int(rng.integers(f))]
        if kind == 0:
            drawn[:, f] = earlier.max() - earlier
        elif kind == 1:
            drawn[:, f] = np.minimum(earlier, np.median(earlier))
        elif kind == 2:
            drawn[:, f] = np.unique(earlier, return_inverse=True)[1]
    return drawn


def _cuts(contexts: Floats, rng: np.random.Generator) -> Any:
    """Return thresholds of all three sorts."""
    kind = rng.integers(3)
    if kind == 0:
        return "all"
    if kind == 1:
        return int(rng.integers(1, 4))
    low, high = contexts.min() - 0.5, contexts.max() + 0.5
    return [sorted(rng.uniform(low, high, rng.integers(0, 4)).round(2)) for _ in range(contexts.shape[1])]


def _trees(rng: np.random.Generator, *, limited: bool) -> Case:
    n_actions, depth = int(rng.integers(2, 4)), int(rng.integers(1, 4))
    contexts = _contexts(rng, most_features=4 if depth < 3 else 3)
    options: dict[str, Any] = {}
    if limited:
        options["max_features"] = int(rng.integers(1, 4))
        if rng.random() < 0.3:
            options["max_leaves"] = int(rng.integers(1, 7))
        if rng.random() < 0.3:
            options["min_leaf_size"] = int(rng.integers(1, 4))
        if rng.random() < 0.15:
            actions = np.arange(len(contexts)) % n_actions
            options |= {"min_action_rows": 1, "logged_actions": rng.permutation(actions)}
    trees = DecisionTrees(n_actions, depth=depth, thresholds=_cuts(contexts, rng), **options)
    return TreeCase(trees, contexts, rng)


def _boxes(rng: np.random.Generator) -> Case:
    n_actions, contexts = int(rng.integers(2, 4)), _contexts(rng, most_features=3)
    boxes = BoxRules(n_actions, max_features=int(rng.integers(1, 3)), thresholds=_cuts(contexts, rng))
    sides: list[list[Any]] = []
    for column, points in zip(contexts.T, every_cut(contexts, boxes.thresholds), strict=True):
        ends = [-np.inf, *points, np.inf]
        sides.append([(low < column) & (column <= high) for low, high in combinations(ends, 2)])
    held = [np.ones(len(contexts), bool)]
    for used in combinations(range(len(sides)), min(len(sides), boxes.max_features)):
        held += [np.all(parts, axis=0) for parts in product(*(sides[f] for f in used))]
    actions = list(product(range(n_actions), repeat=2))
    labelings = {tuple(np.where(inside, a, b).tolist()) for inside in held for a, b in actions}
    return ListedCase(boxes, contexts, rng, labelings)


def _scores(rng: np.random.Generator) -> Case:
    n_actions, contexts = int(rng.integers(2, 4)), _contexts(rng, most_rows=6, most_features=3)
    contexts = np.unique(contexts, return_inverse=True)[1].reshape(contexts.shape).astype(float)  # integers
    d, limit = len(contexts.T), int(rng.integers(1, 4))
    rules = LinearRules(n_actions, max_weight=int(rng.integers(1, 3)), max_features=limit)
    labelings = set()
    for weights in product(range(-rules.max_weight, rules.max_weight + 1), repeat=d):  # type: ignore[operator]
        if np.count_nonzero(weights) <= limit:
            scores = contexts @ np.array(weights)
            for cuts in product([*np.unique(scores), np.inf], repeat=n_actions - 1):
                labelings.add(tuple((scores[:, None] >= np.array(cuts)).sum(axis=1).tolist()))
    return ListedCase(rules, contexts, rng, labelings)


CLASSES: dict[str, Callable[[np.random.Generator], Case]] = {
    "trees that count features": lambda rng: _trees(rng, limited=True),
    "trees": lambda rng: _trees(rng, limited=False),
    "boxes": _boxes,
    "scores": _scores,
}


def draw_case(name: str, rng: np.random.Generator) -> Case:
    """Return a random case of the class called ``name``."""
    return CLASSES[name](rng)
