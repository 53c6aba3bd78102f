"""Side constraints by the names of actions and columns: they are bound to the rows when an estimator is fitted.

A constraint on row numbers could not survive a cross-validation. These name what they mean, and each fit makes the
LabelConstraint of it for the rows that it is given, weights included. They hold on the rows of the fit; on others the
shares and means are those rows' own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import permutations
from math import fsum
from typing import Any, ClassVar, Protocol

import numpy as np

from milpcb.checks import real
from milpcb.columns import Values
from milpcb.conditions import holds
from milpcb.constraints import LabelConstraint
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
class FittedRows:
    """What a fit knows: the columns by name, the names of the actions, and the weighted rows."""

    values: Mapping[str, Values]
    actions: Sequence[Any]
    rows: WeightedRows

    def column(self, name: str) -> Values:
        """Return a column (n,); raises UnknownNameError."""
        if name not in self.values:
            raise UnknownNameError("column of a constraint", name, map(str, self.values))
        return self.values[name]

    def number(self, action: Any) -> int:
        """Return the number of an action; raises UnknownNameError."""
        found = [i for i, name in enumerate(self.actions) if name == action]
        if not found:
            raise UnknownNameError("action of a constraint", action, map(str, self.actions))
        return found[0]

    def row(self, weights: Floats, action: Any) -> Floats:
        """Return a table (n, K) that is ``weights`` (n,) in the column of an action and 0 elsewhere."""
        table = np.zeros((len(self.rows.weight), len(self.actions)))
        table[:, self.number(action)] = weights
        return table

    def label_constraint(self, table: Floats, upper: float, name: str) -> LabelConstraint:
        """Return the rule that the weighted total of ``table`` (n, K) over the rows is at most ``upper``."""
        return LabelConstraint(self.rows.total(table), upper, name)


@dataclass(frozen=True)
class ShareAtMost:
    """At most a share of the rows get an action.

    Parameters
    ----------
    action : name of the action
    share : from 0 to 1

    """

    action: Any
    share: float

    def bind(self, bound: FittedRows) -> list[LabelConstraint]:
        """Return the constraint on the rows of a fit."""
        share = real("share", self.share, "between 0 and 1", lambda number: 0.0 <= number <= 1.0)
        everywhere = np.ones(len(bound.rows.weight))
        name = f"{self.action} on at most {share:g} of the rows"
        return [bound.label_constraint(bound.row(everywhere, self.action), share * fsum(bound.rows.weight), name)]


@dataclass(frozen=True)
class RateParity:
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

    def bind(self, bound: FittedRows) -> list[LabelConstraint]:
        """Return a constraint for each ordered pair of groups on the rows of a fit; missing is a group too."""
        delta = real("delta", self.delta, "between 0 and 1", lambda number: 0.0 <= number <= 1.0)
        members = _groups(bound.column(self.group))
        if len(members) < 2:
            raise InputError(f"column '{self.group}' has one value only, so parity has no two groups to compare")
        weight = bound.rows.weight
        rates = {group: among / fsum(weight[among]) for group, among in members.items()}
        return [
            bound.label_constraint(
                bound.row(rates[one] - rates[other], self.action),
                delta,
                f"rate of {self.action} where {self.group} is {one} at most {delta:g} above where it is {other}",
            )
            for one, other in permutations(rates, 2)
        ]


@dataclass(frozen=True)
class MeanAtMost:
    """A second outcome, such as what an action uses of a budget, is bounded on average over the rows.

    Parameters
    ----------
    amounts : maps names of actions to what they take of it: a number, or the name of a column that has it for each row;
        actions that are not named take nothing
    bound : the largest mean

    """

    amounts: Mapping[Any, float | str]
    bound: float

    def bind(self, bound: FittedRows) -> list[LabelConstraint]:
        """Return the constraint on the rows of a fit."""
        most = real("the bound on the mean", self.bound, "finite", lambda _number: True)
        if not (isinstance(self.amounts, Mapping) and self.amounts):
            raise InputError(f"amounts must map names of actions to numbers or columns, got {shown(self.amounts)}")
        tables = [bound.row(_amounts(amount, bound), action) for action, amount in self.amounts.items()]
        name = f"mean of {', '.join(map(str, self.amounts))} at most {most:g}"
        return [bound.label_constraint(np.sum(tables, axis=0), most * fsum(bound.rows.weight), name)]


@dataclass(frozen=True)
class Never:
    """No row at which a condition holds gets an action.

    Parameters
    ----------
    action : name of the action
    where : the condition, such as ``"age > 45"``, see milpcb.conditions

    """

    action: Any
    where: str
    other: ClassVar[bool] = False  # whether it is the other actions that are forbidden

    def bind(self, bound: FittedRows) -> list[LabelConstraint]:
        """Return the constraint on the rows of a fit, none where the condition never holds."""
        where = holds(self.where, bound.values)
        table = bound.row(where.astype(float), self.action)
        if self.other:
            table = where[:, None] - table
        word = "always" if self.other else "never"
        return [bound.label_constraint(table, 0.0, f"{word} {self.action} where {self.where}")] if where.any() else []


@dataclass(frozen=True)
class Always(Never):
    """Every row at which a condition holds gets an action.

    Parameters
    ----------
    action : name of the action
    where : the condition, such as ``"age > 45"``, see milpcb.conditions

    """

    other: ClassVar[bool] = True


share_at_most, parity, mean_at_most, never, always = ShareAtMost, RateParity, MeanAtMost, Never, Always
NAMES = {
    "share_at_most": ShareAtMost,
    "parity": RateParity,
    "mean_at_most": MeanAtMost,
    "never": Never,
    "always": Always,
}


def bind_all(constraints: Any, bound: FittedRows) -> list[LabelConstraint]:
    """Return the label constraints of all ``constraints``; raises InputError on what is none."""
    listed = constraints if isinstance(constraints, (list, tuple)) else [constraints]
    for constraint in listed:
        if not isinstance(constraint, tuple(NAMES.values())):
            raise InputError(
                f"constraints must be a list of {', '.join(NAMES)} of milpcb.estimators, got {shown(constraint)}"
            )
    return [rule for constraint in listed for rule in constraint.bind(bound)]


def _groups(column: Values) -> dict[str, Bools]:
    """Return the rows (n,) of each value of a column, by the value in words."""
    if column.dtype == object:
        return {str(value): np.array([entry == value for entry in column]) for value in sorted(set(column), key=str)}
    found = {f"{value:g}": column == value for value in np.unique(column[~np.isnan(column)]).tolist()}
    return found | ({"missing": np.isnan(column)} if np.isnan(column).any() else {})


def _amounts(amount: Any, bound: FittedRows) -> Floats:
    if not isinstance(amount, str):
        number = real("an amount of mean_at_most", amount, "a finite number", lambda _number: True)
        return np.full(len(bound.rows.weight), number)
    column = bound.column(amount)
    if column.dtype == object or np.isnan(column).any():
        raise InputError(f"column '{amount}' of mean_at_most must hold a number in every row")
    return column
