"""The front of two outcomes in sentences and tables."""

from __future__ import annotations

from milpcb.core.decimals import fixed
from milpcb.logs.findings import Findings
from milpcb.logs.unit import Unit


def second_unit(found: Findings) -> Unit:
    """Return the unit of the second outcome of the front."""
    front = found.front
    return Unit("", maximise=False, binary=False) if front is None else Unit(front.column, front.maximise, front.binary)


def front(found: Findings) -> list[str]:
    """Return the front of two outcomes in sentences; [] where it was not asked."""
    if found.front is None:
        return []
    points, unit, other = found.front.points, Unit.of(found), second_unit(found)
    ends = [f"{unit.of_value(point.first)} and {other.of_value(point.second)}" for point in (points[0], points[-1])]
    if len(points) == 1:
        return [f"One rule is the best for both outcomes: it looks worth {ends[0]}."]
    some = f"{fixed(len(points), 0)} rules are the best for some weighting of both outcomes, and there are no others"
    between = (
        "No rule of the class is better than the line through two neighbours; between them there may be rules that no "
        "weighting makes the best. All are as they look in the rows that they were learnt from, which is too good."
    )
    return [f"{some}: from {ends[0]} to {ends[1]}.", between]


def front_table(found: Findings) -> list[tuple[str, str, str]]:
    """Return the rules of the front: number, both outcomes."""
    unit, other = Unit.of(found), second_unit(found)
    points = found.front.points if found.front else ()
    return [(str(n), unit.value(each.first), other.value(each.second)) for n, each in enumerate(points, 1)]
