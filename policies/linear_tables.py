"""Linear rules by support tables: the labelings of the grid of a few columns are few, and the same for all contexts.

Support
    As many columns as the limit on features allows; a column that stands for r equal features can come up to r times.
    Rules on fewer features are among them, with weight 0.
Table T
    One row for each labeling of the grid of a support (all combinations of the values of its columns) by a rule with
    weights in the box; primitive weights suffice. It depends on the values, the box and K, not on the contexts, so
    supports with the same values share it. Binary columns, K = 2, weights up to 5: 4, 14, 104, 1 882 and 94 572 rows for
    1 to 5 columns, which are all threshold functions.
Search
    With d_jk = costs[j, k] - costs[j, k-1] and G[k, p] the sum of d_jk over the contexts with pattern p on the support,
    the row T costs sum_k sum_p [T[p] >= k] G[k, p] more than action 0 everywhere: one matrix product for all supports
    that share a table. Supports are visited by sum_p min_a sum_{k <= a} G[k, p], which no row of theirs undercuts,
    until that passes the best row found.
    A derivation is a support and a row of its table, so a labeling comes once with every support it can be made on: a
    constant with all of them.
Program
    One column for each (support, row), and one row that says that they sum to 1; the cost map is the sum above, linear
    in the costs. The polytope is a simplex: integral.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import combinations, combinations_with_replacement, product
from math import comb, log10, prod
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from milpcb.program import ProgramBuilder
from milpcb.protocols import Encoding, Objective
from milpcb.types import Floats, Ints
from policies.linear import Column, LinearRule, Scored

# Labels looked at to build a table, which takes a second or two; the table is then kept.
MOST_LABELS = 2 * 10**8
# Supports are counted before they are listed.
MOST_SUPPORTS = 10**5
# Numbers held for the sums over contexts: 400 MB.
MOST_HELD = 5 * 10**7
# Products of a query that looks at every row of every support: a few seconds.
MOST_PRODUCTS = 10**10
# Columns of the program. HiGHS takes 0.1 s a query at the most, where big-M rows take seconds or more; for so few
# contexts that big-M rows are quick, the break-even is at about so many columns for each of them.
MOST_COLUMNS = 200_000
COLUMNS_PER_CONTEXT = 4_000
# Numbers held at a time.
_BLOCK = 2**21

Grid = tuple[int, ...]
Labels = npt.NDArray[np.int8]


class Shape(NamedTuple):
    """What a column brings to a table: its values, from 0 up, and the largest weight."""

    grid: Grid
    bound: int


# --------------------------------------------------------------------------- tables


@dataclass(frozen=True)
class Table:
    """The labelings (N, P) of a grid, and weights (N, s) that make them; patterns count the last column fastest."""

    labels: Labels
    weights: Ints

    @cached_property
    def above(self) -> Floats:
        """Return ((K-1) P, N): whether the label is at least k, for k = 1..K-1 and each pattern."""
        cuts = np.arange(int(self.labels.max()))[:, None]
        return np.asarray((self.labels[:, None] > cuts).reshape(len(self.labels), -1).astype(float).T)


def labels_to_build(shapes: Sequence[Shape], n_cuts: int) -> int:
    """Return how many labels ``support_table`` looks at."""
    patterns = prod(len(shape.grid) for shape in shapes)
    return prod(2 * shape.bound + 1 for shape in shapes) * comb(patterns + n_cuts, n_cuts) * patterns


@lru_cache(maxsize=256)
def support_table(shapes: tuple[Shape, ...], n_cuts: int) -> Table:
    """Return the table of columns of these shapes, at K - 1 cuts; rows that few, small weights make come first."""
    points = _product([shape.grid for shape in shapes])
    placements = np.array(list(combinations_with_replacement(range(len(points) + 1), n_cuts)))
    every = _primitive([shape.bound for shape in shapes])
    found: dict[bytes, tuple[Labels, Ints]] = {}
    size = max(1, _BLOCK // (len(placements) * len(points)))
    for start in range(0, len(every), size):
        labels, weights = _labelings(points, every[start : start + size], placements)
        keys = labels.view(np.dtype((np.void, len(points)))).ravel()
        first = np.sort(np.unique(keys, return_index=True)[1])
        for key, labeling, vector in zip(keys[first].tolist(), labels[first], weights[first], strict=True):
            found.setdefault(key, (labeling, vector))
    labelings, vectors = zip(*found.values(), strict=True)
    return Table(np.array(labelings), np.array(vectors))


def _primitive(bounds: list[int]) -> Ints:
    """Return the weights without a common factor whose first non-zero entry is positive, and 0: few, small ones first."""
    box = _product([sorted(range(-bound, bound + 1), key=lambda w: (abs(w), -w)) for bound in bounds])
    # Read as digits, weights have the sign of the first one that is not 0.
    number = box @ (2 * max(bounds, default=0) + 1) ** np.arange(len(bounds))[::-1]
    chosen = box[(number >= 0) & (np.gcd.reduce(box, axis=1) <= 1)]
    return np.asarray(chosen[np.lexsort((np.abs(chosen).sum(axis=1), np.count_nonzero(chosen, axis=1)))])


def _product(factors: Sequence[Sequence[int]]) -> Ints:
    """Return all combinations, (n, factors), the last fastest."""
    return np.array(list(product(*factors)), dtype=np.int64).reshape(prod(map(len, factors)), len(factors))


def _labelings(points: Ints, weights: Ints, placements: Ints) -> tuple[Labels, Ints]:
    """Return (n, P) labels and (n, s) weights: each weight vector, then its negative, at every placement of the cuts."""
    scores = weights @ points.T
    ordered = np.sort(scores, axis=1)
    cuts = np.hstack([ordered, ordered[:, -1:] + 1])[:, placements]
    labels = (scores[:, None, :, None] >= cuts[:, :, None, :]).sum(axis=-1, dtype=np.int8)
    both = np.stack([labels, placements.shape[1] - labels], axis=1)
    made_by = np.stack([weights, -weights], axis=1).reshape(2 * len(weights), weights.shape[1])
    return both.reshape(-1, len(points)), np.repeat(made_by, len(placements), axis=0)


# --------------------------------------------------------------------------- supports


@dataclass(frozen=True)
class Batch:
    """The supports (n, s) that share a table, as columns in the order of the table's.

    ``numbers`` (n,) places them among all supports, ``sizes`` (s,) counts the values of the columns, and ``places``
    (n, P) says which sums of Monomials make up their totals.
    """

    table: Table
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
        """Say what is too large for tables and what would mend it, or nothing when they can be used."""
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

    def _table(self, shapes: tuple[Shape, ...]) -> Table:
        return support_table(shapes, self.scored.n_cuts)


def _about(number: int) -> str:
    return f"{number}" if number < 10**6 else f"10^{log10(number):.1f}"


def _coded(column: Column) -> tuple[Grid, Ints]:
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


def n_nodes(sizes: Sequence[int], most: int) -> int:
    """Return the number of nodes of Monomials."""
    by_size = [1] + [0] * max(most, 0)
    for size in sizes:
        by_size = [n + (size - 1) * (by_size[k - 1] if k else 0) for k, n in enumerate(by_size)]
    return sum(by_size)


class Monomials:
    """Sums over the contexts that have given values in given columns.

    An *item* is a column and one of its values, the lowest left out. A *node* is a set of at most ``most`` items of
    different columns. There is a sum for each node and one further item, or none: a matrix product.
    """

    def __init__(self, codes: Ints, sizes: Sequence[int], n_contexts: int, most: int) -> None:
        self._owner = np.repeat(np.arange(len(sizes)), np.array(sizes, dtype=np.int64) - 1)
        self._first = np.searchsorted(self._owner, np.arange(len(sizes)))
        value = 1 + np.arange(len(self._owner)) - self._first[self._owner]
        self._one_more = np.vstack([np.ones(n_contexts), codes[self._owner] == value[:, None]])  # (1 + items, g)
        self._has = np.ones((1, n_contexts))  # (nodes, g)
        self._next = np.zeros((1, len(value)), dtype=np.int64)  # (nodes, items): the node with that item added
        newest, last = np.zeros(1, dtype=np.int64), np.array([-1])  # the nodes of the largest size, their last column
        for _ in range(most):
            newest, last = self._grow(newest, last)

    def sums(self, rises: Floats) -> Floats:
        """Return all sums of the columns of ``rises`` (g, K-1), as (K-1, sums)."""
        weighted = rises.T[:, None] * self._one_more
        return np.asarray((self._has @ np.swapaxes(weighted, 1, 2)).reshape(rises.shape[1], -1))

    def places(self, supports: Ints, sizes: tuple[int, ...]) -> Ints:
        """Return where the sum of each pattern of each support (n, s) is, (n, P); the lowest value means any value."""
        order = np.argsort(supports, axis=1)
        first = self._first[np.take_along_axis(supports, order, axis=1)]
        places = np.empty((len(supports), prod(sizes)), dtype=np.int64)
        for p, codes in enumerate(product(*map(range, sizes))):
            node, last = (np.zeros(len(supports), dtype=np.int64) for _ in range(2))
            for code, start in zip(np.array(codes, dtype=np.int64)[order].T, first.T, strict=True):
                taken = code > 0
                node = np.where(taken & (last > 0), self._next[node, last - 1], node)
                last = np.where(taken, start + code, last)
            places[:, p] = node * len(self._one_more) + last
        return places

    def _grow(self, newest: Ints, last: Ints) -> tuple[Ints, Ints]:
        """Add each item of a later column to the newest nodes; return the nodes that come of it."""
        parent, item = np.nonzero(last[:, None] < self._owner)
        added = len(self._has) + np.arange(len(parent))
        self._next[newest[parent], item] = added
        self._has = np.vstack([self._has, self._has[newest[parent]] * self._one_more[1 + item]])
        self._next = np.vstack([self._next, np.zeros((len(added), len(self._owner)), dtype=np.int64)])
        return added, self._owner[item]


# --------------------------------------------------------------------------- program


def small_enough(scored: Scored) -> tuple[Supports, str]:
    """Return the supports, and what makes them too large for a program, or nothing when they are not."""
    supports = Supports(scored)
    obstacle, most = supports.obstacle(), _most_columns(supports)
    if not obstacle and supports.n_rows > most:
        obstacle = f"support tables have {supports.n_rows} rows, more than {most}: lower max_features"
    return supports, obstacle


def _most_columns(supports: Supports) -> int:
    return min(MOST_COLUMNS, COLUMNS_PER_CONTEXT * len(supports.scored.contexts))


class TableEncoding(Encoding):
    """The simplex over (support, row) and its cost map."""

    def __init__(self, supports: Supports) -> None:
        self._supports = supports
        self.group, self.contexts = supports.scored.group, supports.scored.contexts
        self.why = f"support tables, as they have {supports.n_rows} rows, no more than {_most_columns(supports)}"
        b = ProgramBuilder()
        columns = b.columns("pick", (supports.n_rows,), upper=1.0, integer=True)
        b.rows((columns[None], 1.0), lower=1.0, upper=1.0)
        self.program = b.build(integral=True)

    def objective(self, costs: Floats) -> Objective:
        """Return what each row costs more than action 0 everywhere, which is the offset."""
        totals = zip(self._supports.batches, self._supports.totals(costs), strict=True)
        prices = [(G.reshape(len(G), -1) @ batch.table.above).ravel() for batch, G in totals]
        return Objective(np.concatenate(prices), float(costs[:, 0].sum()))

    def decode(self, x: Floats, costs: Floats) -> LinearRule:  # noqa: ARG002 - the column says it all
        """Return the rule of the column at 1."""
        column = int(x.argmax())
        for batch in self._supports.batches:
            support, row = divmod(column, len(batch.table.labels))
            if support < len(batch.supports):
                break
            column -= len(batch.supports) * len(batch.table.labels)
        return self._supports.rule(batch, support, row)
