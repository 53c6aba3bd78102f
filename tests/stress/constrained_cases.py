"""Small random classes under side constraints, and by definition every way to write a policy of each."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations, permutations, product
from typing import Any

import numpy as np

from milpcb.constraints import Constraint, LabelConstraint, always, bind_to, mean_at_most, never, parity, share_at_most
from milpcb.protocols import Opened, PolicyClass
from milpcb.types import Floats, Ints
from policies import (
    BoxRules,
    DecisionTrees,
    FiniteClass,
    LinearRules,
    MonotoneRules,
    RuleLists,
    ThresholdRules,
)
from policies.cuts import cut_points
from policies.literals import Literals, Test
from policies.trees.limits import context_counts
from policies.trees.rule import DecisionTree, Leaf, Node, Split


@dataclass(frozen=True)
class Case:
    """A class on contexts (m, d), side constraints, costs (m, K), and a row that is asked about."""

    policies: PolicyClass
    contexts: Floats
    constraints: list[LabelConstraint]
    costs: Floats
    row: int


def draw_case(name: str, rng: np.random.Generator) -> Case:
    """Return a random case of the class called ``name``."""
    n_actions = int(rng.integers(2, 4))
    policies, contexts = CLASSES[name](n_actions, rng)
    shape = (len(contexts), n_actions)
    labels = policies.on(contexts).draw(rng).predict(contexts)
    n_rows, constraints = int(rng.integers(1, 4)), []
    for _ in range(n_rows):
        constraints += CONSTRAINTS[rng.integers(len(CONSTRAINTS))](labels, shape, rng)
    costs = rng.integers(-9, 10, shape).astype(float) if rng.random() < 0.5 else rng.normal(size=shape)
    rules = bind_to(constraints, contexts, (), range(n_actions))
    return Case(policies, contexts, rules, costs, int(rng.integers(len(contexts))))


# ------------------------------------------------------------------------------------------------ classes


def _contexts(rng: np.random.Generator, most_features: int = 3) -> Floats:
    """Return a few contexts, of yes and no, of small integers or of reals; some rows repeat."""
    shape = (int(rng.integers(3, 9)), int(rng.integers(1, most_features + 1)))
    drawn: Floats = [
        rng.integers(0, 2, shape).astype(float),
        rng.integers(-1, 3, shape).astype(float),
        np.round(rng.normal(size=shape), 2),
    ][rng.integers(3)]
    return drawn[np.append(np.arange(len(drawn)), rng.integers(len(drawn)))]


def _trees(n_actions: int, rng: np.random.Generator) -> tuple[PolicyClass, Floats]:
    depth = int(rng.integers(1, 4))
    if depth < 3:
        return DecisionTrees(n_actions, depth=depth, thresholds=int(rng.integers(1, 3))), _contexts(rng)
    return DecisionTrees(n_actions, depth=3, thresholds=1), _contexts(rng)[:, : 4 - n_actions]


def _limited_trees(n_actions: int, rng: np.random.Generator) -> tuple[PolicyClass, Floats]:
    depth = int(rng.integers(1, 4))
    contexts = _contexts(rng)[:, : 3 if depth == 1 else 2 if depth == 2 else 1]
    limits: dict[str, Any] = {"max_leaves": int(rng.integers(1, 7)), "min_leaf_size": int(rng.integers(1, 3))}
    if rng.random() < 0.3:
        limits = {"min_action_rows": 1, "logged_actions": rng.permutation(np.arange(len(contexts)) % n_actions)}
    elif rng.random() < 0.7:
        del limits[list(limits)[rng.integers(2)]]
    return DecisionTrees(n_actions, depth=depth, thresholds=1, **limits), contexts


def _thresholds(n_actions: int, rng: np.random.Generator) -> tuple[PolicyClass, Floats]:
    max_cuts, thresholds = rng.integers(1, 4), rng.integers(1, 5)
    return ThresholdRules(n_actions, max_cuts=int(max_cuts), thresholds=int(thresholds)), _contexts(rng)


def _boxes(n_actions: int, rng: np.random.Generator) -> tuple[PolicyClass, Floats]:
    max_features, thresholds = rng.integers(1, 3), rng.integers(1, 5)
    return BoxRules(n_actions, max_features=int(max_features), thresholds=int(thresholds)), _contexts(rng)


def _lists(n_actions: int, rng: np.random.Generator) -> tuple[PolicyClass, Floats]:
    max_rules, thresholds = int(rng.integers(1, 4)), int(rng.integers(1, 4))
    contexts = _contexts(rng) if max_rules < 3 else _contexts(rng, 4 - n_actions + 1)
    return RuleLists(n_actions, max_rules=max_rules, thresholds=thresholds if max_rules < 3 else 1), contexts


def _linear(n_actions: int, rng: np.random.Generator) -> tuple[PolicyClass, Floats]:
    contexts = _contexts(rng)
    limit = [None, *range(1, contexts.shape[1] + 1)][rng.integers(contexts.shape[1] + 1)]
    return LinearRules(n_actions, max_weight=int(rng.integers(1, 3)), max_features=limit, thresholds=2), contexts


def _finite(n_actions: int, rng: np.random.Generator) -> tuple[PolicyClass, Floats]:
    contexts = _contexts(rng)
    return FiniteClass(rng.integers(0, n_actions, (int(rng.integers(1, 60)), len(contexts))), n_actions), contexts


def _monotone(n_actions: int, rng: np.random.Generator) -> tuple[PolicyClass, Floats]:
    return MonotoneRules(n_actions), _contexts(rng)[-6:]


CLASSES: dict[str, Callable[[int, np.random.Generator], tuple[PolicyClass, Floats]]] = {
    "decision_trees": _trees,
    "limited_trees": _limited_trees,
    "threshold_rules": _thresholds,
    "box_rules": _boxes,
    "rule_lists": _lists,
    "linear_rules": _linear,
    "finite_class": _finite,
    "monotone_rules": _monotone,
}

# ------------------------------------------------------------------------------------------------ constraints

# Each is made so that the policy with these labels (m,) keeps it, often exactly; together with others some are not kept
# by any policy after ``_tight``.


def _budget(labels: Ints, shape: tuple[int, int], rng: np.random.Generator) -> Sequence[Constraint]:
    action = int(rng.integers(shape[1]))
    return [share_at_most(action, float(np.mean(labels == action)))]


def _parity(labels: Ints, shape: tuple[int, int], rng: np.random.Generator) -> Sequence[Constraint]:
    groups = rng.permutation(np.arange(shape[0]) % 2)
    action = int(rng.integers(shape[1]))
    rates = [float(np.mean(labels[groups == side] == action)) for side in (0, 1)]
    return [parity(action, groups, abs(rates[0] - rates[1]))]


def _mean(labels: Ints, shape: tuple[int, int], rng: np.random.Generator) -> Sequence[Constraint]:
    outcome = rng.normal(size=shape)
    return [mean_at_most(outcome, float(outcome[np.arange(shape[0]), labels].mean()))]


def _guard_rails(labels: Ints, shape: tuple[int, int], rng: np.random.Generator) -> Sequence[Constraint]:
    row = int(rng.integers(shape[0]))
    if rng.random() < 0.5:
        return [always(int(labels[row]), rows=[row])]
    action = int((labels[row] + rng.integers(1, shape[1])) % shape[1])
    return [never(action, rows=[row])]


def _weights(labels: Ints, shape: tuple[int, int], rng: np.random.Generator) -> Sequence[LabelConstraint]:
    """Return any weights, with a bound that is attained exactly, one that leaves room, or two."""
    weights = rng.integers(-3, 4, shape).astype(float) if rng.random() < 0.5 else rng.normal(size=shape)
    total = float(weights[np.arange(shape[0]), labels].sum())
    above = LabelConstraint(weights, total + float(rng.integers(2)) * abs(float(rng.normal())), "above")
    below = LabelConstraint(-weights, -total + float(rng.integers(3)), "below")
    return [above, below] if rng.random() < 0.3 else [above]


def _tight(labels: Ints, shape: tuple[int, int], rng: np.random.Generator) -> Sequence[LabelConstraint]:
    """Return whole weights with a bound somewhere in their range: with or without a policy that keeps it."""
    weights = rng.integers(-3, 4, shape).astype(float)
    least, most = weights.min(axis=1).sum(), weights[np.arange(shape[0]), labels].sum()
    return [LabelConstraint(weights, float(rng.integers(least, most + 1)), "tight")]


CONSTRAINTS: list[Callable[..., Sequence[Constraint]]] = [
    _budget, _parity, _mean, _guard_rails, _weights, _weights, _tight,
]  # fmt: skip

# ------------------------------------------------------------------------------------------------ derivations


def derivations(case: Case, opened: Opened) -> Ints | None:
    """Return the labels (N, m) of every way to write a policy, which action weights count; None where not listed."""
    find = DERIVATIONS.get(type(case.policies))
    return opened.labelings() if find is None else find(case.policies, case.contexts, opened)


def _of_trees(trees: Any, contexts: Floats, opened: Opened) -> Ints:
    """Any literal at each inner node, any action at each leaf; under limits each tree within them."""
    literals = Literals.of(contexts, trees.thresholds)
    if trees.limits:
        counts = context_counts(literals.group, opened.n_actions, trees.logged_actions)
        roots = _nodes(literals.tests, opened.n_actions, trees.depth)
        kept = [root for root in roots if trees.limits.allow(root, literals.contexts, counts)]
        return np.array([DecisionTree(root).predict(contexts) for root in kept])
    truth = literals.truth[literals.group]

    def below(depth: int) -> Ints:
        if depth == 0 or truth.shape[1] == 0:
            return np.repeat(np.arange(opened.n_actions), len(truth)).reshape(-1, len(truth))
        sides = below(depth - 1)
        return np.concatenate(
            [np.where(holds, sides[:, None], sides[None]).reshape(-1, len(truth)) for holds in truth.T]
        )

    return below(trees.depth)


def _nodes(tests: list[Test], n_actions: int, depth: int) -> list[Node]:
    """Return all trees, siblings alike or not."""
    found: list[Node] = [Leaf(a) for a in range(n_actions)]
    if depth:
        below = _nodes(tests, n_actions, depth - 1)
        found += [Split(f, cut, yes, no, two) for (f, cut, two), yes, no in product(tests, below, below)]
    return found


def _of_thresholds(rules: Any, contexts: Floats, opened: Opened) -> Ints:
    """A feature, at most so many of its cuts that divide the contexts differently, any action for each piece."""
    found = []
    for column, cuts in zip(contexts.T, cut_points(contexts, rules.thresholds), strict=True):
        different = {tuple(column <= cut): cut for cut in cuts}
        for used in range(min(rules.max_cuts, len(different)) + 1) if different else ():
            for chosen in combinations(sorted(different.values()), used):
                piece = np.searchsorted(chosen, column)
                found += [np.array(actions)[piece] for actions in product(range(opened.n_actions), repeat=used + 1)]
    return np.array(found or [np.full(len(contexts), a) for a in range(opened.n_actions)])


def _of_lists(lists: Any, contexts: Floats, opened: Opened) -> Ints:
    """Different literals, a side that goes on for all but the last, an action for each rule and the default.

    Of the last literal it is the side that holds on fewer contexts that ends there.
    """
    literals = Literals.of(contexts, lists.thresholds)
    truth = (literals.truth ^ (literals.truth.mean(axis=0) > 0.5))[literals.group]
    depth = min(lists.max_rules, truth.shape[1])
    found = []
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
        found += [np.array(labels)[at] for labels in _labelings(grid, rules.max_weight, opened.n_actions)]
    return np.array(found)[:, opened.group]


def _labelings(grid: Floats, max_weight: int, n_actions: int) -> set[tuple[int, ...]]:
    """Return what scores with whole weights can play on the points of a grid."""
    found = set()
    for weights in product(range(-max_weight, max_weight + 1), repeat=grid.shape[1]):
        scores = grid @ np.array(weights)
        for cuts in product([*np.unique(scores), scores.max() + 1.0], repeat=n_actions - 1):
            found.add(tuple((scores[:, None] >= np.array(cuts)).sum(axis=1).tolist()))
    return found


def _of_a_list(rules: Any, contexts: Floats, opened: Opened) -> Ints:
    """Each entry, repeats included."""
    del contexts, opened
    return np.asarray(rules.table)


DERIVATIONS: dict[type[PolicyClass], Callable[..., Ints | None]] = {
    DecisionTrees: _of_trees,
    ThresholdRules: _of_thresholds,
    RuleLists: _of_lists,
    LinearRules: _of_scores,
    FiniteClass: _of_a_list,
}
