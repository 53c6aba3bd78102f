"""Which columns rules may weigh together, and the table of what rules on them can label (labelings.py).

Support
    As many columns as the limit on features allows; a column that stands for r equal features can come up to r times.
    Rules on fewer features are among them, with weight 0.
Totals
    With d_jk = costs[j, k] - costs[j, k-1] and G[k, p] the sum of d_jk over the contexts with pattern p on the support,
    a row T of its table costs sum_k sum_p [T[p] >= k] G[k, p] more than action 0 everywhere: one matrix product for all
    supports that share a table.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from math import comb, log10, prod

import numpy as np

from milpcb.types import Floats, Ints
from policies.linear.geometry import Scored, ScoredColumn
from policies.linear.labelings import Grid, LabelTable, Shape, labels_to_build, support_table
from policies.linear.monomials import Monomials, n_nodes
from policies.linear.rule import LinearRule

# Labels looked at to build a table, which takes a second or two; the table is then kept.
MOST_LABELS = 2 * 10**8
# Supports are counted before they are listed.
MOST_SUPPORTS = 10**5
# Numbers held for the sums over contexts: 400 MB.
MOST_HELD = 5 * 10**7
# Products of a query that looks at every row of every support: a few seconds.
MOST_PRODUCTS = 10**10


@dataclass(frozen=True)
class Batch:
    """The supports (n, s) that share a table, as columns in the order of the table's.

    ``numbers`` (n,) places them among all supports, ``sizes`` (s,) counts the values of the columns, and ``places``
    (n, P) lists which sums of Monomials make up their totals.
    """

    table: LabelTable
    sizes: tuple[int, ...]
    supports: Ints
    numbers: Ints
    places: Ints

    def totals(self, sums: Floats) -> Floats:
        """Return G (n, K-1, P) from the sums (K-1, all): the lowest value has what all have, less the others'."""
        totals = np.ascontiguousarray(np.moveaxis(sums[:, self.places], 0, 1))
        G = totals.reshape(*totals.shape[:2], *self.sizes)
        for axis in range(2, G.ndim):
            by_value = np.moveaxis(G, axis, 0)
            by_value[0] -= by_value[1:].sum(axis=0)
        return totals


