"""The exact Pareto front of two outcomes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from math import fsum
from typing import Any

import numpy as np

from milpcb.constraints import LabelConstraint
from milpcb.core.checks import whole
from milpcb.errors import InputError, OracleInexact
from milpcb.offline.restrictions.question import Question, Under, best_or_none, check_question
from milpcb.types import Floats


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
    check_question(question)
    front = _Front(question, question.oracle.read_costs(costs_a), question.oracle.read_costs(costs_b), most)
    first, last = front.extreme(0), front.extreme(1)
    if front.same(first, last):
        return [replace(first, supported=True)]
    supported = [first, *front.between(first, last), last]
    found: list[FrontPoint] = []
    for one, other in pairwise(supported):
        found += [one, *front.unsupported(one, other)]
        front.check(found)
    return [*found, last]


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
    check_question(question)
    front = _Front(question, question.oracle.read_costs(costs_a), question.oracle.read_costs(costs_b), most)
    first, last = front.cheapest(0), front.cheapest(1)
    if front.same(first, last):
        return [first]
    found = [first]
    for point in front.between(first, last):
        found.append(point)
        front.check(found)
        if progress is not None:
            progress(len(found), len(found) + 1)
    return front.undominated([*found, last])


class _Front:
    def __init__(self, question: Question, a: Floats, b: Floats, most: int) -> None:
        self._question, self._tables, self._most = question, (a, b), whole("most", most, 1)
        self._close = [1e-7 * (float(np.abs(table).max(axis=1).sum()) or 1.0) for table in (a, b)]

    def extreme(self, which: int) -> FrontPoint:
        """Return the point of least ``a`` (0) or ``b`` (1), and of these of least other outcome."""
        least = self._question.best(self._tables[which]).value
        return self._least(1 - which, which, least)

    def cheapest(self, which: int) -> FrontPoint:
        """Return some point of least ``a`` (0) or ``b`` (1)."""
        return self._point(self._question.best(self._tables[which]).policy, supported=True)

    def undominated(self, found: list[FrontPoint]) -> list[FrontPoint]:
        """Return the points, by increasing ``a``, without ends to which a neighbour is equal in one outcome."""
        if len(found) > 1 and found[1].a - found[0].a <= self._close[0]:
            found = found[1:]
        return found[:-1] if len(found) > 1 and found[-2].b - found[-1].b <= self._close[1] else found

    def between(self, one: FrontPoint, other: FrontPoint) -> Iterator[FrontPoint]:
        """Yield the supported points between two."""
        weights = one.b - other.b, other.a - one.a
        costs = weights[0] * self._tables[0] + weights[1] * self._tables[1]
        found = self._point(self._question.best(costs).policy, supported=True)
        worth = [weights[0] * point.a + weights[1] * point.b for point in (found, one)]
        if worth[0] >= worth[1] - weights[0] * self._close[0] - weights[1] * self._close[1]:
            return
        if self.same(found, one) or self.same(found, other):
            return
        yield from self.between(one, found)
        yield found
        yield from self.between(found, other)

    def unsupported(self, one: FrontPoint, other: FrontPoint) -> Iterator[FrontPoint]:
        """Yield the points between two neighbouring supported ones; those on the segment are supported as well."""
        first, weights = one, (one.b - other.b, other.a - one.a)
        near = weights[0] * self._close[0] + weights[1] * self._close[1]
        while True:
            limit = one.b - 2 * self._close[1]
            least = self._limited(1, limit, self._tables[0])
            if least is None or least.a >= other.a - self._close[0]:
                return
            one = self._least(1, 0, least.a, supported=False)
            above = weights[0] * (one.a - first.a) + weights[1] * (one.b - first.b)
            yield replace(one, supported=above <= near)

    def check(self, found: Sequence[FrontPoint]) -> None:
        """Raise InputError where there are too many points."""
        if len(found) > self._most:
            raise InputError(f"the front has more than {self._most} points; give most= or coarser costs")

    def same(self, one: FrontPoint, other: FrontPoint) -> bool:
        """Return whether two points are equal, up to rounding."""
        return abs(one.a - other.a) <= self._close[0] and abs(one.b - other.b) <= self._close[1]

    def _least(self, which: int, under: int, most: float, *, supported: bool = True) -> FrontPoint:
        found = self._limited(under, most + self._close[under] / 2, self._tables[which])
        if found is None:
            raise OracleInexact("two queries to the oracle contradict each other; scale the costs")
        return replace(found, supported=supported)

    def _limited(self, under: int, most: float, costs: Floats) -> FrontPoint | None:
        rule = LabelConstraint(self._tables[under], most, "the other outcome")
        best = best_or_none(Under((rule,)).of(self._question), costs)
        return None if best is None else self._point(best.policy, supported=False)

    def _point(self, policy: Any, *, supported: bool) -> FrontPoint:
        labels = np.asarray(policy.predict(self._question.rows))
        a, b = (fsum(table[np.arange(len(labels)), labels]) for table in self._tables)
        return FrontPoint(a, b, policy, supported)
