"""The exact search of linear rules by support tables, for any number of actions; supports.py defines these.

Supports are visited in order of a lower bound, sum_p min_a sum_{k <= a} G[k, p]; the search stops when it exceeds the
incumbent. A derivation is a support and a row of its table, so a labeling comes once with every support it can be made
on: a constant with all of them.

Under side constraints each derivation is marked, once, as one that keeps them or not; the price of those that do not is
infinite.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from milpcb.errors import InfeasibleError
from milpcb.protocols import LabelRow, Search
from milpcb.types import Bools, Floats, Ints
from policies.linear.rule import LinearRule
from policies.linear.supports import Batch, Supports

# Supports priced before the rest is weighed again, at first; and prices held at a time.
_FIRST = 32
_BLOCK = 2**21
# Derivations marked under side constraints, a byte each.
MOST_MARKED = 10**8


class TableSearch(Search):
    """The totals of every support, then the prices of the rows of its table, best supports first."""

    def __init__(self, supports: Supports, kept: Sequence[Bools] = ()) -> None:
        """Take the supports, and under side constraints which rows (n, N) of the table of each batch keep them."""
        self._supports, self._contexts = supports, supports.scored.contexts
        self._kept = kept
        self._n_actions = supports.scored.n_cuts + 1

    def describe(self) -> str:
        """Name the search, and the sizes that it was chosen for."""
        limit, batches = self._supports.scored.limit, self._supports.batches
        rows = " or ".join(str(n) for n in sorted({len(batch.table.labels) for batch in batches}))
        n_supports = sum(len(batch.supports) for batch in batches)
        return (
            f"support tables: {n_supports} supports of {limit} features, {rows} rows each: few enough to price them all"
        )

    def value(self, costs: Floats) -> float:
        """Return the least total cost."""
        price, *_ = self._best(costs)
        return price + float(costs[:, 0].sum())

    def minimise(self, costs: Floats) -> tuple[float, LinearRule]:
        """Return the least total cost and a rule that attains it; the first support, then the first row wins a tie."""
        price, batch, support, row = self._best(costs)
        if price == np.inf:
            raise InfeasibleError("no rule keeps the side constraints")
        rule = self._supports.rule(batch, support, row)
        return float(costs[np.arange(len(costs)), rule.predict(self._contexts)].sum()), rule

    def profile(self, costs: Floats, row: int) -> Floats:
        """Return V[a]: the rows of the tables by their label at the pattern of ``row``."""
        best = np.full(self._n_actions, np.inf)
        for number, (batch, G) in enumerate(self._totals(costs)):
            patterns = self._supports.patterns_at(batch, row)
            for some in _worth_a_look(_bounds_at(G, patterns), best, batch):
                for action, prices in _by_action(batch, patterns[some], self._prices(number, G, some)):
                    best[action] = min(best[action], prices.min())
        return np.asarray(best + costs[:, 0].sum())

    def log_weights(self, costs: Floats, row: int, rate: float) -> Floats:
        """Return the log of the summed weights of all derivations, by the action at ``row``."""
        logs = np.full(self._n_actions, -np.inf)
        for number, (batch, G) in enumerate(self._totals(costs)):
            patterns = self._supports.patterns_at(batch, row)
            for some in _blocks(batch):
                for action, prices in _by_action(batch, patterns[some], self._prices(number, G, some)):
                    kept = prices[prices < np.inf]
                    if len(kept):
                        logs[action] = np.logaddexp(logs[action], _log_sum_exp(-rate * kept))
        return np.asarray(logs - rate * costs[:, 0].sum())

    def under(self, rows: Sequence[LabelRow]) -> TableSearch:
        """Return the search over the rows of the tables that keep all side constraints ``rows``."""
        batches = self._supports.batches
        marked = [np.ones((len(batch.supports), len(batch.table.labels)), dtype=bool) for batch in batches]
        for row in rows:
            for batch, G, keeps in zip(batches, self._supports.totals(row.weights), marked, strict=True):
                for some in _blocks(batch):
                    weights = _prices(batch, G[some]) + row.weights[:, 0].sum()
                    keeps[some] &= (row.lower <= weights) & (weights <= row.upper)
        return TableSearch(self._supports, marked)

    def _prices(self, number: int, G: Floats, some: Ints) -> Floats:
        """Return the prices (n, N) on ``some`` supports of a batch, infinite where a row does not keep the rows."""
        prices = _prices(self._supports.batches[number], G[some])
        return np.where(self._kept[number][some], prices, np.inf) if self._kept else prices

    def _totals(self, costs: Floats) -> Iterator[tuple[Batch, Floats]]:
        return zip(self._supports.batches, self._supports.totals(costs), strict=True)

    def _best(self, costs: Floats) -> tuple[float, Batch, int, int]:
        """Return the least price and where it is: the batch, the support in it, the row of its table."""
        least, number = np.array([np.inf]), 0
        where = (self._supports.batches[0], 0, 0)
        for position, (batch, G) in enumerate(self._totals(costs)):
            for some in _worth_a_look(_by_pattern(G).min(axis=1).sum(axis=1, keepdims=True), least, batch):
                prices = self._prices(position, G, some)
                by_support = prices.min(axis=1)
                ties = np.flatnonzero(by_support == by_support.min())
                i = int(ties[batch.numbers[some[ties]].argmin()])
                if (by_support[i], batch.numbers[some[i]]) < (least[0], number):
                    least[0], number = by_support[i], int(batch.numbers[some[i]])
                    where = (batch, int(some[i]), int(prices[i].argmin()))
        return float(least[0]), *where


def too_many_to_mark(supports: Supports) -> str:
    """Return why derivations are too many to mark under side constraints, or nothing when they are not."""
    if supports.n_rows <= MOST_MARKED:
        return ""
    return (
        f"under side constraints the search marks {supports.n_rows:,} rows of support tables, more than "
        f"{MOST_MARKED:,}; lower max_features, or use oracle kind 'milp'"
    )


def _blocks(batch: Batch) -> list[Ints]:
    """Return the supports of a batch in blocks whose prices are held at a time."""
    n = len(batch.supports)
    return np.array_split(np.arange(n), 1 + n * len(batch.table.labels) // _BLOCK)


def _prices(batch: Batch, G: Floats) -> Floats:
    """Return what each row of the table costs more than action 0 everywhere, (n, N)."""
    return np.asarray(G.reshape(len(G), -1) @ batch.table.above)


def _by_pattern(G: Floats) -> Floats:
    """Return what each action costs more than action 0 on each pattern, (n, K, P)."""
    return np.concatenate([np.zeros_like(G[:, :1]), np.cumsum(G, axis=1)], axis=1)


def _bounds_at(G: Floats, patterns: Ints) -> Floats:
    """Return (n, K): no row undercuts this that plays a on the pattern (n,), whatever the others play."""
    by_pattern = _by_pattern(G)
    lowest = by_pattern.min(axis=1)
    each = np.arange(len(G))
    elsewhere = lowest.sum(axis=1) - lowest[each, patterns]
    return np.asarray(elsewhere[:, None] + by_pattern[each, :, patterns])


def _worth_a_look(bounds: Floats, best: Floats, batch: Batch) -> Iterator[Ints]:
    """Yield supports, lowest bounds (n, A) first, until none is within ``best`` (A,), which the caller lowers."""
    left, size = np.argsort(bounds.min(axis=1), kind="stable"), _FIRST
    while True:
        left = left[(bounds[left] <= best).any(axis=1)]
        if not len(left):
            return
        yield left[:size]
        left, size = left[size:], min(2 * size, max(1, _BLOCK // len(batch.table.labels)))


def _by_action(batch: Batch, patterns: Ints, prices: Floats) -> Iterator[tuple[int, Floats]]:
    """Yield the prices (n, N) in blocks of one action at the pattern (n,) of each support."""
    for pattern in np.unique(patterns):
        labels, here = batch.table.labels[:, pattern], prices[patterns == pattern]
        for action in np.unique(labels):
            yield int(action), here[:, labels == action]


def _log_sum_exp(logs: Floats) -> float:
    highest = logs.max()
    return float(highest + np.log(np.exp(logs - highest).sum()))
