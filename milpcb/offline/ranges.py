"""The range in which scores lie whatever the sample, which empirical Bernstein intervals need."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from milpcb.core.checks import check_range
from milpcb.errors import InputError
from milpcb.offline.scores import Scores


@dataclass(frozen=True)
class EntryRanges:
    """Lengths of ranges: of outcomes, of the score of an action, of the difference of two, and of that to the outcome.

    With outcomes in [y0, y1], regressions in [m0, m1] and propensities of at least e, a score m + 1[a = k] (y - m) / e
    is between y0 / e - m1 (1 / e - 1) and y1 / e - m0 (1 / e - 1), or between m0 and m1. Of two scores of a row one at
    most is not its regression.
    """

    outcome: float
    entry: float
    difference: float
    over_logged: float

    @classmethod
    def of(cls, scores: Scores, outcome_range: Any = None) -> EntryRanges:
        """Return the ranges of ``scores``; the outcomes of the log give theirs where none is given.

        The regression and the least propensity are taken as known. Raises InputError where an outcome is out of range.
        """
        y0, y1 = _outcomes(scores, outcome_range)
        m0, m1 = float(scores.regression.min()), float(scores.regression.max())
        low, high = m0, m1
        if scores.method != "dm":
            least = float(scores.diagnostics.least_propensity.min())
            if not scores.log.randomised:  # those of a trial are not raised
                least = max(least, scores.diagnostics.min_propensity)
            low, high = entry_range((y0, y1), (m0, m1), least)
        return cls(y1 - y0, high - low, 2 * max(high - m0, m1 - low), 2 * max(high - y0, y1 - low))


def entry_range(outcomes: tuple[float, float], regressions: tuple[float, float], least: float) -> tuple[float, float]:
    """Return the least and the greatest score there can be, given the ends of ranges and the ``least`` propensity.

    With one of 0, as an action may have where it is never taken, there is no bound.
    """
    (y0, y1), (m0, m1) = outcomes, regressions
    if not least > 0:
        return -np.inf, np.inf
    return min(m0, y0 / least - m1 * (1 / least - 1)), max(m1, y1 / least - m0 * (1 / least - 1))


def _outcomes(scores: Scores, outcome_range: Any) -> tuple[float, float]:
    """Return the least and the greatest outcome, treatment cost included."""
    outcome, charge = scores.log.outcome, scores.charge
    least, most = float(outcome.min()), float(outcome.max())
    if outcome_range is not None:
        given = check_range("outcome_range", outcome_range)
        if not given[0] <= least <= most <= given[1]:
            raise InputError(f"outcomes are from {least:g} to {most:g}, outside of outcome_range {given}; widen it")
        least, most = given
    return least + float(charge.min()), most + float(charge.max())
