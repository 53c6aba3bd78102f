"""Prices of restrictions, in a table of costs or by a log, where they have intervals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from math import ceil
from typing import Any

import numpy as np

from milpcb.core.checks import ROUNDING, check_confidence, instance, whole
from milpcb.data.actions import own_names
from milpcb.offline.band import UPPER, Process, Progress, affordable, check_same_rows, quantile, sampled_rows
from milpcb.offline.cross_fitting import Best
from milpcb.offline.intervals import drawn_again
from milpcb.offline.reference import Reference, matching
from milpcb.offline.restrictions.question import (
    Question,
    Restricted,
    Restriction,
    best_or_none,
    check_question,
    listed_restrictions,
)
from milpcb.offline.scores import Scores, check_scores
from milpcb.rng import child
from milpcb.types import Floats


@dataclass(frozen=True)
class Price:
    """Price of a restriction: ``price`` is in the unit of the costs, infinite where no policy keeps it.

    Attributes
    ----------
    name : the restriction in words
    price : the least total cost of the policies that keep it, less that of the class
    best : one of these policies, and its total cost; None where there is none
    lower, upper : where the price of means in the population lies, by the band; NaN where it was not asked

    """

    name: str
    price: float
    best: Best | None
    lower: float = field(default=float("nan"))
    upper: float = field(default=float("nan"))


def prices(question: Question, costs: Any, restrictions: Sequence[Restriction]) -> list[Price]:
    """Return the price of each restriction by itself.

    Parameters
    ----------
    question : the class on n rows
    costs : (n, K), any sign; the columns of a data frame are matched by name where the class has names of actions
    restrictions : ``Without``, ``Option``, ``Under``, ``keep``, ``alike``, ``Monotone``, ``First``

    Raises
    ------
    InputError (a restriction that the class has no price for), OracleInexact

    """
    check_question(question)
    restrictions, table = listed_restrictions(restrictions), question.oracle.read_costs(costs)
    least = question.best(table).value
    return [_price(restriction, restriction.of(question), table, least) for restriction in restrictions]


def price_intervals(
    question: Question, scores: Scores, reference: Reference, restrictions: Sequence[Restriction], **options: Any
) -> list[Price]:
    """Return prices by a log, in the unit of the outcome per row, with ends that hold for all restrictions at once.

    The best policy of the class is worth in truth between the ends of the band, and so is the best of those that keep
    a restriction; the price is between their differences, and not below 0. Without policies that keep it the price is
    infinite.

    Parameters
    ----------
    question : the class on the n rows of the log
    scores, reference : what is gained, and over what: any one is valid
    restrictions : see ``prices``
    options : level, draws, seed and progress, of ``gain_band``

    """
    restrictions = listed_restrictions(restrictions)  # a wrong one before the band, which takes long
    return banded_prices(question, scores, gain_band(question, scores, reference, **options), restrictions)


@dataclass(frozen=True, eq=False)
class GainBand:
    """A band for the gains of all policies of a class at once, in the unit of the outcome per row.

    Attributes
    ----------
    reach : how far the ends are from the floors
    floors : two tables of costs (n, K): a policy gains at least the first total, negative, less the reach, and at most
        the second total, negative, and a third more than the reach
    lower, upper : the greatest lower end and the greatest upper end of all policies of the class

    """

    reach: float
    floors: tuple[Floats, Floats]
    lower: float
    upper: float

    def ends(self, asked: Restricted) -> tuple[float, float]:
        """Return the greatest lower end and the greatest upper end of some policies."""
        low, high = (-asked.best(floor).value for floor in self.floors)
        return low - self.reach, high + self.reach / UPPER

    @property
    def slack(self) -> float:
        """By how much the total of the second floor may be above the least one of a policy not shown to be worse.

        Such a policy's upper end is not below the greatest lower end of the class. One that is, is worse than the best.
        """
        return max(0.0, self.upper - self.lower)


def gain_band(
    question: Question,
    scores: Scores,
    reference: Reference,
    *,
    level: float = 0.95,
    draws: int = 200,
    seed: int = 0,
    progress: Progress | None = None,
) -> GainBand:
    """Return the band, see milpcb.offline.band, around one reference.

    Parameters
    ----------
    question, scores, reference : the class on the n rows of the log, what is gained, and over what
    level : how often all ends hold
    draws : searches on resamples, two queries each
    seed : of the resamples
    progress : called as ``progress(done, total)`` after every draw

    """
    check_question(question)
    check_scores(scores)
    check_same_rows(question.oracle, scores)
    scores = scores.by(own_names(question.policies))
    rng, group = child(seed, "offline", "prices"), scores.log.group
    kind, rules = question.kind, list(question.constraints)
    sampled = sampled_rows(question.policies, question.contexts, question.oracle, rules, kind, group, rng)
    shares = scores.weight / scores.weight.sum()
    base = matching(reference, scores).played(scores.gains)
    process = Process(question.oracle, sampled, scores.gains, shares, base)
    least = ceil(check_confidence(level) / (1 - level) - ROUNDING)
    times = affordable(whole("draws", draws, 1), least, len(sampled.rows), sampled.oracle)
    noise = []
    for draw in range(times):
        up, down = process.greatest(drawn_again(rng, sampled.members, len(sampled.rows)))
        noise.append(max(up, UPPER * down, 0.0))
        if progress is not None:
            progress(draw + 1, times)
    floors = -process.floor(1.0), -process.floor(-1.0)
    band = GainBand(quantile(np.array(noise), level), floors, 0.0, 0.0)
    lower, upper = band.ends(question)
    return replace(band, lower=lower, upper=upper)


def banded_prices(
    question: Question,
    scores: Scores,
    band: GainBand,
    restrictions: Sequence[Restriction],
    progress: Progress | None = None,
) -> list[Price]:
    """Return the prices of ``price_intervals``, given the band; ``progress(done, total)`` is called after each."""
    check_question(question)
    check_scores(scores)
    instance("band", band, GainBand, "a GainBand, as gain_band makes it")
    restrictions = listed_restrictions(restrictions)
    costs = scores.by(own_names(question.policies)).costs / scores.weight.sum()
    of_class = question.best(costs).value
    question.close()  # a million rows that are opened take a gigabyte: one class at a time
    found = []
    for restriction in restrictions:
        asked = restriction.of(question)
        price = _price(restriction, asked, costs, of_class)
        if price.best is not None:
            lower, upper = band.ends(asked)
            price = replace(price, lower=max(0.0, band.lower - upper), upper=max(0.0, band.upper - lower))
        found.append(price)
        del asked
        if progress is not None:
            progress(len(found), len(restrictions))
    return found


def _price(restriction: Restriction, asked: Restricted, costs: Floats, least: float) -> Price:
    best = best_or_none(asked, costs)
    return Price(restriction.name, np.inf if best is None else max(0.0, best.value - least), best)
