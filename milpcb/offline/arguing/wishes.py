"""Wishes that are the class again: with fewer columns, other options, or further side constraints."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np

from milpcb.constraints import LabelConstraint
from milpcb.errors import InputError
from milpcb.offline.arguing.question import Granting, Question, check_columns, explicit, with_options
from milpcb.oracles.without import without_columns
from milpcb.types import Ints


class Wish(Protocol):
    """Something that is asked of a policy."""

    @property
    def name(self) -> str:
        """What is asked, in words."""
        ...

    def of(self, question: Question) -> Granting:
        """Return the policies that grant it; raises InputError where the class has no such price."""
        ...


@dataclass(frozen=True)
class Without:
    """No policy reads these columns: the class again on contexts where they are constant."""

    columns: tuple[int, ...]
    name: str = "without a feature"

    def of(self, question: Question) -> Granting:
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

    def of(self, question: Question) -> Granting:
        """Return the class with the option."""
        return replace(question, policies=with_options(question.policies, **self.options))


@dataclass(frozen=True, eq=False)
class Under:
    """Policies keep further side constraints: parity, a rule that is kept somewhere, an action for a group."""

    constraints: tuple[LabelConstraint, ...]
    name: str = "under a constraint"

    def of(self, question: Question) -> Granting:
        """Return the class under the constraints."""
        return replace(question, constraints=(*question.constraints, *self.constraints))


def keep(labels: Ints, rows: Any, n_actions: int, name: str = "keep a rule") -> Under:
    """Return the wish that policies play ``labels`` (n,) in the ``rows`` (n,) that are True, such as an old rule's."""
    labels, here = np.asarray(labels), np.asarray(rows, dtype=bool)
    if labels.shape != here.shape or not np.isin(labels[here], np.arange(n_actions)).all():
        raise InputError(f"labels to keep must be numbers of actions 0..{n_actions - 1}, one a row")
    others = here[:, None] & (labels[:, None] != np.arange(n_actions))
    return Under((LabelConstraint(others.astype(float), 0.0, name),), name)


def alike(pairs: Sequence[tuple[int, int]], n: int, n_actions: int, name: str = "treat pairs alike") -> Under:
    """Return the wish that both rows of each pair get the same action; there are ``n`` rows."""
    both = [*pairs, *((other, one) for one, other in pairs)]
    return Under(tuple(ordered(both, n, n_actions, name)), name)


MOST_PAIRS = 2_000  # side constraints that a solver is handed


def check_pairs(pairs: Sequence[Any], n_actions: int) -> None:
    """Raise InputError for more pairs of rows than a solver is handed as side constraints."""
    if len(pairs) * (n_actions - 1) > MOST_PAIRS:
        raise InputError(f"{len(pairs):,} pairs of rows are too many side constraints for a solver; take fewer rows")


def ordered(pairs: Sequence[Sequence[int]], n: int, n_actions: int, name: str) -> Iterator[LabelConstraint]:
    """Yield the rules that the first row of each pair gets no higher action than the second."""
    check_pairs(pairs, n_actions)
    outside = [row for pair in pairs for row in pair if not 0 <= row < n]
    if outside:
        raise InputError(f"row {outside[0]} of a pair is none of the rows 0..{n - 1}")
    for one, other in pairs:
        for least in range(1, n_actions):
            weights = np.zeros((n, n_actions))
            weights[one, least:] += 1.0
            weights[other, least:] -= 1.0
            yield LabelConstraint(weights, 0.0, name)
