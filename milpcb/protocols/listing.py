"""All policies within a bound: what is asked for, and the list that answers it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from milpcb.constraints import SideConstraint
from milpcb.types import Floats, Policy


@dataclass(frozen=True, eq=False)
class Within:
    """The policies that are asked for: those of total cost at most ``bound`` that keep the ``rows``.

    Parameters
    ----------
    costs : (g, K), a row for each distinct context
    least, bound : the least total cost of a policy that keeps the rows, and the largest that is asked for
    rows : side constraints

    """

    costs: Floats
    least: float
    bound: float
    rows: tuple[SideConstraint, ...] = ()


@dataclass(frozen=True, eq=False)
class Listing:
    """Policies that label the contexts differently, cheapest first, each made when it is looked at.

    Attributes
    ----------
    totals : (n,) their total costs, not decreasing
    policy : makes one, given its number
    complete : whether these are all that were asked for; else there are more, and none of them is cheaper

    """

    totals: Floats
    policy: Callable[[int], Policy]
    complete: bool = True
