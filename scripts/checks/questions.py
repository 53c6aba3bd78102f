"""Random questions for oracles as plain data, each from a seed and its number.

Nothing of the project is imported here: same_answers.py asks two versions of it the same questions, and
tests/stress/test_oracles.py compares the answers with definitions.
"""

from collections.abc import Callable
from math import log
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Rng = np.random.Generator

KINDS = ("search", "search", "milp", "enumeration", "audited")  # a share of the questions is for one that is missing
EXPONENTS = (-1000, -300, -60, -20, -1, 0, 0, 0, 0, 0, 0, 1, 20, 60, 300, 900)
MOST_LISTED = 70_000  # policies of a list, so that a question takes no longer than seconds
MOST_COLUMNS = 6_000  # of a program, and of one under side constraints
MOST_CONSTRAINED = 600


class Size(NamedTuple):
    """Most features, contexts and actions that a class is drawn with."""

    features: int = 4
    rows: int = 120
    actions: int = 5


class Drawn(NamedTuple):
    """A class as settings, and about how large it is on its contexts: the log of the list, columns of the program."""

    name: str
    options: dict[str, Any]
    contexts: Floats
    log_listed: float
    columns: float


def draw_question(seed: int, number: int) -> dict[str, Any]:
    """Return question ``number`` of a seed: a class, contexts, a kind, side constraints, costs, a row and a rate."""
    rng = np.random.default_rng([seed, number])
    label = list(CLASSES)[number % len(CLASSES)]
    kind = str(rng.choice(["milp", "milp", "enumeration", "search"] if label == "halfspaces" else KINDS))
    drawn, kind = _fitting(label, kind, rng, Size())
    shape = (len(drawn.contexts), drawn.options["n_actions"])
    constraints = draw_constraints(drawn.contexts, shape[1], rng) if rng.random() < 0.5 else []
    if kind in {"milp", "audited"} and drawn.columns > MOST_CONSTRAINED:
        constraints = []
    costs = _costs(shape, rng)
    size = float(np.abs(costs).sum())
    row = int(rng.integers(shape[0])) if rng.random() < 0.995 else shape[0]  # a row that is not there is an error
    return {
        "number": number,
        "label": label,
        "name": drawn.name,
        "options": drawn.options,
        "contexts": drawn.contexts.tolist(),
        "kind": kind,
        "kind_options": {"audit": 1.0} if kind == "audited" else {},
        "constraints": constraints[:3],
        "costs": costs.tolist(),
        "row": row,
        "noise": str(rng.choice(["contexts", "columns", ""])) or None,  # of the table of running totals
        "rate": float(rng.choice([0.0, 0.3, 5.0, 100.0, 2_000.0]) / (size if 0.0 < size < np.inf else 1.0)),
    }


def draw_small(label: str, rng: Rng, *, listed: bool) -> Drawn:
    """Return a class on few contexts, with two or three actions; ``listed``: so small that its policies are a list."""
    return _fitting(label, "enumeration" if listed else "search", rng, Size(4, 10, 3), 5_000)[0]


def draw_constraints(contexts: Floats, n_actions: int, rng: Rng) -> list[dict[str, Any]]:
    """Return one to three side constraints, which a policy of nearly every class keeps, each alone."""
    shape, found = (len(contexts), n_actions), list[dict[str, Any]]()
    labels = draw_labels(contexts, n_actions, rng)
    for _ in range(int(rng.integers(1, 4))):
        found += CONSTRAINTS[rng.integers(len(CONSTRAINTS))](labels, shape, rng)
    return found


def _fitting(label: str, kind: str, rng: Rng, size: Size, most_listed: int = MOST_LISTED) -> tuple[Drawn, str]:
    """Return a class on contexts, with fewer features the longer none is small enough, and the kind; else "search"."""
    for features in (4, 4, 3, 2, 2, 1, 1, 1, 1):
        drawn = CLASSES[label](size._replace(features=min(features, size.features)), rng)
        listed, columns = drawn.log_listed <= log(most_listed), drawn.columns <= MOST_COLUMNS
        if kind == "search" or (listed if kind == "enumeration" else columns):
            return drawn, kind
    return drawn, "search"


# ------------------------------------------------------------------------------------------------ classes


