"""The Rashomon set: the rules that a log cannot distinguish from the best one, or that look nearly as good."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np

from milpcb.core.decimals import fixed, percent
from milpcb.core.text import listed
from milpcb.logs.amounts import Unit
from milpcb.logs.pareto import in_words, of_numbers
from milpcb.logs.sections import PageSection, PageText, rule_text
from milpcb.logs.what_if import Wisher
from milpcb.offline import Scores
from milpcb.offline.arguing import GainBand, Price, prices
from milpcb.oracles.near_best import NearBest, far_apart
from milpcb.rng import child
from milpcb.types import Floats, Ints

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
    """The rules that do as well as the best.

    Attributes
    ----------
    slack : how much less they look worth at most, as it was asked; None: they are not shown to be worse, by the band
    count, exact : how many label the rows differently, exactly or at least; None where they were not counted
    contested, looked_at : rows at which they do not all play the same, of those looked at
    needed : the columns that all of them read
    rules : the rule that looks best, and those that differ most from it

    """

    slack: float | None
    count: int | None
    exact: bool
    contested: int
    looked_at: int
    needed: tuple[str, ...]
    rules: tuple[OneOfThem, ...]


def as_good(
    wisher: Wisher, printed: Any, scores: Scores, band: GainBand | None, found: Sequence[Price], slack: float | None
) -> AsGood | None:
    """Return the rules within a ``slack``, or else within the ``band``; None where there is neither.

    Parameters
    ----------
    wisher : of the question, the class on the rows of the log
    printed : the rule that looks best, with the names of columns and actions
    scores : of the rows
    band : of the gains of all rules
    found : prices of wishes, by the band
    slack : in the unit of the outcome per row

    """
    costs, question = scores.costs / scores.weight.sum(), wisher.question
    if slack is not None:
        near = question.oracle.near_best(costs, slack)
        without = prices(question, costs, [wisher.wish(f"without {name}") for name in wisher.columns()])
        dear = {price.name for price in without if price.price > slack}
    elif band is not None:
        near = question.oracle.near_best(band.floors[1], band.slack)
        dear = {price.name for price in found if price.lower > 0 or price.best is None}
    else:
        return None
    rows = _some_rows(question.oracle.n_contexts)
    counted = near.listed or len(question.oracle.opened.contexts) <= MOST_UNLISTED
    return AsGood(
        slack,
        near.count if counted else None,
        near.exact if counted else False,
        int((near.played(rows).sum(axis=1) > 1).sum()),
        len(rows),
        tuple(name for name in wisher.columns() if f"without {name}" in dear),
        tuple(_beside(near, printed, scores, question.rows, rows)) if counted else (),
    )


def _some_rows(n: int) -> Ints:
    """Return all rows, or some of them where they are many."""
    return np.arange(n) if n <= MOST_ROWS else np.sort(child(0, "logs", "near").choice(n, MOST_ROWS, replace=False))


def _beside(near: NearBest, printed: Any, scores: Scores, contexts: Floats, rows: Ints) -> list[OneOfThem]:
    """Return the rule that looks best and those that differ most from it, in words."""
    rules = [of_numbers(printed), *islice(near.policies(), MOST_COMPARED)]
    labels = np.array([rule.predict(contexts[rows]) for rule in rules])
    shares = scores.weight / scores.weight.sum()
    every, found = np.arange(len(contexts)), []
    for number, place in enumerate(far_apart(labels, SHOWN)):
        if number and not place:
            break  # there is no other rule
        value = float(shares @ scores.table[every, rules[place].predict(contexts)])
        found.append(OneOfThem(value, str(in_words(rules[place], printed)) if place else str(printed)))
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
