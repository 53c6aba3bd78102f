"""Imports point one way, in no circle, and a vendor's package is imported in its own adapter alone.

All imports of milpcb and policies are read from their source: those inside functions, those for type checkers, and
``import_module("...")``. The rules are the tables below.
"""

import ast
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import networkx as nx
import pytest

from milpcb.core.kernels import LINE
from milpcb.plugins.registry import BUILTIN
from tests.processes import one_by_one

ROOT = Path(__file__).parents[1]

# A part may import the parts of the lines above its own; parts of one line do not import each other. Of the longest
# name that fits a module says which part it belongs to.
LAYERS = (
    ("milpcb.errors",),
    ("milpcb.rng", "milpcb.types"),
    ("milpcb.core",),
    ("milpcb.bets", "milpcb.data", "milpcb.plugins", "milpcb.program"),
    ("milpcb.blocks",),
    ("milpcb.constraints", "milpcb.ledger"),
    ("milpcb.protocols",),
    ("milpcb.listed",),
    ("milpcb.contexts", "milpcb.solvers", "policies"),
    ("milpcb.policies",),
    ("milpcb.environments", "milpcb.oracles", "milpcb.relaxations"),
    ("milpcb.offline",),
    ("milpcb.estimators", "milpcb.learners"),
    ("milpcb.bandit", "milpcb.testing", "milpcb.theory"),
    ("milpcb.experiments.study",),
    ("milpcb.experiments.results",),
    ("milpcb.experiments", "milpcb.experiments.run"),
    ("milpcb.logs",),
    ("milpcb.adapters", "milpcb.commands"),
    ("milpcb.cli",),
    ("milpcb", "milpcb.__main__"),
)

# Where a package from outside may be imported; the rest of the standard library and these may be imported anywhere:
ANYWHERE = {"numpy", "scipy"}
VENDORS = {
    "coba": (),
    "contextualbandits": ("milpcb.learners.rivals",),
    "coptpy": ("milpcb.solvers.copt",),
    "cplex": ("milpcb.solvers.cplex",),
    "click": ("milpcb.cli", "milpcb.commands"),
    "dask": ("milpcb.experiments.run.backends.dask",),
    "distributed": ("milpcb.experiments.run.backends.dask",),
    "filelock": ("milpcb.experiments.results.store",),
    "gurobipy": ("milpcb.solvers.gurobi",),
    "highspy": ("milpcb.solvers.highs",),
    "jinja2": ("milpcb.experiments.results.report",),
    "plotly": ("milpcb.experiments.results.figures",),
    "matplotlib": (
        *("milpcb.experiments.results.figures", "milpcb.core.surroundings", "policies.drawing"),
        "policies.linear.rule",
    ),
    "narwhals": ("milpcb.estimators", "milpcb.data.frames"),
    "networkx": ("policies", "milpcb.estimators"),
    "numba": ("milpcb.core.kernels",),
    "polars": ("milpcb.commands", "milpcb.experiments", "milpcb.logs", "milpcb.data.tables"),
    "pulp": ("milpcb.solvers.pulp",),
    "pydantic": ("milpcb.experiments.study", "milpcb.experiments.results.schemas"),
    "pyscipopt": ("milpcb.solvers.scip",),
    "rich": ("milpcb.commands", "milpcb.experiments"),
    "sklearn": ("milpcb.environments.recorded", "milpcb.estimators", "milpcb.learners.rivals", "milpcb.offline"),
    "threadpoolctl": ("milpcb.experiments.run.runner", "milpcb.offline"),
    "tomli_w": ("milpcb.experiments.results.store",),
    "typing_extensions": ("milpcb.experiments.study.sections",),
    "vowpalwabbit": ("milpcb.learners.rivals",),
    "xpress": ("milpcb.solvers.xpress",),
}

# PuLP imports, of the vendors that it has an interface to, whatever is installed.
REACHED_BY_PULP = {"coptpy", "cplex", "gurobipy", "highspy", "pyscipopt", "xpress"}

# Implementations that are reached by their names in the registry: nobody imports them.
BY_NAME = {target.partition(":")[0] for target in BUILTIN["solver"].values()}


@dataclass(frozen=True)
class Import:
    """``module`` imports ``target`` in a line."""

    module: str
    target: str
    line: int

    def __str__(self) -> str:
        return f"{self.module}, line {self.line}: {self.target}"


# ------------------------------------------------------------------- reading


def sources() -> dict[str, str]:
    """Return the source of every module of both packages, by its name."""
    found = {}
    for package in ("milpcb", "policies"):
        for path in sorted((ROOT / package).rglob("*.py")):
            *parents, last = path.relative_to(ROOT).with_suffix("").parts
            found[".".join(parents if last == "__init__" else [*parents, last])] = path.read_text()
    return found


def imports(modules: Mapping[str, str]) -> list[Import]:
    """Return all imports of all modules; a target inside our packages is a module, not what is taken from it."""
    found = []
    for module, source in modules.items():
        for target, line in _targets(source, module):
            ours = target
            while ours and ours not in modules:
                ours = ours.rpartition(".")[0]
            if ours != module:
                found.append(Import(module, ours or target, line))
    return found


@cache
def _targets(source: str, module: str) -> tuple[tuple[str, int], ...]:
    """Return target and line of every import of a module."""
    return tuple(_read(ast.parse(source), module))


