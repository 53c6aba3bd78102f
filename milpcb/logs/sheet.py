"""The first sheet of the page on a log, for those who decide: what it has beside verdict, rule, values and limits.

That are the columns that the rule reads, with the price of leaving each out, and the date, the log's digest and the
command. All else on the page is its annex.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import Any

import polars as pl

from milpcb.core.decimals import fixed, percent
from milpcb.logs import words
from milpcb.logs.findings import Findings
from milpcb.logs.sections import PageSection, PageTable

MOST = 6  # rows of a table of the sheet; the others are in the annex
READS = "What the rule reads"


def columns_on_sheet(found: Findings) -> PageSection:
    """Return the columns that the rule reads, the sensitive ones first, and what leaving each out would cost."""
    sensitive, read = found.questions.sensitive, columns_read(found.estimator.policy_)
    prices = {price.name.removeprefix("without "): price for price in found.prices}
    rows = []
    for name in sorted(read, key=lambda name: name not in sensitive):
        price, cost, ends = prices.get(name), "not known", ""
        if price is not None and price.best is not None:
            cost = found.unit.amount(price.price)
            ends = found.unit.interval(price) if price.lower == price.lower else ""
        rows.append([f"{name} (sensitive)" if name in sensitive else name, cost, ends])
    interval = f"{percent(found.questions.level)} interval"
    headings = ("column", f"price of leaving it out, {found.unit.words}", interval)
    table = PageTable("Columns", headings, rows[:MOST])
    missing = [] if prices or not rows else [words.no_prices(found)]
    return PageSection(READS, list(_sensitive(sensitive, read)), tables=[table] if rows else [], notes=missing)


def columns_read(policy: Any) -> list[str]:
    """Return the names of the columns that a rule reads."""
    tested = policy.cut_points()
    places = range(len(policy.names.columns)) if tested is None else sorted(tested)
    return list(dict.fromkeys(policy.names.columns[place].name for place in places))


def card_of(found: Findings) -> Any:
    """Return the score card of a scoring rule, with the labels that were asked for; None for any other rule."""
    policy = found.estimator.policy_
    if not hasattr(policy, "card") or policy.decision() in policy.leaf_actions:
        return None
    frame, read = found.source.frame, columns_read(policy)
    named = {*read, *policy.names.actions}
    labels = {name: label for name, label in found.questions.labels if name in named}
    whole = [name for name in read if _is_whole(frame[name]) and not found.files]  # of files the frame is a sample
    return policy.card(labels, whole)


def card_section(found: Findings, heading: str) -> PageSection | None:
    """Return a scoring rule as people add it up: findings with points, and sums with actions; None for other rules."""
    card = card_of(found)
    if card is None:
        return None
    findings = PageTable("Score card", ("finding", "points"), card.rows, most=len(card.rows))
    sums = PageTable("Sums", ("sum", "action"), card.outcomes, (0, 1))
    return PageSection(heading, ["Add up the points of the findings that hold."], tables=[findings, sums])


def _is_whole(column: pl.Series) -> bool:
    """Return whether a column holds integers only."""
    return column.dtype.is_integer() or (column.dtype.is_float() and bool((column.drop_nulls() % 1 == 0).all()))


def colophon(found: Findings, command: str, digest: str | None) -> list[str]:
    """Return the lines at the end of the sheet: when and from what it was made, and by which command."""
    of = f"log of {fixed(found.n, 0)} rows"
    which = f"digest {digest}" if digest else "no digest, as its rows were read in one pass"
    return [f"{datetime.now(tz=UTC):%Y-%m-%d}. {found.source.name}: {of}, {which}.", command]


def _sensitive(named: Sequence[str], read: Sequence[str]) -> Iterator[str]:
    """Yield which of the sensitive columns the rule does not read."""
    others = [name for name in named if name not in read]
    if others:
        yield f"It does not read {', '.join(others)}."
    if not read:
        yield "It reads no column: everybody is treated alike."
