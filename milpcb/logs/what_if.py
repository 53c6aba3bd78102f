"""Restrictions of ``milpcb learn --what-if`` with their prices, and other rules: as good, or guaranteed more."""

import re
from dataclasses import replace
from typing import Any

import numpy as np

from milpcb.core.decimals import fixed, percent
from milpcb.core.text import listed
from milpcb.errors import InputError, UnknownNameError
from milpcb.logs.findings import Findings
from milpcb.logs.sections import PageSection, PageTable
from milpcb.offline.band import Progress
from milpcb.offline.restrictions import GainBand, Option, Price, Question, Restriction, Without, prices
from milpcb.rng import child


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


def restriction_of(text: str, question: Question, printed: Any) -> Restriction:
    """Return the restriction that a string describes, of the class of a printed policy; raises InputError."""
    if found := re.fullmatch(r"without (.+)", text.strip()):
        columns = printed.names.columns
        places = tuple(place for place, column in enumerate(columns) if column.name == found[1])
        if not places:
            raise UnknownNameError("column of --what-if", found[1], dict.fromkeys(each.name for each in columns))
        return Without(places, text.strip())
    name, _, number = text.strip().partition(" ")
    option = next((option for option in (name, f"max_{name}") if hasattr(question.policies, option)), "")
    if not option or not number.isdecimal():
        raise InputError(
            f"cannot read --what-if '{text}': write without COLUMN, or an option of the class and an integer, as in "
            "depth 1; for other restrictions learn twice, with and without --never, --parity or --monotone"
        )
    return Option({option: int(number)}, text.strip())


def usual_restrictions(question: Question, printed: Any) -> list[Restriction]:
    """Return the restrictions to be without each column that a rule reads, and to have one depth or leaf less."""
    texts, policies = [f"without {name}" for name in columns_read(printed)], question.policies
    if hasattr(policies, "depth") and hasattr(policies, "max_leaves"):
        leaves = len(printed.leaf_actions)
        texts += [f"depth {policies.depth - 1}"] if policies.depth > 1 else []
        texts += [f"leaves {leaves - 1}"] if leaves > 2 else []
    return [restriction_of(text, question, printed) for text in texts]


def what_if(found: Findings, question: Question, band: GainBand | None, progress: Progress) -> tuple[Price, ...]:
    """Return the price per row of each restriction asked for; by a band with intervals, and also of the usual ones."""
    learnt: Any = found.learnt
    printed, costs = found.estimator.policy_, learnt.scores.costs / learnt.scores.weight.sum()
    asked = [restriction_of(text, question, printed) for text in found.questions.restrictions]
    names = {restriction.name for restriction in asked}
    if band is not None:
        asked += [each for each in usual_restrictions(question, printed) if each.name not in names]
    return tuple(prices(question, costs, asked, band=band, progress=progress)) if asked else ()


def price_section(found: Findings) -> PageSection:
    """Return the table of prices: of each restriction the price, and its interval."""
    if not found.prices:
        return PageSection("")
    heading, unit, level = "What it would cost to have it otherwise", found.unit, percent(found.questions.level)
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
MOST_ROWS = 1_000  # rows at which their actions are compared
MOST_UNLISTED = 2_000  # different rows up to which rules are counted that the class does not list itself


def near_section(found: Findings, question: Question, band: GainBand | None) -> PageSection | None:
    """Return how many rules are not shown to be worse than the best, and what they share; None without a band."""
    if band is None:
        return None
    near, n = question.oracle.near_best(band.floors[1], band.slack), question.oracle.n_contexts
    rows = np.arange(n) if n <= MOST_ROWS else np.sort(child(0, "logs", "near").choice(n, MOST_ROWS, replace=False))
    sure = percent(found.questions.level)
    which = f"of this kind are not shown to be worse than the best of them ({sure} confidence)"
    if not (near.listed or len(question.oracle.opened.contexts) <= MOST_UNLISTED):
        count = f"How many rules {which} was not counted, as the log has too many different rows."
    elif near.exact and near.count == 1:
        return PageSection(NEAR, [f"No other rules {which}."])
    else:
        count = f"{'' if near.exact else 'More than '}{fixed(near.count, 0)} rules {which}."
    dear = {price.name for price in found.prices if price.lower > 0 or price.best is None}
    needed = [f"'{name}'" for name in columns_read(found.estimator.policy_) if f"without {name}" in dear]
    read = f"All of them read {listed(needed)}." if needed else "No column is read by all of them."
    contested, looked_at = int((near.played(rows).sum(axis=1) > 1).sum()), fixed(len(rows), 0)
    differ = f"On {fixed(contested, 0)} of the {looked_at} rows compared they do not all play the same action."
    return PageSection(NEAR, [count, read, differ])
