"""The least total and the summed weights of the rows of all support tables, given the prices of their labels.

Supports are visited in order of a lower bound, sum_p min_a Q[a, p]; the search ends when it exceeds the incumbent. On
each a walk through the diagram of its table turns round by the same bound for the patterns left. A derivation is a
support and a row of its table, so a labeling comes once with every support it can be made on: a constant with all.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from milpcb.errors import InfeasibleError
from milpcb.types import Floats, Ints
from policies.linear.supports import Batch, Supports

if TYPE_CHECKING:
    from policies.linear.table_kernels import Sides


class Prices(NamedTuple):
    """What rows cost on the supports of a batch: ``base`` (n,) for action 0 everywhere, ``above`` (K-1, P, n) more."""

    base: Floats
    above: Floats

    def least(self) -> Floats:
        """Return (n,): no row of a support undercuts this."""
        nothing = np.zeros_like(self.above[0])
        return np.asarray(self.base + reduce(np.minimum, self.above, nothing).sum(axis=0))

    def at(self, patterns: Ints) -> Floats:
        """Return what each action costs more than action 0 at the pattern (n,) of each support, (K, n)."""
        above = self.above[:, patterns, np.arange(len(patterns))]
        return np.vstack([np.zeros(len(patterns)), above])


class SideTotals(NamedTuple):
    """A side constraint: ``lower`` <= what a row weighs <= ``upper``; ``weights`` has an entry for each batch."""

    weights: Sequence[Prices]
    lower: float
    upper: float


class FoundRow(NamedTuple):
    """The least total of all rows, and which row it is: of ``batch``, its ``support`` and its table."""

    total: float
    batch: Batch
    support: int
    row: int


class TableFold:
    """The rows of the tables of ``supports`` that keep ``sides``."""

    def __init__(self, supports: Supports, sides: Sequence[SideTotals] = ()) -> None:
        self._batches = supports.batches
        self._sides = [_side_arrays(batch, number, sides) for number, batch in enumerate(self._batches)]
        self._any_sides = bool(sides)

    def value(self, prices: Sequence[Prices]) -> float:
        """Return the least total, infinite where no row keeps the side constraints."""
        found = self._anywhere(prices)
        return np.inf if found is None else found.total

    def least(self, prices: Sequence[Prices]) -> FoundRow:
        """Return the least total and a row that attains it: the first support, lowest bounds first, the first labels.

        Raises InfeasibleError where no row keeps the side constraints.
        """
        found = self._anywhere(prices)
        if found is None:
            raise InfeasibleError("no rule keeps the side constraints")
        return found

    def profile(self, prices: Sequence[Prices], patterns: Sequence[Ints]) -> Floats:
        """Return (K,): the least total of the rows by their label at a context, inf where there is none.

        ``patterns`` has an array (n,) for each batch, the pattern of the context on each support.
        """
        least = [each.least() for each in prices]
        at = [each.at(here) for each, here in zip(prices, patterns, strict=True)]
        free = [low - here.min(axis=0) for low, here in zip(least, at, strict=True)]
        profile = np.full(len(at[0]), np.inf)
        for action in range(len(profile)):
            bounds = [low + here[action] for low, here in zip(free, at, strict=True)]
            found = self._search(prices, bounds, patterns, action)
            profile[action] = np.inf if found is None else found.total
        return profile

    def log_weights(self, prices: Sequence[Prices], patterns: Sequence[Ints], rate: float) -> Floats:
        """Return (K,): log of the summed exp(-rate * total) of the rows by their label at a context."""
        from policies.linear.table_kernels import weigh_kept, weigh_supports

        logs = []
        for batch, sides, (base, above), here in zip(self._batches, self._sides, prices, patterns, strict=True):
            child, before, first = batch.table.diagram
            own = np.empty((len(base), 1 + len(above)))
            if self._any_sides:
                weigh_kept(child, before, above, here, sides, rate, own)
            else:
                weigh_supports(child, first, above, here, rate, own)
            logs.append(np.logaddexp.reduce(-own - rate * base[:, None], axis=0))
        return np.asarray(np.logaddexp.reduce(logs, axis=0))

    def _anywhere(self, prices: Sequence[Prices]) -> FoundRow | None:
        nowhere = [np.zeros(len(batch.supports), dtype=np.int64) for batch in self._batches]
        return self._search(prices, [each.least() for each in prices], nowhere, -1)

    def _search(
        self, prices: Sequence[Prices], bounds: Sequence[Floats], patterns: Sequence[Ints], action: int
    ) -> FoundRow | None:
        """Return the least total of the rows that play an action, if not negative, at the patterns; None for none."""
        from policies.linear.table_kernels import search_supports  # with it numba, which takes a second to import

        best, found = np.inf, None
        for batch, sides, (base, above), low, here in zip(
            self._batches, self._sides, prices, bounds, patterns, strict=True
        ):
            child, before, _ = batch.table.diagram
            for first in (True, False):
                order = _in_order(low, best, first=first)
                best, support, row = search_supports(child, before, above, base, low, order, here, action, sides, best)
                if row >= 0:
                    found = FoundRow(best, batch, support, row)
        return found


def _in_order(bounds: Floats, best: float, *, first: bool) -> Ints:
    """Return the supports (n,) that may undercut the incumbent, lowest bound first; or just the first, to get one."""
    if first:
        return np.array([bounds.argmin()])
    left = np.flatnonzero(bounds < best)
    return left[np.argsort(bounds[left], kind="stable")]


def _side_arrays(batch: Batch, number: int, sides: Sequence[SideTotals]) -> Sides:
    """Return what kernels need of the side constraints on the supports of a batch."""
    from policies.linear.table_kernels import Sides

    n_above, n = batch.table.diagram.child.shape[1] - 1, len(batch.supports)
    on = [side.weights[number] for side in sides]
    lower = [side.lower - weights.base for side, weights in zip(sides, on, strict=True)]
    upper = [side.upper - weights.base for side, weights in zip(sides, on, strict=True)]
    return Sides(
        np.array([weights.above for weights in on]).reshape(len(sides), n_above, len(batch.places), n),
        np.array(lower).reshape(len(sides), n),
        np.array(upper).reshape(len(sides), n),
    )
