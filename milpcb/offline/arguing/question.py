"""A policy class on given rows, which wishes modify, and the cheapest of its policies."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from functools import cached_property
from typing import Any, Protocol

import numpy as np

from milpcb.constraints import LabelConstraint, bind_for
from milpcb.core.checks import choice, context_array, index, instance, several
from milpcb.errors import InfeasibleError, InputError
from milpcb.offline.cross_fitting import Best, best_of
from milpcb.oracles import open_oracle
from milpcb.oracles.base import Oracle
from milpcb.protocols import PolicyClass, open_class
from milpcb.types import Floats

KINDS = ("search", "milp", "enumeration", "audited")


class Granting(Protocol):
    """Some policies of a class on n rows: of costs (n, K) it knows which is cheapest; raises InfeasibleError."""

    def best(self, costs: Floats) -> Best:
        """Return the least total cost and a policy."""
        ...


@dataclass(frozen=True, eq=False)
class Question:
    """A policy class on n rows, under side constraints: what wishes are about.

    Parameters
    ----------
    policies : the class
    contexts : (n, d), as for ``milpcb.open_oracle``
    constraints : side constraints that every policy keeps
    kind : "search" or "milp"; a search that cannot hold the constraints is left to a solver

    """

    policies: PolicyClass
    contexts: Any
    constraints: tuple[LabelConstraint, ...] = ()
    kind: str = "search"

    def __post_init__(self) -> None:
        object.__setattr__(self, "constraints", tuple(bind_for(self.constraints, self.policies, self.contexts)))

    @cached_property
    def oracle(self) -> Oracle:
        """The oracle, opened when it is first asked."""
        instance("policies", self.policies, PolicyClass, "a policy class, as in DecisionTrees(n_actions=2)")
        kind = choice("kind", self.kind, KINDS)
        opened = open_class(self.policies, self.contexts)
        needed = {"search", "constraints"} if self.constraints else {"search"}
        kind = kind if kind != "search" or needed <= opened.capabilities else "milp"
        return open_oracle(opened, self.contexts, kind=kind, constraints=list(self.constraints))

    def close(self) -> None:
        """Let go of the oracle; it is opened again when it is asked again."""
        self.__dict__.pop("oracle", None)

    @cached_property
    def rows(self) -> Floats:
        """The contexts (n, d) as numbers."""
        return context_array(np.asarray(self.policies.read(self.contexts)))

    def best(self, costs: Floats) -> Best:
        """Return the least total cost and a policy; raises OracleInexact where it is not proved."""
        return best_of(self.oracle, costs)


def granted(asked: Granting, costs: Floats) -> Best | None:
    """Return the best of some policies; None where there are none."""
    try:
        return asked.best(costs)
    except InfeasibleError:
        return None


def with_options(policies: Any, **options: Any) -> Any:
    """Return a class with other options; raises InputError on those that it has not."""
    known = {each.name for each in fields(policies)} if is_dataclass(policies) else set()
    for name in options:
        if name not in known:
            raise InputError(f"{type(policies).__name__} has no option '{name}'; it has {', '.join(sorted(known))}")
    return replace(policies, **options)


def explicit(question: Question) -> Question:
    """Return the question with explicit cut points, so that they are the same on any rows."""
    policies: Any = question.policies
    if isinstance(getattr(policies, "thresholds", ()), tuple):
        return question
    opened: Any = open_class(policies, question.contexts)
    return replace(question, policies=opened.fixed()) if "fixed" in opened.capabilities else question


def check_question(question: Any) -> None:
    """Raise InputError on anything but a question."""
    instance("question", question, Question, "a Question of a policy class and contexts")


def listed_columns(columns: Any) -> tuple[int, ...]:
    """Return numbers of columns, which may be walked through once only; raises InputError on what are none."""
    return tuple(several("columns", columns, object, "numbers of columns"))


def check_columns(columns: Sequence[int], rows: Floats) -> None:
    """Raise InputError unless these are numbers of columns of the contexts (n, d), one at least."""
    for column in columns:
        index("a column of a wish", column, rows.shape[1])
    if not columns:
        raise InputError("columns must name at least one column of the contexts")
