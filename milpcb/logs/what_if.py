"""Restrictions of ``milpcb learn --what-if`` and their prices, and the Rashomon set: the rules that do as well.

without COLUMN              no rule reads it
COLUMN first                the first question of a tree is about it
COLUMN more, COLUMN less    the action never goes down (up) as the column grows, in the order of the actions
depth 1, leaves 3, ...      another option of the class: a name, perhaps without its max_, and an integer
never ACTION where CONDITION, always ACTION where CONDITION
keep COLUMN, keep COLUMN where CONDITION    the action that a column of the log names, such as an old rule's
alike COLUMN within SHARE   the rates of every action in the groups of a column differ by at most this
"""

import re
from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass, fields, is_dataclass
from itertools import islice
from typing import Any

import numpy as np
import polars as pl

from milpcb.constraints import NamedConstraint, always, never, parity
from milpcb.core.decimals import fixed, percent
from milpcb.core.text import listed
from milpcb.data.actions import place
from milpcb.data.conditions import holds
from milpcb.data.schema import read_columns
from milpcb.errors import InputError, UnknownNameError
from milpcb.estimators.cuts import joints_of
from milpcb.logs.curves import in_words, of_numbers
from milpcb.logs.sections import PageSection, PageTable, PageText, Unit, rule_text
from milpcb.offline import Scores
from milpcb.offline.band import Progress
from milpcb.offline.restrictions import (
    First,
    GainBand,
    InOrder,
    Option,
    Price,
    Question,
    Under,
    Without,
    keep,
    prices,
)
from milpcb.oracles.near_best import NearBest, far_apart
from milpcb.rng import child
from milpcb.types import Floats, Ints

FORMS = (
    "without COLUMN, COLUMN first, COLUMN more, COLUMN less, depth 1, leaves 3, never ACTION where CONDITION, always "
    "ACTION where CONDITION, keep COLUMN, keep COLUMN where CONDITION, alike COLUMN within SHARE"
)
SHORT = {"leaves": "max_leaves", "rules": "max_rules", "cuts": "max_cuts", "weight": "max_weight"}


def columns_read(policy: Any) -> list[str]:
    """Return the names of the columns that a rule reads."""
    tested = policy.cut_points()
    places = range(len(policy.names.columns)) if tested is None else sorted(tested)
    return list(dict.fromkeys(policy.names.columns[place].name for place in places))


class Reader:
    """Reads restrictions from strings, for an estimator that was fitted to ``frame``, and the ``question`` of its fit.

    ``table`` has all columns of the log in the same rows, ``weight`` (n,) how much each counts.
    """

    def __init__(
        self, estimator: Any, frame: pl.DataFrame, question: Question, table: pl.DataFrame, weight: Any = None
    ) -> None:
        self.question, self._estimator, self._frame = question, estimator, frame
        self._table, self._weight = table, weight
        self._columns = estimator.policy_.names.columns
        self._forms: list[tuple[str, Callable[..., Any]]] = [
            (r"without (.+)", lambda text, name: Without(self._places(name), text)),
            (r"(.+) first", lambda text, name: First(self._places(name), text)),
            (r"(.+) (more|less)", self._monotone),
            (r"(never|always) (.+) where (.+)", self._forced),
            (r"keep (.+?)(?: where (.+))?", self._keep),
            (r"alike (.+) within (\S+)", self._alike),
            (r"(\w+) (\d+)", self._option),
        ]

    def restriction(self, text: str) -> Any:
        """Return the restriction that a string describes; raises InputError, UnknownNameError."""
        for form, make in self._forms:
            found = re.fullmatch(form, text.strip())
            if found:
                return make(text.strip(), *found.groups())
        raise InputError(f"cannot read --what-if '{text}': write one of {FORMS}")

    def columns(self) -> list[str]:
        """Return the names of the columns that the rule reads."""
        return columns_read(self._estimator.policy_)

    def usual(self) -> list[Any]:
        """Return what people ask first: without each column that the rule reads, and with one depth or leaf less."""
        policy: Any = self._estimator.policy_
        found: list[Any] = [self.restriction(f"without {name}") for name in self.columns()]
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
        if action not in self._actions:
            raise UnknownNameError("action of --what-if", action, self._actions)
        rule = (never if how == "never" else always)(action, where)
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
        other = copy(self._estimator)
        other.constraints = list(rules)
        return Under(tuple(other.problem(self._frame, self._weight).constraints), text)

    @property
    def _actions(self) -> list[str]:
        return [str(action) for action in self._estimator.actions_.tolist()]


def what_if(
    reader: Reader, scores: Scores, band: GainBand | None, texts: Sequence[str], progress: Progress | None = None
) -> tuple[Price, ...]:
    """Return the price per row of each restriction, and of what people ask first; with intervals by a band.

    Where there is no band, prices have no intervals, and only those of ``texts`` are found. ``progress(done, total)``
    is called after each price.
    """
    asked = [reader.restriction(text) for text in texts]
    names = {restriction.name for restriction in asked}
    if band is not None:
        asked += [restriction for restriction in reader.usual() if restriction.name not in names]
    costs = scores.costs / scores.weight.sum()
    return tuple(prices(reader.question, costs, asked, band=band, progress=progress)) if asked else ()


def price_section(found: Sequence[Price], unit: Unit, level: float, missing: str) -> PageSection:
    """Return the table of prices: of each restriction the price, and its interval."""
    heading = "What it would cost to have it otherwise"
    if not found:
        return PageSection(heading, missing=missing)
    how = (
        "A price is how much less the best rule gives, in the rows that it was learnt from, if this restriction alone "
        f"is imposed. The intervals ({percent(level)}) hold for all of them at once."
    )
    headings = ("what if", f"price, {unit.words}", f"{percent(level)} interval")
    lines = []
    for price in found:
        known = price.best is not None and price.lower == price.lower
        cost = "no such rule" if price.best is None else unit.amount(price.price)
        lines.append((price.name, cost, unit.interval(price) if known else ""))
    return PageSection(heading, [how], tables=[PageTable("Table of prices", headings, lines, most=99)])


