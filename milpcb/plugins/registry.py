"""One table of names, one way from a name to an object. Importing it imports no implementation."""

import sys
from contextlib import nullcontext
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from operator import attrgetter
from types import FunctionType
from typing import Any, Literal

from milpcb.core import gate
from milpcb.core.surroundings import entry_points
from milpcb.errors import InputError, UnknownNameError, cause, clipped
from milpcb.plugins import local_classes


@dataclass(frozen=True)
class Kind:
    """Kind of entries: its name in messages, and the interface, ``module:Name``, that each entry must fit.

    A "class" inherits from it or, where it is a Protocol, has all its names; a "function" returns it; a "value" is an
    instance of it. ``supplied`` are the arguments that the runtime gives to those that name them.
    """

    called: str
    interface: str
    written: str
    form: Literal["class", "function", "value"] = "class"
    supplied: tuple[str, ...] = ()


_LEARNERS = ("oracle", "pool", "contexts", "horizon", "seed", "n_actions", "best")
_CONSTRAINTS = ("contexts", "n_contexts", "n_actions", "feature_names")
_DRAWING = "milpcb.experiments.results.figures.drawing:Drawing"

KINDS: dict[str, Kind] = {
    "policies": Kind("policy class", "milpcb.protocols:PolicyClass", "[policies] name"),
    "policy": Kind("policy", "milpcb.protocols:Policy", "in JSON, class"),
    "solver": Kind("solver", "milpcb.protocols:Solver", "[oracle] solver", supplied=("argument",)),
    "oracle": Kind(
        "oracle", "milpcb.oracles.base:Oracle", "[oracle] kind", supplied=("opened", "contexts", "constraints")
    ),
    "relaxation": Kind("relaxation", "milpcb.relaxations.base:Relaxation", "[[learners]] noise"),
    "learner": Kind("learner", "milpcb.learners:Learner", "[[learners]] name", supplied=_LEARNERS),
    "environment": Kind("environment", "milpcb.protocols:Environment", "[environment] name"),
    "constraint": Kind(
        "constraint", "milpcb.constraints:Constraint", "[[constraints]] name", "function", supplied=_CONSTRAINTS
    ),
    "backend": Kind(
        "backend", "milpcb.experiments.run.backends:Backend", "[run] backend", supplied=("workers", "scheduler")
    ),
    "figure": Kind("figure", _DRAWING, "milpcb plot --figure", "function", supplied=("results",)),
    "command": Kind("command", "click:Command", "milpcb", "value"),
    "battery": Kind("battery", "milpcb.testing:Check", "testing.battery in Python", "function", supplied=("entry",)),
}

