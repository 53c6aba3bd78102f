"""The base class of all adapters: a model is built once, and the steps of a query have one order."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from copy import copy
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
import scipy.sparse as sp

from milpcb.errors import InputError, SolverMissingError
from milpcb.program import Program
from milpcb.protocols import SolverInfo
from milpcb.solvers.guards import check_folder, one_line
from milpcb.types import Floats, Solution, Stop

INFINITE = 1e20  # what the vendors call no bound, and no time limit
UNCLEAR = None  # the meaning of a code for "infeasible or unbounded"


class OneSidedRows(NamedTuple):
    """Rows with one side each: ``matrix`` (r, n_columns) is a CSR array; of a sense "L", "G" or "E" each."""

    matrix: Any
    senses: list[str]
    sides: Floats

    def each(self) -> Iterator[tuple[list[tuple[int, float]], str, float]]:
        """Yield columns with their coefficients, the sense and the side of each row."""
        start, columns, values = self.matrix.indptr, self.matrix.indices.tolist(), self.matrix.data.tolist()
        for r, (sense, side) in enumerate(zip(self.senses, self.sides.tolist(), strict=True)):
            span = slice(start[r], start[r + 1])
            yield list(zip(columns[span], values[span], strict=True)), sense, side


class NativeSolver(ABC):
    """A solver that is a ``package``, which the ``extra`` of milpcb, if there is one, installs.

    ``open`` returns a copy that holds a model; the basis (LP) or the incumbent (MIP) of a query starts the next one.
    ``status`` maps the solver's codes, UNCLEAR ones too. ``reads`` are files of settings in the current folder.
    ``feasible``: an LP that stops before its end returns a feasible point or none;
    ``vertices``: an LP ends at a vertex.
    """

    name: str
    package: ClassVar[str]
    can: ClassVar[str] = "LP, MIP, hot start"
    extra: ClassVar[str] = ""
    status: ClassVar[Mapping[Any, Stop | None]]
    reads: tuple[str, ...] = ()
    feasible: ClassVar[bool] = False
    vertices: ClassVar[bool] = True
    _model: Any
    mip: bool
    n_columns: int
    _incumbent: Floats | None = None

    def __init__(self, argument: str = "") -> None:
        name = self.name
        if argument:
            raise InputError(f"solver '{name}' takes no argument, got '{name}:{argument}'; write solver = \"{name}\"")
        if find_spec(self.package) is None:
            raise SolverMissingError(
                f"solver '{name}' needs {self.package}: pip install '.[{name}]' in the clone, or use highs"
            )

    @classmethod
    def describe(cls) -> list[SolverInfo]:
        """Return one line; ``missing`` names the package where it is not installed."""
        try:
            found, missing = version(cls.package), ""
        except PackageNotFoundError:
            found, missing = "-", f"needs {cls.package}"
        return [SolverInfo(cls.name, found, cls.can, missing, cls.extra)]

    def open(self, program: Program, *, relax: bool = False) -> Self:
        """Build the model once; integer columns make a solver that may end an LP inside a face end at a vertex."""
        check_folder(self.name, self.reads)
        session = copy(self)
        session.n_columns = program.n_columns
        session.mip = bool(program.integer.any()) and not (relax and (self.vertices or not program.integral))
        with one_line(self.name):
            session._build(program)  # noqa: SLF001 - of this class
        return session

    def solve(self, objective: Floats, *, gap: float = 0.0, time_limit: float | None = None) -> Solution:
        """Change the costs, and go on from where the last query ended."""
        with one_line(self.name):
            self._limit(gap, INFINITE if time_limit is None else time_limit)
            self._change_costs(objective)
            if self.mip and self._incumbent is not None:
                self._start(self._incumbent)
            return self._solution(objective, self._run_and_see())

    def add_rows(self, matrix: Floats, lower: Floats, upper: Floats) -> None:
        """Add rows to the model; the basis stays, and an incumbent, which solvers drop where it breaks a row."""
        with one_line(self.name):
            self._add(matrix, lower, upper)

    def close(self) -> None:
        """Free the model; closing twice is harmless."""
        self._model = None

    def _run_and_see(self) -> Stop:
        """Run; where it is unclear, run without costs: a feasible program was unbounded, and no other is now."""
        stop = self.status.get(self._run(), Stop.UNKNOWN)
        if stop is UNCLEAR:
            self._change_costs(np.zeros(self.n_columns))
            stop = self.status.get(self._run(), Stop.UNKNOWN)
            return Stop.UNBOUNDED if stop is Stop.OPTIMAL else stop or Stop.INFEASIBLE
        if stop is Stop.INTERRUPTED:
            raise KeyboardInterrupt
        return stop

    def _solution(self, objective: Floats, stop: Stop) -> Solution:
        if stop not in {Stop.OPTIMAL, Stop.TIME_LIMIT}:
            return Solution(stop, np.inf, -np.inf)
        proved = stop is Stop.OPTIMAL
        x = self._point() if self.mip or proved or self.feasible else None
        value = np.inf if x is None else float(objective @ x)
        if not self.mip:
            return Solution(stop, value, value if proved and x is not None else -np.inf, x)
        self._incumbent, bound = self._incumbent if x is None else x, self._bound()
        return Solution(stop, value, bound if abs(bound) < INFINITE else -np.inf, x)

    # ----------------------------------------------------------------- what a solver does

    @abstractmethod
    def _build(self, program: Program) -> None:
        """Build the model, with integer columns where ``mip`` is true."""

    @abstractmethod
    def _limit(self, gap: float, seconds: float) -> None:
        """Set the absolute gap and the time of every query from now on."""

    @abstractmethod
    def _change_costs(self, objective: Floats) -> None:
        """Set the objective (n_columns,)."""

    def _start(self, x: Floats) -> None:
        """Take a point (n_columns,) as the incumbent to begin with, if the solver can."""
        del x

    @abstractmethod
    def _run(self) -> Any:
        """Solve, and return the status code."""

    @abstractmethod
    def _point(self) -> Floats | None:
        """Return the best point found (n_columns,)."""

    @abstractmethod
    def _bound(self) -> float:
        """Return the lower bound of a MIP."""

    @abstractmethod
    def _add(self, matrix: Any, lower: Floats, upper: Floats) -> None:
        """Add rows (r, n_columns), an array or a sparse one."""


def one_sided(matrix: Any, lower: Floats, upper: Floats) -> OneSidedRows:
    """Return rows with two sides as rows with one side each; an equality is one row, a row without sides none."""
    equal = lower == upper
    chosen = [
        np.flatnonzero(equal),
        np.flatnonzero(~equal & (lower > -np.inf)),
        np.flatnonzero(~equal & (upper < np.inf)),
    ]
    senses = [sense for sense, rows in zip("EGL", chosen, strict=True) for _ in rows]
    sides = np.concatenate([upper[chosen[0]], lower[chosen[1]], upper[chosen[2]]])
    return OneSidedRows(sp.csr_array(sp.csr_array(matrix)[np.concatenate(chosen)]), senses, sides)


def finite_or_none(bounds: Floats) -> list[float | None]:
    """Return bounds of columns with None for an infinite one."""
    return [bound if np.isfinite(bound) else None for bound in bounds.tolist()]


def finite(bounds: Floats) -> Floats:
    """Return bounds of columns with the vendors' number for infinity."""
    return np.clip(bounds, -INFINITE, INFINITE)
