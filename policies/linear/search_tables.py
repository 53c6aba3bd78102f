"""The least total and the summed weights of the rows of all support tables, of costs by context or of leaf totals.

Supports are visited in order of a lower bound, sum_p min_a Q[a, p]; the search ends when it exceeds the incumbent. On
each a walk through the graph of the table (template.py) looks for a lower total. A derivation is a support and a row
of its table, so a labeling comes once with every support it can be made on: a constant with all.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import reduce
from itertools import pairwise
from typing import Any

import numpy as np

from milpcb.core.zobrist import first_of_each, key_tables, zobrist_hashes
from milpcb.errors import InfeasibleError
from milpcb.protocols import Listing, SideConstraint, Terms, Within
from milpcb.types import Floats, Ints
from policies.linear.geometry import ScoringRule
from policies.linear.supports import Batch, Supports

AT_ONCE = 2**11  # supports at a time
MOST_KEPT = 10**6  # rules
MOST_LOOKED = 5 * 10**6  # rows that are looked at: a few seconds
ROOM = 2**17  # rows that are listed at a time
# A row: its total, hash and number of weights, and which it is
ROW = [("total", "f8"), ("hash", "u8"), ("size", "i8"), ("batch", "i8"), ("support", "i8"), ("number", "i8")]

Prices = list[Floats]  # for each batch what each label costs at each pattern of each support (K, P, n)
TableRow = tuple[Batch, Ints, int]  # a batch, the columns (s,) of a support, and the row of its table


def least(prices: Prices) -> list[Floats]:
    """Return (n,) for each batch: no row of a support undercuts this."""
    return [reduce(np.minimum, table).sum(axis=0) for table in prices]


class TableTerms(Terms):
    """The totals (K, P, n) of the supports, batch after batch: a context adds to one pattern of each support.

    Contexts are those that the class was opened on, or such as have known values in each column. The recursion is over
    the rows of all tables that keep the side constraints ``rows``.
    """

    def __init__(self, supports: Supports, rows: Sequence[SideConstraint] = ()) -> None:
        self.n_actions, self.n_features = supports.scored.n_actions, supports.scored.contexts.shape[1]
        self.n_touched = sum(len(batch.supports) for batch in supports.batches)
        self._first = np.cumsum([0, *(self.n_actions * batch.places.size for batch in supports.batches)])
        self.n_terms = int(self._first[-1])
        self._supports, self._rows, self._batches = supports, tuple(rows), supports.batches
        self._bounds = np.array([(row.lower, row.upper) for row in rows], dtype=float).reshape(-1, 2)
        self._row_prices = [self._prices(row.weights) for row in rows]

    @property
    def log_derivations(self) -> float:
        return super().log_derivations if self._rows else float(np.log(self._supports.n_rows))

    def places(self, contexts: Floats) -> list[Ints]:
        return [self._place(codes) for codes in self._supports.codes_of(contexts)]

    def adder(self, contexts: Floats) -> Callable[[Floats], Floats]:
        if not np.array_equal(contexts, self._supports.scored.contexts):
            return super().adder(contexts)

        def add_up(costs: Floats) -> Floats:
            parts = [each.ravel() for each in self._supports.totals(costs)]
            return parts[0] if len(parts) == 1 else np.concatenate(parts)

        return add_up

    def value(self, totals: Floats) -> float:
        return self._least(totals)[0]

    def minimise(self, totals: Floats) -> tuple[float, ScoringRule]:
        """Return the least total and a rule that attains it: of equal ones, that whose support has the lowest bound."""
        total, row = self._least(totals)
        if row is None:
            raise InfeasibleError("no scoring rule of the class keeps the side constraints")
        return total, self._supports.rule(*row)

    def profile(self, totals: Floats, place: Ints) -> Floats:
        prices, patterns = self._prices(totals), self._patterns(place)
        at = [table[:, here, np.arange(len(here))] for table, here in zip(prices, patterns, strict=True)]
        free = [low - here.min(axis=0) for low, here in zip(least(prices), at, strict=True)]
        profile = np.empty(len(at[0]))
        for action in range(len(profile)):
            bounds = [low + here[action] for low, here in zip(free, at, strict=True)]
            profile[action], _ = self._search(prices, bounds, patterns, action)
        return profile

    def log_weights(self, totals: Floats, place: Ints, rate: float) -> Floats:
        prices, patterns = self._prices(totals), self._patterns(place)
        logs = np.full(len(prices[0]), -np.inf)
        for number, (batch, table, here) in enumerate(zip(self._batches, prices, patterns, strict=True)):
            for start in range(0, table.shape[2], AT_ONCE):
                some = np.arange(start, min(start + AT_ONCE, table.shape[2]))
                costs = rate * batch.template.costs(table, some)
                if self._rows:
                    own = self._kept_sums(number, costs, some, here[some])
                else:
                    own = batch.template.log_sums(costs, here[some])
                logs = np.logaddexp(logs, np.logaddexp.reduce(own, axis=0))
        return logs

    def near(self, contexts: Floats, asked: Within) -> Listing:
        """Return rules within a bound, of each labeling one of fewest weights; not all of them if they are too many."""
        add_up = self.adder(contexts)
        if asked.rows:
            return self.under([row.mapped(add_up) for row in asked.rows]).near(contexts, replace(asked, rows=()))
        prices, *keys = (self._prices(add_up(table)) for table in (asked.costs, *key_tables(*asked.costs.shape)))
        found, complete = self._listed(prices, keys, asked.bound)
        every = np.concatenate(found)
        every = every[np.argsort(every["size"], kind="stable")]
        every = every[first_of_each(every["hash"])]
        kept = every[np.argsort(every["total"], kind="stable")[:MOST_KEPT]]

        def policy(place: int) -> ScoringRule:
            row = kept[place]
            batch = self._batches[row["batch"]]
            return self._supports.rule(batch, batch.supports[row["support"]], int(row["number"]))

        return Listing(kept["total"], policy, complete and len(every) <= MOST_KEPT)

    def _listed(self, prices: Prices, keys: Sequence[Prices], bound: float) -> tuple[list[Any], bool]:
        """Return rows of ROW within a bound, and whether they are all."""
        from policies.paths.kernels import LIST

        found, looked, complete = [np.zeros(0, ROW)], 0, True
        for number, (batch, low) in enumerate(zip(self._batches, least(prices), strict=True)):
            template, left = batch.template, np.argsort(low, kind="stable")
            left = left[low[left] <= bound]
            while len(left) and looked <= MOST_LOOKED:
                some = left[:AT_ONCE]
                costs, weights = template.costs(prices[number], some), self._weights(number, some)
                own = zobrist_hashes([template.costs(each[number], some) for each in keys])
                room = max(ROOM, len(batch.table.labels))  # for those of a support at the least
                listed, where, done = template.walk(costs, weights, self._bounds, bound, LIST, room, own)
                rows, numbers = np.empty(len(listed.totals), ROW), template.rows(listed.paths)
                columns = listed.totals, listed.hashes, batch.table.sizes[numbers], number, some[where], numbers
                for (name, _), column in zip(ROW, columns, strict=True):
                    rows[name] = column
                found.append(rows)
                left, looked = left[done:], looked + len(rows)
            complete = complete and not len(left)
        return found, complete

    def under(self, rows: Sequence[SideConstraint]) -> TableTerms:
        return TableTerms(self._supports, (*self._rows, *rows))

    def _least(self, totals: Floats) -> tuple[float, TableRow | None]:
        prices = self._prices(totals)
        return self._search(prices, least(prices))

    def _kept_sums(self, number: int, costs: Floats, some: Ints, patterns: Ints) -> Floats:
        """Return (n, K): log of the summed exp(-cost) of the rows of some supports that keep the side constraints."""
        from policies.paths.kernels import SUM

        template, weights = self._batches[number].template, self._weights(number, some)
        logs = np.empty((len(some), self.n_actions))
        for action in range(self.n_actions):
            forced = costs.copy()
            template.force(forced, patterns, action)
            logs[:, action] = template.walk(forced, weights, self._bounds, np.inf, SUM, len(some))[0].totals
        return logs

    def _weights(self, number: int, some: Ints) -> Floats:
        """Return what labels weigh (n, R, terms) on some supports of the batch of this number."""
        template = self._batches[number].template
        weights = np.empty((len(some), len(self._rows), template.n_terms))
        for r, prices in enumerate(self._row_prices):
            weights[:, r] = template.costs(prices[number], some)
        return weights

    def _search(
        self, prices: Prices, bounds: Sequence[Floats], patterns: Sequence[Ints] | None = None, action: int = -1
    ) -> tuple[float, TableRow | None]:
        """Return the least total of the rows and one that has it; of those that play an action at any patterns."""
        from policies.paths.kernels import LEAST  # with it numba, which takes a second to import

        best = np.inf
        found: TableRow | None = None
        for number, (batch, table, low) in enumerate(zip(self._batches, prices, bounds, strict=True)):
            template, order = batch.template, np.argsort(low, kind="stable")
            for first, last in pairwise((0, *range(1, len(order), AT_ONCE), len(order))):  # the first one alone
                some = order[first:last]
                some = some[low[some] < best]
                if not len(some):
                    break
                costs, weights = template.costs(table, some), self._weights(number, some)
                if patterns is not None:
                    template.force(costs, patterns[number][some], action)
                on, where, _ = template.walk(costs, weights, self._bounds, best, LEAST, 1)
                if where[0] >= 0:
                    best, row = float(on.totals[0]), int(template.rows(on.paths)[0])
                    found = batch, batch.supports[some[where[0]]], row
        return best, found

    def _prices(self, totals: Floats) -> Prices:
        parts = zip(np.split(totals, self._first[1:-1]), self._batches, strict=True)
        return [part.reshape(self.n_actions, *batch.places.shape) for part, batch in parts]

    def _patterns(self, place: Ints) -> list[Ints]:
        ends = np.cumsum([len(batch.supports) for batch in self._batches])[:-1]
        found = zip(np.split(place[:, 0], ends), self._first[:-1], self._batches, strict=True)
        return [(terms - start) // len(batch.supports) for terms, start, batch in found]

    def _place(self, codes: Ints) -> Ints:
        found = []
        for batch, start in zip(self._batches, self._first[:-1], strict=True):
            n_patterns, n = batch.places.shape
            cell = self._supports.patterns_of(batch, codes) * n + np.arange(n)
            found.append(start + cell[:, None] + n_patterns * n * np.arange(self.n_actions))
        return np.concatenate(found)
