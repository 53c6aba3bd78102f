"""Sets of columns that rules may weigh together, and the table of labelings by rules on them (labelings.py).

Support
    As many columns as the limit on features allows; a column that stands for r equal features can come up to r times.
    Rules on fewer features are among them, with weight 0.
Prices
    With Q[a, p] the sum of costs[j, a] over the contexts j with pattern p on the support, a row T of its table costs
    sum_p Q[T[p], p].
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, combinations, product
from math import comb, prod
from typing import TYPE_CHECKING

import numpy as np

from milpcb.core.decimals import about, beyond
from milpcb.types import Floats, Ints
from policies.linear.geometry import Scored, ScoringRule
from policies.linear.labelings import Grid, LabelTable, Shape, support_table
from policies.literals import LARGEST

if TYPE_CHECKING:
    from policies.linear.template import Template


# Labels looked at to build a table, which takes a few seconds at the most; the table is then kept.
MOST_LABELS = 2 * 10**8
# Prices of all patterns of all supports, which a query computes: 240 MB and half a second.
MOST_PRICES = 3 * 10**7
# Sums over contexts that these are made of, half as many again.
MOST_SUMS = 2 * 10**7
# States that the sum over all rows looks at: a second.
MOST_SUMMED = 10**8


@dataclass(frozen=True)
class Batch:
    """The supports (n, s) that share a table; ``sizes`` (s,) of columns, ``places`` (P, n) of prices in nested sums."""

    table: LabelTable
    sizes: tuple[int, ...]
    supports: Ints
    places: Ints

    @cached_property
    def template(self) -> Template:
        """The labelings of the table as paths."""
        from policies.linear.template import Template  # with it numba, which takes a second to import

        return Template(self.table.diagram)


class Supports:
    """All supports of a class on fixed contexts, in batches that share a table; see ``obstacle`` before use."""

    def __init__(self, scored: Scored) -> None:
        self.scored = scored
        coded = [np.unique(column.values, return_inverse=True) for column in scored.columns]
        self._grids: list[Grid] = [tuple((values - values[0]).tolist()) for values, _ in coded]
        codes = np.array([codes for _, codes in coded], dtype=np.int64)
        self._codes: Ints = codes.reshape(len(coded), len(scored.contexts))

    @cached_property
    def batches(self) -> list[Batch]:
        """The supports in batches."""
        found = []
        for shapes, columns in self._by_shapes.items():
            sizes = tuple(len(shape.grid) for shape in shapes)
            found.append(Batch(self._table(shapes), sizes, columns, self._nested.places(columns, sizes)))
        return found

    @property
    def n_rows(self) -> int:
        """Number of derivations: rows of the tables, over all supports."""
        return sum(len(columns) * len(self._table(shapes).labels) for shapes, columns in self._by_shapes.items())

    def obstacle(self) -> str:
        """Return why tables are too large, and the remedy; "" when they can be used."""
        scored, sizes = self.scored, [len(grid) for grid in self._grids]
        prices = (scored.n_actions - 1) * self._n_patterns
        supports = f"{about(comb(int(scored.copies.sum()), scored.limit))} supports of {scored.limit} features"
        sums = sum(_elementary([size - 1 for size in sizes], scored.limit - 1)) * (1 + sum(sizes) - len(sizes))
        found = beyond(prices, MOST_PRICES, f"{supports} have {{}} prices", "lower max_features") or beyond(
            sums, MOST_SUMS, "there are {} sums over contexts", "lower max_features"
        )
        if found:
            return found
        labels, largest = max((scored.kind.labels_to_build(shapes), shapes) for shapes in self._by_shapes)
        patterns = about(prod(len(shape.grid) for shape in largest))
        counted = f"the table of {len(largest)} columns with {patterns} patterns takes {{}} labels"
        return beyond(labels, MOST_LABELS, counted, "lower max_features, max_weight or the number of values")

    def too_many_to_sum(self) -> str:
        """Return why the rows are too many for a sum over all of them; "" when they are not."""
        tables = ((columns, self._table(shapes)) for shapes, columns in self._by_shapes.items())
        states = sum(len(columns) * table.diagram.graph.n_inner for columns, table in tables)
        counted = "a sum over all rules goes through {} states of support tables"
        remedy = "lower max_features, or take a learner that needs no action weights"
        return beyond(states, MOST_SUMMED, counted, remedy)

    def too_many_to_keep(self) -> str:
        """Return why the totals of the patterns are too many to be kept from round to round; "" when they are not."""
        kept = self.scored.n_actions * self._n_patterns
        return beyond(kept, LARGEST, "the supports have {} totals to keep", "lower max_features")

    def totals(self, costs: Floats) -> list[Floats]:
        """Return the totals (K, P, n) of ``costs`` (g, K) of each batch."""
        sums = self._nested.sums(self._codes, costs)
        return [by_pattern(sums, batch.places, batch.sizes) for batch in self.batches]

    def patterns_of(self, batch: Batch, codes: Ints) -> Ints:
        """Return the pattern (n,) of a context with these ``codes`` (columns,) on each support of a batch."""
        return _mixed(codes[batch.supports], batch.sizes)

    def codes_of(self, contexts: Floats) -> Ints:
        """Return the codes (n, columns) of contexts (n, d): of the first known value not below that of each column."""
        codes = np.zeros((len(contexts), len(self._grids)), dtype=np.int64)
        for c, values in enumerate(self.scored.columns_of(contexts)):
            grid = np.array(self._grids[c]) + self.scored.columns[c].values.min()
            codes[:, c] = np.minimum(np.searchsorted(grid, values), len(grid) - 1)
        return codes

    def rule(self, batch: Batch, columns: Ints, row: int) -> ScoringRule:
        """Return the rule of a row of a batch's table on ``columns`` (s,)."""
        patterns = _mixed(self._codes[columns].T, batch.sizes)
        totals = np.zeros((len(self.scored.columns), *batch.table.weights.shape[2:]), dtype=np.int64)
        totals[columns] = batch.table.weights[row]
        return self.scored.rule(totals, batch.table.labels[row, patterns].astype(np.int64))

    @property
    def _n_patterns(self) -> int:
        sizes = np.repeat(np.array([len(grid) for grid in self._grids], dtype=np.int64), self.scored.copies)
        return _elementary(sizes.tolist(), self.scored.limit)[-1]

    @cached_property
    def _by_shapes(self) -> dict[tuple[Shape, ...], Ints]:
        """The supports (n, s) by the shapes of their columns, those of one shape side by side."""
        scored = self.scored
        times = ((c, n) for c, most in enumerate(scored.copies.tolist()) for n in range(1, most + 1))
        shapes = [(c, n, Shape(self._grids[c], scored.max_weight * n)) for c, n in times]
        every = sorted({shape for *_, shape in shapes})
        rank = np.zeros((len(self._grids), 1 + int(scored.copies.max(initial=0))), dtype=np.int64)
        for column, n, shape in shapes:
            rank[column, n] = every.index(shape)
        found: dict[tuple[Shape, ...], list[Ints]] = defaultdict(list)
        for chosen, often in _supports(scored):
            order = np.argsort(rank[chosen, often], axis=1, kind="stable")
            columns, ranks = (np.take_along_axis(each, order, axis=1) for each in (chosen, rank[chosen, often]))
            for ranked in sorted(set(map(tuple, ranks.tolist()))):
                own = scored.kind.enough([every[r] for r in ranked])
                found[own].append(columns[(ranks == np.array(ranked)).all(axis=1)])
        return {shapes: np.concatenate(columns) for shapes, columns in found.items()}

    @cached_property
    def _nested(self) -> NestedSums:
        return NestedSums([len(grid) for grid in self._grids], self.scored.limit - 1)

    def _table(self, shapes: tuple[Shape, ...]) -> LabelTable:
        return support_table(self.scored.kind, shapes)


