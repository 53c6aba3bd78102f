"""Solvers that are wrong in one thing fail the battery of a solver."""

from dataclasses import replace

import numpy as np
import pytest

from milpcb import testing
from milpcb.solvers.highs import Highs, HighsSession
from milpcb.testing.problems import violation
from milpcb.types import Solution, Stop


class Wrong(HighsSession):
    """HiGHS with one mistake."""

    mistake = staticmethod(lambda solution: solution)

    def solve(self, objective, **options):
        """Solve, then spoil the answer."""
        return self.mistake(super().solve(objective, **options))


def solver_with(mistake):
    """A solver whose every solution goes through ``mistake``."""
    session = type("Mistaken", (Wrong,), {"mistake": staticmethod(mistake)})

    class Solver(Highs):
        def open(self, program, *, relax=False):
            return session(program, mip=bool(program.integer.any()) and not relax)

    return Solver()


@pytest.mark.parametrize(
    "mistake",
    [
        lambda s: replace(s, bound=s.bound + 0.5),
        lambda s: replace(s, bound=s.bound - 0.5),
        lambda s: replace(s, objective=s.objective + 0.5),
        lambda s: replace(s, stop=Stop.OPTIMAL),
        lambda s: replace(s, x=None),
        lambda s: s if s.x is None else replace(s, x=s.x + 0.01),
        lambda _: Solution(Stop.UNKNOWN, np.inf, -np.inf),
    ],
)
def test_a_wrong_solver_fails_its_battery(mistake):
    """A solver that misreports its bound, value, status or point is caught, and the check is named."""
    with pytest.raises(AssertionError) as caught:
        testing.run_all("solver", solver_with(mistake))
    assert any(note.startswith("solver, check '") for note in caught.value.__notes__)


class Relaxing(Highs):
    """Solves the relaxation of everything."""

    def open(self, program, **_):
        """Open the relaxation."""
        return super().open(program, relax=True)


class StuckSession(HighsSession):
    """Ignores what the second query asks."""

    asked = None

    def solve(self, objective, **options):
        """Solve for the first objective."""
        self.asked = objective if self.asked is None else self.asked
        return super().solve(self.asked, **options)


class Stuck(Highs):
    """Remembers an objective."""

    def open(self, program, *, relax=False):
        """Open a session that does."""
        return StuckSession(program, mip=bool(program.integer.any()) and not relax)


@pytest.mark.parametrize("solver", [Relaxing, Stuck])
def test_a_solver_of_another_program_fails_its_battery(solver):
    """A solver that drops integrality, and a session that remembers an objective, are caught."""
    with pytest.raises(AssertionError):
        testing.run_all("solver", solver())


class AddsNoRows(HighsSession):
    """HiGHS that does not hear of rows added later."""

    def add_rows(self, matrix, lower, upper):
        """Do nothing."""


class AddsUpperBounds(HighsSession):
    """HiGHS that forgets what added rows must at least be."""

    def add_rows(self, matrix, lower, upper):
        """Add half of the row."""
        super().add_rows(matrix, np.full(len(lower), -np.inf), upper)


class AddsOnce(HighsSession):
    """HiGHS that takes one row, and no further ones."""

    taken = False

    def add_rows(self, matrix, lower, upper):
        """Add the first row."""
        if not self.taken:
            self.taken = True
            super().add_rows(matrix, lower, upper)


class KeepsTheIncumbent(HighsSession):
    """HiGHS that returns its last point where added rows leave none."""

    last = None

    def solve(self, objective, **options):
        """Answer with what was found before, if there is no answer."""
        found = super().solve(objective, **options)
        if found.x is not None:
            self.last = found
        return self.last if found.stop is Stop.INFEASIBLE and self.last else found


@pytest.mark.parametrize("session", [AddsNoRows, AddsUpperBounds, AddsOnce, KeepsTheIncumbent])
def test_a_solver_that_loses_added_rows_fails_its_battery(session):
    """Whatever a session does with added rows but to keep them is caught."""

    class Solver(Highs):
        def open(self, program, *, relax=False):
            return session(program, mip=bool(program.integer.any()) and not relax)

    with pytest.raises(AssertionError) as caught:
        testing.run_all("solver", Solver())
    assert any("rows" in note or "cut off" in note for note in caught.value.__notes__)


class TrustsTheStart(HighsSession):
    """HiGHS that returns the start that it is given as the optimum."""

    def solve(self, objective, *, start=None, **options):
        """Answer with the start."""
        if start is None:
            return super().solve(objective, **options)
        return Solution(Stop.OPTIMAL, float(objective @ start), float(objective @ start), start)


class StopsAtTheStart(HighsSession):
    """HiGHS that takes what the start costs for a lower bound, where it keeps the rows."""

    def solve(self, objective, *, start=None, **options):
        """Answer with the start, or the solution where it is no better."""
        found = super().solve(objective, **options)
        kept = start is not None and found.x is not None and violation(self.program, start) <= 1e-6
        return Solution(Stop.OPTIMAL, float(objective @ start), float(objective @ start), start) if kept else found


class NeedsAStart(HighsSession):
    """HiGHS that finds nothing where its start breaks the rows."""

    def solve(self, objective, *, start=None, **options):
        """Answer that there is no point."""
        if start is None or violation(self.program, start) <= 1e-6:
            return super().solve(objective, **options)
        return Solution(Stop.INFEASIBLE, np.inf, -np.inf)


@pytest.mark.parametrize("session", [TrustsTheStart, StopsAtTheStart, NeedsAStart])
def test_a_solver_that_trusts_a_start_fails_its_battery(session):
    """A start that is taken for more than a point to begin at is caught."""

    class Solver(Highs):
        def open(self, program, *, relax=False):
            opened = session(program, mip=bool(program.integer.any()) and not relax)
            opened.program = program
            return opened

    with pytest.raises(AssertionError) as caught:
        testing.run_all("solver", Solver())
    assert any("start" in note for note in caught.value.__notes__)
