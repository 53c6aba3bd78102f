"""Known problems as data: (program, objective, optimum, note). Every solver must solve every one."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from milpcb.program import Program, ProgramBuilder
from milpcb.types import Floats, Stop

INF = np.inf
Column = tuple[float, float, bool]  # its lower and upper bound, and whether it is integer
Row = tuple[Sequence[float], float, float]  # its coefficients, lower and upper bound
UNIT: Column = (0.0, 1.0, False)
BINARY: Column = (0.0, 1.0, True)
FREE: Column = (-INF, INF, False)


@dataclass(frozen=True)
class KnownProblem:
    """A program and what is known of it; ``optimum`` is None when ``stop`` is not optimal."""

    name: str
    program: Program
    objective: Floats
    optimum: float | None
    stop: Stop
    note: str


def known_problems() -> list[KnownProblem]:
    """Return the problems, smallest first."""
    boxed, even = "no rows; every column at the bound its sign wants", "an even number is not 3; the LP is feasible"
    half, rounded = "x >= -3.5 with no column bound rounds up to -3", "rounding the relaxation is wrong"
    empty, large = "a row with no entry holds", "y = 0.0005 is not an integer"
    return [
        _problem("negative costs", boxed, [UNIT] * 3, (-2, 3, -1), -3.0, integral=True),
        _problem("zero objective", "anything is optimal", [UNIT] * 3, (0, 0, 0), 0.0, integral=True),
        _problem("empty row", empty, [(0, 4, False)] * 2, (1, 2), 3.0, ((0, 0), -1, 1), ((1, 1), 3, INF)),
        _problem("ties", "four optima, one value", [BINARY] * 4, [-7] * 4, -7.0, ([1] * 4, 1, 1), integral=True),
        _problem("infeasible", "1 + 1 < 3", [UNIT] * 2, (1, 1), Stop.INFEASIBLE, ((1, 1), 3, INF)),
        _problem("integer infeasible", even, [(0, 5, True)] * 2, (1, 1), Stop.INFEASIBLE, ((2, 2), 3, 3)),
        _problem("unbounded", "x0 grows for ever", [(0, INF, False)] * 2, (-1, 0), Stop.UNBOUNDED, ((1, -1), 0, INF)),
        _problem("free integer", half, [(-INF, INF, True)], (1,), -3.0, ((2,), -7, INF)),
        _problem("equalities", "one point: (-1, 3)", [FREE] * 2, (5, 1), -2.0, ((1, 1), 2, 2), ((1, -1), -4, -4)),
        _problem("knapsack", rounded, [BINARY] * 4, (-9, -6, -5, -3), -12.0, ((5, 4, 3, 2), -INF, 7)),
        _problem("big M", large, [(0, 1000, False), BINARY], (0, 1), 1.0, ((1, -1000), -INF, 0), ((1, 0), 0.5, INF)),
    ]


def _problem(
    name: str,
    note: str,
    columns: Sequence[Column],
    objective: Sequence[float],
    known: float | Stop,
    *rows: Row,
    integral: bool = False,
) -> KnownProblem:
    """Return a problem, of which the optimum is ``known``, or why there is none."""
    b = ProgramBuilder()
    x = np.concatenate(
        [b.columns(f"x{i}", (1,), lower, upper, integer=integer) for i, (lower, upper, integer) in enumerate(columns)]
    )
    for coefficients, lower, upper in rows:
        b.rows((x[None, :], np.array(coefficients, dtype=float)), lower=lower, upper=upper)
    optimum, stop = (None, known) if isinstance(known, Stop) else (known, Stop.OPTIMAL)
    return KnownProblem(name, b.build(integral=integral), np.array(objective, dtype=float), optimum, stop, note)


def violation(program: Program, x: Floats, *, relax: bool = False) -> float:
    """Return by how much ``x`` breaks rows, bounds or integrality at worst."""
    activity = program.matrix @ x
    parts = [
        program.row_lower - activity,
        activity - program.row_upper,
        program.column_lower - x,
        x - program.column_upper,
        np.zeros(1) if relax else np.abs(x - np.rint(x))[program.integer],
    ]
    return float(max((part.max() for part in parts if part.size), default=0.0))