def _elementary(sizes: list[int], most: int) -> list[int]:
    """Return the sums, over all sets of 0, 1, ... ``most`` of the sizes, of their product."""
    sums = [1] + [0] * max(most, 0)
    for size in sizes:
        sums = [n + size * (sums[k - 1] if k else 0) for k, n in enumerate(sums)]
    return sums


def _supports(scored: Scored) -> Iterator[tuple[Ints, Ints]]:
    """Yield the supports: which columns (n, s), and how many times each (s,), those of the same times together."""
    features, limit = np.repeat(np.arange(len(scored.columns)), scored.copies), scored.limit
    listed = np.fromiter(chain.from_iterable(combinations(features.tolist(), limit)), dtype=np.int64)
    chosen = listed.reshape(comb(len(features), limit), limit)
    if scored.copies.max(initial=1) == 1:
        yield chosen, np.ones(limit, dtype=np.int64)
        return
    chosen = np.unique(chosen, axis=0)
    fresh = np.diff(chosen, axis=1, prepend=-1) != 0  # where the next column begins
    for begins in np.unique(fresh, axis=0):
        yield chosen[(fresh == begins).all(axis=1)][:, begins], np.diff(np.flatnonzero(begins), append=limit)


def _mixed(codes: Ints, sizes: tuple[int, ...]) -> Ints:
    """Return the patterns (n,) of codes (n, s), the last fastest."""
    patterns = np.zeros(len(codes), dtype=np.int64)
    for code, size in zip(codes.T, sizes, strict=True):
        patterns = patterns * size + code
    return patterns


