"""How amounts of an outcome are written: shares of people for outcomes of 0 and 1, else means."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import isnan, nan
from typing import Any

import numpy as np

from milpcb.core.decimals import fixed, number, written
from milpcb.offline import Evaluation, IntervalEstimate, Scores

THOUSAND = 1000


@dataclass(frozen=True)
class Unit:
    """How amounts of an outcome are written, with as many digits as can be relied on.

    ``name`` is the column, ``maximise`` whether more is better, ``binary`` whether outcomes are 0 or 1. ``error`` is
    the standard error of the mean outcome, NaN where it is not known; ``sign`` is what amounts are in, such as "$".
    """

    name: str
    maximise: bool
    binary: bool
    error: float = nan
    sign: str = ""

    @classmethod
    def of_scores(cls, name: str, scores: Scores, sign: str = "", error: float = nan) -> Unit:
        """Return the unit of scores of the outcome ``name``; what treatments cost makes shares of people others."""
        binary = set(np.unique(scores.log.outcome).tolist()) <= {0.0, 1.0} and not scores.charge.any()
        return cls(name, scores.maximise, binary, error, sign)

    @property
    def words(self) -> str:
        """Reference of amounts, such as "of 100 with 'bought' = 1"."""
        if self.binary:
            return f"of 100 with '{self.name}' = 1"
        return f"mean '{self.name}'{self.sign and f' in {self.sign}'}"

    def evaluation(self, found: Evaluation) -> Evaluation:
        """Return an evaluation with its amounts in this unit."""
        if not self.binary:
            return found
        leaves = (replace(leaf, value=_of_hundred(leaf.value), gain=_of_hundred(leaf.gain)) for leaf in found.leaves)
        return replace(
            found,
            value=_of_hundred(found.value),
            constants={name: _of_hundred(each) for name, each in found.constants.items()},
            reference_value=_of_hundred(found.reference_value),
            gain_over={name: _of_hundred(each) for name, each in found.gain_over.items()},
            gain=_of_hundred(found.gain),
            logged=_of_hundred(found.logged),
            gain_over_logged=_of_hundred(found.gain_over_logged),
            leaves=tuple(leaves),
        )

    def amount(self, value: float) -> str:
        """Return an amount without its unit."""
        if not self.binary:
            return number(value, self.error)
        return fixed(100 * value, 1) if isnan(self.error) else number(100 * value, 100 * self.error)

    def tick(self, value: float) -> str:
        """Return an amount at a mark of an axis, where digits are those of the mark."""
        shown = float(f"{100 * value if self.binary else value:.6g}")
        return fixed(shown, 0) if abs(shown) >= THOUSAND else written(shown).replace("-", "\u2212")

    def value(self, value: float) -> str:
        """Return what something is worth without its unit: a share of people is neither below 0 nor above 100."""
        return self.amount(self.inside(value))

    def inside(self, value: float) -> float:
        """Return a value brought to the range of the outcome, where that is known: intervals lose nothing by it."""
        return min(1.0, max(0.0, value)) if self.binary else value

    def of_value(self, value: float) -> str:
        """Return what something is worth, in words."""
        return f"{self.value(value)} {self.words}" if self.binary else f"{self.gain(value)} (mean '{self.name}')"

    def ends(self, lower: float, upper: float) -> str:
        """Return the ends of an interval of what something is worth."""
        return f"{self.value(lower)} to {self.value(upper)}"

    def gain(self, value: float) -> str:
        """Return how much better in words; below 0 is worse."""
        return f"{self.amount(value)} of 100" if self.binary else f"{self.amount(value)}{self.sign and f' {self.sign}'}"

    def between(self, lower: float, upper: float) -> str:
        """Return a range of gains."""
        return f"between {self.amount(lower)} and {self.gain(upper)}"

    def interval(self, estimate: Any) -> str:
        """Return the ends of an interval of a difference, ``lower`` and ``upper``."""
        return f"{self.amount(estimate.lower)} to {self.amount(estimate.upper)}"


def _of_hundred(share: IntervalEstimate) -> IntervalEstimate:
    """Return a share as how many of 100."""
    return IntervalEstimate(*(100 * part for part in (share.value, share.standard_error, share.lower, share.upper)))
