"""Restrictions of ``milpcb learn --what-if`` with their prices, and other rules: as good, or guaranteed more."""

import re
from collections.abc import Callable, Iterator, Sequence
from copy import copy
from dataclasses import fields, is_dataclass, replace
from functools import cached_property
from itertools import islice
from typing import Any

import numpy as np
import polars as pl

from milpcb.constraints import NamedConstraint, always, never, parity
from milpcb.core.decimals import fixed, percent
from milpcb.core.text import listed
from milpcb.data.actions import place
from milpcb.data.columns import Values
from milpcb.data.conditions import holds
from milpcb.data.schema import read_columns
from milpcb.errors import InputError, UnknownNameError
from milpcb.estimators.rows import joints_of
from milpcb.logs.findings import Findings
from milpcb.logs.sections import PageSection, PageTable, PageText, rule_text
from milpcb.offline import Scores, restrictions
from milpcb.offline.band import Progress
from milpcb.offline.restrictions import GainBand, Price, Question, Under, prices
from milpcb.oracles.near_best import NearBest, far_apart
from milpcb.rng import child
from milpcb.types import Ints

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


def in_words(policy: Any, printed: Any) -> Any:
    """Return a policy with the names of columns and actions that the printed one has."""
    return replace(policy, names=printed.names) if hasattr(printed, "names") else policy


def of_numbers(printed: Any) -> Any:
    """Return the policy that is printed as one of numbers, as which it was searched for."""
    return replace(printed, names=type(printed.names)()) if hasattr(printed, "names") else printed


