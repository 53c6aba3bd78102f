"""The wishes of ``milpcb learn --what-if``, and their prices: what it would cost to have the rule otherwise.

without COLUMN              no rule reads it
COLUMN first                the first question of a tree is about it
COLUMN more, COLUMN less    the action never goes down (up) as the column grows, in the order of the actions
depth 1, leaves 3, ...      another option of the class: a name, perhaps without its max_, and an integer
never ACTION where CONDITION, always ACTION where CONDITION
keep COLUMN, keep COLUMN where CONDITION    the action that a column of the log names, such as an old rule's
alike COLUMN within SHARE   the rates of every action in the groups of a column differ by at most this
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np
import polars as pl

from milpcb.constraints import NamedConstraint, always, never, parity
from milpcb.core.decimals import percent
from milpcb.data.actions import place
from milpcb.data.conditions import holds
from milpcb.data.schema import read_columns
from milpcb.errors import InputError, UnknownNameError
from milpcb.estimators.base import Problem
from milpcb.estimators.monotone import joints_of
from milpcb.logs.amounts import Unit
from milpcb.logs.sections import PageSection, PageTable
from milpcb.offline import Scores
from milpcb.offline.arguing import (
    First,
    GainBand,
    InOrder,
    Option,
    Price,
    Question,
    Under,
    Without,
    banded_prices,
    keep,
    prices,
)
from milpcb.offline.band import Progress

FORMS = (
    "without COLUMN, COLUMN first, COLUMN more, COLUMN less, depth 1, leaves 3, never ACTION where CONDITION, always "
    "ACTION where CONDITION, keep COLUMN, keep COLUMN where CONDITION, alike COLUMN within SHARE"
)
SHORT = {"leaves": "max_leaves", "rules": "max_rules", "cuts": "max_cuts", "weight": "max_weight"}
Wishes = list[Any]


class Wisher:
    """Makes wishes of strings, for an estimator that was fitted to ``frame``, and its ``problem`` there.

    ``table`` has all columns of the log in the same rows, ``weight`` (n,) how much each counts.
    """

    def __init__(
        self, estimator: Any, frame: pl.DataFrame, problem: Problem, table: pl.DataFrame, weight: Any = None
    ) -> None:
        self._estimator, self._frame, self._table, self._weight = estimator, frame, table, weight
        self._columns = estimator.policy_.names.columns
        self.question = Question(problem.policies, problem.contexts, problem.constraints, problem.kind)
        self._forms: list[tuple[str, Callable[..., Any]]] = [
            (r"without (.+)", lambda text, name: Without(self._places(name), text)),
            (r"(.+) first", lambda text, name: First(self._places(name), text)),
            (r"(.+) (more|less)", self._monotone),
            (r"(never|always) (.+) where (.+)", self._forced),
            (r"keep (.+?)(?: where (.+))?", self._keep),
            (r"alike (.+) within (\S+)", self._alike),
            (r"(\w+) (\d+)", self._option),
        ]

    def wish(self, text: str) -> Any:
        """Return the wish that a string describes; raises InputError, UnknownNameError."""
        for form, make in self._forms:
            found = re.fullmatch(form, text.strip())
            if found:
                return make(text.strip(), *found.groups())
        raise InputError(f"cannot read --what-if '{text}': write one of {FORMS}")

    def columns(self) -> list[str]:
        """Return the names of the columns that the rule reads."""
        tested = self._estimator.policy_.cut_points()
        places = range(len(self._columns)) if tested is None else sorted(tested)
        return list(dict.fromkeys(self._columns[place].name for place in places))

    def usual(self) -> Wishes:
        """Return what people ask first: without each column that the rule reads, and with one depth or leaf less."""
        policy: Any = self._estimator.policy_
        found: Wishes = [self.wish(f"without {name}") for name in self.columns()]
        policies: Any = self.question.policies
        if not hasattr(policies, "max_leaves") or not hasattr(policies, "depth"):
            return found
        if policies.depth > 1:
            found.append(Option({"depth": policies.depth - 1}, f"depth {policies.depth - 1}"))
        leaves = len(policy.leaf_actions)
        if leaves > 2:
            found.append(Option({"max_leaves": leaves - 1}, f"leaves {leaves - 1}"))
        return found

    def _places(self, name: str) -> tuple[int, ...]:
        """Return the numbers that rules read of a column."""
        found = tuple(place for place, column in enumerate(self._columns) if column.name == name)
        if not found:
            raise UnknownNameError("column of --what-if", name, dict.fromkeys(c.name for c in self._columns))
        return found

    def _monotone(self, text: str, name: str, way: str) -> InOrder:
        self._places(name)
        names = self._frame.columns
        values = read_columns(self._frame, names, names)
        return InOrder(joints_of({name: way}, self._columns, values, self.question.rows), text)

    def _forced(self, text: str, how: str, action: str, where: str) -> Under:
        rule = (never if how == "never" else always)(self._action(action), where)
        return self._under(text, [rule])

    def _keep(self, text: str, column: str, where: str | None) -> Under:
        if column not in self._table.columns:
            raise UnknownNameError("column of --what-if", column, self._table.columns)
        names = self._frame.columns
        here = holds(where, read_columns(self._frame, names, names)) if where else np.ones(len(self._frame), dtype=bool)
        asked, actions = self._table[column].to_list(), self._actions
        labels = np.zeros(len(asked), dtype=np.int64)
        for row in np.flatnonzero(here).tolist():
            if asked[row] is None:
                raise InputError(f"--what-if '{text}': '{column}' names no action in some row; add a condition")
            labels[row] = place(f"action in '{column}' of --what-if", asked[row], actions)
        return keep(labels, here, len(actions), text)

    def _alike(self, text: str, column: str, share: str) -> Under:
        try:
            delta = float(share)
        except ValueError as error:
            raise InputError(f"cannot read --what-if '{text}': '{share}' is no number") from error
        return self._under(text, [parity(action, column, delta) for action in self._actions])

    def _option(self, text: str, name: str, number: str) -> Option:
        policies, option = self.question.policies, SHORT.get(name, name)
        known: set[str] = {field.name for field in fields(policies)} if is_dataclass(policies) else set()
        if option not in known:
            raise InputError(f"cannot read --what-if '{text}': '{name}' is no option of the class; or {FORMS}")
        return Option({option: int(number)}, text)

    def _under(self, text: str, rules: Sequence[NamedConstraint]) -> Under:
        """Return the wish that named constraints are kept too."""
        other = copy(self._estimator)
        other.constraints = list(rules)
        return Under(tuple(other.problem(self._frame, self._weight).constraints), text)

    def _action(self, name: str) -> str:
        if name not in self._actions:
            raise UnknownNameError("action of --what-if", name, self._actions)
        return name

    @property
    def _actions(self) -> list[str]:
        return [str(action) for action in self._estimator.actions_.tolist()]


def what_if(
    wisher: Wisher, scores: Scores, band: GainBand | None, texts: Sequence[str], progress: Progress | None = None
) -> tuple[Price, ...]:
    """Return the price per row of each wish, and of what people ask first; with intervals by a band.

    Where there is no band, prices have no intervals, and only those of ``texts`` are found. ``progress(done, total)``
    is called after each price with an interval.
    """
    asked = [wisher.wish(text) for text in texts]
    if band is None:
        return tuple(prices(wisher.question, scores.costs / scores.weight.sum(), asked)) if texts else ()
    names = {wish.name for wish in asked}
    wishes = [*asked, *(wish for wish in wisher.usual() if wish.name not in names)]
    return tuple(banded_prices(wisher.question, scores, band, wishes, progress))


def price_section(found: Sequence[Price], unit: Unit, level: float, missing: str) -> PageSection:
    """Return the table of prices: of each wish the price, and its interval."""
    heading = "What it would cost to have it otherwise"
    if not found:
        return PageSection(heading, missing=missing)
    how = (
        "A price is how much less the best rule gives, in the rows that it was learnt from, if this wish alone is "
        f"granted. The intervals ({percent(level)}) hold for all of them at once."
    )
    headings = ("what if", f"price, {unit.words}", f"{percent(level)} interval")
    return PageSection(heading, [how], tables=[PageTable("Table of prices", headings, _lines(found, unit), most=99)])


def _lines(found: Sequence[Price], unit: Unit) -> list[tuple[str, str, str]]:
    lines = []
    for price in found:
        known = price.best is not None and price.lower == price.lower
        ends = f"{unit.amount(price.lower)} to {unit.amount(price.upper)}" if known else ""
        lines.append((price.name, "no such rule" if price.best is None else unit.amount(price.price), ends))
    return lines
