"""The values of the policy and of all it may be compared with, with the intervals that hold for each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from milpcb.core.checks import ROUNDING
from milpcb.core.decimals import fixed
from milpcb.logs.findings import Findings
from milpcb.logs.unit import Unit
from milpcb.logs.words import other
from milpcb.offline import IntervalEstimate, Reference
from milpcb.offline.intervals import Mean, estimates

RULE = "this rule"


@dataclass(frozen=True)
class Worth:
    """A line: a name, a value, the ends of an interval that holds or None, and which interval that is."""

    name: str
    value: float
    interval: tuple[float, float] | None
    how: str

    def cells(self, unit: Unit) -> list[str]:
        """Return the line of a table: name, value, interval, and which interval that is."""
        return [self.name, unit.value(self.value), "" if self.interval is None else unit.ends(*self.interval), self.how]


def worth(found: Findings) -> list[Worth]:
    """Return the policy, the reference, what was done, and then the constants, best first."""
    return [*_of_rule(found), _of_reference(found), *_of_others(found)]


def first(lines: Sequence[Worth]) -> list[Worth]:
    """Return the three that a page shows first: the rule (in rows kept aside, if any), the reference, what was done."""
    own = [line for line in lines if line.name.startswith(RULE)]
    return [own[-1], *lines[len(own) : len(own) + 2]]


def _of_rule(found: Findings) -> Iterator[Worth]:
    if found.inference is None:
        yield Worth(RULE, found.evaluation.value.value, None, "as it looks where it was learnt: too good")
    else:
        value = found.inference.value
        yield Worth(RULE, value.value, (value.lower, value.upper), "band over all rules: holds after the search")
    if found.held_out is not None:
        value, rows = found.held_out.value, len(found.source.log) - len(found.learnt.numbers)
        yield Worth(f"{RULE}, rows kept aside", value.value, (value.lower, value.upper), f"{fixed(rows, 0)} other rows")


def _of_reference(found: Findings) -> Worth:
    reference, scores = found.reference, found.scores
    mean = Mean(reference.played(scores.table), scores.weight, np.inf)
    value = estimates({0: mean}, "normal", found.questions.level, seed=0, group=scores.log.group)[0]
    how = "the best that treats all alike" if reference.allowed else "treats all alike; breaks what was asked for"
    return _line(other(found), value, how)


def _of_others(found: Findings) -> Iterator[Worth]:
    yield _line("what was done", found.evaluation.logged, "")
    sign = 1.0 if found.scores.maximise else -1.0
    constants = found.evaluation.constants
    for name in sorted(constants, key=lambda name: -sign * constants[name].value):
        if name != found.reference.constant:
            allowed = _allowed(found.reference, name)
            yield _line(f"always '{name}'", constants[name], "" if allowed else "not allowed (share 100 %)")


def _allowed(reference: Reference, name: str) -> bool:
    """Return whether the constraints allow everybody to get an action."""
    ways, k = reference.ways, reference.actions.index(name)
    totals = ways.totals[:, :, k].sum(axis=1)
    within = totals <= ways.upper + ROUNDING * np.abs(ways.totals).sum(axis=(1, 2))
    return bool(ways.playable[:, k].all() and within.all())


def _line(name: str, value: IntervalEstimate, how: str) -> Worth:
    return Worth(name, value.value, (value.lower, value.upper), how)
