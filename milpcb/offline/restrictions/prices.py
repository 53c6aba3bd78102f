"""Prices of restrictions, in a table of costs or by a log with intervals, and the Pareto front of two outcomes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from math import fsum
from typing import Any

import numpy as np

from milpcb.constraints import LabelConstraint
from milpcb.core.checks import instance, whole
from milpcb.errors import InputError, OracleInexact
from milpcb.offline.band import UPPER, Process, Progress
from milpcb.offline.question import Best, Question, Restricted, best_or_none, check_question, scores_on
from milpcb.offline.reference import Reference, matching
from milpcb.offline.restrictions.restriction import Restriction, Under, listed_restrictions
from milpcb.offline.scores import Scores
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


def prices(
    question: Question,
    costs: Any,
    restrictions: Sequence[Restriction],
    *,
    band: GainBand | None = None,
    progress: Progress | None = None,
) -> list[Price]:
    """Return the price of each restriction by itself.

    Parameters
    ----------
    question : the class on n rows
    costs : (n, K), any sign; the columns of a data frame are matched by name where the class has names of actions
    restrictions : ``Without``, ``Option``, ``Under``, ``keep``, ``alike``, ``Monotone``, ``First``
    band : of a log whose scores are the costs, per row: prices get its ends
    progress : called as ``progress(done, total)`` after each price

    Raises
    ------
    InputError (a restriction that the class has no price for), OracleInexact

    """
    check_question(question)
    restrictions, table = listed_restrictions(restrictions), question.oracle.read_costs(costs)
    of_class, found = question.best(table).value, list[Price]()
    if band is not None:
        instance("band", band, GainBand, "a GainBand, as gain_band makes it")
        question.close()  # a million rows that are opened take a gigabyte: one class at a time
    for restriction in restrictions:
        asked = restriction.of(question)
        best = best_or_none(asked, table)
        price = Price(restriction.name, np.inf if best is None else max(0.0, best.value - of_class), best)
        if band is not None and best is not None:
            lower, upper = band.ends(asked)
            price = replace(price, lower=max(0.0, band.lower - upper), upper=max(0.0, band.upper - lower))
        found.append(price)
        del asked
        if progress is not None:
            progress(len(found), len(restrictions))
    return found


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
    band, known = gain_band(question, scores, reference, **options), scores_on(question, scores)
    return prices(question, known.costs / known.weight.sum(), restrictions, band=band)


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
    scores, rng = scores_on(question, scores), child(seed, "offline", "prices")
    process = Process.of(question, scores, matching(reference, scores).played(scores.gains), rng)
    reach = process.reach(draws, level, rng, both=True, tick=progress)
    floors = -process.floor(1.0), -process.floor(-1.0)
    band = GainBand(reach, floors, 0.0, 0.0)
    lower, upper = band.ends(question)
    return replace(band, lower=lower, upper=upper)


@dataclass(frozen=True)
class FrontPoint:
    """A policy of the front: total costs of both outcomes, and whether some weighting of the two makes it the best."""

    a: float
    b: float
    policy: Any
    supported: bool


def pareto(question: Question, costs_a: Any, costs_b: Any, *, most: int = 1000) -> list[FrontPoint]:
    """Return the exact front of two outcomes: totals of which none is bettered without harm to the other.

    Supported points come from least weighted sums (Aneja and Nair 1979), the others from least costs of ``a`` with a
    limit on ``b``. Totals that differ by less than 1e-7 of the largest possible one count as equal.

    Parameters
    ----------
    question : the class on n rows
    costs_a, costs_b : (n, K), smaller is better; columns of data frames are matched by name, as in ``prices``
    most : points; where there are more, an InputError

    Returns
    -------
    list of FrontPoint
        By increasing ``a``, so by decreasing ``b``.

    """
    front = _Front(question, costs_a, costs_b, most)
    corners, found = front.corners(), list[FrontPoint]()
    for one, other in pairwise(corners):
        found += [one, *front.unsupported(one, other)]
        front.check(found)
    return [*found, corners[-1]]


def supported(
    question: Question,
    costs_a: Any,
    costs_b: Any,
    *,
    most: int = 1000,
    progress: Callable[[int, int], None] | None = None,
) -> list[FrontPoint]:
    """Return the corners of the front: totals that are the least for some weighting of two outcomes, all of them.

    They need no side constraint, so that they are there for logs too, whose front has too many points otherwise. Any
    further point lies above the line through two neighbours, and below both in one outcome.

    Parameters
    ----------
    question, costs_a, costs_b, most : as for ``pareto``
    progress : called as ``progress(done, done + 1)`` with the number of points so far

    """
    return _Front(question, costs_a, costs_b, most).corners(progress)


class _Front:
    def __init__(self, question: Question, costs_a: Any, costs_b: Any, most: int) -> None:
        check_question(question)
        self._question, self._tables = question, [question.oracle.read_costs(each) for each in (costs_a, costs_b)]
        self._most = whole("most", most, 1)
        self.close = [1e-7 * (float(np.abs(table).max(axis=1).sum()) or 1.0) for table in self._tables]

    def corners(self, progress: Callable[[int, int], None] | None = None) -> list[FrontPoint]:
        """Return the points that are the least for some weighting, by increasing ``a``."""
        first, last = (self._point(self._question.best(table).policy, supported=True) for table in self._tables)
        if self.same(first, last):
            return [first]
        found = [first]
        for point in self.between(first, last):
            found.append(point)
            self.check(found)
            if progress is not None:
                progress(len(found), len(found) + 1)
        found.append(last)
        if found[1].a - found[0].a <= self.close[0]:  # an end that its neighbour dominates
            found = found[1:]
        return found[:-1] if len(found) > 1 and found[-2].b - found[-1].b <= self.close[1] else found

    def between(self, one: FrontPoint, other: FrontPoint) -> Iterator[FrontPoint]:
        """Yield the supported points between two."""
        weights = one.b - other.b, other.a - one.a
        costs = weights[0] * self._tables[0] + weights[1] * self._tables[1]
        found = self._point(self._question.best(costs).policy, supported=True)
        worth = [weights[0] * point.a + weights[1] * point.b for point in (found, one)]
        if worth[0] >= worth[1] - weights[0] * self.close[0] - weights[1] * self.close[1]:
            return
        if self.same(found, one) or self.same(found, other):
            return
        yield from self.between(one, found)
        yield found
        yield from self.between(found, other)

    def unsupported(self, one: FrontPoint, other: FrontPoint) -> Iterator[FrontPoint]:
        """Yield the points between two neighbouring supported ones; those on the segment are supported as well."""
        first, weights = one, (one.b - other.b, other.a - one.a)
        near = weights[0] * self.close[0] + weights[1] * self.close[1]
        while True:
            limit = one.b - 2 * self.close[1]
            least = self._limited(1, limit, self._tables[0])
            if least is None or least.a >= other.a - self.close[0]:
                return
            one = self._least_other(least.a)
            above = weights[0] * (one.a - first.a) + weights[1] * (one.b - first.b)
            yield replace(one, supported=above <= near)

    def check(self, found: Sequence[FrontPoint]) -> None:
        """Raise InputError where there are too many points."""
        if len(found) > self._most:
            raise InputError(f"the front has more than {self._most} points; give most= or coarser costs")

    def same(self, one: FrontPoint, other: FrontPoint) -> bool:
        """Return whether two points are equal, up to rounding."""
        return abs(one.a - other.a) <= self.close[0] and abs(one.b - other.b) <= self.close[1]

    def _least_other(self, most: float) -> FrontPoint:
        """Return the point of least ``b`` among those whose ``a`` is at most so much."""
        found = self._limited(0, most + self.close[0] / 2, self._tables[1])
        if found is None:
            raise OracleInexact("two queries to the oracle contradict each other; scale the costs")
        return found

    def _limited(self, under: int, most: float, costs: Floats) -> FrontPoint | None:
        rule = LabelConstraint(self._tables[under], most, "the other outcome")
        best = best_or_none(Under((rule,)).of(self._question), costs)
        return None if best is None else self._point(best.policy, supported=False)

    def _point(self, policy: Any, *, supported: bool) -> FrontPoint:
        labels = np.asarray(policy.predict(self._question.rows))
        a, b = (fsum(table[np.arange(len(labels)), labels]) for table in self._tables)
        return FrontPoint(a, b, policy, supported)
