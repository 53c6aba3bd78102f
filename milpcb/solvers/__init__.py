"""Solver adapters, one a file; the only modules that import a solver."""

from typing import cast

from milpcb.errors import UnknownNameError
from milpcb.plugins import registry
from milpcb.protocols import Solver, SolverInfo

# Names of solvers elsewhere, PuLP's among them, in small letters.
ALIASES = {
    "cbc": "pulp:PULP_CBC_CMD",
    "choco": "pulp:CHOCO_CMD",
    "coin_cmd": "pulp:COIN_CMD",
    "copt_dll": "copt",
    "coptpy": "copt",
    "cplex_cmd": "pulp:CPLEX_CMD",
    "cplex_py": "cplex",
    "cylp": "pulp:CyLP",
    "docplex": "cplex",
    "glpk": "pulp:GLPK_CMD",
    "glpk_cmd": "pulp:GLPK_CMD",
    "grb": "gurobi",
    "gurobi_cmd": "pulp:GUROBI_CMD",
    "gurobipy": "gurobi",
    "highs_cmd": "pulp:HiGHS_CMD",
    "highspy": "highs",
    "mosek": "pulp:MOSEK",
    "pulp_cbc_cmd": "pulp:PULP_CBC_CMD",
    "pyglpk": "pulp:PYGLPK",
    "pyscipopt": "scip",
    "scip_cmd": "pulp:SCIP_CMD",
    "scip_py": "scip",
    "xpress_py": "xpress",
}


def load_solver(spec: str) -> Solver:
    """Return the solver that a config names: ``"highs"`` or ``"pulp:PULP_CBC_CMD"`` (family, then its argument)."""
    if not isinstance(spec, str):
        raise UnknownNameError("solver", spec, registry.names("solver"))
    family, _, argument = solver_name(spec).partition(":")
    return cast("Solver", registry.load("solver", family)(argument))


def solver_name(spec: str) -> str:
    """Return a solver's name as milpcb writes it, as "gurobi" for "GUROBI" and "grb"; one it does not know as it is."""
    family, colon, argument = spec.partition(":")
    if registry.is_installed("solver", family):
        return spec
    plain = family.strip().lower()
    if not colon and plain in ALIASES:
        return ALIASES[plain]
    return plain + colon + argument if registry.is_installed("solver", plain) else spec


def describe_all() -> list[SolverInfo]:
    """Return the lines of ``milpcb solvers``, one or more for each registered solver, sorted by name."""
    return [info for name in registry.names("solver") for info in registry.load("solver", name).describe()]
