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
from milpcb.solvers.native import INFINITE, UNCLEAR, NativeSolver, finite_or_none, one_sided
from milpcb.types import Floats, Stop

# https://coin-or.github.io/pulp/technical/constants.html ; a pair not listed is UNKNOWN. PuLP's status alone calls a
# time-limited incumbent "Optimal", so the solution status decides.
STATUS = {
    (pulp.LpStatusOptimal, pulp.LpSolutionOptimal): Stop.OPTIMAL,
    (pulp.LpStatusOptimal, pulp.LpSolutionIntegerFeasible): Stop.TIME_LIMIT,
    (pulp.LpStatusNotSolved, pulp.LpSolutionIntegerFeasible): Stop.TIME_LIMIT,
    (pulp.LpStatusNotSolved, pulp.LpSolutionNoSolutionFound): Stop.TIME_LIMIT,
    (pulp.LpStatusInfeasible, pulp.LpSolutionInfeasible): UNCLEAR,  # "infeasible or unbounded" of COPT
    (pulp.LpStatusInfeasible, pulp.LpSolutionNoSolutionFound): UNCLEAR,
    (pulp.LpStatusUnbounded, pulp.LpSolutionUnbounded): Stop.UNBOUNDED,
}
SENSES = {"L": pulp.LpConstraintLE, "G": pulp.LpConstraintGE, "E": pulp.LpConstraintEQ}
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


class Pulp(NativeSolver):
    """``pulp:<name>`` with a name from ``pulp.listSolvers()``; CBC (``PULP_CBC_CMD``) comes with PuLP.

    One LpProblem is kept; a query swaps the objective and starts from nothing, and has no gap.
    """

    status, feasible, vertices = STATUS, True, False

    def __init__(self, argument: str = "") -> None:
        known = _names()
        if not argument:
            raise InputError("solver 'pulp' needs the name of a PuLP solver: write solver = \"pulp:PULP_CBC_CMD\"")
        if argument not in known:
            raise UnknownNameError("PuLP solver", argument, known)
        self._solver, self.name, self.reads = argument, f"pulp:{argument}", READS.get(argument, ())
        check_folder(self.name, self.reads)
        if not _available(argument):
            raise SolverMissingError(f"PuLP finds no {argument} here: install it, or use highs or pulp:PULP_CBC_CMD")

    @classmethod
    def describe(cls) -> list[SolverInfo]:
        """Return a line for each solver that PuLP has an interface to; ``missing`` says why it cannot run here."""
        return [
            SolverInfo(f"pulp:{name}", f"PuLP {version('pulp')}", "LP, MIP, rebuilt", _missing(name))
            for name in _names()
        ]

    def _build(self, program: Program) -> None:
        self._program = program
        with _quiet():
            self._model = pulp.LpProblem("milpcb", pulp.LpMinimize)
            kinds = np.where(program.integer & self.mip, pulp.LpInteger, pulp.LpContinuous).tolist()
            bounds = zip(finite_or_none(program.column_lower), finite_or_none(program.column_upper), strict=True)
            self._x = [pulp.LpVariable(f"x{j}", *both, kinds[j]) for j, both in enumerate(bounds)]
            self._model.addVariables(self._x)
            self._one = pulp.LpVariable("one", 1, 1)  # priced in every objective: CBC crashes on an empty one
            self._write(program.matrix, program.row_lower, program.row_upper)

    def _limit(self, gap: float, seconds: float) -> None:
        del gap
        self._time_limit = None if seconds == INFINITE else seconds

    def _change_costs(self, objective: Floats) -> None:
        # Zero costs are written too: a column that neither a row nor the objective mentions makes CBC crash.
        self._objective = objective
        terms = zip(self._x, map(float, objective), strict=True)
        self._model.setObjective(pulp.LpAffineExpression([*terms, (self._one, 1.0)]))

    def _run(self) -> tuple[int, int]:
        """Write the problem, run the solver, read it back; CBC calls "infeasible" what the clock stopped early."""
        threads = None if self._solver in SERIAL else 1
        wanted = {"threads": threads, "gapRel": 0.0, "gapAbs": 0.0, "timeLimit": self._time_limit}
        options = {key: value for key, value in wanted.items() if key in _accepted(self._solver) and value is not None}
        with _quiet():
            self._model.solve(_solver(self._solver, **options))
        code = self._model.status, self._model.sol_status
        return OUT_OF_TIME if self._time_limit is not None and STATUS.get(code, Stop.UNKNOWN) is UNCLEAR else code

    def _point(self) -> Floats | None:
        """Return the values read back; None where CBC, stopped inside an LP, has no point."""
        if self._model.sol_status not in {pulp.LpSolutionOptimal, pulp.LpSolutionIntegerFeasible}:
            return None
        x = np.array([float(variable.varValue or 0.0) for variable in self._x])
        if self._holds(x):
            return x
        if self._model.sol_status == pulp.LpSolutionOptimal:
            raise SolverFailedError(f"{self.name} calls a point optimal that breaks its own rows; use highs")
        return None

    def _bound(self) -> float:
        x = self._point() if self._model.sol_status == pulp.LpSolutionOptimal else None
        return -np.inf if x is None else float(self._objective @ x)

    def _add(self, matrix: Any, lower: Floats, upper: Floats) -> None:
        self._program = self._program.with_rows(matrix, lower, upper)
        self._write(matrix, lower, upper)

    def _write(self, matrix: Any, lower: Floats, upper: Floats) -> None:
        for terms, sense, side in one_sided(matrix, lower, upper).each():
            row = pulp.LpAffineExpression([(self._x[j], value) for j, value in terms])
            self._model += pulp.LpConstraint(row, SENSES[sense], rhs=side)

    def _holds(self, x: Floats) -> bool:
        off = np.abs(x - np.rint(x))[self._program.integer] if self.mip else np.zeros(0)
        return self._program.keeps(x, DIGITS) and bool((off <= DIGITS).all())


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