SHOWN = 3  # rules side by side
MOST_COMPARED = 200  # rules of which these are taken
MOST_ROWS = 1_000  # that are looked at: what is played there, and on how many rules differ
MOST_UNLISTED = 2_000  # different rows up to which rules are counted that the class does not list itself


@dataclass(frozen=True)
class OneOfThem:
    """A rule that does as well: what it looks worth, and its text."""

    value: float
    rules: str


@dataclass(frozen=True)
class AsGood:
    """The rules that do as well as the best."""

    # how much less they look worth at most, as it was asked; None: they are not shown to be worse, by the band
    slack: float | None
    # count, exact: how many label the rows differently, exactly or at least; None where they were not counted
    count: int | None
    exact: bool
    # contested, looked_at: rows at which they do not all play the same, of those looked at
    contested: int
    looked_at: int
    needed: tuple[str, ...]  # the columns that all of them read
    rules: tuple[OneOfThem, ...]  # the rule that looks best, and those that differ most from it


def as_good(
    reader: Reader, printed: Any, scores: Scores, band: GainBand | None, found: Sequence[Price], slack: float | None
) -> AsGood | None:
    """Return the rules within a ``slack`` per row, or else within the ``band``; None where there is neither.

    ``printed`` is the rule that looks best, with the names of columns and actions, ``found`` are the prices by the
    band.
    """
    costs, question = scores.costs / scores.weight.sum(), reader.question
    if slack is not None:
        near = question.oracle.near_best(costs, slack)
        without = prices(question, costs, [reader.restriction(f"without {name}") for name in reader.columns()])
        dear = {price.name for price in without if price.price > slack}
    elif band is not None:
        near = question.oracle.near_best(band.floors[1], band.slack)
        dear = {price.name for price in found if price.lower > 0 or price.best is None}
    else:
        return None
    n = question.oracle.n_contexts
    rows = np.arange(n) if n <= MOST_ROWS else np.sort(child(0, "logs", "near").choice(n, MOST_ROWS, replace=False))
    counted = near.listed or len(question.oracle.opened.contexts) <= MOST_UNLISTED
    return AsGood(
        slack,
        near.count if counted else None,
        near.exact if counted else False,
        int((near.played(rows).sum(axis=1) > 1).sum()),
        len(rows),
        tuple(name for name in reader.columns() if f"without {name}" in dear),
        tuple(_beside(near, printed, scores, question.rows, rows)) if counted else (),
    )


def _beside(near: NearBest, printed: Any, scores: Scores, contexts: Floats, rows: Ints) -> list[OneOfThem]:
    rules = [of_numbers(printed), *islice(near.policies(), MOST_COMPARED)]
    labels = np.array([rule.predict(contexts[rows]) for rule in rules])
    shares = scores.weight / scores.weight.sum()
    every, found = np.arange(len(contexts)), []
    for number, chosen in enumerate(far_apart(labels, SHOWN)):
        if number and not chosen:
            break  # there is no other rule
        value = float(shares @ scores.table[every, rules[chosen].predict(contexts)])
        found.append(OneOfThem(value, str(in_words(rules[chosen], printed)) if chosen else str(printed)))
    return found


def near_section(near: AsGood | None, unit: Unit, level: float, missing: str) -> PageSection:
    """Return how many rules do as well, what they all read, where they differ, and some of them side by side."""
    heading = "Other rules that do as well"
    if near is None:
        return PageSection(heading, missing=missing)
    words = [_how_many(near, unit, level), _needed(near), _contested(near)]
    if len(near.rules) < 2:
        return PageSection(heading, words)
    words.append("The rule that looks best, and those that differ most from it among the ones that look best:")
    beside = [
        PageText(f"Rule {number}", rule_text(each.rules), f"looks worth {unit.value(each.value)}")
        for number, each in enumerate(near.rules, 1)
    ]
    return PageSection(heading, words, texts=beside)


def _how_many(near: AsGood, unit: Unit, level: float) -> str:
    if near.slack is None:
        which = f"of this kind are not shown to be worse than the best of them ({percent(level)} confidence)"
    else:
        which = f"of this kind look worth at most {unit.gain(near.slack)} less than the best of them"
    if near.count is None:
        return f"How many rules {which} was not counted, as the log has too many different rows."
    if near.exact and near.count == 1:
        return f"No other rules {which}."
    only = " These data do not distinguish them; which of them looks best may be chance." if near.slack is None else ""
    return f"{'' if near.exact else 'More than '}{fixed(near.count, 0)} rules {which}.{only}"


def _needed(near: AsGood) -> str:
    if not near.needed:
        return "No column is needed: whichever one is left out, some of these rules remain."
    names = [f"'{name}'" for name in near.needed]
    without = "it" if len(names) == 1 else "one of these"
    return f"All of them read {listed(names)}: without {without} no rule does as well."


def _contested(near: AsGood) -> str:
    if not near.contested:
        return f"They agree on each of the {fixed(near.looked_at, 0)} rows compared."
    if near.contested == near.looked_at:
        return f"On each of the {fixed(near.looked_at, 0)} rows compared, some of them disagree."
    share = percent(near.contested / near.looked_at, 1)
    contested, seen = fixed(near.contested, 0), fixed(near.looked_at, 0)
    return f"They disagree on {contested} of the {seen} rows compared ({share})."