class NestedSums:
    """Sums over the contexts that have given values in given columns, for all small sets of columns at once.

    An *item* is a column and one of its values, the lowest left out; columns take so many values each, ``sizes``. A
    *node* is a set of at most ``most`` items of different columns. There is a sum for each node and one further item of
    a later column, or none. A context is added to the sums of its own items alone, which are few, so a query takes far
    less than a pass over the contexts for each node.
    """

    def __init__(self, sizes: Sequence[int], most: int) -> None:
        self._most = max(most, 0)
        self._owner = np.repeat(np.arange(len(sizes)), np.array(sizes, dtype=np.int64) - 1)
        self._begin = np.searchsorted(self._owner, np.arange(len(sizes)))
        self._value = 1 + np.arange(len(self._owner)) - self._begin[self._owner]
        self._next = _nodes(self._owner, self._most)

    def sums(self, codes: Ints, values: Floats) -> Floats:
        """Return the sums (k, all) of the columns of ``values`` (n, k), by the ``codes`` (columns, n) of contexts."""
        from policies.linear.template import add_nested  # with it numba, which takes a second to import

        has = np.ascontiguousarray((codes[self._owner] == self._value[:, None]).T.astype(float))
        sums = np.zeros((values.shape[1], len(self._next), 1 + len(self._owner)))
        add_nested(has, self._next, self._most, np.ascontiguousarray(values.T), sums)
        return sums.reshape(len(sums), -1)

    def places(self, sets: Ints, sizes: Sequence[int]) -> Ints:
        """Return the place (P, n) of the sum of each pattern of columns ``sets`` (n, s); the lowest value means any."""
        order = np.argsort(sets, axis=1)
        first = self._begin[np.take_along_axis(sets, order, axis=1)]
        places = np.empty((prod(sizes), len(sets)), dtype=np.int64)
        for p, codes in enumerate(product(*map(range, sizes))):
            node, last = (np.zeros(len(sets), dtype=np.int64) for _ in range(2))
            for code, start in zip(np.array(codes, dtype=np.int64)[order].T, first.T, strict=True):
                taken = code > 0
                node = np.where(taken & (last > 0), self._next[node, last - 1], node)
                last = np.where(taken, start + code, last)
            places[p] = node * (1 + len(self._owner)) + last
        return places


def by_pattern(sums: Floats, places: Ints, sizes: Sequence[int]) -> Floats:
    """Return the sums (k, P, n) of each pattern: at the lowest value the sum over all values minus the others."""
    found = sums.take(places, axis=1)
    by_value = found.reshape(len(sums), *sizes, places.shape[1])
    for axis in range(1, 1 + len(sizes)):
        lowest, *others = np.moveaxis(by_value, axis, 0)
        for other in others:
            lowest -= other
    return found


def _nodes(owner: Ints, most: int) -> Ints:
    """Return of each node the node (nodes, items) with each item more; 0 for items that are not of a later column."""
    after = np.searchsorted(owner, owner, side="right")  # of each item the first one of a later column
    newest = later = np.zeros(1, dtype=np.int64)
    grown: list[tuple[Ints, Ints, Ints]] = []
    n_nodes = 1
    for _ in range(most):
        parent, item = np.nonzero(later[:, None] <= np.arange(len(owner)))
        added = n_nodes + np.arange(len(parent))
        grown.append((newest[parent], item, added))
        newest, later, n_nodes = added, after[item], n_nodes + len(added)
    onward = np.zeros((n_nodes, len(owner)), dtype=np.int64)
    for parents, items, added in grown:
        onward[parents, items] = added
    return onward
