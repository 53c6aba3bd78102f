"""A policy class on given rows, and the restrictions that modify it: fewer columns, other options, more constraints."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from functools import cached_property
from typing import Any, Protocol

import numpy as np

from milpcb.constraints import Constraint, LabelConstraint, bind_for
from milpcb.constraints.binding import EVERY_KIND, listed
from milpcb.core.checks import choice, context_array, index, instance, number_array, several, whole, whole_array
from milpcb.core.decimals import spaced
from milpcb.errors import InfeasibleError, InputError, shown
from milpcb.offline.cross_fitting import Best, best_of
from milpcb.oracles import open_oracle
from milpcb.oracles.base import Oracle
from milpcb.oracles.without import without_columns
from milpcb.protocols import PolicyClass, open_class
from milpcb.types import Floats, Ints

KINDS = ("search", "milp", "enumeration", "audited")


class Restricted(Protocol):
    """Some policies of a class on n rows: of costs (n, K) it knows which is cheapest; raises InfeasibleError."""

    def best(self, costs: Floats) -> Best:
        """Return the least total cost and a policy."""
        ...


@dataclass(frozen=True, eq=False)
class Question:
    """A policy class on n rows, under side constraints: what restrictions are about.

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


def best_or_none(asked: Restricted, costs: Floats) -> Best | None:
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
        index("a column of a restriction", column, rows.shape[1])
    if not columns:
        raise InputError("columns must name at least one column of the contexts")


class Restriction(Protocol):
    """Something that is asked of a policy."""

    @property
    def name(self) -> str:
        """Restriction in words."""
        ...

    def of(self, question: Question) -> Restricted:
        """Return the policies that keep it; raises InputError where the class has no such price."""
        ...


@dataclass(frozen=True)
class Without:
    """No policy reads these columns: the class again on contexts where they are constant."""

    columns: tuple[int, ...]
    name: str = "without a feature"

    def __post_init__(self) -> None:
        object.__setattr__(self, "columns", listed_columns(self.columns))

    def of(self, question: Question) -> Restricted:
        """Return the class without the columns."""
        check_columns(self.columns, question.rows)
        known = explicit(question)
        policies, contexts = without_columns(known.policies, question.rows, self.columns)
        same = contexts is question.rows  # a million rows are not read again
        return replace(known, policies=policies, contexts=known.contexts if same else contexts)


@dataclass(frozen=True)
class Option:
    """The class with another option, such as a smaller depth or one leaf less."""

    options: Mapping[str, Any]
    name: str = "another option"

    def of(self, question: Question) -> Restricted:
        """Return the class with the option."""
        if not isinstance(self.options, Mapping) or not all(isinstance(name, str) for name in self.options):
            raise InputError(f"options must map names of options of the class to values, got {shown(self.options)}")
        return replace(question, policies=with_options(question.policies, **self.options))


@dataclass(frozen=True, eq=False)
class Under:
    """Policies keep further side constraints: parity, a rule that is kept somewhere, an action for a group."""

    constraints: Constraint | Sequence[Constraint]
    name: str = "under a constraint"

    def __post_init__(self) -> None:
        object.__setattr__(self, "constraints", tuple(listed(self.constraints, EVERY_KIND)))

    def of(self, question: Question) -> Restricted:
        """Return the class under the constraints."""
        further: Any = self.constraints  # the question binds them to its rows
        return replace(question, constraints=(*question.constraints, *further))


def keep(labels: Ints, rows: Any, n_actions: int, name: str = "keep a rule") -> Under:
    """Return the restriction to play ``labels`` (n,), such as an old rule's, in the ``rows`` (n,) that are True."""
    whole("n_actions", n_actions, 2)
    labels, here = whole_array("labels", labels), number_array("rows", rows)
    if np.asarray(rows).dtype != bool:
        raise InputError("rows must be one boolean a row: whether the labels are kept there")
    here = here.astype(bool)
    if labels.shape != here.shape or not np.isin(labels[here], np.arange(n_actions)).all():
        raise InputError(f"labels to keep must be numbers of actions 0..{n_actions - 1}, one a row")
    others = here[:, None] & (labels[:, None] != np.arange(n_actions))
    return Under((LabelConstraint(others.astype(float), 0.0, name),), name)


def alike(pairs: Sequence[tuple[int, int]], n: int, n_actions: int, name: str = "treat pairs alike") -> Under:
    """Return the restriction that both rows of each pair get the same action; there are ``n`` rows."""
    pairs = [(one, other) for one, other in _checked_pairs(pairs)]
    both = [*pairs, *((other, one) for one, other in pairs)]
    return Under(tuple(ordered(both, n, n_actions, name)), name)


def _checked_pairs(pairs: Any) -> list[tuple[Any, Any]]:
    """Return pairs as a list, which may be walked through twice; raises InputError on what are no pairs."""
    found = several("pairs", pairs, (tuple, list, np.ndarray), "pairs of rows")
    if not all(len(pair) == 2 for pair in found):
        raise InputError(f"pairs must be a list of pairs of rows, got {shown(found)}")
    return [(one, other) for one, other in found]


def listed_restrictions(restrictions: Any) -> list[Any]:
    """Return restrictions as a list; raises InputError on what is none."""
    example = "restrictions such as Without((0,))"
    found = several("restrictions", restrictions, object, example)
    for restriction in found:
        if isinstance(restriction, type) or not hasattr(restriction, "of"):
            raise InputError(f"restrictions must be a list of {example}, got {shown(restriction)}")
    return found


MOST_PAIRS = 2_000  # side constraints that a solver is handed


def check_pairs(pairs: Sequence[Any], n_actions: int) -> None:
    """Raise InputError for more pairs of rows than a solver is handed as side constraints."""
    if len(pairs) * (n_actions - 1) > MOST_PAIRS:
        raise InputError(
            f"{spaced(len(pairs))} pairs of rows are too many side constraints for a solver; take fewer rows"
        )


def ordered(pairs: Sequence[Sequence[int]], n: int, n_actions: int, name: str) -> Iterator[LabelConstraint]:
    """Yield the rules that the first row of each pair gets no higher action than the second."""
    pairs, n = _checked_pairs(pairs), whole("n", n, 1)
    check_pairs(pairs, whole("n_actions", n_actions, 2))
    for row in (row for pair in pairs for row in pair):
        index("a row of a pair", row, n)
    for one, other in pairs:
        for least in range(1, n_actions):
            weights = np.zeros((n, n_actions))
            weights[one, least:] += 1.0
            weights[other, least:] -= 1.0
            yield LabelConstraint(weights, 0.0, name)