class Supports:
    """All supports of a class on fixed contexts, in batches that share a table; see ``obstacle`` before use."""

    def __init__(self, scored: Scored) -> None:
        self.scored = scored
        coded = [_coded(column) for column in scored.columns]
        self._grids = [grid for grid, _ in coded]
        codes = np.array([codes for _, codes in coded], dtype=np.int64)
        self._codes: Ints = codes.reshape(len(coded), len(scored.contexts))

    @cached_property
    def batches(self) -> list[Batch]:
        """The supports in batches."""
        return [self._batch(shapes, *found) for shapes, found in self._by_shapes.items()]

    @property
    def n_supports(self) -> int:
        """Number of supports, not less than that where columns stand for several features."""
        return comb(int(self.scored.copies.sum()), self.scored.limit)

    @property
    def n_rows(self) -> int:
        """Number of derivations: rows of the tables, over all supports."""
        return sum(len(numbers) * len(self._table(shapes).labels) for shapes, (_, numbers) in self._by_shapes.items())

    def obstacle(self) -> str:
        """Return what is too large for tables and what would fix it, or nothing when they can be used."""
        if self.n_supports > MOST_SUPPORTS:
            return f"{_about(self.n_supports)} supports are more than {_about(MOST_SUPPORTS)}: lower max_features"
        largest = max(self._by_shapes, key=lambda shapes: labels_to_build(shapes, self.scored.n_cuts))
        labels = labels_to_build(largest, self.scored.n_cuts)
        if labels > MOST_LABELS:
            patterns = prod(len(shape.grid) for shape in largest)
            return (
                f"the table of {len(largest)} columns with {_about(patterns)} patterns takes {_about(labels)} labels, "
                f"more than {_about(MOST_LABELS)}: lower max_features, max_weight or the number of values"
            )
        held = len(self.scored.contexts) * n_nodes([len(grid) for grid in self._grids], self.scored.limit - 1)
        if held > MOST_HELD:
            return f"sums over contexts hold {_about(held)} numbers, more than {_about(MOST_HELD)}: lower max_features"
        products = sum(
            len(numbers) * self._table(shapes).above.size for shapes, (_, numbers) in self._by_shapes.items()
        )
        if products > MOST_PRODUCTS:
            return f"a query takes {_about(products)} products, more than {_about(MOST_PRODUCTS)}: lower max_features"
        return ""

    def totals(self, costs: Floats) -> list[Floats]:
        """Return G (n, K-1, P) of each batch; ``costs`` is (g, K)."""
        sums = self._monomials.sums(np.diff(costs, axis=1))
        return [batch.totals(sums) for batch in self.batches]

    def patterns_at(self, batch: Batch, row: int) -> Ints:
        """Return the pattern (n,) of one distinct context on each support of a batch."""
        return _mixed(self._codes[:, row][batch.supports], batch.sizes)

    def rule(self, batch: Batch, support: int, row: int) -> LinearRule:
        """Return the rule of a row of the table on one support of its batch."""
        columns = batch.supports[support]
        patterns = _mixed(self._codes[columns].T, batch.sizes)
        totals = np.zeros(len(self.scored.columns), dtype=np.int64)
        totals[columns] = batch.table.weights[row]
        return self.scored.rule(totals, batch.table.labels[row, patterns].astype(np.int64))

    @cached_property
    def _by_shapes(self) -> dict[tuple[Shape, ...], tuple[list[list[int]], list[int]]]:
        """The supports and their numbers by the shapes of their columns, those of one shape side by side."""
        found: dict[tuple[Shape, ...], tuple[list[list[int]], list[int]]] = defaultdict(lambda: ([], []))
        for number, support in enumerate(_supports(self.scored)):
            shaped = sorted((Shape(self._grids[c], self.scored.max_weight * n), c) for c, n in support.items())
            columns, numbers = found[tuple(shape for shape, _ in shaped)]
            columns.append([c for _, c in shaped])
            numbers.append(number)
        return found

    @cached_property
    def _monomials(self) -> Monomials:
        sizes = [len(grid) for grid in self._grids]
        return Monomials(self._codes, sizes, len(self.scored.contexts), self.scored.limit - 1)

    def _batch(self, shapes: tuple[Shape, ...], supports: list[list[int]], numbers: list[int]) -> Batch:
        sizes = tuple(len(shape.grid) for shape in shapes)
        columns = np.array(supports, dtype=np.int64)
        places = self._monomials.places(columns, sizes)
        return Batch(self._table(shapes), sizes, columns, np.array(numbers), places)

    def _table(self, shapes: tuple[Shape, ...]) -> LabelTable:
        return support_table(shapes, self.scored.n_cuts)


def _about(number: int) -> str:
    return f"{number}" if number < 10**6 else f"10^{log10(number):.1f}"


def _coded(column: ScoredColumn) -> tuple[Grid, Ints]:
    """Return the values of a column, from 0 up, and which of them each distinct context has (g,)."""
    values, codes = np.unique(column.values, return_inverse=True)
    return tuple((values - values[0]).tolist()), codes


def _supports(scored: Scored) -> Iterator[Counter[int]]:
    """List the supports: which columns, and how many times each."""
    features = np.repeat(np.arange(len(scored.columns)), scored.copies).tolist()
    return map(Counter, dict.fromkeys(combinations(features, scored.limit)))


def _mixed(codes: Ints, sizes: tuple[int, ...]) -> Ints:
    """Return the patterns (n,) of codes (n, s), the last fastest."""
    patterns = np.zeros(len(codes), dtype=np.int64)
    for code, size in zip(codes.T, sizes, strict=True):
        patterns = patterns * size + code
    return patterns
