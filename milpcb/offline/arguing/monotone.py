"""The wish that the action never goes down as a column grows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from milpcb.constraints import LabelConstraint
from milpcb.core.checks import several
from milpcb.errors import InputError, shown
from milpcb.offline.arguing.in_order import Ask, best_in_order
from milpcb.offline.arguing.order import ActionOrder, Joint, distinguished
from milpcb.offline.arguing.question import Granting, Question, check_columns, explicit
from milpcb.offline.cross_fitting import Best
from milpcb.types import Floats

WAYS = (1, -1, 0)  # up, down, and no order


@dataclass(frozen=True)
class Monotone:
    """The action never goes down (or, with -1, up) as a column grows, whatever the other columns of a row are.

    The order of actions is that of their numbers. The policies are rules of columns: trees, thresholds, lists, boxes,
    scoring systems.
    """

    columns: Mapping[int, int]
    name: str = "monotone"

    def of(self, question: Question) -> Granting:
        """Return the class under the order."""
        known = explicit(question)
        if not isinstance(self.columns, Mapping):
            raise InputError(f"columns must map numbers of columns to 1 or -1, got {shown(self.columns)}")
        check_columns(tuple(self.columns), known.rows)
        if not all(way in WAYS for way in self.columns.values()):
            raise InputError(f"an order is 1 where the action never goes down, -1 where never up, got {self.columns}")
        joints = [
            Joint((place,), values, len(values) if sign else 0)
            for place in range(known.rows.shape[1])
            for sign in [self.columns.get(place, 0)]
            for values in [_values(known, place)[:: sign or 1, None]]
        ]
        return InOrder(joints, self.name).of(known)


@dataclass(frozen=True, eq=False)
class InOrder:
    """The action never goes down along the chains of some joints, which are all columns of the contexts."""

    joints: Sequence[Joint]
    name: str = "monotone"

    def __post_init__(self) -> None:
        object.__setattr__(self, "joints", several("joints", self.joints, Joint, "Joint"))

    def of(self, question: Question) -> Granting:
        """Return the class under the order."""
        known = explicit(question)
        check_orderable(known.policies)
        if sorted(place for joint in self.joints for place in joint.places) != list(range(known.rows.shape[1])):
            raise InputError("joints must hold each column of the contexts once")
        cuts = getattr(known.policies, "thresholds", None)
        return _Ordered(known, ActionOrder(distinguished(self.joints, cuts), known.rows))


@dataclass(frozen=True, eq=False)
class _Ordered:
    """The policies of a question that keep an order."""

    question: Question
    order: ActionOrder

    def best(self, costs: Floats) -> Best:
        """Return the least total cost and a policy."""
        known = self.question

        def opened(contexts: Floats, rules: list[LabelConstraint]) -> Ask:
            return replace(known, contexts=contexts, constraints=tuple(rules)).oracle.minimise

        answer = best_in_order(opened, known.rows, known.constraints, costs, self.order)
        return Best(answer.value, answer.policy)


def check_orderable(policies: Any) -> None:
    """Raise InputError for a class whose policies depend on how many contexts there are: an order adds some."""
    for limit in ("min_leaf_size", "min_action_rows"):
        if getattr(policies, limit, None) is not None:
            raise InputError(f"no order can be asked together with {limit}, as it counts rows; leave one of them out")


def _values(question: Question, place: int) -> Floats:
    """Return values of a column on each side of its cuts and at them; all its values for a class without cuts."""
    cuts = getattr(question.policies, "thresholds", None)
    if not isinstance(cuts, tuple):
        return np.unique(question.rows[:, place])
    inside = np.unique(np.asarray(cuts[place], dtype=float))
    if not len(inside):
        return question.rows[:1, place]
    between = (inside[:-1] + inside[1:]) / 2
    return np.unique(np.concatenate([[inside[0] - 1.0], inside, between, [inside[-1] + 1.0]]))
