"""A mixed-integer program as frozen arrays: min c'x over row bounds, column bounds and integrality."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from milpcb.types import Bools, Floats, Ints


@dataclass(frozen=True)
class Program:
    """The feasible set ``row_lower <= A x <= row_upper, column_lower <= x <= column_upper``; the objective comes later.

    ``matrix`` is a scipy CSR array (rows, columns). ``integral`` is the encoding's certificate that every vertex of the
    relaxation is integral; rows added later withdraw it, and ``nearly_integral`` remembers that it held without them.
    """

    matrix: Any
    row_lower: Floats
    row_upper: Floats
    column_lower: Floats
    column_upper: Floats
    integer: Bools
    names: tuple[str, ...]
    integral: bool = False
    nearly_integral: bool = False

    def __post_init__(self) -> None:
        for array in (self.row_lower, self.row_upper, self.column_lower, self.column_upper, self.integer):
            array.setflags(write=False)

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.row_lower)

    @property
    def n_columns(self) -> int:
        """Number of columns."""
        return len(self.column_lower)

    def keeps(self, x: Floats, share: float) -> bool:
        """Return whether a point keeps rows and bounds, each up to ``share`` times the size of its terms."""
        activity, size = self.matrix @ x, abs(self.matrix) @ np.abs(x)
        rows = np.minimum(activity - self.row_lower, self.row_upper - activity) >= -share * (1.0 + size)
        columns = np.minimum(x - self.column_lower, self.column_upper - x) >= -share * (1.0 + np.abs(x))
        return bool(rows.all() and columns.all())

    def with_rows(self, matrix: Floats, lower: Floats, upper: Floats) -> Program:
        """Return the program with dense extra rows (r, columns); its integrality certificate is gone."""
        import scipy.sparse as sp  # only for who has a program, as it takes a tenth of a second to import

        return replace(
            self,
            matrix=sp.vstack([self.matrix, sp.csr_array(matrix)], format="csr"),
            row_lower=np.concatenate([self.row_lower, lower]),
            row_upper=np.concatenate([self.row_upper, upper]),
            integral=False,
            nearly_integral=self.integral or self.nearly_integral,
        )

    def with_columns(self, name: str, lower: Floats, upper: Floats) -> Program:
        """Return the program with extra columns (k,), which are real and in no row yet."""
        import scipy.sparse as sp  # see above

        none = sp.csr_array((self.n_rows, len(lower)))
        return replace(
            self,
            matrix=sp.hstack([self.matrix, none], format="csr"),
            column_lower=np.concatenate([self.column_lower, lower]),
            column_upper=np.concatenate([self.column_upper, upper]),
            integer=np.concatenate([self.integer, np.zeros(len(lower), bool)]),
            names=(*self.names, *(f"{name}_{i}" for i in range(len(lower)))),
        )


class ProgramBuilder:
    """Collects columns and rows, whole index arrays at a time."""

    def __init__(self) -> None:
        self._names: list[str] = []
        self._columns: list[tuple[Floats, Floats, Bools]] = [(np.zeros(0), np.zeros(0), np.zeros(0, bool))]
        self._entries: list[tuple[Ints, Ints, Floats]] = [(np.zeros(0, int), np.zeros(0, int), np.zeros(0))]
        self._bounds: list[tuple[Floats, Floats]] = [(np.zeros(0), np.zeros(0))]
        self._n_rows = 0

    def columns(
        self,
        name: str,
        shape: tuple[int, ...],
        lower: float | Floats = 0.0,
        upper: float | Floats = np.inf,
        *,
        integer: bool = False,
    ) -> Ints:
        """Add ``prod(shape)`` columns called name_i_j...; return their indices in that shape."""
        first, size = len(self._names), int(np.prod(shape))
        self._names += ["_".join([name, *map(str, index)]) for index in np.ndindex(*shape)]
        bounds = np.full(shape, lower, float).ravel(), np.full(shape, upper, float).ravel()
        self._columns.append((*bounds, np.full(size, integer)))
        return np.arange(first, first + size).reshape(shape)

    def rows(
        self, *terms: tuple[Ints, float | Floats], lower: float | Floats = -np.inf, upper: float | Floats = np.inf
    ) -> None:
        """Add rows. A term is (columns, coefficients), both broadcast to (rows, k); a row sums all its terms."""
        count = max(len(columns) for columns, _ in terms)
        for columns, coefficients in terms:
            wide = np.broadcast_to(columns, (count, columns.shape[1]))
            row = np.repeat(np.arange(self._n_rows, self._n_rows + count), wide.shape[1])
            self._entries.append((row, wide.ravel(), np.full(wide.shape, coefficients, float).ravel()))
        self._bounds.append((np.full(count, lower, float), np.full(count, upper, float)))
        self._n_rows += count

    def build(self, *, integral: bool = False) -> Program:
        """Return the program; ``integral`` certifies that the relaxation's vertices are integral."""
        import scipy.sparse as sp  # see above

        row, column, value = map(np.concatenate, zip(*self._entries, strict=True))
        matrix = sp.csr_array(sp.coo_array((value, (row, column)), shape=(self._n_rows, len(self._names))))
        matrix.sum_duplicates()
        matrix.eliminate_zeros()
        row_lower, row_upper = map(np.concatenate, zip(*self._bounds, strict=True))
        lower, upper, integer = map(np.concatenate, zip(*self._columns, strict=True))
        return Program(matrix, row_lower, row_upper, lower, upper, integer, tuple(self._names), integral)
