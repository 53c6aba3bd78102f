"""Imports point one way, in no circle, and a vendor's package is imported in its own adapter alone.

All imports of milpcb and policies are read from their source: those inside functions and those for type checkers too,
``import_module("...")``, and names of modules in strings. The rules are the tables below.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import networkx as nx
import pytest

from milpcb.core.kernels import KEPT
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
    "coba": ("milpcb.environments.coba",),
    "contextualbandits": ("milpcb.learners.rivals",),
    "coptpy": ("milpcb.solvers.copt",),
    "cplex": ("milpcb.solvers.cplex",),
    "click": ("milpcb.cli", "milpcb.commands"),
    "cryptography": ("milpcb.experiments.run.backends.dask",),
    "dask": ("milpcb.experiments.run.backends.dask",),
    "distributed": ("milpcb.experiments.run.backends.dask",),
    "duckdb": ("milpcb.testing.policies",),
    "filelock": ("milpcb.experiments.results.store",),
    "gurobipy": ("milpcb.solvers.gurobi",),
    "highspy": ("milpcb.solvers.highs",),
    "jinja2": ("milpcb.experiments.results.report",),
    "plotly": ("milpcb.experiments.results.figures",),
    "matplotlib": (
        *("milpcb.experiments.results.figures", "milpcb.core.surroundings", "policies.drawing"),
        "policies.linear.printed",
    ),
    "narwhals": ("milpcb.estimators", "milpcb.data.frames"),
    "networkx": ("policies", "milpcb.estimators"),
    "numba": ("milpcb.core.kernels",),
    "polars": ("milpcb.commands", "milpcb.experiments", "milpcb.logs", "milpcb.data.tables"),
    "pulp": ("milpcb.solvers.pulp",),
    "pydantic": ("milpcb.experiments.study", "milpcb.experiments.results.schemas"),
    "pyscipopt": ("milpcb.solvers.scip",),
    "rich": ("milpcb.commands", "milpcb.experiments"),
    "sklearn": (
        "milpcb.environments.supervised",
        "milpcb.estimators",
        "milpcb.learners.rivals",
        "milpcb.offline",
    ),
    "threadpoolctl": ("milpcb.experiments.run.task", "milpcb.offline"),
    "tomli_w": ("milpcb.experiments.results.store",),
    "typing_extensions": ("milpcb.experiments.results.schemas",),
    "vowpalwabbit": ("milpcb.learners.rivals",),
    "xpress": ("milpcb.solvers.xpress",),
}

# PuLP imports, of the vendors that it has an interface to, whatever is installed.
REACHED_BY_PULP = {"coptpy", "cplex", "gurobipy", "highspy", "pyscipopt", "xpress"}

# Implementations that are reached by their names in the registry: nobody imports them.
BY_NAME = {target.partition(":")[0] for target in BUILTIN["solver"].values()}
# Tables that name modules in strings, and the functions that import what a table names.
TABLES = {"milpcb.plugins.registry"}
RESOLVERS = {"milpcb.plugins.interfaces", "milpcb.policies", "milpcb.plugins.registry"}
# A process that is forked later loads the module first.
PRELOADED = {("milpcb.experiments.run.backends", "milpcb.experiments.run.task")}

NAME = re.compile(r"((?:milpcb|policies)(?:\.\w+)+)(?::\w+)?")


@dataclass(frozen=True)
class Import:
    """``module`` imports ``target`` in a line; ``text`` says that the target's name is in a string."""

    module: str
    target: str
    line: int
    text: bool = False

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


def imports(modules: Mapping[str, str], packages: frozenset[str]) -> list[Import]:
    """Return all imports of all modules; a target inside our packages is a module, not what is taken from it."""
    found = []
    for module, source in modules.items():
        for target, line, text in _targets(source, module, is_package=module in packages):
            ours = target
            while ours and ours not in modules:
                ours = ours.rpartition(".")[0]
            if ours != module and not (text and module.startswith(f"{ours}.")):  # a package may name itself
                found.append(Import(module, ours or target, line, text))
    return found


@cache
def _targets(source: str, module: str, *, is_package: bool) -> tuple[tuple[str, int, bool], ...]:
    """Return target, line and whether it stands in a string, of every import of a module."""
    return tuple(_read(ast.parse(source), module, is_package=is_package))