def _contexts(rng: Rng, size: Size, most_rows: int = 12) -> Floats:
    """Return a few contexts: of 0 and 1, integers or reals; columns may be constant or like others, rows repeat."""
    m = int(rng.integers(1, 4)) if rng.random() < 0.1 else int(rng.integers(3, min(most_rows, size.rows) + 1))
    shape = (m, int(rng.integers(1, size.features + 1)))
    drawn: Floats = [
        rng.integers(0, 2, shape).astype(float),
        rng.integers(-1, 4, shape).astype(float),
        np.round(rng.normal(size=shape), 2),
        rng.normal(size=shape) * 10.0 ** rng.integers(-6, 7),
        1.0 + rng.integers(0, 5, shape) * np.finfo(float).eps,  # no midpoint lies between two of them
    ][int(rng.integers(13)) // 3]
    for f in range(shape[1]):
        change, other = rng.integers(12), drawn[:, int(rng.integers(shape[1]))].copy()
        if change == 0:
            drawn[:, f] = other[0]
        elif change == 1:
            drawn[:, f] = other.max() + other.min() - other
        elif change == 2:
            drawn[:, f] = np.minimum(other, np.median(other))
        elif change == 3:
            drawn[:, f] = rng.integers(0, 2, m)
    return drawn[rng.integers(m, size=m)] if rng.random() < 0.3 else drawn


def _thresholds(contexts: Floats, rng: Rng) -> tuple[Any, int]:
    """Return thresholds of one of the three sorts, and how many tests they make at most."""
    distinct = [len(np.unique(column)) - 1 for column in contexts.T]
    kind = rng.integers(4)
    if kind == 0:
        return "all", sum(distinct)
    if kind == 1:
        low, high = contexts.min() - 0.5, contexts.max() + 0.5
        cuts = [sorted(rng.uniform(low, high, rng.integers(0, 4)).round(2).tolist()) for _ in distinct]
        return cuts, sum(min(map(len, [points, range(n)])) for points, n in zip(cuts, distinct, strict=True))
    points = int(rng.integers(1, 5))
    return points, sum(min(points, n) for n in distinct)


def _actions(rng: Rng, size: Size, most: int = 5) -> int:
    return min(most, size.actions, int(rng.choice([2, 2, 3, 3, 4, 5])))


def _trees(depth: int) -> Callable[[Size, Rng], Drawn]:
    def draw(size: Size, rng: Rng) -> Drawn:
        contexts = _contexts(rng, size, int(rng.choice([12, 12, 12, 12, 12, 40, 120 if depth < 3 else 40])))
        return _tree({"n_actions": _actions(rng, size), "depth": depth}, contexts, rng)

    return draw


def _limited_trees(size: Size, rng: Rng) -> Drawn:
    """Return trees within one limit or several, most of which bind."""
    contexts, n_actions, depth = _contexts(rng, size), _actions(rng, size, 4), int(rng.choice([1, 2, 2, 3, 3, 4]))
    limits: dict[str, Any] = {
        "max_leaves": int(rng.integers(2, 2 ** min(depth, 3) + 1)),
        "max_features": int(rng.integers(1, 4)),
        "min_leaf_size": int(rng.integers(1, 5)),
        "min_action_rows": int(rng.integers(1, 3)),
    }
    kept = rng.choice(list(limits), int(rng.choice([1, 1, 2, 3])), replace=False).tolist()
    options = {"n_actions": n_actions, "depth": depth} | {name: limits[name] for name in kept}
    if "min_action_rows" in kept:
        options["logged_actions"] = rng.permutation(np.arange(len(contexts)) % n_actions).tolist()
    return _tree(options, contexts, rng)


def _tree(options: dict[str, Any], contexts: Floats, rng: Rng) -> Drawn:
    thresholds, p = _thresholds(contexts, rng)
    depth, K = options["depth"], options["n_actions"]
    listed = (2**depth - 1) * log(max(1, p)) + 2**depth * log(K)
    columns = K * p * (2.0 * p) ** (depth - 1)
    return Drawn("DecisionTrees", options | {"thresholds": thresholds}, contexts, listed, columns)


def _threshold_rules(size: Size, rng: Rng) -> Drawn:
    contexts, n_actions, cuts = _contexts(rng, size), _actions(rng, size), int(rng.integers(1, 4))
    thresholds, p = _thresholds(contexts, rng)
    listed = log(contexts.shape[1]) + cuts * log(max(1, p)) + (cuts + 1) * log(n_actions)
    options = {"n_actions": n_actions, "max_cuts": cuts, "thresholds": thresholds}
    return Drawn("ThresholdRules", options, contexts, listed, n_actions * cuts * p**2)


def _rule_lists(size: Size, rng: Rng) -> Drawn:
    contexts, n_actions, rules = _contexts(rng, size), _actions(rng, size, 4), int(rng.integers(1, 4))
    thresholds, p = _thresholds(contexts, rng)
    listed = rules * log(max(1, 2 * p * n_actions)) + log(n_actions)
    options = {"n_actions": n_actions, "max_rules": rules, "thresholds": thresholds}
    return Drawn("RuleLists", options, contexts, listed, n_actions * (2.0 * p) ** rules)


def _box_rules(size: Size, rng: Rng) -> Drawn:
    contexts, n_actions, used = _contexts(rng, size), _actions(rng, size, 4), int(rng.integers(1, 3))
    thresholds, p = _thresholds(contexts, rng)
    listed = 2 * used * log(max(1, p + 1)) + 2 * log(n_actions)
    options = {"n_actions": n_actions, "max_features": used, "thresholds": thresholds}
    return Drawn("BoxRules", options, contexts, listed, float(np.exp(listed)))


def _monotone_rules(size: Size, rng: Rng) -> Drawn:
    contexts, n_actions = _contexts(rng, size), _actions(rng, size)
    options: dict[str, Any] = {"n_actions": n_actions}
    if rng.random() < 0.5:
        options["directions"] = rng.choice([-1, 1], contexts.shape[1]).tolist()
    if rng.random() < 0.5:
        options["thresholds"] = _thresholds(contexts, rng)[0]
    listed = len(np.unique(contexts, axis=0)) * log(n_actions)
    return Drawn("MonotoneRules", options, contexts, listed, float(len(contexts) * n_actions))


def _linear_rules(size: Size, rng: Rng) -> Drawn:
    n_actions, limited = _actions(rng, size, 3), rng.random() < 0.6
    contexts = _contexts(rng, size._replace(features=min(size.features, 3)), 8)
    options: dict[str, Any] = {"n_actions": n_actions, "max_weight": int(rng.integers(1, 4 if n_actions < 3 else 3))}
    if limited:
        options["max_features"] = int(rng.integers(1, 4 if n_actions < 3 else 3))
    if rng.random() < 0.4:  # integers need no thresholds
        contexts = np.unique(contexts, return_inverse=True)[1].reshape(contexts.shape).astype(float)
    else:
        options["thresholds"] = _thresholds(contexts, rng)[0]
    listed = contexts.shape[1] * log(2 * options["max_weight"] + 1) + (n_actions - 1) * log(len(contexts) + 1)
    return Drawn("LinearRules", options, contexts, listed, float(len(contexts) * n_actions))


def _scores_each(size: Size, rng: Rng) -> Drawn:
    drawn = _linear_rules(size._replace(features=min(size.features, 2)), rng)
    points = np.rint(np.clip(drawn.contexts, 0.0, 1.0))
    options = drawn.options | {"scores": "each", "max_weight": 1}
    return Drawn("LinearRules", options, points, options["n_actions"] * drawn.log_listed, drawn.columns)


def _halfspaces(size: Size, rng: Rng) -> Drawn:
    contexts = _contexts(rng, size._replace(features=min(size.features, 3)), 9)
    return Drawn("Halfspaces", {"n_actions": 2}, contexts, len(contexts) * log(2), float(len(contexts)))


def _finite_class(size: Size, rng: Rng) -> Drawn:
    contexts, n_actions = _contexts(rng, size), _actions(rng, size)
    labelings = rng.integers(0, n_actions, (int(rng.integers(1, 60)), len(contexts)))
    if rng.random() < 0.5:  # equal contexts are labelled alike
        first, at = np.unique(contexts, axis=0, return_index=True, return_inverse=True)[1:]
        labelings = labelings[:, first[at.ravel()]]
    options = {"labelings": labelings.tolist(), "n_actions": n_actions}
    return Drawn("FiniteClass", options, contexts, log(60), 60.0)


CLASSES: dict[str, Callable[[Size, Rng], Drawn]] = {
    "trees, depth 1": _trees(1),
    "trees, depth 2": _trees(2),
    "trees, depth 3": _trees(3),
    "trees, depth 4": _trees(4),
    "trees within limits": _limited_trees,
    "threshold rules": _threshold_rules,
    "rule lists": _rule_lists,
    "box rules": _box_rules,
    "monotone rules": _monotone_rules,
    "linear rules": _linear_rules,
    "linear rules, each": _scores_each,
    "halfspaces": _halfspaces,
    "finite class": _finite_class,
}

# ------------------------------------------------------------------------------------------------ constraints


def draw_labels(contexts: Floats, n_actions: int, rng: Rng) -> Ints:
    """Return the labels (m,) of one cut of one feature, which a policy of nearly every class has."""
    column = contexts[:, int(rng.integers(contexts.shape[1]))]
    below, above = rng.integers(0, n_actions, 2)
    labels: Ints = np.where(column <= rng.choice(column), below, above)
    return labels


def _rule(weights: Floats, upper: float) -> dict[str, Any]:
    return {"weights": weights.tolist(), "upper": float(upper)}


def _total(weights: Floats, labels: Ints) -> float:
    return float(weights[np.arange(len(labels)), labels].sum())


def _budget(labels: Ints, shape: tuple[int, int], rng: Rng) -> list[dict[str, Any]]:
    """Return how often an action may be played."""
    weights = np.zeros(shape)
    weights[:, int(rng.integers(shape[1]))] = 1.0
    return [_rule(weights, max(_total(weights, labels), float(rng.integers(shape[0] + 1))))]


def _rates(labels: Ints, shape: tuple[int, int], rng: Rng) -> list[dict[str, Any]]:
    """Return that the rates of an action in two groups are close, both ways."""
    groups, weights = rng.permutation(np.arange(shape[0]) % 2), np.zeros(shape)
    sizes = np.maximum(1, np.bincount(groups, minlength=2))
    weights[:, int(rng.integers(shape[1]))] = np.where(groups == 1, 1.0, -1.0) / sizes[groups]
    delta = max(abs(_total(weights, labels)), float(rng.random()))
    return [_rule(weights, delta), _rule(-weights, delta)]


def _any_weights(labels: Ints, shape: tuple[int, int], rng: Rng) -> list[dict[str, Any]]:
    """Return real weights, with a bound that is attained exactly or leaves room."""
    weights = rng.normal(size=shape) * 10.0 ** float(rng.choice([-6, 0, 0, 0, 6]))
    room = float(rng.integers(2)) * abs(float(rng.normal()))
    return [_rule(weights, _total(weights, labels) + room)]


def _whole_weights(labels: Ints, shape: tuple[int, int], rng: Rng) -> list[dict[str, Any]]:
    """Return integer weights with a bound somewhere in their range, which perhaps no policy keeps."""
    weights = rng.integers(-3, 4, shape).astype(float)
    least = int(weights.min(axis=1).sum())
    return [_rule(weights, float(rng.integers(least, int(_total(weights, labels)) + 1)))]


def _forbidden(labels: Ints, shape: tuple[int, int], rng: Rng) -> list[dict[str, Any]]:
    """Return that actions are not played at some contexts."""
    table = (rng.random(shape) < 0.15).astype(float)
    if rng.random() < 0.8:
        table[np.arange(shape[0]), labels] = 0.0
    return [_rule(table * float(rng.choice([1.0, 0.5, 1e-3])), 0.0)]


CONSTRAINTS: list[Callable[[Ints, tuple[int, int], Rng], list[dict[str, Any]]]] = [
    _budget, _rates, _any_weights, _whole_weights, _forbidden,
]  # fmt: skip

# ------------------------------------------------------------------------------------------------ costs


def _costs(shape: tuple[int, int], rng: Rng) -> Floats:
    """Return costs of one of many sorts, perhaps of few rows only, in some unit; rarely such as are refused."""
    played = (rng.integers(shape[1], size=shape[0])[:, None] == np.arange(shape[1])).astype(float)
    costs: Floats = [
        rng.integers(-9, 10, shape).astype(float),
        rng.integers(0, 2, shape).astype(float),
        rng.integers(-1_000_000, 1_000_001, shape).astype(float),
        rng.choice([-1.0, 1.0], shape),
        -rng.integers(0, 4, shape).astype(float),
        played * rng.integers(0, 30, shape),
        np.zeros(shape),
        rng.normal(size=shape),
        rng.random(shape),
        rng.choice([-0.5, 0.25, 1.5], shape),
        rng.choice([0.1, 0.2, 0.3], shape),
        played * rng.random(shape) / 0.07,
        rng.normal(size=shape) * 10.0 ** rng.integers(-8, 9, shape),
        0.3 + rng.integers(0, 4, shape) * 2.0**-54,  # differences in the last digits only
    ][rng.integers(14)]
    if rng.random() < 0.25:
        costs[rng.random(shape[0]) < 0.7] = 0.0
    costs = costs * 2.0 ** int(rng.choice(EXPONENTS)) * float(rng.choice([1.0, 1.0, 1.0, 1e-3, 1e5]))
    if rng.random() < 0.005:
        costs[0, 0] = np.nan
    return costs
