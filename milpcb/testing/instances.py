"""Small instances of every policy class, few enough policies to list them all, and the cases that checks are given.

A class made by ``n_actions`` alone is tried on the contexts below. Others have a class method ``small`` without
arguments, a dict of instances by name: each a class and its contexts (m, d), with at most a few thousand policies.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from milpcb.constraints import LabelConstraint
from milpcb.core.checks import context_array
from milpcb.errors import InputError
from milpcb.oracles import open_oracle
from milpcb.oracles.base import Oracle
from milpcb.plugins import registry
from milpcb.protocols import PolicyClass
from milpcb.testing import Unmet
from milpcb.types import Floats, Ints

SEARCHED = 1e-9  # what values of searches may be off by
BINARY = np.array([[0, 1, 1], [1, 1, 0], [0, 0, 1], [1, 1, 0], [0, 1, 0]], dtype=float)
REALS = np.array([[0.3, -2.0], [1.7, 5.5], [0.3, -2.0], [0.9, 1.0]])
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
        "reals, given cuts": (
            {"max_weight": 2, "thresholds": ((0.9, 2.4), (-3.0, 0.0, 0.0, 1.0))},
            MORE_REALS[:6],
        ),
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


@dataclass(frozen=True)
class Instance:
    """A policy class on contexts (m, d) small enough to list every policy."""

    name: str
    policies: PolicyClass
    contexts: Floats

    @cached_property
    def labelings(self) -> Ints:
        """The labelings (N, m) of all policies."""
        return self.policies.on(self.contexts).labelings()


@dataclass(frozen=True, eq=False)
class Case:
    """Costs (m, K) on the contexts (m, d) of a class, the row of a query, its labelings (N, m), and opened oracles."""

    policies: PolicyClass
    contexts: Floats
    labelings: Ints
    costs: Floats
    row: int
    solver: str = "highs"
    opened: dict[str, Oracle] = field(default_factory=dict)

    @cached_property
    def totals(self) -> Floats:
        """The total cost (N,) of each labeling."""
        return self.paid(self.costs)

    def paid(self, table: Floats) -> Floats:
        """Return the total (N,) of a table (m, K) by each labeling."""
        return np.asarray(table[np.arange(len(table)), self.labelings].sum(axis=1))

    def under(self, constraints: Sequence[LabelConstraint]) -> Case:
        """Return the case of the labelings that keep all constraints."""
        kept = np.ones(len(self.labelings), dtype=bool)
        for constraint in constraints:
            weights = constraint.matrix(*self.costs.shape)
            kept &= self.paid(weights) <= constraint.largest(weights)
        return replace(self, labelings=self.labelings[kept])

    def oracle(self, kind: str = "milp") -> Oracle:
        """Return an oracle without constraints: one for all tables of costs, as it is used."""
        if kind not in self.opened:
            solver = self.solver if kind == "milp" else None
            self.opened[kind] = open_oracle(self.policies, self.contexts, kind=kind, solver=solver)
        return self.opened[kind]

    def require(self, capability: str) -> None:
        """Raise Unmet, with the class's reason, only where the class itself declares that it lacks the capability."""
        try:
            self.policies.on(self.contexts).require(capability)
        except InputError as error:
            raise Unmet(str(error)) from error

    def check_value(self, value: float, policy: Any, off: float) -> None:
        """The value is the least total, and a policy is one of the labelings and attains it."""
        assert np.isclose(value, self.totals.min(), atol=off), (value, self.totals.min())
        assert policy is not None
        labels = policy.predict(self.contexts)
        known = (labels == self.labelings).all(axis=1).any()
        assert known, (labels, "keeps no constraint, or is no labeling of the class")
        paid = self.costs[np.arange(len(labels)), labels].sum()
        assert np.isclose(paid, value, atol=SEARCHED), (labels, paid, value)

    def check_profile(self, profile: Floats, off: float) -> None:
        """V[a] is the least total of the labelings that play a at the row, inf where none does."""
        played = self.labelings[:, self.row]
        expected = [self.totals[played == a].min(initial=np.inf) for a in range(self.costs.shape[1])]
        assert np.allclose(profile, expected, atol=off), (profile, expected)

    def check_answers(self, oracle: Oracle, off: float) -> None:
        """Value, policy and profile of an oracle are those of the labelings."""
        answer = oracle.minimise(self.costs)
        self.check_value(answer.value, answer.policy, off)
        assert np.isclose(oracle.value(self.costs), answer.value, atol=SEARCHED)
        self.check_profile(oracle.profile(self.costs, self.row), off)


def instances(name: str) -> list[Instance]:
    """Return the instances of a registered policy class; raises InputError when there is no way to make one."""
    cls = registry.load("policies", name)
    if hasattr(cls, "small"):
        return [Instance(label, made, context_array(contexts)) for label, (made, contexts) in cls.small().items()]
    if name in BUILTIN:
        return [Instance(label, cls(**options), contexts) for label, (options, contexts) in BUILTIN[name].items()]
    made = [
        Instance(f"{n_actions} actions, {label}", policies, contexts)
        for label, n_actions, contexts in (("binary", 2, BINARY), ("reals", 3, REALS))
        if (policies := _made(cls, n_actions)) is not None
    ]
    if not made:
        raise InputError(f"{cls.__name__} takes more than n_actions: give it a class method small() with instances")
    return made


def _made(cls: Any, n_actions: int) -> PolicyClass | None:
    try:
        policies: PolicyClass = cls(n_actions=n_actions)
    except (TypeError, InputError):
        return None
    return policies