class Reader:
    """Reads restrictions for an estimator that was fitted to ``frame``, and the ``question`` of its fit.

    ``table`` has all columns of the log in the same rows, ``weight`` (n,) how much each counts.
    """

    def __init__(
        self, estimator: Any, frame: pl.DataFrame, question: Question, table: pl.DataFrame, weight: Any = None
    ) -> None:
        self.question, self._estimator, self._frame = question, estimator, frame
        self._table, self._weight = table, weight
        self._columns = estimator.policy_.names.columns
        self._forms: list[tuple[str, Callable[..., Any]]] = [
            (r"without (.+)", lambda text, name: restrictions.Without(self._places(name), text)),
            (r"(.+) first", lambda text, name: restrictions.First(self._places(name), text)),
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
            found.append(restrictions.Option({"depth": policies.depth - 1}, f"depth {policies.depth - 1}"))
        leaves = len(policy.leaf_actions)
        if leaves > 2:
            found.append(restrictions.Option({"max_leaves": leaves - 1}, f"leaves {leaves - 1}"))
        return found

    def _places(self, name: str) -> tuple[int, ...]:
        found = tuple(place for place, column in enumerate(self._columns) if column.name == name)
        if not found:
            raise UnknownNameError("column of --what-if", name, dict.fromkeys(c.name for c in self._columns))
        return found

    @cached_property
    def _values(self) -> dict[str, Values]:
        return read_columns(self._frame, self._frame.columns, self._frame.columns)

    def _monotone(self, text: str, name: str, way: str) -> restrictions.InOrder:
        self._places(name)
        return restrictions.InOrder(joints_of({name: way}, self._columns, self._values, self.question.rows), text)

    def _forced(self, text: str, how: str, action: str, where: str) -> Under:
        return self._under(text, [(never if how == "never" else always)(action, where)])

    def _keep(self, text: str, column: str, where: str | None) -> Under:
        if column not in self._table.columns:
            raise UnknownNameError("column of --what-if", column, self._table.columns)
        here = holds(where, self._values) if where else np.ones(len(self._frame), dtype=bool)
        asked, actions = self._table[column].to_list(), self._actions
        labels = np.zeros(len(asked), dtype=np.int64)
        for row in np.flatnonzero(here).tolist():
            if asked[row] is None:
                raise InputError(f"--what-if '{text}': '{column}' names no action in some row; add a condition")
            labels[row] = place(f"action in '{column}' of --what-if", asked[row], actions)
        return restrictions.keep(labels, here, len(actions), text)

    def _alike(self, text: str, column: str, share: str) -> Under:
        try:
            delta = float(share)
        except ValueError as error:
            raise InputError(f"cannot read --what-if '{text}': '{share}' is no number") from error
        return self._under(text, [parity(action, column, delta) for action in self._actions])

    def _option(self, text: str, name: str, number: str) -> restrictions.Option:
        policies, option = self.question.policies, SHORT.get(name, name)
        known: set[str] = {field.name for field in fields(policies)} if is_dataclass(policies) else set()
        if option not in known:
            raise InputError(f"cannot read --what-if '{text}': '{name}' is no option of the class; or {FORMS}")
        return restrictions.Option({option: int(number)}, text)

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
    """Return the price per row of each restriction; by a band with intervals, and also of what people ask first."""
    asked = [reader.restriction(text) for text in texts]
    names = {restriction.name for restriction in asked}
    if band is not None:
        asked += [restriction for restriction in reader.usual() if restriction.name not in names]
    costs = scores.costs / scores.weight.sum()
    return tuple(prices(reader.question, costs, asked, band=band, progress=progress)) if asked else ()


def price_section(found: Findings, missing: str) -> PageSection:
    """Return the table of prices: of each restriction the price, and its interval."""
    heading, unit, level = "What it would cost to have it otherwise", found.unit, percent(found.questions.level)
    if not found.prices:
        return PageSection(heading, missing=missing)
    how = (
        "A price is how much less the best rule gives, in the rows that it was learnt from, if this restriction alone "
        f"is imposed. The intervals ({level}) hold for all of them at once."
    )
    lines = []
    for price in found.prices:
        known = price.best is not None and price.lower == price.lower
        cost = "no such rule" if price.best is None else unit.amount(price.price)
        lines.append((price.name, cost, unit.interval(price) if known else ""))
    headings = ("what if", f"price, {unit.words}", f"{level} interval")
    return PageSection(heading, [how], tables=[PageTable("Table of prices", headings, lines, most=99)])


NEAR = "Other rules that do as well"
SHOWN = 3  # rules side by side
MOST_COMPARED = 200  # rules of which these are taken
MOST_ROWS = 1_000  # that are looked at: what is played there, and on how many rules differ
MOST_UNLISTED = 2_000  # different rows up to which rules are counted that the class does not list itself


def near_section(found: Findings, reader: Reader, band: GainBand | None) -> PageSection | None:
    """Return how many rules are within ``--near`` per row or else within the band, and some; None without either."""
    learnt: Any = found.learnt
    scores, question, unit, slack = learnt.scores, reader.question, found.unit, found.questions.near
    costs = scores.costs / scores.weight.sum()
    if slack is not None:
        near = question.oracle.near_best(costs, slack)
        without = prices(question, costs, [reader.restriction(f"without {name}") for name in reader.columns()])
        dear = {price.name for price in without if price.price > slack}
        which, chance = f"of this kind look worth at most {unit.gain(slack)} less than the best of them", ""
    elif band is not None:
        near = question.oracle.near_best(band.floors[1], band.slack)
        dear = {price.name for price in found.prices if price.lower > 0 or price.best is None}
        level = percent(found.questions.level)
        which = f"of this kind are not shown to be worse than the best of them ({level} confidence)"
        chance = " These data do not distinguish them; which of them looks best may be chance."
    else:
        return None
    n = question.oracle.n_contexts
    rows = np.arange(n) if n <= MOST_ROWS else np.sort(child(0, "logs", "near").choice(n, MOST_ROWS, replace=False))
    contested = int((near.played(rows).sum(axis=1) > 1).sum())
    needed = [f"'{name}'" for name in reader.columns() if f"without {name}" in dear]
    if not (near.listed or len(question.oracle.opened.contexts) <= MOST_UNLISTED):
        count = f"How many rules {which} was not counted, as the log has too many different rows."
        return PageSection(NEAR, [count, _needed(needed), _contested(contested, len(rows))])
    count = f"{'' if near.exact else 'More than '}{fixed(near.count, 0)} rules {which}.{chance}"
    if near.exact and near.count == 1:
        count = f"No other rules {which}."
    words, texts = [count, _needed(needed), _contested(contested, len(rows))], list(_beside(near, found, reader, rows))
    if len(texts) < 2:
        return PageSection(NEAR, words)
    words.append("The rule that looks best, and those that differ most from it among the ones that look best:")
    return PageSection(NEAR, words, texts=texts)


def _needed(names: Sequence[str]) -> str:
    if not names:
        return "No column is needed: whichever one is left out, some of these rules remain."
    without = "it" if len(names) == 1 else "one of these"
    return f"All of them read {listed(names)}: without {without} no rule does as well."


def _beside(near: NearBest, found: Findings, reader: Reader, rows: Ints) -> Iterator[PageText]:
    """Yield the rule that looks best, and those that differ most from it."""
    learnt: Any = found.learnt
    scores, printed, contexts = learnt.scores, found.estimator.policy_, reader.question.rows
    rules = [of_numbers(printed), *islice(near.policies(), MOST_COMPARED)]
    labels = np.array([rule.predict(contexts[rows]) for rule in rules])
    for number, chosen in enumerate(far_apart(labels, SHOWN)):
        if number and not chosen:
            break  # there is no other rule
        played = scores.table[np.arange(len(contexts)), rules[chosen].predict(contexts)]
        caption = f"looks worth {found.unit.value(float(np.average(played, weights=scores.weight)))}"
        rule = in_words(rules[chosen], printed) if chosen else printed
        yield PageText(f"Rule {number + 1}", rule_text(rule), caption)


def _contested(contested: int, looked_at: int) -> str:
    seen = fixed(looked_at, 0)
    if not contested:
        return f"They agree on each of the {seen} rows compared."
    if contested == looked_at:
        return f"On each of the {seen} rows compared, some of them disagree."
    share = percent(contested / looked_at, 1)
    return f"They disagree on {fixed(contested, 0)} of the {seen} rows compared ({share})."


def guaranteed_section(found: Findings) -> PageSection | None:
    """Return the rule by what is guaranteed beside the one that looks best; None where it went by estimates alone."""
    learnt: Any = found.learnt
    estimator, unit, level, draws = found.estimator, found.unit, found.questions.level, found.questions.draws
    if estimator.objective != "guaranteed" or not draws:
        return None
    heading, frame, ends = "What is guaranteed, and what looks best", learnt.frame, estimator.lower_ends_
    labels = [np.asarray(rule.predict(frame)) for rule in (estimator.policy_, estimator.by_value_)]
    (looks, own), (best, other) = ends.of(labels, level, draws)
    chosen = (
        f"The rule was chosen by what is guaranteed: it gains at least {unit.gain(own)} over {ends.reference.name} "
        f"({percent(level)} confidence)."
    )
    if (labels[0] == labels[1]).all():
        return PageSection(heading, [chosen, "It is the rule that looks best, too."])
    second = (
        f"The rule that looks best is guaranteed to gain only {unit.gain(other)}, though its estimated gain is "
        f"{unit.gain(best)} instead of {unit.gain(looks)}."
    )
    text = PageText("The rule that looks best", rule_text(estimator.by_value_))
    return PageSection(heading, [chosen, second], texts=[text])
