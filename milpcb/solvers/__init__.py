"""Solver adapters, one a file; the only modules that import a solver."""

from typing import cast

from milpcb.errors import UnknownNameError
from milpcb.plugins import registry
from milpcb.protocols import Solver, SolverInfo


def load_solver(spec: str) -> Solver:
    """Return the solver that a config names: ``"highs"`` or ``"pulp:PULP_CBC_CMD"`` (family, then its argument)."""
    if not isinstance(spec, str):
        raise UnknownNameError("solver", spec, registry.names("solver"))
    family, _, argument = spec.partition(":")
    return cast("Solver", registry.load("solver", family)(argument))


def describe_all() -> list[SolverInfo]:
    """Return the lines of ``milpcb solvers``, one or more for each registered solver, sorted by name."""
    return [info for name in registry.names("solver") for info in registry.load("solver", name).describe()]
