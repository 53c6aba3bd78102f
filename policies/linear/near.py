"""All scoring rules within a bound of total cost: the rows of support tables that are, those that label alike once.

Supports are gone through in the order of their lower bounds. Rows that label all contexts alike
(milpcb/core/marks.py), on one support or on several, are one rule: the one of fewest features.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from milpcb.core.marks import Marks, first_of_each, key_tables, marks
from milpcb.protocols import Listing, Within
from milpcb.types import Floats, Ints
from policies.linear.fold import AT_ONCE, prices_of, side_weights
from policies.linear.geometry import ScoringRule
from policies.linear.supports import Supports

MOST_KEPT = 10**6  # rules
MOST_LOOKED = 5 * 10**6  # rows that are looked at: a few seconds
_ROOM = 2**17  # rows that are listed at a time


class NearRows(NamedTuple):
    """Rows of tables: their totals, marks, numbers of weights, batches, supports and numbers (n,)."""

    totals: Floats
    marks: Marks
    sizes: Ints
    batches: Ints
    supports: Ints
    numbers: Ints

    @classmethod
    def none(cls) -> NearRows:
        """Return no rows."""
        nothing = np.zeros(0, dtype=np.int64)
        return cls(np.zeros(0), np.zeros(0, dtype=np.uint64), nothing, nothing, nothing, nothing)

    def take(self, places: Ints) -> NearRows:
        """Return some of them, in this order."""
        return NearRows._make(own[places] for own in self)

    def distinct(self) -> NearRows:
        """Return one of those that label alike, of fewest weights."""
        small = self.take(np.argsort(self.sizes, kind="stable"))
        return small.take(first_of_each(small.marks))

    def cheapest(self, bound: float, most: int) -> NearRows:
        """Return those of total at most ``bound`` in order of cost, no more than so many."""
        inside = self.take(np.flatnonzero(self.totals <= bound))
        return inside.take(np.argsort(inside.totals, kind="stable")[:most])


def near_rules(supports: Supports, asked: Within) -> Listing | None:
    """Return the rules asked for, the cheapest where they are too many; None where none of these is known for sure."""
    found = _Near(supports, asked)
    rows = found.rows()

    def policy(number: int) -> ScoringRule:
        batch = supports.batches[rows.batches[number]]
        return supports.rule(batch, batch.supports[rows.supports[number]], int(rows.numbers[number]))

    return Listing(rows.totals, policy, found.complete) if len(rows.totals) else None


class _Near:
    """The rows within a bound, which falls where they are too many: ``complete`` is false then."""

    def __init__(self, supports: Supports, asked: Within) -> None:
        self._batches = supports.batches
        self._prices = prices_of(supports, asked.costs)
        self._keys = [prices_of(supports, keys) for keys in key_tables(*asked.costs.shape)]
        self._sides = [(prices_of(supports, row.weights), row) for row in asked.rows]
        self._bound = asked.bound
        self._rows, self._new, self._looked = NearRows.none(), list[NearRows](), 0
        self.complete = True

    def rows(self) -> NearRows:
        """Return the rows by cost."""
        least = [each.least() for each in self._prices]
        for number, low in enumerate(least):
            left = np.argsort(low, kind="stable")
            left = left[low[left] <= self._bound]
            while len(left) and self._looked <= MOST_LOOKED:
                done = self._list(number, left[:AT_ONCE])
                left = left[done:]
                left = left[low[left] <= self._bound]
            if len(left):  # rows that have not been looked at cost this at least
                self.complete, self._bound = False, min(self._bound, float(low[left[0]]))
        self._join()
        return self._rows.cheapest(self._bound, MOST_KEPT)

    def _list(self, number: int, some: Ints) -> int:
        """Add the rows within the bound on some supports of a batch; return on how many there was room for them."""
        from policies.paths.kernels import LIST  # with it numba, which takes a second to import

        batch, (base, above) = self._batches[number], self._prices[number]
        template = batch.template
        costs, sides = template.costs(above, some), side_weights(self._sides, number, batch, some)
        near = np.flatnonzero(base[some] + template.bounds(costs, sides) <= self._bound)
        kept = type(sides)(*(each[near] for each in sides))
        keys = marks([template.costs(prices[number].above, some[near]) for prices in self._keys])
        room = max(_ROOM, len(batch.table.labels))  # for those of a support at the least
        found, where, done = template.walk(costs[near], base[some[near]], kept, self._bound, LIST, room, keys)
        numbers = batch.table.diagram.numbers(template.labels(found.paths))
        self._new.append(
            NearRows(
                found.totals,
                found.marks,
                batch.table.sizes[numbers],
                np.full(len(numbers), number),
                some[near[where]],
                numbers,
            )
        )
        self._looked += len(numbers)
        if sum(len(rows.totals) for rows in self._new) > max(2 * _ROOM, len(self._rows.totals)):
            self._join()
        return len(some) if done == len(near) else int(near[done])

    def _join(self) -> None:
        """Take in the new rows; where there are too many the bound falls, so that half of them are left."""
        every = NearRows(*map(np.concatenate, zip(self._rows, *self._new, strict=True)))
        self._rows, self._new = every.distinct(), []
        if len(self._rows.totals) > MOST_KEPT:
            self.complete = False
            self._bound = float(np.partition(self._rows.totals, MOST_KEPT // 2)[MOST_KEPT // 2])
            self._rows = self._rows.cheapest(self._bound, MOST_KEPT)
