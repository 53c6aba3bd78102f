"""Any solver that PuLP can reach: the LpProblem is built once, then only its objective is swapped."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from importlib.metadata import version
from typing import Any

import numpy as np
import pulp

from milpcb.core.surroundings import settings_here
from milpcb.errors import InputError, SolverFailedError, SolverMissingError, UnknownNameError
from milpcb.program import Program
from milpcb.protocols import SolverInfo
from milpcb.solvers.guards import COPT_READS, GUROBI_READS, XPRESS_READS, check_folder, silenced
from milpcb.solvers.native import INFINITE, NativeSession, OneSidedRows
from milpcb.types import Floats, Stop

# https://coin-or.github.io/pulp/technical/constants.html ; a pair not listed is UNKNOWN. PuLP's status alone calls a
# time-limited incumbent "Optimal", so the solution status decides.
STATUS = {
    (pulp.LpStatusOptimal, pulp.LpSolutionOptimal): Stop.OPTIMAL,
    (pulp.LpStatusOptimal, pulp.LpSolutionIntegerFeasible): Stop.TIME_LIMIT,
    (pulp.LpStatusNotSolved, pulp.LpSolutionIntegerFeasible): Stop.TIME_LIMIT,
    (pulp.LpStatusNotSolved, pulp.LpSolutionNoSolutionFound): Stop.TIME_LIMIT,
    (pulp.LpStatusInfeasible, pulp.LpSolutionInfeasible): Stop.INFEASIBLE,
    (pulp.LpStatusInfeasible, pulp.LpSolutionNoSolutionFound): Stop.INFEASIBLE,
    (pulp.LpStatusUnbounded, pulp.LpSolutionUnbounded): Stop.UNBOUNDED,
}
OUT_OF_TIME = pulp.LpStatusNotSolved, pulp.LpSolutionNoSolutionFound

# The files that solvers would take settings from, if they lay in the current folder, also according to
# https://www.ibm.com/docs/en/icos/22.2.0?topic=cplex-saving-parameter-specification-file and
# https://scipopt.org/doc/html/scipshell_8c.php
READS = {
    **dict.fromkeys(("COPT", "COPT_CMD", "COPT_DLL"), COPT_READS),
    **dict.fromkeys(("GUROBI", "GUROBI_CMD"), GUROBI_READS),
    **dict.fromkeys(("XPRESS", "XPRESS_PY"), XPRESS_READS),
    **dict.fromkeys(("FSCIP_CMD", "SCIP_CMD"), ("scip.set",)),
    "CPLEX_CMD": ("cplex.par",),
}

# CBC works in one thread unless it is given a number: given 1, it starts a second one, and the two may wait long.
SERIAL = ("COIN_CMD", "PULP_CBC_CMD")

DIGITS = 1e-5  # by which a point read from a solver's output may break a row, relative to the terms of the row


class Pulp:
    """``pulp:<name>`` with a name from ``pulp.listSolvers()``; CBC (``PULP_CBC_CMD``) comes with PuLP."""

    def __init__(self, argument: str = "") -> None:
        known = _names()
        if not argument:
            raise InputError("solver 'pulp' needs the name of a PuLP solver: write solver = \"pulp:PULP_CBC_CMD\"")
        if argument not in known:
            raise UnknownNameError("PuLP solver", argument, known)
        check_folder(f"pulp:{argument}", READS.get(argument, ()))
        if not _available(argument):
            raise SolverMissingError(f"PuLP finds no {argument} here: install it, or use highs or pulp:PULP_CBC_CMD")
        self._name = argument

    def open(self, program: Program, *, relax: bool = False) -> PulpSession:
        """Build the LpProblem once; not every solver ends an LP at a vertex, unless columns are integers."""
        with _quiet():
            return PulpSession(program, self._name, relax=relax and not program.integral)

    @classmethod
    def describe(cls) -> list[SolverInfo]:
        """Return a line for each solver that PuLP has an interface to; ``missing`` is set where it cannot run here."""
        return [
            SolverInfo(f"pulp:{name}", f"PuLP {version('pulp')}", "LP, MIP, rebuilt", _missing(name))
            for name in _names()
        ]


class PulpSession(NativeSession):
    """One LpProblem, kept; a query swaps the objective and starts from nothing, and has no gap."""

    # PuLP calls COPT's "infeasible or unbounded" infeasible.
    status, unclear, feasible = STATUS, frozenset(code for code in STATUS if STATUS[code] is Stop.INFEASIBLE), True

    def __init__(self, program: Program, name: str, *, relax: bool) -> None:
        self.name, self.reads = f"pulp:{name}", READS.get(name, ())
        super().__init__(program, mip=bool(program.integer.any()) and not relax)
        self._solver, self._program = name, program
        self._time_limit: float | None = None
        self._objective = np.zeros(program.n_columns)
        self._problem = pulp.LpProblem("milpcb", pulp.LpMinimize)
        self._x = [_variable(program, j, relax=relax) for j in range(program.n_columns)]
        self._problem.addVariables(self._x)
        self._options = _accepted(name)
        self._one = pulp.LpVariable("one", 1, 1)  # priced in every objective: CBC crashes on an empty one
        for r in range(program.n_rows):
            self._add_row(program, r)

    def close(self) -> None:
        """Nothing is kept outside Python."""

    def _limit(self, gap: float, seconds: float) -> None:
        del gap
        self._time_limit = None if seconds == INFINITE else seconds

    def _change_costs(self, objective: Floats) -> None:
        # Zero costs are written too: a column that neither a row nor the objective mentions makes CBC crash.
        self._objective = objective
        terms = zip(self._x, map(float, objective), strict=True)
        self._problem.setObjective(pulp.LpAffineExpression([*terms, (self._one, 1.0)]))

    def _start(self, x: Floats) -> None:
        """Begin at no point."""

    def _run(self) -> tuple[int, int]:
        """Write the problem, run the solver, read it back; CBC calls "infeasible" what the clock stopped early."""
        threads = None if self._solver in SERIAL else 1
        wanted = {"threads": threads, "gapRel": 0.0, "gapAbs": 0.0, "timeLimit": self._time_limit}
        options = {key: value for key, value in wanted.items() if key in self._options and value is not None}
        with _quiet():
            self._problem.solve(_solver(self._solver, **options))
        code = self._problem.status, self._problem.sol_status
        return OUT_OF_TIME if self._time_limit is not None and code in self.unclear else code

    def _point(self) -> Floats | None:
        """Return the values read back; None where CBC, stopped inside an LP, has no point."""
        if self._problem.sol_status not in {pulp.LpSolutionOptimal, pulp.LpSolutionIntegerFeasible}:
            return None
        x = np.array([float(variable.varValue or 0.0) for variable in self._x])
        if self._holds(x):
            return x
        if self._problem.sol_status == pulp.LpSolutionOptimal:
            raise SolverFailedError(f"{self.name} calls a point optimal that breaks its own rows; use highs")
        return None

    def _bound(self) -> float:
        x = self._point() if self._problem.sol_status == pulp.LpSolutionOptimal else None
        return -np.inf if x is None else float(self._objective @ x)

    def _add(self, rows: OneSidedRows) -> None:
        self._program = self._program.with_rows(rows.matrix, *rows.bounds())
        for r in range(self._program.n_rows - len(rows.sides), self._program.n_rows):
            self._add_row(self._program, r)

    def _add_row(self, program: Program, r: int) -> None:
        span = slice(program.matrix.indptr[r], program.matrix.indptr[r + 1])
        pairs = zip(program.matrix.indices[span], program.matrix.data[span], strict=True)
        row = pulp.LpAffineExpression([(self._x[j], float(v)) for j, v in pairs])
        lower, upper = program.row_lower[r], program.row_upper[r]
        if lower == upper:
            self._problem += row == lower, f"r{r}"
            return
        if np.isfinite(lower):
            self._problem += row >= lower, f"r{r}_lower"
        if np.isfinite(upper):
            self._problem += row <= upper, f"r{r}_upper"

    def _holds(self, x: Floats) -> bool:
        off = np.abs(x - np.rint(x))[self._program.integer] if self._mip else np.zeros(0)
        return self._program.keeps(x, DIGITS) and bool((off <= DIGITS).all())


def _variable(program: Program, j: int, *, relax: bool) -> Any:
    lower, upper = program.column_lower[j], program.column_upper[j]
    return pulp.LpVariable(
        f"x{j}",
        lower if np.isfinite(lower) else None,
        upper if np.isfinite(upper) else None,
        pulp.LpInteger if program.integer[j] and not relax else pulp.LpContinuous,
    )


@contextmanager
def _quiet() -> Iterator[None]:
    """Silence notices about PuLP 4 (pyproject pins PuLP 3, which bundles CBC), and on what PuLP asks of vendors."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def _solver(name: str, **options: Any) -> Any:
    check_folder(f"pulp:{name}", READS.get(name, ()))
    with _quiet():
        return pulp.getSolver(name, msg=False, **options)


@cache
def _accepted(name: str) -> frozenset[str]:
    return frozenset(inspect.signature(type(_solver(name)).__init__).parameters)


@cache
def _names() -> tuple[str, ...]:
    # PuLP's own list makes a solver of each kind, which may read settings, connect to a server, and greet.
    return tuple(dict.fromkeys(solver.name for solver in pulp.apis._all_solvers))  # noqa: SLF001 - it has no other


def _missing(name: str) -> str:
    for file in settings_here(READS.get(name, ())):
        return f"not asked: {file} lies in this folder"
    return "" if _available(name) else "not found by PuLP"


@cache
def _available(name: str) -> bool:
    with silenced():
        return bool(_solver(name).available())