def _read(tree: ast.Module, module: str, *, is_package: bool) -> Iterator[tuple[str, int, bool]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((alias.name, node.lineno, False) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            parts = module.split(".")
            above = parts[: len(parts) - node.level + is_package] if node.level else []
            start = ".".join([*above, *([node.module] if node.module else [])])
            yield from ((f"{start}.{alias.name}", node.lineno, False) for alias in node.names)
        elif _imports_by_name(node) and isinstance(node.args[0], ast.Constant):
            yield str(node.args[0].value), node.lineno, False
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and (name := NAME.fullmatch(node.value)):
            yield name[1], node.lineno, True


def _imports_by_name(node: ast.AST) -> bool:
    if not (isinstance(node, ast.Call) and node.args):
        return False
    called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
    return called in {"import_module", "__import__"}


def resolvers(modules: Mapping[str, str]) -> set[str]:
    """Return the modules that import what is only known when they run."""
    return {module for module, source in modules.items() if _resolves(source)}


@cache
def _resolves(source: str) -> bool:
    if not re.search("import_module|__import__", source):
        return False
    calls = [node for node in ast.walk(ast.parse(source)) if _imports_by_name(node)]
    return not all(isinstance(call.args[0], ast.Constant) for call in calls)


# ------------------------------------------------------------------- the rules


def broken(modules: Mapping[str, str], packages: frozenset[str]) -> list[str]:
    """Return a line for everything that breaks a rule."""
    found = imports(modules, packages)
    lines = [f"{module} imports what it is told" for module in resolvers(modules) - RESOLVERS]
    for each in found:
        top = each.target.partition(".")[0]
        if not _ours(top):
            places = VENDORS.get(top, ())
            if top not in ANYWHERE | sys.stdlib_module_names and not any(_inside(each.module, it) for it in places):
                lines.append(f"{each} may be imported in {', '.join(places) or 'no module yet'} only")
        elif not _named_only(each):
            (part, height), (other, below) = _part(each.module), _part(each.target)
            wrong = {
                f"is not below {part}": part != other and not below < height,
                "is reached by names in the registry only": part != "policies" and other == "policies",
                "is reached by its name in the registry only": each.target in BY_NAME,
                f"is named in a string outside {', '.join(sorted(TABLES))}": each.text,
            }
            lines += [f"{each} {what}" for what, is_so in wrong.items() if is_so]
    ours = [each for each in found if _ours(each.target) and not _named_only(each)]
    graph = nx.DiGraph((each.module, each.target) for each in ours)
    circles = [circle for circle in nx.strongly_connected_components(graph) if len(circle) > 1]
    return lines + [f"a circle: {', '.join(sorted(circle))}" for circle in circles]


def _named_only(each: Import) -> bool:
    return each.text and (each.module in TABLES or (each.module, each.target) in PRELOADED)


def _ours(target: str) -> bool:
    return target.partition(".")[0] in {"milpcb", "policies"}


def _part(module: str) -> tuple[str, int]:
    """Return the part a module belongs to, and how high it stands."""
    fitting = [(part, height) for height, parts in enumerate(LAYERS) for part in parts if _inside(module, part)]
    return max(fitting, key=lambda found: len(found[0]))


def _inside(module: str, place: str) -> bool:
    # The package milpcb itself holds only what it offers; a new part of it must be put into a layer.
    return module == place or (module.startswith(f"{place}.") and place != "milpcb")


# ------------------------------------------------------------------- tests

SOURCES = sources()
PACKAGES = frozenset(name for name in SOURCES if (ROOT / Path(*name.split(".")) / "__init__.py").is_file())


def test_every_module_stands_in_a_layer() -> None:
    """A new part is put into a layer before it is used."""
    assert [name for name in SOURCES if not any(_inside(name, part) for parts in LAYERS for part in parts)] == []


def test_no_import_breaks_a_rule() -> None:
    """All imports of both packages point one way, in no circle, and vendors stay with their adapters."""
    assert broken(SOURCES, PACKAGES) == []


INSIDE = "def later():\n    {}"
FOR_TYPES = "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    {}"


# A line, the module that it is added to, and what breaks then.
AGAINST = [
    ("milpcb.types", "from milpcb.protocols import Session", "milpcb.protocols is not below milpcb.types"),
    ("milpcb.types", FOR_TYPES.format("from milpcb.protocols import Session"), "is not below milpcb.types"),
    ("milpcb.plugins.registry", INSIDE.format("import milpcb.oracles.base as base"), "is not below milpcb.plugins"),
    ("milpcb.learners.exp4", "from milpcb.testing import battery", "is not below milpcb.learners"),
    ("milpcb.learners.exp4", "from milpcb import open_oracle", "milpcb is not below milpcb.learners"),
    ("milpcb.learners.exp4", "from policies import DecisionTrees", "is reached by names in the registry only"),
    ("milpcb.oracles.milp", INSIDE.format("import milpcb.environments.planted"), "is not below milpcb.oracles"),
    ("milpcb.oracles.base", "from ..learners import exp4", "milpcb.learners.exp4 is not below milpcb.oracles"),
    ("milpcb.oracles", "from ..learners import exp4", "milpcb.learners.exp4 is not below milpcb.oracles"),
    ("milpcb.oracles.base", "import importlib\nimportlib.import_module('milpcb.learners.exp4')", "is not below"),
    ("milpcb.oracles.base", "__import__('milpcb.learners.exp4')", "is not below milpcb.oracles"),
    ("milpcb.experiments.study.cells", "from milpcb.experiments.run import play", "is not below milpcb.experiments.st"),
    (
        "milpcb.experiments.results.curves",
        INSIDE.format("import milpcb.cli"),
        "is not below milpcb.experiments.results",
    ),
    ("policies.trees", INSIDE.format("from milpcb.oracles import open_oracle"), "is not below policies"),
    ("milpcb.solvers.scipy", "from milpcb.solvers.highs import Highs", "is reached by its name"),
    ("milpcb.solvers.lazy", INSIDE.format("from milpcb.solvers import highs"), "is reached by its name"),
    ("milpcb.oracles.milp", "import milpcb.solvers.pulp", "is reached by its name"),
    ("milpcb.oracles.milp", "import highspy", "highspy may be imported in milpcb.solvers.highs only"),
    ("milpcb.solvers.scipy", INSIDE.format("from highspy import Highs"), "may be imported in milpcb.solvers.highs"),
    ("policies.trees.search", "from numba import njit", "may be imported in milpcb.core.kernels only"),
    ("milpcb.cli", FOR_TYPES.format("import matplotlib.pyplot as plt"), "may be imported in milpcb.experiments.result"),
    ("milpcb.experiments.run.task", "from distributed import Client", "distributed.Client may be imported in"),
    ("milpcb.errors", "import requests", "requests may be imported in no module yet"),
    ("milpcb.errors", "EXP4 = 'milpcb.learners.exp4:Exp4'", "milpcb.learners.exp4 is named in a string outside"),
    ("milpcb.oracles.base", "def load(name):\n    return __import__(name)", "base imports what it is told"),
]
CIRCLES = [
    ("milpcb.oracles.base", INSIDE.format("from milpcb.oracles.growing import GrowingOracle"), "milpcb.oracles"),
    ("milpcb.oracles.base", FOR_TYPES.format("from milpcb.oracles import growing"), "milpcb.oracles"),
    ("policies.names", "import policies.thresholds", "policies"),
]


def test_imports_against_the_rules_are_found() -> None:
    """Each line that is added breaks a rule, which is named with the line."""
    changed, missing = dict(SOURCES), []
    places = []
    for module, line, _ in AGAINST:
        first = changed[module].count("\n") + 1
        changed[module] += f"\n{line}\n"
        places.append([f"{module}, line {number}: " for number in range(first, changed[module].count("\n") + 1)])
    found = broken(changed, PACKAGES)
    for (module, line, fragment), own in zip(AGAINST, places, strict=True):
        starts = (*own, f"{module} ")
        if not any(one.startswith(starts) and fragment in one for one in found):
            missing.append(f"{module}: {line}")
    assert missing == []


@pytest.mark.parametrize(("module", "line", "first"), CIRCLES)
def test_a_circle_is_found(module: str, line: str, first: str) -> None:
    """One line added to one module closes it."""
    found = broken(SOURCES | {module: f"{SOURCES[module]}\n{line}\n"}, PACKAGES)
    assert any(f"a circle: {first}" in one for one in found), found


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
        said = done.stderr.replace(f"{KEPT}\n", "")  # where the kernels have just changed
        assert (done.returncode, said) == (0, ""), options
        assert set(done.stdout.split()) <= loaded, options
