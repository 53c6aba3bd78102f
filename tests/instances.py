"""Small instances of the policy classes that come with milpcb, few enough policies to list them all."""

from typing import Any

import numpy as np

from milpcb.plugins import registry
from milpcb.testing.instances import BINARY, REALS, Instance
from milpcb.testing.instances import instances as own_instances
from milpcb.types import Floats

INTEGERS = np.array([[3.0, 0.0], [-1.0, 2.0], [0.0, 2.0], [3.0, 1.0]])
MORE_BINARY = np.array([[0, 1, 1], [1, 1, 0], [0, 0, 1], [1, 1, 0], [0, 1, 1], [1, 0, 0]], dtype=float)
MORE_REALS = np.array([[0.3, -2.0], [1.7, 5.5], [0.3, -2.0], [0.9, 1.0], [2.4, 0.0], [-1.0, 5.5], [0.9, 3.0]])
MIXED = np.column_stack([MORE_BINARY[:, 0], np.full(6, 4.0), MORE_REALS[:6, 0]])  # the middle column divides nothing
MORE_INTEGERS = np.array([[-3.0, 10.0], [4.0, 30.0], [0.0, 20.0], [4.0, 30.0], [-1.0, 40.0], [2.0, 10.0]])
COMPLEMENT = np.column_stack([MORE_BINARY[:, 0], 1 - MORE_BINARY[:, 0], MORE_BINARY[:, 1]])  # two alike
ALIKE = np.full((3, 2), 7.0)
ONE = REALS[:1]

