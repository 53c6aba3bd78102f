"""The interface of a solver: opened on a program, it solves for many objectives."""

from dataclasses import dataclass
from typing import Protocol

from milpcb.program import Program
from milpcb.types import Floats, Solution


@dataclass(frozen=True)
class SolverInfo:
    """A line of ``milpcb solvers``: ``missing`` is why it cannot run here and the fix, ``extra`` its pip extra."""

    name: str
    version: str
    can: str
    missing: str = ""
    extra: str = ""


class Session(Protocol):
    """A solver opened once on a program, then queried with many objectives."""

    def solve(self, objective: Floats, *, gap: float = 0.0, time_limit: float | None = None) -> Solution:
        """Minimise ``objective`` (n_columns,) to an absolute gap."""
        ...

    def add_rows(self, matrix: Floats, lower: Floats, upper: Floats) -> None:
        """Add dense rows (r, n_columns) for all later queries."""
        ...

    def close(self) -> None:
        """Free the resources of the solver; closing twice is harmless."""
        ...


class Solver(Protocol):
    """A way to solve programs. ``Solver(argument)`` gets the text after the colon in ``solver = "name:argument"``."""

    def __init__(self, argument: str = "") -> None: ...

    def open(self, program: Program, *, relax: bool = False) -> Session:
        """Return a session on ``program``; ``relax`` drops integrality. Raises SolverMissingError."""
        ...

    @classmethod
    def describe(cls) -> list[SolverInfo]:
        """Return a line for each solver of the family: whether it can run here, and the fix where it cannot."""
        ...
