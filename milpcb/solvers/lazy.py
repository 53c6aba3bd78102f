"""Programs with too many rows to list: violated rows are added as solutions show them, and kept.

The relaxation is tightened first, round by round, then the program with integers. Every bound is that of a program with
too few rows, so it is a lower bound of the full one, and every point returned is that of a policy.
"""

from __future__ import annotations

from math import frexp
from time import perf_counter

import numpy as np

from milpcb.errors import SolverFailedError
from milpcb.program import Program
from milpcb.protocols import Cuts, Separator, Session, Solver
from milpcb.types import Floats, Solution, Stop

# More rows per column slow the solver down more than they help: all of them go.
MOST_ROWS = 4
# The error of solvers, relative to the terms that they add up; at the points of policies rows hold to rounding.
_OFF = 1e-6
_ROUNDING = 1e-9
# The largest coefficient that a solver sees is between 2**13 and 2**14: there what solvers take for 0, 1e-7 or 1e-6,
# and the 1e-5 by which CBC wants an incumbent improved, are below 1e-9 of it.
_EXPONENT = 14
_LEAST = -1074  # smaller units are 0


def open_session(engine: Solver, program: Program, separator: Separator | None) -> ScaledSession:
    """Open a program in a solver for objectives in any unit, with the rows that the separator finds if there is one."""
    if separator is None:
        return ScaledSession(engine.open(program, relax=program.integral))
    return ScaledSession(LazySession(engine, program, separator))


class LazySession:
    """One program and its separator, opened once; the rows found serve all later queries."""

    def __init__(self, engine: Solver, program: Program, separator: Separator) -> None:
        self._engine, self._program, self._separator = engine, program, separator
        self._open()

    def solve(self, objective: Floats, *, gap: float = 0.0, time_limit: float | None = None) -> Solution:
        """Tighten the relaxation, then the program, until the best point known is proved to the gap."""
        if len(self._matrix) > MOST_ROWS * self._program.n_columns:
            self.close()
            self._open()
        query = _Query(objective, gap, time_limit)
        stop = self._rounds(self._relaxed, query)
        if stop is Stop.OPTIMAL and not query.proved:
            stop = self._rounds(self._session, query)
        return Solution(stop, query.value, query.bound, query.best)

    def add_rows(self, matrix: Floats, lower: Floats, upper: Floats) -> None:
        """Add rows to the program itself."""
        self._program = self._program.with_rows(matrix, lower, upper)
        for session in (self._relaxed, self._session):
            session.add_rows(matrix, lower, upper)

    def close(self) -> None:
        """Free both models."""
        self._relaxed.close()
        self._session.close()

    def _open(self) -> None:
        self._matrix, self._lower, self._upper = np.zeros((0, self._program.n_columns)), np.zeros(0), np.zeros(0)
        self._relaxed = self._engine.open(self._program, relax=True)
        self._session = self._engine.open(self._program)

    def _rounds(self, session: Session, query: _Query) -> Stop:
        """Solve and add rows until the best point is proved or no row is broken; return why it stopped."""
        while True:
            found = session.solve(query.objective, gap=query.gap, time_limit=query.left)
            query.bound = max(query.bound, found.bound)
            if found.stop is not Stop.OPTIMAL or found.x is None:
                return found.stop
            cuts = self._separator.cuts(found.x, query.objective)
            ends = not len(cuts.lower) and _whole(found.x)
            for x in map(np.rint, (cuts.point, found.x) if ends else (cuts.point,)):
                if self._program.keeps(x, _ROUNDING):
                    query.offer(x)
            if query.proved or not len(cuts.lower):
                return Stop.OPTIMAL
            self._add(cuts, found.x)

    def _add(self, cuts: Cuts, x: Floats) -> None:
        """Add rows that ``x`` breaks, each once; if it broke none, the next round would be this one once more."""
        if (_kept_by(x, self._matrix, self._lower, self._upper) < -1e3 * _OFF).any():
            raise SolverFailedError("the solver calls a point optimal that violates rows of its program; use highs")
        if (_kept_by(x, cuts.matrix, cuts.lower, cuts.upper) >= 0.0).all():
            raise SolverFailedError("the separator's rows cut nothing off: the solver's point breaks none of them")
        _, first = np.unique(cuts.matrix, axis=0, return_index=True)
        matrix, lower, upper = cuts.matrix[first], cuts.lower[first], cuts.upper[first]
        self._matrix = np.vstack([self._matrix, matrix])
        self._lower, self._upper = np.append(self._lower, lower), np.append(self._upper, upper)
        for session in (self._relaxed, self._session):
            session.add_rows(matrix, lower, upper)


def _kept_by(x: Floats, matrix: Floats, lower: Floats, upper: Floats) -> Floats:
    """Return the least slack of a point in each row, below 0 where it breaks one."""
    activity = matrix @ x
    return np.asarray(np.minimum(activity - lower, upper - activity))


class _Query:
    def __init__(self, objective: Floats, gap: float, time_limit: float | None) -> None:
        self.objective, self.gap = objective, gap
        self.value, self.bound = np.inf, -np.inf
        self.best: Floats | None = None
        self._end = None if time_limit is None else perf_counter() + time_limit

    @property
    def left(self) -> float | None:
        return None if self._end is None else max(0.0, self._end - perf_counter())

    @property
    def proved(self) -> bool:
        return self.value - self.bound <= self.gap

    def offer(self, x: Floats) -> None:
        value = float(self.objective @ x)
        if value < self.value:
            self.value, self.best = value, x


def _whole(x: Floats) -> bool:
    return bool((np.abs(x - np.rint(x)) <= 1e3 * _OFF).all())


class ScaledSession:
    """A session that brings every objective to one size, as tolerances of solvers are absolute, and the answer back.

    Units are powers of two, so no digit of an objective changes.
    """

    def __init__(self, session: Session) -> None:
        self._session = session

    def solve(self, objective: Floats, *, gap: float = 0.0, time_limit: float | None = None) -> Solution:
        """Ask about the objective in its unit."""
        unit = _unit(objective)
        found = self._session.solve(objective / unit, gap=gap / unit, time_limit=time_limit)
        return Solution(found.stop, found.objective * unit, found.bound * unit, found.x)

    def add_rows(self, matrix: Floats, lower: Floats, upper: Floats) -> None:
        """Add rows, which have units of their own."""
        self._session.add_rows(matrix, lower, upper)

    def close(self) -> None:
        """Free what the solver holds."""
        self._session.close()


def _unit(objective: Floats) -> float:
    largest = float(np.abs(objective).max(initial=0.0))
    return 2.0 ** max(frexp(largest)[1] - _EXPONENT, _LEAST) if largest else 1.0
