"""The oracle as an explicit list of every labeling: the reference that all others are tested against."""

from __future__ import annotations

from itertools import islice
from typing import Any

import numpy as np

from milpcb.constraints import LabelConstraint, conflict
from milpcb.errors import InfeasibleError, InputError
from milpcb.oracles.base import Oracle
from milpcb.protocols import Policy, PolicyClass
from milpcb.types import Bools, Floats, Ints, Stop

LARGEST = 500_000


class EnumerationOracle(Oracle):
    """Every policy of the class, listed by its definition; ties go to the policy listed first."""

    can = Oracle.can | {"action_weights", "enumerate"}

    def __init__(
        self,
        policies: PolicyClass,
        contexts: Floats,
        *,
        constraints: tuple[LabelConstraint, ...] = (),
    ) -> None:
        super().__init__(contexts, policies.n_actions, policies.log_size(contexts))
        self._policies, labels = _list(policies, contexts)
        kept = np.array([self._keeps(constraint, labels) for constraint in constraints]).reshape(-1, len(labels))
        allowed = kept.all(axis=0)
        if not allowed.any():
            raise InfeasibleError(conflict(constraints, lambda numbers: bool(kept[numbers].all(axis=0).any())))
        self._policies = [self._policies[i] for i in np.flatnonzero(allowed)]
        self.labelings = labels[allowed]

    def totals(self, costs: Any) -> Floats:
        """Return the total cost (N,) of every labeling."""
        return _totals(self._checked(costs), self.labelings)

    def _keeps(self, constraint: LabelConstraint, labels: Ints) -> Bools:
        weights = constraint.matrix(self.n_contexts, self.n_actions)
        return np.asarray(_totals(weights, labels) <= constraint.largest(weights))

    def _minimise(self, costs: Floats) -> tuple[float, float, Policy, Stop]:
        totals = _totals(costs, self.labelings)
        best = int(totals.argmin())
        return float(totals[best]), float(totals[best]), self._policies[best], Stop.OPTIMAL

    def _value(self, costs: Floats) -> float:
        return float(_totals(costs, self.labelings).min())

    def _log_weights(self, costs: Floats, row: int, rate: float) -> Floats:
        logs = np.full(self.n_actions, -np.inf)
        np.logaddexp.at(logs, self.labelings[:, row], -rate * _totals(costs, self.labelings))
        return logs

    def _profile(self, costs: Floats, row: int) -> Floats:
        profile = np.full(self.n_actions, np.inf)
        np.minimum.at(profile, self.labelings[:, row], _totals(costs, self.labelings))
        return profile


def _list(policies: PolicyClass, contexts: Floats) -> tuple[list[Policy], Ints]:
    """Return one policy for each distinct labeling, and the labelings (N, m)."""
    too_many = InputError(
        f"more than {LARGEST} policies cannot be enumerated; use oracle kind 'milp', or fewer literals"
    )
    # log_size bounds the list from above, loosely; far beyond the limit there is no need to begin.
    if policies.log_size(contexts) > np.log(LARGEST) + 8:
        raise too_many
    distinct: dict[bytes, tuple[Policy, Ints]] = {}
    count = 0
    for policy in islice(policies.policies(contexts), LARGEST + 1):
        labels = policy.predict(contexts)
        distinct.setdefault(labels.tobytes(), (policy, labels))
        count += 1
    if count > LARGEST:
        raise too_many
    return [policy for policy, _ in distinct.values()], np.array([labels for _, labels in distinct.values()])


def _totals(costs: Floats, labelings: Ints) -> Floats:
    return np.asarray(costs[np.arange(len(costs)), labelings].sum(axis=1))
