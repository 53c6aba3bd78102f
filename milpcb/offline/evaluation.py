"""Findings on the worth of a policy, in memory or in one pass: values, gains and parts, with intervals."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from milpcb.core.decimals import number, percent
from milpcb.offline.intervals import IntervalEstimate
from milpcb.offline.reference import Reference


@dataclass(frozen=True)
class LeafValue:
    """Worth of one ``part`` of a policy, which has the ``share`` (0..1) of the rows, and plays ``action``, by ``name``.

    The mean outcome there is ``value``; ``gain`` is how much better the action is there than the reference.
    """

    part: int
    action: int
    name: str
    share: float
    value: IntervalEstimate
    gain: IntervalEstimate


@dataclass(frozen=True)
class Evaluation:
    """Worth of a policy; a value that no rows show is NaN. Gains are positive where the policy is better.

    Attributes
    ----------
    value : of the policy, in the unit and sign of the log
    constants, gain_over : by name of action, the value of always playing it, and the gain over it
    best_constant : the name of the constant that looks best, of those that are known if there are any
    reference, reference_value : the best allowed way that does not look at people, and its value
    gain : over the reference, with ends that hold for whichever lottery is the best in truth
    logged, gain_over_logged : the value of what was done, and the gain over it
    leaves : the parts of the policy in which there are rows; () where the policy has no parts
    interval, level, maximise : kind of the intervals, how often each holds, and whether a larger value is better
    in_sample : whether the policy was chosen on these rows: its intervals, and those of its gains, then do not hold

    """

    value: IntervalEstimate
    constants: Mapping[str, IntervalEstimate]
    best_constant: str
    reference: Reference = field(compare=False)
    reference_value: IntervalEstimate
    gain_over: Mapping[str, IntervalEstimate]
    gain: IntervalEstimate
    logged: IntervalEstimate
    gain_over_logged: IntervalEstimate
    leaves: tuple[LeafValue, ...]
    interval: str
    level: float
    maximise: bool
    in_sample: bool = False

    def words(self) -> list[str]:
        """Return the findings, a sentence each."""
        best, other, level = self.constants[self.best_constant], self.reference.name, percent(self.level)
        ways = f"Always '{self.best_constant}', the best constant, gives {best}; {level} interval in brackets."
        if not best.known:
            ways = "The value of no constant action is known: for each of them, part of the log has no rows of it."
        if not self.value.known:
            return ["The value of the policy is not known: it plays actions where the log has no rows of them.", ways]
        if self.in_sample:
            worth = number(self.value.estimate, self.value.standard_error)
            looks = f"The policy looks worth {worth} on the rows that it was chosen on, which is too good"
            return [f"{looks}; no interval on these rows holds for it.", ways]
        return [
            f"The policy gives {self.value}.",
            ways,
            _compared("the best constant" if self.reference.constant == self.best_constant else other, self.gain),
            _compared("what was done", self.gain_over_logged),
        ]


def over_best(
    gain: IntervalEstimate, each: Mapping[Any, IntervalEstimate], at_once: Mapping[Any, IntervalEstimate]
) -> IntervalEstimate:
    """Return the gain over the reference, with ends for that over the lottery that is best in truth.

    It is the least of the gains over any one, so the least lower end of ``each`` is too high only if that over the best
    is. Every upper end is one for the least gain; the least of them must hold ``at_once`` (Bonferroni).
    """
    lower, upper = min(one.lower for one in each.values()), min(one.upper for one in at_once.values())
    return replace(gain, lower=min(gain.lower, lower), upper=max(gain.estimate, upper))


def _compared(other: str, gain: IntervalEstimate) -> str:
    if gain.lower > 0:
        return f"It is better than {other}, by {gain}."
    if gain.upper < 0:
        return f"It is worse than {other}: it gains {gain}."
    return f"There is no evidence that it is better or worse than {other}: it gains {gain}."