BUILTIN: dict[str, dict[str, str]] = {
    "policies": {
        "decision_trees": "policies.trees:DecisionTrees",
        "threshold_rules": "policies.thresholds:ThresholdRules",
        "halfspaces": "policies.halfspaces:Halfspaces",
        "linear_rules": "policies.linear:LinearRules",
        "finite_class": "policies.listed:FiniteClass",
        "rule_lists": "policies.rule_lists:RuleLists",
        "box_rules": "policies.boxes:BoxRules",
        "monotone_rules": "policies.monotone:MonotoneRules",
    },
    "policy": {  # what a class's answers are, by the name that stands in their JSON
        "BoxRule": "policies.boxes:BoxRule",
        "ListedPolicy": "policies.listed:ListedPolicy",
        "DecisionTree": "policies.trees:DecisionTree",
        "RuleList": "policies.rule_lists:RuleList",
        "ThresholdRule": "policies.thresholds:ThresholdRule",
        "HalfspaceRule": "policies.halfspaces:HalfspaceRule",
        "HighestScore": "policies.linear:HighestScore",
        "LinearRule": "policies.linear:LinearRule",
        "MonotoneRule": "policies.monotone:MonotoneRule",
    },
    "solver": {
        "copt": "milpcb.solvers.copt:Copt",
        "cplex": "milpcb.solvers.cplex:Cplex",
        "gurobi": "milpcb.solvers.gurobi:Gurobi",
        "highs": "milpcb.solvers.highs:Highs",
        "pulp": "milpcb.solvers.pulp:Pulp",
        "scip": "milpcb.solvers.scip:Scip",
        "scipy": "milpcb.solvers.scipy:Scipy",
        "xpress": "milpcb.solvers.xpress:Xpress",
    },
    "oracle": {
        "milp": "milpcb.oracles.milp:MilpOracle",
        "search": "milpcb.oracles.search:SearchOracle",
        "enumeration": "milpcb.oracles.search:EnumerationOracle",
        "audited": "milpcb.oracles.audited:AuditedOracle",
    },
    "relaxation": {
        "paper": "milpcb.relaxations.paper:Paper",
        "centred": "milpcb.relaxations.paper:Centred",
        "bistro": "milpcb.relaxations.paper:Bistro",
        "half": "milpcb.relaxations.paper:Half",
        "coordinate": "milpcb.relaxations.coordinate:Coordinate",
        "signed": "milpcb.relaxations.coordinate:Signed",
    },
    "learner": {
        "best_in_hindsight": "milpcb.learners.comparators:BestInHindsight",
        "bistro_plus": "milpcb.learners.bistro_plus:BistroPlus",
        "conservative": "milpcb.learners.conservative:Conservative",
        "contextualbandits": "milpcb.learners.rivals:ContextualBandits",
        "doubling": "milpcb.learners.around:Doubling",
        "epoch_greedy": "milpcb.learners.greedy:EpochGreedy",
        "epsilon_greedy": "milpcb.learners.greedy:EpsilonGreedy",
        "guarded": "milpcb.learners.around:Guarded",
        "exp4": "milpcb.learners.exp4:Exp4",
        "exp4p": "milpcb.learners.enumerated:Exp4P",
        "explore_then_commit": "milpcb.learners.greedy:ExploreThenCommit",
        "fixed_share": "milpcb.learners.fixed_share:FixedShare",
        "forgetting": "milpcb.learners.exp4:Forgetting",
        "ftpl": "milpcb.learners.ftpl:ContextualFTPL",
        "hedge": "milpcb.learners.enumerated:Hedge",
        "ilovetoconbandits": "milpcb.learners.low_variance:ILoveToConBandits",
        "policy_elimination": "milpcb.learners.enumerated:PolicyElimination",
        "randomized_ucb": "milpcb.learners.low_variance:RandomizedUCB",
        "uniform": "milpcb.learners.comparators:Uniform",
        "vw": "milpcb.learners.rivals:VW",
    },
    "environment": {
        "planted": "milpcb.environments.planted:Planted",
        "switching": "milpcb.environments.planted:Switching",
        "drifting": "milpcb.environments.planted:Drifting",
        "late_bloomer": "milpcb.environments.planted:LateBloomer",
        "alternating_leader": "milpcb.environments.planted:AlternatingLeader",
        "seasonal": "milpcb.environments.planted:Seasonal",
        "parity": "milpcb.environments.planted:Parity",
        "mirror": "milpcb.environments.mirror:Mirror",
        "supervised": "milpcb.environments.recorded:Supervised",
        "replay": "milpcb.environments.recorded:Replay",
    },
    "constraint": {
        "share_at_most": "milpcb.constraints:share_at_most",
        "parity": "milpcb.constraints:parity",
        "mean_at_most": "milpcb.constraints:mean_at_most",
        "never": "milpcb.constraints:never",
        "always": "milpcb.constraints:always",
    },
    "backend": {
        "serial": "milpcb.experiments.run.backends:Serial",
        "processes": "milpcb.experiments.run.backends:Processes",
        "dask": "milpcb.experiments.run.backends.dask:Dask",
    },
    "figure": {
        "regret": "milpcb.experiments.results.figures.rounds:regret",
        "costs": "milpcb.experiments.results.figures.rounds:costs",
        "regret_loglog": "milpcb.experiments.results.figures.rounds:regret_loglog",
        "finals": "milpcb.experiments.results.figures.rows:finals",
        "overview": "milpcb.experiments.results.figures.overview:overview",
        "times": "milpcb.experiments.results.figures.rows:times",
        "queries": "milpcb.experiments.results.figures.rows:queries",
        "horizons": "milpcb.experiments.results.figures.scaling:horizons",
        "against": "milpcb.experiments.results.figures.scaling:against",
    },
    "command": {
        "run": "milpcb.commands.run:run",
        "resume": "milpcb.commands.run:resume",
        "plot": "milpcb.commands.run:plot",
        "report": "milpcb.commands.run:report",
        "solve": "milpcb.commands.solve:solve",
        "log": "milpcb.commands.log:log",
        "learn": "milpcb.commands.learn:learn",
        "evaluate": "milpcb.commands.evaluate:evaluate",
        "plan": "milpcb.commands.plan:plan",
        "certify": "milpcb.commands.solve:certify",
        "bound": "milpcb.commands.plan:bound",
        "solvers": "milpcb.commands.machine:solvers",
        "verify": "milpcb.commands.verify:verify",
        "compile": "milpcb.commands.machine:compile_code",
        "list": "milpcb.commands.listing:list_names",
        "schema": "milpcb.commands.listing:schema",
        "new": "milpcb.commands.listing:new",
    },
    "battery": {
        "environment": "milpcb.testing.environments:battery",
        "learner": "milpcb.testing.learners:battery",
        "policies": "milpcb.testing.policies:battery",
        "solver": "milpcb.testing.solvers:battery",
    },
}


