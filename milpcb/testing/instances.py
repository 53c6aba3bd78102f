"""Small instances of a policy class, with few enough policies to list, and the cases for checks.

A class made by ``n_actions`` alone is tried on the contexts below, and so is one of listed ``labelings``, with all.
Others have a class method ``small`` without arguments, a dict of instances by name: each a class and its contexts (m,
d), with at most a few thousand policies.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
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
    made = []
    for label, n_actions, contexts in (("binary", 2, BINARY), ("reals", 3, REALS)):
        every = np.indices((n_actions,) * len(contexts)).reshape(len(contexts), -1).T
        for listed in ({}, {"labelings": every}):
            with suppress(TypeError, InputError):
                made.append(Instance(f"{n_actions} actions, {label}", cls(n_actions=n_actions, **listed), contexts))
    if not made:
        raise InputError(
            f"{cls.__name__} takes more than n_actions: hand over an Instance, or give it a class method small()"
        )
    return made
