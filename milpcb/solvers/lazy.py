"""Programs in a solver, also with too many rows to list: rows are added when a solution violates them, and kept.

With a separator the relaxation is tightened first, round by round, then the program with integers. Every bound is that
of a program with too few rows, so it is a lower bound of the full one, and every point returned is that of a policy.
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


class LazySession:
    """A program, opened once, for objectives in any unit; rows found by its ``separator``, if any, serve all queries.

    Tolerances of solvers are absolute, so each objective is brought to one size and the answer back. Units are powers
    of two, so no digit of an objective changes.
    """

    def __init__(self, engine: Solver, program: Program, separator: Separator | None) -> None:
        self._engine, self._program, self._separator = engine, program, separator
        self._open()

    def solve(self, objective: Floats, *, gap: float = 0.0, time_limit: float | None = None) -> Solution:
        """Minimise ``objective`` (n_columns,) to an absolute gap."""
        unit = _unit(objective)
        found = self._solve(objective / unit, gap / unit, time_limit)
        return Solution(found.stop, found.objective * unit, found.bound * unit, found.x)

    def close(self) -> None:
        """Free the models."""
        for session in self._sessions:
            session.close()

    def _open(self) -> None:
        self._matrix, self._lower, self._upper = np.zeros((0, self._program.n_columns)), np.zeros(0), np.zeros(0)
        relaxed = [True, False] if self._separator else [self._program.integral]
        self._sessions = [self._engine.open(self._program, relax=relax) for relax in relaxed]

    def _solve(self, objective: Floats, gap: float, time_limit: float | None) -> Solution:
        """Tighten the relaxation, then the program, until the best point known is proved to the gap."""
        if self._separator is None:
            return self._sessions[0].solve(objective, gap=gap, time_limit=time_limit)
        if len(self._matrix) > MOST_ROWS * self._program.n_columns:
            self.close()
            self._open()
        query, stop = _Query(objective, gap, time_limit), Stop.OPTIMAL
        for session in self._sessions:
            if stop is Stop.OPTIMAL and not query.proved:
                stop = self._rounds(session, self._separator, query)
        return Solution(stop, query.value, query.bound, query.best)

    def _rounds(self, session: Session, separator: Separator, query: _Query) -> Stop:
        """Solve and add rows until the best point is proved or no row is broken; return why it stopped."""
        while True:
            found = session.solve(query.objective, gap=query.gap, time_limit=query.left)
            query.bound = max(query.bound, found.bound)
            if found.stop is not Stop.OPTIMAL or found.x is None:
                return found.stop
            cuts = separator.cuts(found.x, query.objective)
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
        for session in self._sessions:
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


def _unit(objective: Floats) -> float:
    largest = float(np.abs(objective).max(initial=0.0))
    return 2.0 ** max(frexp(largest)[1] - _EXPONENT, _LEAST) if largest else 1.0
