"""Prices of restrictions, in a table of costs or by a log with intervals, and the front of two outcomes."""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from math import fsum
from typing import Any

import numpy as np

from milpcb.core.checks import instance, whole
from milpcb.errors import InfeasibleError, InputError, shown
from milpcb.offline.band import UPPER, Process, Progress
from milpcb.offline.question import Best, Question, check_question, scores_on
from milpcb.offline.reference import Reference, matching
from milpcb.offline.scores import Scores
from milpcb.rng import child
from milpcb.types import Floats


@dataclass(frozen=True)
class Price:
    """Price of a restriction ``name``, in the unit of the costs.

    ``best`` is the best policy that keeps it, with its total cost; where there is none it is None, and the ``price``
    infinite. The price in the population lies between ``lower`` and ``upper``, NaN where there is no band.
    """

    name: str
    price: float
    best: Best | None
    lower: float = float("nan")
    upper: float = float("nan")


@dataclass(frozen=True, eq=False)
class GainBand:
    """A band for the gains of all policies of a class at once, in the unit of the outcome per row.

    With the totals a and b of the ``floors``, two tables of costs (n, K), a policy gains from -a - reach to
    -b + reach / UPPER. The greatest lower end of the class is ``lower``, the greatest upper end ``upper``.
    """

    reach: float
    floors: tuple[Floats, Floats]
    lower: float
    upper: float

    def ends(self, question: Question) -> tuple[float, float]:
        """Return the greatest lower end and the greatest upper end of some policies."""
        low, high = (-question.best(floor).value for floor in self.floors)
        return low - self.reach, high + self.reach / UPPER

    @property
    def slack(self) -> float:
        """How far the second floor may be above its least total for a policy that is not shown to be worse."""
        return max(0.0, self.upper - self.lower)


def prices(
    question: Question,
    costs: Any,
    restrictions: Mapping[str, Question],
    *,
    band: GainBand | None = None,
    progress: Progress | None = None,
) -> list[Price]:
    """Return the price of each restriction by itself: the least total cost under it, minus that of the whole class.

    Parameters
    ----------
    question : the class on n rows
    costs : (n, K), any sign; the columns of a data frame are matched by name where the class has names of actions
    restrictions : by name, questions that are made of this one, by ``without``, ``under`` or ``with_options``
    band : of a log, see ``gain_band``: prices get its ends, which hold for all restrictions at once. Costs are then
        those of its scores per row, ``scores.costs / scores.weight.sum()``
    progress : called as ``progress(done, total)`` after each price

    """
    check_question(question)
    known = isinstance(restrictions, Mapping) and all(isinstance(each, Question) for each in restrictions.values())
    if not known:
        raise InputError(
            "restrictions must map names to questions, such as {'without age': question.without(0)}, got "
            f"{shown(restrictions)}"
        )
    table = question.oracle.read_costs(costs)
    of_class, found = question.best(table).value, list[Price]()
    if band is not None:
        instance("band", band, GainBand, "a GainBand, as gain_band makes it")
        question.close()  # a million rows that are opened take a gigabyte: one class at a time
    for name, restricted in restrictions.items():
        price = Price(name, np.inf, None)
        with suppress(InfeasibleError):
            best = restricted.best(table)
            price = Price(name, max(0.0, best.value - of_class), best)
            if band is not None:
                lower, upper = band.ends(restricted)
                price = replace(price, lower=max(0.0, band.lower - upper), upper=max(0.0, band.upper - lower))
        found.append(price)
        restricted.close()
        if progress is not None:
            progress(len(found), len(restrictions))
    return found


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
    """Return the band (milpcb.offline.band) of the gains over one reference: all ends hold at once at the ``level``.

    The ``question`` is of the rows of the log; each of the ``draws`` is two queries.
    """
    check_question(question)
    scores, rng = scores_on(question, scores), child(seed, "offline", "prices")
    process = Process(question.oracle, scores, matching(reference, scores).played(scores.gains))
    reach = process.reach(draws, level, rng, both=True, tick=progress)
    band = GainBand(reach, (-process.floor(1.0), -process.floor(-1.0)), 0.0, 0.0)
    lower, upper = band.ends(question)
    return replace(band, lower=lower, upper=upper)


@dataclass(frozen=True)
class FrontPoint:
    """A policy that is best for some weighting of two outcomes, and its total costs ``a`` and ``b``."""

    a: float
    b: float
    policy: Any


def pareto(
    question: Question, costs_a: Any, costs_b: Any, *, most: int = 1000, progress: Progress | None = None
) -> list[FrontPoint]:
    """Return the corners of the front of two outcomes, by increasing ``a``: the least totals for all weightings.

    They come from least weighted sums (Aneja and Nair 1979). Any further point of the front lies above the line through
    two neighbours; a question ``under`` a limit on one outcome finds it. Totals that differ by less than 1e-7 of the
    largest possible one count as equal.

    Costs are (n, K), smaller is better. More than ``most`` points raise an InputError; ``progress`` is called as
    ``progress(done, done + 1)`` with the number of points so far.
    """
    check_question(question)
    limit, tables = whole("most", most, 1), [question.oracle.read_costs(each) for each in (costs_a, costs_b)]
    close = [1e-7 * (float(np.abs(table).max(axis=1).sum()) or 1.0) for table in tables]

    def point(costs: Floats) -> FrontPoint:
        policy = question.best(costs).policy
        labels = np.asarray(policy.predict(question.rows))
        a, b = (fsum(table[np.arange(len(labels)), labels]) for table in tables)
        return FrontPoint(a, b, policy)

    def same(one: FrontPoint, other: FrontPoint) -> bool:
        return abs(one.a - other.a) <= close[0] and abs(one.b - other.b) <= close[1]

    found, place = [point(table) for table in tables], 0
    if same(*found):
        return found[:1]
    while place < len(found) - 1:  # whether there is a point between this one and the next
        if len(found) > limit:
            raise InputError(f"the front has more than {limit} points; give most= or coarser costs")
        one, other = found[place : place + 2]
        a, b = one.b - other.b, other.a - one.a
        between = point(a * tables[0] + b * tables[1])
        below = a * (between.a - one.a) + b * (between.b - one.b) < -(a * close[0] + b * close[1])
        if not below or same(between, one) or same(between, other):
            place += 1
            continue
        found.insert(place + 1, between)
        if progress is not None:
            progress(len(found), len(found) + 1)
    if found[1].a - found[0].a <= close[0]:  # an end that its neighbour dominates
        found = found[1:]
    return found[:-1] if len(found) > 1 and found[-2].b - found[-1].b <= close[1] else found
