"""The restriction that a tree asks another question first: by its two sides, or as a program where they depend."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from milpcb.core.decimals import spaced
from milpcb.errors import InfeasibleError, InputError
from milpcb.offline.cross_fitting import Best, best_of
from milpcb.offline.restrictions.question import (
    Question,
    Restricted,
    best_or_none,
    check_columns,
    explicit,
    listed_columns,
    with_options,
)
from milpcb.oracles import open_oracle
from milpcb.oracles.base import Oracle
from milpcb.protocols import Opened, Policy, open_class
from milpcb.types import Bools, Floats, Ints


@dataclass(frozen=True)
class First:
    """The first question of a tree is about one of these columns: the two sides, for each of its cuts."""

    columns: tuple[int, ...]
    name: str = "another first question"

    def __post_init__(self) -> None:
        object.__setattr__(self, "columns", listed_columns(self.columns))

    def of(self, question: Question) -> Restricted:
        """Return the trees with such a first question."""
        policies: Any = question.policies
        if not (hasattr(policies, "depth") and hasattr(policies, "max_leaves")):
            raise InputError(f"only trees have a first question, not {type(policies).__name__}")
        known = _with_cuts(question)
        check_columns(self.columns, known.rows)
        if question.constraints or policies.max_leaves is not None or policies.max_features is not None:
            return BySolver(known, self.columns)  # the two sides depend on each other
        return _Rooted(known, self.columns)


def _with_cuts(question: Question) -> Question:
    """Return the question with explicit cut points, which limits on logged rows do not depend on."""
    policies: Any = question.policies
    free = replace(question, policies=with_options(policies, min_action_rows=None, logged_actions=None))
    cuts: Any = explicit(free).policies
    return replace(question, policies=with_options(policies, thresholds=cuts.thresholds))


def dividing(question: Question, columns: Sequence[int]) -> list[tuple[int, float]]:
    """Return the tests (column, cut) of some columns that divide the rows of a question."""
    cuts: Any = question.policies
    tests = [(column, cut) for column in columns for cut in cuts.thresholds[column]]
    return [(column, cut) for column, cut in tests if 0 < (question.rows[:, column] <= cut).sum() < len(question.rows)]


@dataclass(frozen=True, eq=False)
class _Rooted:
    """Trees whose first question is about one of some columns."""

    question: Question
    columns: tuple[int, ...]

    def best(self, costs: Floats) -> Best:
        """Return the least total cost and a tree."""
        found = []
        for column, cut in dividing(self.question, self.columns):
            holds = self.question.rows[:, column] <= cut
            yes, no = (best_or_none(_Side(self.question, here), costs[here]) for here in (holds, ~holds))
            if yes is not None and no is not None:
                title = self._title(column, cut)
                found.append(Best(yes.value + no.value, FirstQuestion(column, cut, yes.policy, no.policy, title)))
        if not found:
            raise InfeasibleError("the column has no cut that divides the rows, into sides as large as is asked")
        return min(found, key=lambda best: best.value)

    def _title(self, column: int, cut: float) -> str:
        names = self.question.policies.feature_names  # type: ignore[attr-defined]
        return f"{names[column] if names else f'x[{column}]'} <= {cut:g}"


@dataclass(frozen=True, eq=False)
class _Side:
    """The trees below the first question, on the rows ``here`` (n,), which keep limits on rows by themselves."""

    question: Question
    here: Bools

    def best(self, costs: Floats) -> Best:
        """Return the least total cost of these rows, and a policy; raises InfeasibleError where they are too few."""
        policies: Any = self.question.policies
        rows, done = self.question.rows[self.here], policies.logged_actions
        own: dict[str, Any] = {} if done is None else {"logged_actions": np.asarray(done)[self.here].tolist()}
        fewest = np.bincount(own["logged_actions"], minlength=policies.n_actions).min() if own else len(rows)
        if len(rows) < (policies.min_leaf_size or 0) or fewest < (policies.min_action_rows or 0):
            raise InfeasibleError("a side of the first question has too few rows")
        if policies.depth == 1:
            totals = costs.sum(axis=0)
            return Best(float(totals.min()), Constant(int(totals.argmin())))
        smaller = with_options(policies, depth=policies.depth - 1, **own)
        return Question(smaller, rows, kind=self.question.kind).best(costs)


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


MOST_COLUMNS = 60_000  # of a program that is solved while somebody waits


@dataclass(frozen=True, eq=False)
class BySolver:
    """Trees with such a first question, under side constraints and limits on leaves and features."""

    question: Question
    columns: tuple[int, ...]

    @cached_property
    def oracle(self) -> Oracle:
        """The oracle; raises InputError where the program is too large."""
        question, cuts = self.question, self.question.policies
        splits = [
            question.rows[:, column] <= cut
            for column in self.columns
            for cut in cuts.thresholds[column]  # type: ignore[attr-defined]  # a tree
        ]
        opened = _RootedProgram(open_class(cuts, question.rows), splits)
        return open_oracle(opened, question.rows, constraints=list(question.constraints))

    def best(self, costs: Floats) -> Best:
        """Return the least total cost and a tree."""
        return best_of(self.oracle, costs)


class _RootedProgram(Opened):
    """The ``opened`` trees whose first test divides the rows as one of ``splits`` (each (m,)) does."""

    capabilities = frozenset({"program"})

    def __init__(self, opened: Opened, splits: Sequence[Bools]) -> None:
        opened.require("program")
        self._opened = opened
        self.n_actions, self.group, self.contexts = opened.n_actions, opened.group, opened.contexts
        self.log_size, self.class_name = opened.log_size, opened.class_name
        _, first = np.unique(self.group, return_index=True)
        self._splits = [split[first] for split in splits]

    def program(self, *, constrained: bool = False) -> Any:
        """Return the encoding of the trees, with other first tests out of reach."""
        encoding: Any = self._opened.program(constrained=constrained)
        if encoding.program.n_columns > MOST_COLUMNS:
            raise InputError(
                f"under side constraints, max_leaves or max_features another first question is a program of "
                f"{spaced(encoding.program.n_columns)} columns, and {spaced(MOST_COLUMNS)} are the most: "
                "take fewer thresholds"
            )
        if not encoding.ask_first(self._splits):
            raise InfeasibleError("the column has no cut that divides the rows")
        return encoding