# Options and contexts by registry name; contexts repeat rows on purpose.
BUILTIN: dict[str, dict[str, tuple[dict[str, Any], Floats]]] = {
    "decision_trees": {
        "depth 1, binary": ({"n_actions": 2, "depth": 1}, BINARY),
        "depth 1, reals": ({"n_actions": 3, "depth": 1}, REALS),
        "depth 2, binary": ({"n_actions": 2, "depth": 2}, MORE_BINARY),
        "depth 2, given cuts": ({"n_actions": 3, "depth": 2, "thresholds": ((1.0,), (0.5,))}, REALS),
        "no literal": ({"n_actions": 3}, ALIKE),
        "one context": ({"n_actions": 2}, ONE),
        "three leaves": ({"n_actions": 3, "max_leaves": 3, "thresholds": 1}, REALS),
        "one feature": ({"n_actions": 2, "max_features": 1, "thresholds": 2}, REALS),
        "leaves of two rows": ({"n_actions": 2, "min_leaf_size": 2}, MORE_BINARY),
    },
    "threshold_rules": {
        "one cut": ({"n_actions": 3}, REALS),
        "two cuts": ({"n_actions": 2, "max_cuts": 2}, INTEGERS),
        "two cuts, reals": ({"n_actions": 2, "max_cuts": 2, "thresholds": 4}, MORE_REALS),
        "more cuts than points": ({"n_actions": 2, "max_cuts": 5, "thresholds": ((0.5, 1.0, 2.0), (0.0,))}, MORE_REALS),
        "mixed": ({"n_actions": 3, "max_cuts": 2, "thresholds": 2}, MIXED),
        "no cut": ({"n_actions": 3}, ALIKE),
        "one context": ({"n_actions": 2}, ONE),
    },
    "rule_lists": {
        "one rule": ({"n_actions": 3, "max_rules": 1}, MORE_REALS),
        "two rules, reals": ({"n_actions": 2, "max_rules": 2}, MORE_REALS),
        "three rules, binary": ({"n_actions": 2, "max_rules": 3}, MORE_BINARY),
        "more rules than literals": ({"n_actions": 3, "max_rules": 5, "thresholds": ((1.0,), (0.5,))}, MORE_REALS),
        "no literal": ({"n_actions": 3}, ALIKE),
        "one context": ({"n_actions": 2}, ONE),
    },
    "box_rules": {
        "interval, binary": ({"n_actions": 3}, MORE_BINARY),
        "interval, reals": ({"n_actions": 2, "thresholds": 4}, MORE_REALS),
        "interval, given cuts": ({"n_actions": 3, "thresholds": ((0.5, 1.0, 2.0), (0.0,))}, MORE_REALS),
        "box, binary": ({"n_actions": 3, "max_features": 2}, MORE_BINARY),
        "box, reals": ({"n_actions": 2, "max_features": 2}, MORE_REALS),
        "box, one feature": ({"n_actions": 2, "max_features": 2}, MORE_REALS[:, :1]),
        "no cut": ({"n_actions": 3, "max_features": 2}, ALIKE),
        "one context": ({"n_actions": 2}, ONE),
    },
    "linear_rules": {
        "binary": ({"max_weight": 2}, MORE_BINARY),
        "binary, three actions": ({"n_actions": 3, "max_weight": 1}, BINARY),
        "integers": ({"max_weight": 3}, MORE_INTEGERS),
        "reals": ({"max_weight": 2, "thresholds": 2}, MORE_REALS[:6]),
        "reals, given cuts": ({"max_weight": 2, "thresholds": ((0.9, 2.4), (-3.0, 0.0, 0.0, 1.0))}, MORE_REALS[:6]),
        "mixed": ({"max_weight": 1, "max_features": 2}, np.column_stack([MIXED, MORE_INTEGERS[:, 0]])),
        "one column": ({"n_actions": 3, "max_weight": 2}, MORE_INTEGERS[:, :1]),
        "a line": ({"max_weight": 2}, np.arange(5.0)[:, None]),
        "columns alike": ({"max_weight": 1}, COMPLEMENT),
        "contexts alike": ({"n_actions": 3}, np.full((3, 2), 0.5)),
        "one context": ({}, ONE),
        "a score each, binary": ({"n_actions": 3, "max_weight": 1, "max_features": 1, "scores": "each"}, MORE_BINARY),
        "a score each, integers": ({"n_actions": 3, "max_weight": 1, "scores": "each"}, MORE_INTEGERS[:, :1]),
        "a score each, reals": ({"n_actions": 2, "max_weight": 1, "thresholds": 1, "scores": "each"}, MORE_REALS[:6]),
        "a score each, columns alike": ({"n_actions": 2, "max_weight": 1, "scores": "each"}, COMPLEMENT),
    },
    "halfspaces": {
        "square": ({}, np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])),
        "binary": ({}, BINARY),
        "reals": ({}, MORE_REALS),
        "grid": ({}, np.array([[0.0, 0.0], [1.0, 0.0], [2.0, 0.0], [0.0, 1.0], [1.0, 1.0], [0.0, 2.0], [0.0, 0.0]])),
        "a line": ({}, np.array([[0.3], [-2.0], [7.5], [0.3], [1.0]])),
        "other scales": ({}, REALS * [1e6, 1e-3] + [1.7e9, 0.0]),
        "a constant column": ({}, MIXED[:5]),
        "contexts alike": ({}, ALIKE),
    },
    "monotone_rules": {
        "binary, two actions": ({"n_actions": 2}, MORE_BINARY),
        "binary, three actions": ({"n_actions": 3}, MORE_BINARY),
        "reals, two actions": ({"n_actions": 2, "directions": [1, -1]}, MORE_REALS[:6]),
        "reals, three actions": ({"n_actions": 3, "directions": [-1, 1]}, MORE_REALS[:6]),
        "reals, given cuts": (
            {"n_actions": 3, "directions": (-1, -1), "thresholds": ((0.5, 2.0), (0.0,))},
            MORE_REALS[:6],
        ),
        "mixed, quantiles": ({"n_actions": 3, "directions": [1, 1, -1], "thresholds": 2}, MIXED),
        "one context": ({"n_actions": 2}, ONE),
        "nothing comparable": ({"n_actions": 3}, np.array([[0.0, 3.0], [1.0, 2.0], [2.0, 1.0]])),
    },
    "finite_class": {
        "all labelings": ({"labelings": np.indices((2,) * 3).reshape(3, -1).T, "n_actions": 2}, INTEGERS[:3]),
        "equal rows differ": ({"labelings": [[0, 1, 2, 1], [1, 0, 0, 0], [2, 2, 2, 2]], "n_actions": 3}, REALS),
    },
}


def instances(name: str) -> list[Instance]:
    """Return the instances of a registered policy class: those of the table, or those that it has by itself."""
    if name not in BUILTIN:
        return own_instances(name)
    cls = registry.load("policies", name)
    return [Instance(label, cls(**options), contexts) for label, (options, contexts) in BUILTIN[name].items()]
