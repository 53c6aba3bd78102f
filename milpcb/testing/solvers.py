"""What every solver must do with every known problem."""

from __future__ import annotations

import numpy as np

from milpcb.protocols import Solver
from milpcb.testing.problems import KnownProblem, violation
from milpcb.types import Solution, Stop

TOLERANCE = 1e-6


def check_known_problem(solver: Solver, problem: KnownProblem) -> None:
    """Twice in a row the solver finds the optimum with a feasible integral point, or says why there is none."""
    session = solver.open(problem.program)
    for _ in range(2):
        _check(problem, session.solve(problem.objective))
    session.close()


def check_objectives_in_a_row(solver: Solver, problem: KnownProblem) -> None:
    """A kept session forgets the last objective: answers do not depend on what was asked before."""
    session = solver.open(problem.program)
    other = problem.objective[::-1].copy()
    expected = solver.open(problem.program).solve(other)
    session.solve(problem.objective)
    after = session.solve(other)
    assert after.stop == expected.stop, (problem.name, after, expected)
    if expected.stop is Stop.OPTIMAL:
        assert np.isclose(after.objective, expected.objective, atol=TOLERANCE), (problem.name, after, expected)
    _check(problem, session.solve(problem.objective))
    session.close()


def _check(problem: KnownProblem, solution: Solution) -> None:
    assert solution.stop == problem.stop, (problem.name, problem.note, solution)
    if problem.optimum is None:
        return
    assert abs(solution.objective - problem.optimum) <= TOLERANCE, (problem.name, problem.note, solution)
    assert abs(solution.bound - problem.optimum) <= TOLERANCE, (problem.name, problem.note, solution)
    assert solution.x is not None, problem.name
    assert violation(problem.program, solution.x) <= TOLERANCE, (problem.name, solution.x)
    assert abs(problem.objective @ solution.x - problem.optimum) <= TOLERANCE, (problem.name, solution.x)
