"""The wish that a tree asks another question first."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from milpcb.errors import InfeasibleError, InputError
from milpcb.offline.arguing.question import Best, Granting, Question, check_columns, explicit, with_options
from milpcb.protocols import Policy
from milpcb.types import Floats, Ints


@dataclass(frozen=True)
class First:
    """The first question of a tree is about one of these columns: the two sides, for each of its cuts."""

    columns: tuple[int, ...]
    name: str = "another first question"

    def of(self, question: Question) -> Granting:
        """Return the trees with such a first question."""
        policies: Any = question.policies
        if not (hasattr(policies, "depth") and hasattr(policies, "max_leaves")):
            raise InputError(f"only trees have a first question, not {type(policies).__name__}")
        if question.constraints or policies.max_leaves is not None or policies.max_features is not None:
            raise InputError(
                "the first question of a tree has no price under side constraints, max_leaves or max_features: the two "
                "sides then depend on each other"
            )
        if policies.min_action_rows is not None or policies.min_leaf_size is not None:
            raise InputError("the first question of a tree has no price together with limits on the rows of a leaf")
        known = explicit(question)
        check_columns(self.columns, known.rows)
        return _Rooted(known, self.columns)


@dataclass(frozen=True, eq=False)
class _Rooted:
    """Trees whose first question is about one of some columns."""

    question: Question
    columns: tuple[int, ...]

    def best(self, costs: Floats) -> Best:
        """Return the least total cost and a tree."""
        found = [
            Best(yes.value + no.value, FirstQuestion(column, cut, yes.policy, no.policy, self._title(column, cut)))
            for column, cut, (yes, no) in ((*each, self._sides(*each, costs)) for each in self._tests)
        ]
        if not found:
            raise InfeasibleError("the column has no cut that divides the rows")
        return min(found, key=lambda best: best.value)

    @cached_property
    def _tests(self) -> list[tuple[int, float]]:
        cuts: Any = self.question.policies
        return [
            (column, cut)
            for column in self.columns
            for cut in cuts.thresholds[column]
            if 0 < (self.question.rows[:, column] <= cut).sum() < len(self.question.rows)
        ]

    def _sides(self, column: int, cut: float, costs: Floats) -> tuple[Best, Best]:
        holds = self.question.rows[:, column] <= cut
        return self._side(holds, costs), self._side(~holds, costs)

    def _side(self, here: Any, costs: Floats) -> Best:
        depth = self.question.policies.depth - 1  # type: ignore[attr-defined]  # a tree
        own = costs[here]
        if depth == 0:
            totals = own.sum(axis=0)
            return Best(float(totals.min()), Constant(int(totals.argmin())))
        smaller = with_options(self.question.policies, depth=depth)
        return Question(smaller, self.question.rows[here], kind=self.question.kind).best(own)

    def _title(self, column: int, cut: float) -> str:
        names = self.question.policies.feature_names  # type: ignore[attr-defined]
        return f"{names[column] if names else f'x[{column}]'} <= {cut:g}"


@dataclass(frozen=True)
class Constant:
    """One action for all rows."""

    action: int

    def predict(self, contexts: Any) -> Ints:
        """Return the action (n,)."""
        return np.full(len(contexts), self.action)

    def __str__(self) -> str:
        return f"play {self.action}"


@dataclass(frozen=True)
class FirstQuestion:
    """A test with a policy on either side."""

    column: int
    cut: float
    yes: Policy
    no: Policy
    title: str

    def predict(self, contexts: Any) -> Ints:
        """Return what is played in each row (n,) of numbers."""
        holds = np.asarray(contexts)[:, self.column] <= self.cut
        return np.where(holds, self.yes.predict(contexts), self.no.predict(contexts))

    def __str__(self) -> str:
        sides = [str(side).replace("\n", "\n    ") for side in (self.yes, self.no)]
        return f"if {self.title}:\n    {sides[0]}\nelse:\n    {sides[1]}"
