"""The values of the policy and of all it may be compared with, with the intervals that hold for each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from milpcb.constraints.by_names import ShareAtMost
from milpcb.core.checks import ROUNDING
from milpcb.core.decimals import fixed
from milpcb.logs.findings import Findings
from milpcb.logs.unit import Unit
from milpcb.logs.words import alike, other
from milpcb.offline import IntervalEstimate, Reference, Scores

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


def worth(found: Findings) -> list[Worth]:
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


def _of_rule(found: Findings) -> Worth:
    if found.inference is None:
        return Worth(RULE, found.evaluation.value.value, None, "as it looks where it was learnt: too good")
    return _line(RULE, found.inference.value, "band over all rules: holds after the search")


def _of_reference(found: Findings) -> Worth:
    how = "the best that treats all alike" if found.reference.allowed else "treats all alike; breaks what was asked for"
    return _line(other(found), _alike(found, found.reference, found.scores), how)


def _alike(found: Findings, reference: Reference, scores: Scores) -> IntervalEstimate:
    return scores.mean(reference.played(scores.table), found.questions.level)


def _of_others(found: Findings) -> Iterator[Worth]:
    yield _line(DONE, found.evaluation.logged, "")
    sign = 1.0 if found.scores.maximise else -1.0
    constants = found.evaluation.constants
    for name in sorted(constants, key=lambda name: (not constants[name].known, -sign * constants[name].value)):
        if name != found.reference.constant:
            yield _line(f"always '{name}'", constants[name], _why_not(found, name))


def _of_aside(found: Findings) -> Iterator[Worth]:
    """Yield the first three in the rows kept aside: the rule, what it is compared with there, what was done."""
    if found.aside is None or found.held_out is None:
        return
    reference, rows = found.held_out.reference, len(found.aside.numbers)
    yield _line(f"{RULE}{ASIDE}", found.held_out.value, f"{fixed(rows, 0)} other rows")
    yield _line(f"{alike(reference)}{ASIDE}", _alike(found, reference, found.aside.scores), "the best there")
    yield _line(f"{DONE}{ASIDE}", found.held_out.logged, "")


def _why_not(found: Findings, name: str) -> str:
    """Return why an action cannot be given to everybody; "" where it can."""
    ways, k = found.reference.ways, found.reference.actions.index(name)
    unseen = found.scores.unseen
    if unseen is not None and unseen[:, k].any():
        return f"no rows of it among {fixed(unseen[:, k].sum(), 0)} people"
    barred = int((~ways.playable[ways.stratum, k]).sum())
    if barred:
        return f"not allowed for {fixed(barred, 0)} people"
    totals = ways.totals[:, :, k].sum(axis=1)
    within = totals <= ways.upper + ROUNDING * np.abs(ways.totals).sum(axis=(1, 2))
    limited = any(isinstance(rule, ShareAtMost) and str(rule.action) == name for rule in found.estimator.constraints)
    return "" if within.all() else "not allowed (share 100 %)" if limited else "not allowed for everybody"


def _line(name: str, value: IntervalEstimate, how: str) -> Worth:
    return Worth(name, value.value, (value.lower, value.upper) if value.known else None, how)
