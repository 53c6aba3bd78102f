"""Restrictions of a policy: fewer columns, other options, further side constraints, another first question."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from milpcb.constraints import Constraint
from milpcb.constraints.by_names import EVERY_KIND, listed
from milpcb.core.checks import index, several
from milpcb.errors import InfeasibleError, InputError, shown
from milpcb.offline.question import Best, Question, Restricted, explicit, with_options
from milpcb.oracles.near_best import without_columns
from milpcb.protocols import Policy
from milpcb.types import Floats, Ints


class Restriction(ABC):
    """Something that is asked of a policy, with a ``name`` in words."""

    name: str

    @abstractmethod
    def of(self, question: Question) -> Question | Restricted:
        """Return the search of the policies that keep it; raises InputError where the class has no such price."""


def check_columns(columns: Sequence[int], rows: Floats) -> None:
    """Raise InputError unless these are numbers of columns of the contexts (n, d), one at least."""
    for column in columns:
        index("a column of a restriction", column, rows.shape[1])
    if not columns:
        raise InputError("columns must name at least one column of the contexts")


@dataclass(frozen=True)
class _OfColumns(Restriction):
    columns: tuple[int, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "columns", tuple(several("columns", self.columns, object, "numbers of columns")))


@dataclass(frozen=True)
class Without(_OfColumns):
    """No policy reads these columns: the class again on contexts where they are constant."""

    name: str = "without a feature"

    def of(self, question: Question) -> Question | Restricted:
        """See Restriction."""
        check_columns(self.columns, question.rows)
        known = explicit(question)
        policies, contexts = without_columns(known.policies, question.rows, self.columns)
        same = contexts is question.rows  # a million rows are not read again
        return replace(known, policies=policies, contexts=known.contexts if same else contexts)


@dataclass(frozen=True)
class Option(Restriction):
    """The class with another option, such as a smaller depth or one leaf less."""

    options: Mapping[str, Any]
    name: str = "another option"

    def of(self, question: Question) -> Question | Restricted:
        """See Restriction."""
        if not isinstance(self.options, Mapping) or not all(isinstance(name, str) for name in self.options):
            raise InputError(f"options must map names of options of the class to values, got {shown(self.options)}")
        return replace(question, policies=with_options(question.policies, **self.options))


@dataclass(frozen=True, eq=False)
class Under(Restriction):
    """Policies keep further side constraints: parity, a rule that is kept somewhere, an action for a group."""

    constraints: Constraint | Sequence[Constraint]
    name: str = "under a constraint"

    def __post_init__(self) -> None:
        object.__setattr__(self, "constraints", tuple(listed(self.constraints, EVERY_KIND)))

    def of(self, question: Question) -> Question | Restricted:
        """See Restriction."""
        further: Any = self.constraints  # the question binds them to its rows
        return replace(question, constraints=(*question.constraints, *further))


LIMITS = ("min_leaf_size", "min_action_rows", "max_leaves", "max_features")


@dataclass(frozen=True)
class First(_OfColumns):
    """The first question of a tree is about one of these columns: for each cut both sides are searched separately.

    Refused under side constraints and limits, by which the sides depend on each other or on the rows.
    """

    name: str = "another first question"

    def of(self, question: Question) -> Restricted:
        """See Restriction."""
        policies: Any = question.policies
        if not (hasattr(policies, "depth") and hasattr(policies, "max_leaves")):
            raise InputError(f"only trees have a first question, not {type(policies).__name__}")
        if question.constraints or any(getattr(policies, limit) is not None for limit in LIMITS):
            raise InputError(
                f"'{self.name}' has no price under side constraints, {', '.join(LIMITS)}: both sides of the first "
                "question are searched separately; leave them out"
            )
        known = explicit(question)
        check_columns(self.columns, known.rows)
        return Restricted(partial(_best_rooted, known, self.columns))


def _best_rooted(question: Question, columns: Sequence[int], costs: Floats) -> Best:
    """Return the least total cost of trees whose first question is about one of some columns, and a tree."""
    found, policies = [], question.policies
    smaller = with_options(policies, depth=policies.depth - 1)
    tests = [(column, cut) for column in columns for cut in policies.thresholds[column]]
    for place, cut in tests:
        holds = question.rows[:, place] <= cut
        if holds.all() or not holds.any():
            continue
        yes, no = (
            Question(smaller, question.rows[here], kind=question.kind).best(costs[here]) for here in (holds, ~holds)
        )
        names = policies.feature_names
        title = f"{names[place] if names else f'x{place}'} <= {cut:g}"
        found.append(Best(yes.value + no.value, FirstQuestion(place, cut, yes.policy, no.policy, title)))
    if not found:
        raise InfeasibleError("the column has no cut that divides the rows")
    return min(found, key=lambda best: best.value)


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
