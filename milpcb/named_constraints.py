"""Side constraints by the names of actions and columns, bound to contexts when these are known.

A constraint on row numbers would not survive cross-validation, nor contexts that arrive one by one. The constraints
here name actions and columns instead. Each needs a few tables that are summed over the rows (``tables``): an estimator
sums over the rows of its fit, weights included, and a Bandit over the decisions so far. From the sums,
milpcb.constraints, which defines the kinds, makes LabelConstraints (``rules``). They hold on these rows; on other rows
shares and means may differ.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from math import fsum
from typing import Any, ClassVar, Protocol

import numpy as np
import numpy.typing as npt

from milpcb.constraints import (
    LabelConstraint,
    bounded_mean,
    close_rates,
    counted_at,
    forbidden,
    unit_share,
)
from milpcb.core.checks import real
from milpcb.data.actions import action_name, place
from milpcb.data.columns import Values, in_words
from milpcb.data.conditions import holds
from milpcb.data.frames import named_rows, table_names
from milpcb.data.schema import read_columns
from milpcb.errors import InputError, UnknownNameError, shown
from milpcb.types import Bools, Floats


class WeightedRows(Protocol):
    """Weighted rows that are merged into distinct contexts (g, d)."""

    @property
    def weight(self) -> Floats:
        """The weight (n,) of each row."""
        ...

    def total(self, table: Floats) -> Floats:
        """Return the weighted totals (g, k) of a table (n, k) at each distinct context."""
        ...


@dataclass(frozen=True)
class NamedRows:
    """Rows of a table as constraints read them: the columns (n,) by name, and the names of the actions."""

    values: Mapping[str, Values]
    actions: Sequence[Any]

    def __len__(self) -> int:
        return len(next(iter(self.values.values())))

    def column(self, name: str) -> Values:
        """Return a column (n,); raises UnknownNameError."""
        if name not in self.values:
            raise UnknownNameError("column of a constraint", name, map(str, self.values))
        return self.values[name]

    def number(self, action: Any) -> int:
        """Return the number of an action, matched by name; raises UnknownNameError."""
        return place("action of a constraint", action, [action_name(each) for each in self.actions])

    def table(self, weights: npt.ArrayLike, action: Any, *, others: bool = False) -> Floats:
        """Return a table (n, K) that is ``weights`` (n,) at an action and 0 elsewhere, or the other way round."""
        return counted_at(weights, self.number(action), len(self.actions), others=others)


@dataclass(frozen=True)
class FittedRows(NamedRows):
    """What a fit knows: the rows, with their weights."""

    rows: WeightedRows


@dataclass(frozen=True)
class EachRow:
    """Rows that count once each, and are not merged."""

    weight: Floats

    def total(self, table: Floats) -> Floats:
        """Return the table (n, k)."""
        return table


class NamedConstraint(ABC):
    """A constraint by names."""

    @abstractmethod
    def tables(self, rows: NamedRows) -> dict[str, Floats]:
        """Return the tables (n, K), by a name of their own, whose sums over rows are all that ``rules`` needs.

        Raises InputError where the constraint names what the rows have not, or asks for what cannot be.
        """

    @abstractmethod
    def rules(self, sums: Mapping[str, Floats], weight: float) -> list[LabelConstraint]:
        """Return the constraints on contexts (g, K) with these sums of the tables, of rows of total ``weight``."""

    def bind(self, bound: FittedRows) -> list[LabelConstraint]:
        """Return the constraints on the rows of a fit."""
        sums = {key: bound.rows.total(table) for key, table in self.tables(bound).items()}
        return self.rules(sums, fsum(bound.rows.weight))


@dataclass(frozen=True)
class ShareAtMost(NamedConstraint):
    """At most a share of the rows get an action.

    Parameters
    ----------
    action : name of the action
    share : from 0 to 1

    """

    action: Any
    share: float

    def __post_init__(self) -> None:
        unit_share("share", self.share)

    def tables(self, rows: NamedRows) -> dict[str, Floats]:
        """Return 1 for the action."""
        return {"": rows.table(np.ones(len(rows)), self.action)}

    def rules(self, sums: Mapping[str, Floats], weight: float) -> list[LabelConstraint]:
        """Return the constraint."""
        name = f"{self.action} on at most {self.share:g} of the rows"
        return [bounded_mean(table, self.share, weight, name) for table in sums.values()]


@dataclass(frozen=True)
class RateParity(NamedConstraint):
    """The rates of an action in any two groups differ by little.

    Parameters
    ----------
    action : name of the action
    group : name of the column whose values are the groups; missing is one too
    delta : largest difference of two rates, from 0 to 1

    """

    action: Any
    group: str
    delta: float

    def __post_init__(self) -> None:
        unit_share("delta", self.delta)

    def tables(self, rows: NamedRows) -> dict[str, Floats]:
        """Return 1 for the action at the members of a group, for each group; missing is a group too."""
        members = groups(rows.column(self.group))
        return {group: rows.table(among, self.action) for group, among in members.items()}

    def rules(self, sums: Mapping[str, Floats], weight: float) -> list[LabelConstraint]:
        """Return a constraint for each ordered pair of groups."""
        del weight
        action, group = (str(name).replace("{", "{{").replace("}", "}}") for name in (self.action, self.group))
        name = f"rate of {action} where {group} is {{one}} at most {self.delta:g} above where it is {{other}}"
        return close_rates(sums, self.delta, name)

    def bind(self, bound: FittedRows) -> list[LabelConstraint]:
        """Return the constraints on the rows of a fit; raises InputError where there is one group only."""
        found = super().bind(bound)
        if not found:
            raise InputError(f"column '{self.group}' has one value only, so parity has no two groups to compare")
        return found


@dataclass(frozen=True)
class MeanAtMost(NamedConstraint):
    """A second outcome, such as what an action uses of a budget, is bounded on average over the rows.

    Parameters
    ----------
    amounts : maps names of actions to what they take of it: a number, or the name of a column that has it for each row;
        actions that are not named take nothing
    bound : the largest mean

    """

    amounts: Mapping[Any, float | str]
    bound: float

    def __post_init__(self) -> None:
        real("the bound on the mean", self.bound, "finite", lambda _number: True)
        if not (isinstance(self.amounts, Mapping) and self.amounts):
            raise InputError(f"amounts must map names of actions to numbers or columns, got {shown(self.amounts)}")

    def tables(self, rows: NamedRows) -> dict[str, Floats]:
        """Return what each action takes."""
        tables = [rows.table(_amounts(amount, rows), action) for action, amount in self.amounts.items()]
        return {"": np.sum(tables, axis=0)}

    def rules(self, sums: Mapping[str, Floats], weight: float) -> list[LabelConstraint]:
        """Return the constraint."""
        name = f"mean of {', '.join(map(str, self.amounts))} at most {self.bound:g}"
        return [bounded_mean(table, self.bound, weight, name) for table in sums.values()]


@dataclass(frozen=True)
class Never(NamedConstraint):
    """No row at which a condition holds gets an action.

    Parameters
    ----------
    action : name of the action
    where : the condition, such as ``"age > 45"``, see milpcb.data.conditions

    """

    action: Any
    where: str
    other: ClassVar[bool] = False  # whether it is the other actions that are forbidden

    def tables(self, rows: NamedRows) -> dict[str, Floats]:
        """Return 1 where it is forbidden to play an action."""
        return {"": rows.table(holds(self.where, rows.values), self.action, others=self.other)}

    def rules(self, sums: Mapping[str, Floats], weight: float) -> list[LabelConstraint]:
        """Return the constraint, none where the condition never holds."""
        del weight
        name = f"{'always' if self.other else 'never'} {self.action} where {self.where}"
        return [forbidden(table, name) for table in sums.values() if table.any()]


@dataclass(frozen=True)
class Always(Never):
    """Every row at which a condition holds gets an action.

    Parameters
    ----------
    action : name of the action
    where : the condition, such as ``"age > 45"``, see milpcb.data.conditions

    """

    other: ClassVar[bool] = True


share_at_most, parity, mean_at_most, never, always = ShareAtMost, RateParity, MeanAtMost, Never, Always
NAMES: dict[str, type[NamedConstraint]] = {
    "share_at_most": ShareAtMost,
    "parity": RateParity,
    "mean_at_most": MeanAtMost,
    "never": Never,
    "always": Always,
}


def bind_all(constraints: Any, bound: FittedRows) -> list[LabelConstraint]:
    """Return the label constraints of all ``constraints``; raises InputError on what is none."""
    return [rule for constraint in listed(constraints) for rule in constraint.bind(bound)]


def bind_to(constraints: Any, contexts: Any, names: Sequence[str], actions: Sequence[Any]) -> list[LabelConstraint]:
    """Return the label constraints of all ``constraints`` on contexts (m, d), each once: a table or a data frame.

    ``names`` are those of the columns; without any they are x0, x1, ... A data frame has its own, and so have contexts
    that are mappings by names; what one of these has not is missing there.
    """
    columns, table = table_names(contexts) or tuple(names), contexts
    if rows := named_rows(contexts):
        columns = tuple(dict.fromkeys(chain.from_iterable(rows)))
        table = [{name: row.get(name) for name in columns} for row in rows]
    columns = columns or tuple(f"x{i}" for i in range(np.shape(contexts)[1]))
    each = EachRow(np.ones(len(contexts)))
    return bind_all(constraints, FittedRows(read_columns(table, columns, columns), actions, each))


def listed(constraints: Any) -> list[NamedConstraint]:
    """Return one constraint or several as a list; raises InputError on what is none."""
    found = list(constraints) if isinstance(constraints, (list, tuple)) else [constraints]
    for constraint in found:
        if not isinstance(constraint, NamedConstraint):
            raise InputError(f"constraints must be a list of {', '.join(NAMES)} of milpcb, got {shown(constraint)}")
    return found


def check_actions(constraints: Iterable[NamedConstraint], actions: Sequence[Any]) -> None:
    """Raise UnknownNameError where a constraint names an action that is none of ``actions``."""
    for constraint in constraints:
        named_actions(constraint, actions)


def named_actions(constraint: NamedConstraint, actions: Sequence[Any]) -> set[int]:
    """Return the numbers of the actions that a constraint names; raises UnknownNameError."""
    named = constraint.amounts if isinstance(constraint, MeanAtMost) else [getattr(constraint, "action", None)]
    return {NamedRows({}, actions).number(action) for action in named}


def as_documents(constraints: Iterable[NamedConstraint]) -> list[dict[str, Any]]:
    """Return constraints as plain data; ``of_document`` reads one of them."""
    names = {cls: name for name, cls in NAMES.items()}
    documents = [{"constraint": names[type(constraint)], **vars(constraint)} for constraint in constraints]
    for document in documents:
        if "amounts" in document:  # pairs, as keys in JSON are strings and actions may be numbers
            document["amounts"] = [list(pair) for pair in document["amounts"].items()]
    return documents


def of_document(document: Mapping[str, Any]) -> NamedConstraint:
    """Return the constraint that a document of ``as_documents`` describes.

    Raises LookupError, TypeError on anything else.
    """
    own = {name: entry for name, entry in document.items() if name != "constraint"}
    if "amounts" in own:
        own["amounts"] = dict(own["amounts"])
    return NAMES[document["constraint"]](**own)


def groups(column: Values) -> dict[str, Bools]:
    """Return the rows (n,) of each value of a column, by the value in words, which no other value has."""
    if column.dtype == object:
        values = sorted(set(column.tolist()), key=in_words)
        return {in_words(value): np.array([entry == value for entry in column.tolist()]) for value in values}
    found = {in_words(value): column == value for value in np.unique(column[~np.isnan(column)]).tolist()}
    return found | ({"missing": np.isnan(column)} if np.isnan(column).any() else {})


def _amounts(amount: Any, rows: NamedRows) -> Floats:
    if not isinstance(amount, str):
        number = real("an amount of mean_at_most", amount, "a finite number", lambda _number: True)
        return np.full(len(rows), number)
    column = rows.column(amount)
    if column.dtype == object or np.isnan(column).any():
        raise InputError(f"column '{amount}' of mean_at_most must hold a number in every row")
    return column
