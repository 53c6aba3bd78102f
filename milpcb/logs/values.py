"""The values of the policy and of all it may be compared with, with the intervals that hold for each, and as bars."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from milpcb.constraints.by_names import ShareAtMost
from milpcb.core.checks import ROUNDING
from milpcb.core.decimals import fixed, percent
from milpcb.logs.amounts import Unit
from milpcb.logs.findings import Findings
from milpcb.logs.sections import PageTable
from milpcb.logs.words import alike
from milpcb.offline import IntervalEstimate

MARGIN = 0.04  # of the width of bars, left free at either side
RULE, DONE = "this rule", "what was done"
ASIDE = ", rows kept aside"


@dataclass(frozen=True)
class Worth:
    """A line: a name, a value, NaN for one that is not known, the ends of an interval that holds or None, and which."""

    name: str
    value: float
    interval: tuple[float, float] | None
    how: str

    def cells(self, unit: Unit) -> list[str]:
        """Return the line of a table: name, value, interval, and which interval that is."""
        value = unit.value(self.value) if self.value == self.value else "not known"
        return [self.name, value, "" if self.interval is None else unit.ends(*self.interval), self.how]


def worth_lines(found: Findings) -> list[Worth]:
    """Return the policy, the reference, what was done, then the constants, best first, and the rows kept aside."""
    lines = [_of_rule(found), _of_reference(found), *_of_others(found), *_of_aside(found)]
    return lines if found.sound else [without_interval(line) for line in lines]


def without_interval(line: Worth) -> Worth:
    """Return a line whose interval does not hold, as propensities do not fit; of what was done it does."""
    return (
        line if line.name.startswith(DONE) else replace(line, interval=None, how="no interval: propensities do not fit")
    )


def first(lines: Sequence[Worth]) -> list[Worth]:
    """Return the three that a page shows first: rule, reference, what was done, all in rows kept aside if there are."""
    return [line for line in lines if line.name.endswith(ASIDE)] or list(lines[:3])


def worth_table(found: Findings) -> PageTable:
    """Return the table of all values."""
    headings = ("", found.unit.words, f"{percent(found.questions.level)} interval", "")
    return PageTable("Table of values", headings, [line.cells(found.unit) for line in worth_lines(found)], (0, 3))


def _of_rule(found: Findings) -> Worth:
    if found.claims is None:
        return Worth(RULE, found.evaluation.value.value, None, "too favourable: in rows that it was learnt from")
    return _line(RULE, found.claims.value, "valid for all rules at once, so also for the one chosen")


def _of_reference(found: Findings) -> Worth:
    reference = found.reference
    how = "the best that treats all alike" if reference.allowed else "treats all alike; breaks what was asked for"
    if reference.constant is not None:
        how = _no_rows(found, reference.constant) or how
    return _line(alike(reference), found.evaluation.reference_value, how)


def _of_others(found: Findings) -> Iterator[Worth]:
    yield _line(DONE, found.evaluation.logged, "")
    sign = 1.0 if found.unit.maximise else -1.0
    constants = found.evaluation.constants
    for name in sorted(constants, key=lambda name: (not constants[name].known, -sign * constants[name].value)):
        if name != found.reference.constant:
            yield _line(f"always '{name}'", constants[name], _why_not(found, name))


def _of_aside(found: Findings) -> Iterator[Worth]:
    """Yield the first three in the rows kept aside: the rule, what it is compared with there, what was done."""
    if found.aside is None or found.held_out is None:
        return
    seen = found.held_out
    yield _line(f"{RULE}{ASIDE}", seen.value, f"{fixed(found.aside.n, 0)} other rows")
    yield _line(f"{alike(seen.reference)}{ASIDE}", seen.reference_value, "the best there")
    yield _line(f"{DONE}{ASIDE}", seen.logged, "")


def _no_rows(found: Findings, name: str) -> str:
    """Return for how many people the log has no rows of an action; "" where it has some for all."""
    unseen = found.learnt.unseen[found.actions.index(name)]
    return f"no rows of it among {fixed(unseen, 0)} people" if unseen > 0 else ""


def _why_not(found: Findings, name: str) -> str:
    """Return why an action cannot be given to everybody; "" where it can."""
    ways, k = found.reference.ways, found.actions.index(name)
    if no_rows := _no_rows(found, name):
        return no_rows
    barred = int((~ways.playable[ways.stratum, k]).sum())
    if barred:
        return f"not allowed for {fixed(barred, 0)} people"
    totals = ways.totals[:, :, k].sum(axis=1)
    within = totals <= ways.upper + ROUNDING * np.abs(ways.totals).sum(axis=(1, 2))
    limited = any(isinstance(rule, ShareAtMost) and str(rule.action) == name for rule in found.estimator.constraints)
    return "" if within.all() else "not allowed (share 100\u202f%)" if limited else "not allowed for everybody"


def _line(name: str, value: IntervalEstimate, how: str) -> Worth:
    return Worth(name, value.value, (value.lower, value.upper) if value.known else None, how)


def bars(unit: Unit, lines: Sequence[Worth], level: float) -> dict[str, Any]:
    """Return what a page draws of the first three values: of the rule, of treating all alike, and of what was done."""
    alike, dashed = lines[1].name.removesuffix(ASIDE), lines[1].value
    lines = [line for line in lines if line.value == line.value]
    every = [unit.inside(x) for line in lines for x in (line.value, *(line.interval or ()))] + [unit.inside(dashed)]
    low, high = min(every), max(every)
    free = MARGIN * (high - low) or 1.0
    low, high = low - free, high + free

    def place(value: float) -> str:
        return f"{100 * (unit.inside(value) - low) / (high - low):.2f}"

    drawn = []
    for line in lines:
        left, right = line.interval or (line.value, line.value)
        ends = unit.ends(left, right) if line.interval else "no interval"
        drawn.append(
            {
                "name": line.name,
                "own": line.name.startswith(RULE),
                "value": unit.value(line.value),
                "ends": ends,
                "how": line.how,
                "left": place(left),
                "width": f"{float(place(right)) - float(place(left)):.2f}",
                "dot": place(line.value),
            }
        )
    better = "Farther right" if unit.maximise else "Farther left"
    caption = f"Bars: {percent(level)} intervals. Dashed: {alike}. {better} is better."
    return {"lines": drawn, "dashed": place(dashed), "unit": unit.words, "caption": caption}
