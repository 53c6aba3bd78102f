"""The least total and the summed weights of the rows of all support tables, given the prices of their labels.

Supports are visited in order of a lower bound, sum_p min_a Q[a, p]; the search ends when it exceeds the incumbent. On
each a walk through the diagram of its table (walks.py) looks for something less. A derivation is a support and a row of
its table, so a labeling comes once with every support it can be made on: a constant with all.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from milpcb.errors import InfeasibleError
from milpcb.protocols import SideConstraint
from milpcb.types import Floats, Ints
from policies.linear.supports import Batch, Supports

if TYPE_CHECKING:
    from policies.linear.walks import Sides

AT_ONCE = 2**12  # supports whose prices are handed over


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


def prices_of(supports: Supports, costs: Floats) -> list[Prices]:
    """Return the prices on each batch for costs (g, K)."""
    above, everywhere = supports.prices(costs[:, 1:] - costs[:, :1]), float(costs[:, 0].sum())
    return [Prices(np.full(each.shape[2], everywhere), each) for each in above]


SidePrices = tuple[Sequence[Prices], SideConstraint]  # the prices of its weights, an entry for each batch, and it


class FoundRow(NamedTuple):
    """The least total of all rows, and which row it is: of the table of ``batch``, on ``columns`` (s,)."""

    total: float
    batch: Batch
    columns: Ints
    row: int


class TableFold:
    """The rows of the tables of ``supports`` that keep ``sides``."""

    def __init__(self, supports: Supports, sides: Sequence[SidePrices] = ()) -> None:
        self._batches = supports.batches
        self._sides = [side_arrays(batch, number, sides) for number, batch in enumerate(self._batches)]
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
        from policies.linear.table_kernels import weigh_supports
        from policies.linear.walks import weigh_kept

        logs = []
        for batch, sides, (base, above), here in zip(self._batches, self._sides, prices, patterns, strict=True):
            child, before, first = batch.table.diagram
            own = np.empty((len(base), 1 + len(above)))
            if self._any_sides:
                weigh_kept(child, before, batch.axes, by_support(above), here, sides, rate, own)
            else:
                weigh_supports(child, first, by_support(above), here, rate, own)
            logs.append(np.logaddexp.reduce(-own - rate * base[:, None], axis=0))
        return np.asarray(np.logaddexp.reduce(logs, axis=0))

    def _anywhere(self, prices: Sequence[Prices]) -> FoundRow | None:
        nowhere = [np.zeros(len(batch.supports), dtype=np.int64) for batch in self._batches]
        return self._search(prices, [each.least() for each in prices], nowhere, -1)

    def _search(
        self, prices: Sequence[Prices], bounds: Sequence[Floats], patterns: Sequence[Ints], action: int
    ) -> FoundRow | None:
        """Return the least total of the rows that play an action, if not negative, at the patterns; None for none."""
        best, found = np.inf, None
        for number in range(len(self._batches)):
            on_batch = self._search_batch(number, prices[number], bounds[number], patterns[number], action, best)
            if on_batch is not None:
                best, found = on_batch.total, on_batch
        return found

    def _search_batch(
        self, number: int, prices: Prices, bounds: Floats, patterns: Ints, action: int, best: float
    ) -> FoundRow | None:
        """Return the least total on the supports of a batch; None where it is not below ``best``."""
        from policies.linear.walks import search_supports  # with it numba, which takes a second to import

        batch, sides, found = self._batches[number], self._sides[number], None
        child, before, _ = batch.table.diagram
        some, left = np.array([bounds.argmin()]), None  # one alone, so that few others need to be put in order
        while len(some):
            own = on_supports(sides, some)
            above, base, low, here = prices.above[..., some], prices.base[some], bounds[some], patterns[some]
            best, support, row, turn = search_supports(
                child, before, batch.axes, by_support(above), base, low, here, action, own, best
            )
            if row >= 0:
                found = FoundRow(best, batch, batch.turned(int(some[support]), turn), row)
            left = np.flatnonzero(bounds < best) if left is None else left[bounds[left] < best]
            left = left[np.argsort(bounds[left], kind="stable")]
            some, left = left[:AT_ONCE], left[AT_ONCE:]
        return found


def by_support(above: Floats) -> Floats:
    """Return prices (K-1, P, n) as (n, K-1, P)."""
    return np.ascontiguousarray(above.transpose(2, 0, 1))


def on_supports(sides: Sides, some: Ints) -> Sides:
    """Return the side constraints on some supports, in order of rows: kernels are compiled for each order of memory."""
    return type(sides)(*(array.take(some, axis=-1) for array in sides))


def side_arrays(batch: Batch, number: int, sides: Sequence[SidePrices]) -> Sides:
    """Return what kernels need of the side constraints on the supports of a batch."""
    from policies.linear.walks import Sides

    n_above, n = batch.table.diagram.child.shape[1] - 1, len(batch.supports)
    on = [(prices[number], side) for prices, side in sides]
    lower, upper = [side.lower - own.base for own, side in on], [side.upper - own.base for own, side in on]
    return Sides(
        np.array([own.above for own, _ in on]).reshape(len(sides), n_above, len(batch.places), n),
        np.array(lower).reshape(len(sides), n),
        np.array(upper).reshape(len(sides), n),
    )