def _read(tree: ast.Module, module: str) -> Iterator[tuple[str, int]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((alias.name, node.lineno) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{module}, line {node.lineno}: an import begins with the name of its package"
            yield from ((f"{node.module}.{alias.name}", node.lineno) for alias in node.names)
        elif isinstance(node, ast.Call) and node.args and isinstance(node.args[0], ast.Constant):
            called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            if called in {"import_module", "__import__"}:
                yield str(node.args[0].value), node.lineno


# ------------------------------------------------------------------- the rules


def broken(modules: Mapping[str, str]) -> list[str]:
    """Return a line for everything that breaks a rule."""
    lines, found = [], imports(modules)
    for each in found:
        top = each.target.partition(".")[0]
        if top not in {"milpcb", "policies"}:
            places = VENDORS.get(top, ())
            if top not in ANYWHERE | sys.stdlib_module_names and not any(_inside(each.module, it) for it in places):
                lines.append(f"{each} may be imported in {', '.join(places) or 'no module yet'} only")
            continue
        (part, height), (other, below) = _part(each.module), _part(each.target)
        wrong = {
            f"is not below {part}": part != other and not below < height,
            "is reached by names in the registry only": part != "policies" and other == "policies",
            "is reached by its name in the registry only": each.target in BY_NAME,
        }
        lines += [f"{each} {what}" for what, is_so in wrong.items() if is_so]
    graph = nx.DiGraph((each.module, each.target) for each in found if each.target in modules)
    circles = [circle for circle in nx.strongly_connected_components(graph) if len(circle) > 1]
    return lines + [f"a circle: {', '.join(sorted(circle))}" for circle in circles]


def _part(module: str) -> tuple[str, int]:
    """Return the part a module belongs to, and how high it stands."""
    fitting = [(part, height) for height, parts in enumerate(LAYERS) for part in parts if _inside(module, part)]
    return max(fitting, key=lambda found: len(found[0]))


def _inside(module: str, place: str) -> bool:
    # The package milpcb itself holds only what it offers; a new part of it must be put into a layer.
    return module == place or (module.startswith(f"{place}.") and place != "milpcb")


# ------------------------------------------------------------------- tests

SOURCES = sources()


def test_every_module_stands_in_a_layer() -> None:
    """A new part is put into a layer before it is used."""
    assert [name for name in SOURCES if not any(_inside(name, part) for parts in LAYERS for part in parts)] == []


def test_no_import_breaks_a_rule() -> None:
    """All imports of both packages point one way, in no circle, and vendors stay with their adapters."""
    assert broken(SOURCES) == []


INSIDE = "def later():\n    {}"
FOR_TYPES = "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    {}"


@pytest.mark.parametrize(
    ("module", "line", "what"),
    [
        ("milpcb.types", FOR_TYPES.format("from milpcb.protocols import Session"), "is not below milpcb.types"),
        ("milpcb.learners.exp4", "from milpcb import open_oracle", "milpcb is not below milpcb.learners"),
        ("milpcb.learners.exp4", "from policies import DecisionTrees", "is reached by names in the registry only"),
        ("milpcb.oracles.milp", INSIDE.format("import milpcb.environments.planted"), "is not below milpcb.oracles"),
        ("milpcb.oracles.base", "import importlib\nimportlib.import_module('milpcb.learners.exp4')", "is not below"),
        ("milpcb.oracles.milp", "import milpcb.solvers.pulp", "is reached by its name"),
        ("milpcb.oracles.milp", "import highspy", "highspy may be imported in milpcb.solvers.highs only"),
        ("milpcb.errors", "import requests", "requests may be imported in no module yet"),
        ("milpcb.oracles.base", INSIDE.format("from milpcb.oracles import growing"), "a circle: milpcb.oracles"),
    ],
)
def test_an_import_against_the_rules_is_found(module: str, line: str, what: str) -> None:
    """Each line that is added breaks a rule, which is named."""
    found = broken(SOURCES | {module: f"{SOURCES[module]}\n{line}\n"})
    assert any(what in one for one in found), found


# Halfspaces have no search, and an LP of their own, by HiGHS, whatever the solver of the oracle.
MADE_BY_ACTIONS = ["BoxRules", "DecisionTrees", "LinearRules", "MonotoneRules", "RuleLists", "ThresholdRules"]


USERS: dict[str, set[str]] = {  # options of an oracle, and what is loaded where it is asked
    "kind='milp', solver='highs'": {"highspy"},
    "kind='milp', solver='scipy'": set(),
    "kind='milp', solver='pulp:PULP_CBC_CMD'": {"pulp", *REACHED_BY_PULP},
    "kind='search'": {"numba"},
    "kind='enumeration'": set(),
    "kind='audited', solver='scipy'": {"numba"},
}


def test_a_vendor_is_loaded_by_its_own_users_only() -> None:
    """Opening an oracle and asking it loads the package of its own solver, and of no other."""
    programs = [
        "import sys, milpcb, policies\n"
        "contexts, costs = [[0.0], [1.0], [3.0]], [[0, 1], [1, 0], [0, 1]]\n"
        f"for name in {MADE_BY_ACTIONS}:\n"
        f"    oracle = milpcb.open_oracle(getattr(policies, name)(2), contexts, {options})\n"
        "    assert oracle.value(costs) <= 1\n"
        f"print(*{set(VENDORS)} & set(sys.modules))"
        for options in USERS
    ]
    for done, (options, loaded) in zip(
        one_by_one("import milpcb, milpcb.learners, policies", *programs), USERS.items(), strict=True
    ):
        said = done.stderr.replace(f"{LINE}\n", "")  # where the kernels have just changed
        assert (done.returncode, said) == (0, ""), options
        assert set(done.stdout.split()) <= loaded, options
