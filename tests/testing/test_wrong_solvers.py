"""Solvers that are wrong in one thing fail the battery of a solver."""

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from milpcb import testing
from milpcb.solvers.highs import Highs, HighsSession
from milpcb.types import Solution, Stop


class Spoilt(HighsSession):
    """HiGHS whose every solution is spoilt."""

    mistake: Callable[[Solution], Solution]

    def solve(self, objective: Any, **options: Any) -> Solution:
        """Solve, then spoil the answer."""
        return type(self).mistake(super().solve(objective, **options))


class Stuck(HighsSession):
    """HiGHS that ignores what the second query asks."""

    asked: Any = None

    def solve(self, objective: Any, **options: Any) -> Solution:
        """Solve for the first objective."""
        self.asked = objective if self.asked is None else self.asked
        return super().solve(self.asked, **options)


class AddsOnce(HighsSession):
    """HiGHS that takes one row, and no further ones."""

    taken = False

    def add_rows(self, matrix: Any, lower: Any, upper: Any) -> None:
        """Add the first row."""
        if not self.taken:
            self.taken = True
            super().add_rows(matrix, lower, upper)


class KeepsTheIncumbent(HighsSession):
    """HiGHS that returns its last point where added rows leave none."""

    last: Solution | None = None

    def solve(self, objective: Any, **options: Any) -> Solution:
        """Answer with what was found before, if there is no answer."""
        found = super().solve(objective, **options)
        if found.x is not None:
            self.last = found
        return self.last if found.stop is Stop.INFEASIBLE and self.last else found


SPOILT: list[Callable[[Solution], Solution]] = [
    lambda s: replace(s, bound=s.bound + 0.5),
    lambda s: replace(s, bound=s.bound - 0.5),
    lambda s: replace(s, objective=s.objective + 0.5),
    lambda s: replace(s, stop=Stop.OPTIMAL),
    lambda s: replace(s, x=None),
    lambda s: s if s.x is None else replace(s, x=s.x + 0.01),
    lambda _: Solution(Stop.UNKNOWN, np.inf, -np.inf),
]


def mistaken(**methods: Any) -> type[HighsSession]:
    """Return HiGHS with other methods."""
    return type("Mistaken", (HighsSession,), methods)


RELAXES = mistaken(__init__=lambda self, program, **_mip: HighsSession.__init__(self, program, mip=False))
ADDS_NO_ROWS = mistaken(add_rows=lambda *_given: None)
ADDS_UPPER_BOUNDS = mistaken(
    add_rows=lambda self, rows, lower, upper: HighsSession.add_rows(self, rows, np.full(len(lower), -np.inf), upper)
)
# Sessions, and a word of the name of a check that fails.
MISTAKEN: list[tuple[type[HighsSession], str]] = [
    *((type("Mistaken", (Spoilt,), {"mistake": staticmethod(mistake)}), "") for mistake in SPOILT),
    *((session, "") for session in (Stuck, RELAXES)),
    *((session, "rows|cut off") for session in (ADDS_NO_ROWS, ADDS_UPPER_BOUNDS, AddsOnce, KeepsTheIncumbent)),
]


@pytest.mark.parametrize(("session", "word"), MISTAKEN)
def test_a_wrong_solver_fails_its_battery(session: type[HighsSession], word: str) -> None:
    """Wrong bounds, values and points, and rows that are lost are caught by a named check."""

    class Solver(Highs):
        def open(self, program: Any, *, relax: bool = False) -> HighsSession:
            opened = session(program, mip=bool(program.integer.any()) and not relax)
            opened.program = program  # type: ignore[attr-defined]
            return opened

    with pytest.raises(AssertionError) as caught:
        testing.run_all("solver", Solver())
    assert re.search(f"solver, check '.*({word})", " ".join(caught.value.__notes__))