def entries(kind: str) -> dict[str, str]:
    """Return ``module:Class`` by name for all registered names of a kind: the built-in ones in order, then others."""
    return dict(_known(kind))


def names(kind: str) -> list[str]:
    """Return the registered names of a kind, sorted."""
    return sorted(_known(kind))


def target(kind: str, name: str) -> str:
    """Return ``module:Class`` of a name, which may be that itself; raises UnknownNameError with the nearest name."""
    read = gate.parse_name(name)
    if read and isinstance(kind, str) and name in BUILTIN.get(kind, {}):
        return BUILTIN[kind][name]
    table = _known(kind)
    if read is None and isinstance(name, str):
        raise InputError(f"{kind} '{clipped(name)}' is no name; write module:Class for a class of your own")
    if read is None or not (any(read) or name in table):
        raise UnknownNameError(KINDS[kind].called, name, table)
    if any(read):
        local_classes.check(kind, KINDS[kind].called, name)
        return name
    return table[name]


def load(kind: str, name: str) -> Any:
    """Import and return the object of a name; raises InputError unless it fits the interface of its kind."""
    module, _, attribute = target(kind, name).partition(":")
    with local_classes.open_folder() if ":" in name else nullcontext():
        try:
            entry = attrgetter(attribute.partition(" ")[0])(import_module(module))
        except (KeyboardInterrupt, MemoryError):
            raise
        except BaseException as error:  # a module may raise anything, and try to exit
            raise InputError(f"{kind} '{clipped(name)}' cannot be loaded: {_why(module, error)}") from error
        problem = _mismatch(KINDS[kind], entry)
    if problem:
        raise InputError(f"{kind} '{clipped(name)}' {problem}")
    return entry


def _why(module: str, error: BaseException) -> str:
    if isinstance(error, ModuleNotFoundError):
        where = "".join(f"; looked in {folder} and the installed packages" for folder in local_classes.folders())
        return f"{error}{where}; install the package that brings it, or put the file beside the config"
    if isinstance(error, AttributeError) and error.name and error.obj is sys.modules.get(module):
        return f"{getattr(error.obj, '__file__', None) or module} has no '{error.name}'"
    return cause(error)


def _known(kind: str) -> dict[str, str]:
    if not isinstance(kind, str) or kind not in BUILTIN:
        raise UnknownNameError("kind", kind, BUILTIN)
    return _table(kind)


@cache
def _table(kind: str) -> dict[str, str]:
    table = dict(BUILTIN[kind])
    for point in entry_points(group=f"milpcb.{kind}"):
        if point.name in table:
            raise InputError(f"{kind} '{point.name}' is registered twice: by {table[point.name]} and {point.value}")
        table[point.name] = point.value
    return table


@cache
def _mismatch(wanted: Kind, entry: Any) -> str:
    """Return how an entry fails the Protocol or base class of its kind; "" where it fits."""
    module, _, name = wanted.interface.partition(":")
    interface = getattr(import_module(module), name)
    right, must = isinstance(entry, type), f"class that implements {wanted.interface}"
    if wanted.form == "value":
        right, must = isinstance(entry, interface), wanted.interface
    elif wanted.form == "function":
        right, must = callable(entry), "function"
    if not right:
        return f"is a {'function' if isinstance(entry, FunctionType) else type(entry).__name__}, and must be a {must}"
    if wanted.form != "class":
        return ""
    if getattr(interface, "_is_protocol", False):
        own = {*vars(interface), *getattr(interface, "__annotations__", ())} - _names(entry)
        missing = ", ".join(sorted(name for name in own if not name.startswith("_")))
        return f"is a class without {missing} of {wanted.interface}" if missing else ""
    if not issubclass(entry, interface):
        return f"is a class that does not inherit from {wanted.interface}"
    left = ", ".join(sorted(getattr(entry, "__abstractmethods__", ())))
    return f"is not finished: {left} of {wanted.interface} is missing" if left else ""


def _names(entry: type) -> set[str]:
    """Return the names that a class has: attributes, annotations, and those that its constructors set."""
    found = {*dir(entry)}
    for cls in entry.__mro__:
        maker = vars(cls).get("__init__")
        found |= {*vars(cls).get("__annotations__", ()), *getattr(getattr(maker, "__code__", None), "co_names", ())}
    return found
