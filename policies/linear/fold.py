"""The least total and the summed weights of the rows of all support tables, given the prices of their labels.

Supports are visited in order of a lower bound, sum_p min_a Q[a, p]; the search ends when it exceeds the incumbent. Some
at a time are bounded by relaxed graphs (template.py), and a walk through the graph of the table looks for something
less on those that are left. A derivation is a support and a row of its table, so a labeling comes once with every
support it can be made on: a constant with all.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from functools import reduce
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from milpcb.core.marks import Marks, first_of_each, key_tables, marks
from milpcb.errors import InfeasibleError
from milpcb.protocols import Listing, Recursion, SideConstraint, Within
from milpcb.protocols.recursion import Place
from milpcb.types import Floats, Ints
from policies.linear.geometry import ScoringRule
from policies.linear.supports import Batch, Supports

if TYPE_CHECKING:
    from policies.linear.template import SideWeights

AT_ONCE = 2**11  # supports that are bounded at a time


class Prices(NamedTuple):
    """Costs of rows on the supports of a batch: ``base`` (n,) for action 0 everywhere, ``above`` (K-1, P, n) more."""

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


class TableRecursion(Recursion[Place]):
    """The rows of all tables that keep the side constraints ``rows``."""

    def __init__(self, supports: Supports, rows: Sequence[SideConstraint] = ()) -> None:
        self._supports, self._rows, self._batches = supports, tuple(rows), supports.batches
        self._sides = tuple((self._prices(row.weights), row) for row in rows)

    @abstractmethod
    def _prices(self, totals: Floats) -> list[Prices]:
        """Return the prices on each batch."""

    @abstractmethod
    def _patterns(self, place: Place) -> list[Ints]:
        """Return the pattern (n,) of a place on the supports of each batch."""

    def value(self, totals: Floats) -> float:
        """Return the least total, infinite where no row keeps the side constraints."""
        found = self._least(totals)
        return np.inf if found is None else found.total

    def minimise(self, totals: Floats) -> tuple[float, ScoringRule]:
        """Return the least total and a rule that attains it: of equals, one whose support has the lowest bound."""
        found = self._least(totals)
        if found is None:
            raise InfeasibleError("no scoring rule of the class keeps the side constraints")
        return found.total, self._supports.rule(found.batch, found.columns, found.row)

    def profile(self, totals: Floats, place: Place) -> Floats:
        """Return (K,): the least total of the rows by the action at ``place``, inf where there is none."""
        prices, patterns = self._prices(totals), self._patterns(place)
        least = [each.least() for each in prices]
        at = [each.at(here) for each, here in zip(prices, patterns, strict=True)]
        free = [low - here.min(axis=0) for low, here in zip(least, at, strict=True)]
        profile = np.full(len(at[0]), np.inf)
        for action in range(len(profile)):
            bounds = [low + here[action] for low, here in zip(free, at, strict=True)]
            found = self._search(prices, bounds, patterns, action)
            profile[action] = np.inf if found is None else found.total
        return profile

    def log_weights(self, totals: Floats, place: Place, rate: float) -> Floats:
        """Return (K,): log of the summed exp(-rate * total) of the rows by the action at ``place``."""
        prices, patterns = self._prices(totals), self._patterns(place)
        logs = np.full(1 + len(prices[0].above), -np.inf)
        for number, (batch, (base, above), here) in enumerate(zip(self._batches, prices, patterns, strict=True)):
            for start in range(0, len(base), AT_ONCE):
                some = np.arange(start, min(start + AT_ONCE, len(base)))
                costs = rate * batch.template.costs(above, some)
                if self._sides:
                    own = self._kept_sums(number, costs, some, here[some])
                else:
                    own = batch.template.log_sums(costs, here[some])
                logs = np.logaddexp(logs, np.logaddexp.reduce(own - rate * base[some, None], axis=0))
        return logs

    def under(self, rows: Sequence[SideConstraint]) -> Any:
        """Return the recursion over the rows of the tables alone that keep ``rows`` as well."""
        return type(self)(self._supports, (*self._rows, *rows))

    def _least(self, totals: Floats) -> FoundRow | None:
        prices = self._prices(totals)
        return self._search(prices, [each.least() for each in prices])

    def _kept_sums(self, number: int, costs: Floats, some: Ints, patterns: Ints) -> Floats:
        """Return (n, K): log of the summed exp(-cost) of the rows of some supports that keep the side constraints."""
        from policies.paths.kernels import SUM

        batch = self._batches[number]
        sides, logs = side_weights(self._sides, number, batch, some), np.empty((len(some), batch.template.n_actions))
        for action in range(batch.template.n_actions):
            forced = costs.copy()
            batch.template.force(forced, patterns, action)
            logs[:, action] = batch.template.walk(forced, np.zeros(len(some)), sides, np.inf, SUM, len(some))[0].totals
        return logs

    def _search(
        self,
        prices: Sequence[Prices],
        bounds: Sequence[Floats],
        patterns: Sequence[Ints] | None = None,
        action: int = -1,
    ) -> FoundRow | None:
        """Return the least total of the rows, None for none; of those that play an action at the patterns, if any."""
        found = None
        for number in range(len(self._batches)):
            here = None if patterns is None else (patterns[number], action)
            best = np.inf if found is None else found.total
            found = self._search_batch(number, prices[number], bounds[number], here, best) or found
        return found

    def _search_batch(
        self, number: int, prices: Prices, low: Floats, forced: tuple[Ints, int] | None, best: float
    ) -> FoundRow | None:
        """Return the least total on the supports of a batch; None where it is not below ``best``."""
        from policies.paths.kernels import LEAST  # with it numba, which takes a second to import

        batch, found = self._batches[number], None
        template = batch.template
        some, left = np.array([low.argmin()]), None  # one alone, so that few others need to be put in order
        while len(some):
            costs, sides = template.costs(prices.above, some), side_weights(self._sides, number, batch, some)
            if forced is not None:
                template.force(costs, forced[0][some], forced[1])
            base, tight = prices.base[some], low[some]
            if len(some) > 1:
                tight = np.maximum(tight, base + template.bounds(costs, sides))
            order = np.argsort(tight, kind="stable")
            order = order[tight[order] < best]
            if len(order):
                sides = type(sides)(*(each[order] for each in sides))
                on, where, _ = template.walk(costs[order], base[order], sides, best, LEAST, 1)
                if where[0] >= 0:
                    best, row = float(on.totals[0]), int(batch.table.diagram.numbers(template.labels(on.paths))[0])
                    found = FoundRow(best, batch, batch.supports[some[order[where[0]]]], row)
            left = np.flatnonzero(low < best) if left is None else left[low[left] < best]
            left = left[np.argsort(low[left], kind="stable")]
            some, left = left[:AT_ONCE], left[AT_ONCE:]
        return found


def side_weights(sides: Sequence[SidePrices], number: int, batch: Batch, some: Ints) -> SideWeights:
    """Return the side constraints on some supports of a batch."""
    from policies.linear.template import SideWeights

    template, shape = batch.template, (len(some), len(sides))
    weights = np.empty((*shape, template.n_terms))
    bounds = np.empty((*shape, 2))
    for r, (prices, side) in enumerate(sides):
        base, above = prices[number]
        weights[:, r] = template.costs(above, some)
        bounds[:, r, 0], bounds[:, r, 1] = side.lower - base[some], side.upper - base[some]
    return SideWeights(weights, bounds)


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
