"""One dict of names. Importing it imports no implementation and no vendor.

Third parties add names through entry points: the group is ``milpcb.<kind>``, the value ``module:Class``. A config may also
name a class of its own folder as ``module:Class``, without any registration.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from importlib.metadata import entry_points
from typing import Any

from milpcb.errors import InputError, UnknownNameError

BUILTIN: dict[str, dict[str, str]] = {
    "policies": {
        "decision_trees": "policies.trees:DecisionTrees",
        "threshold_rules": "policies.thresholds:ThresholdRules",
        "halfspaces": "policies.halfspaces:Halfspaces",
        "linear_rules": "policies.linear:LinearRules",
        "finite_class": "policies.finite:FiniteClass",
        "rule_lists": "policies.rule_lists:RuleLists",
        "box_rules": "policies.boxes:BoxRules",
        "monotone_rules": "policies.monotone:MonotoneRules",
    },
    "policy": {  # what a class's answers are, by the name that stands in their JSON
        "ThresholdRule": "policies.thresholds:ThresholdRule",
        "HalfspaceRule": "policies.halfspaces:HalfspaceRule",
        "LinearRule": "policies.linear:LinearRule",
        "MonotoneRule": "policies.monotone:MonotoneRule",
    },
    "solver": {
        "highs": "milpcb.solvers.highs:Highs",
        "pulp": "milpcb.solvers.pulp:Pulp",
        "scip": "milpcb.solvers.scip:Scip",
        "scipy": "milpcb.solvers.scipy:Scipy",
    },
    "oracle": {
        "milp": "milpcb.oracles.milp:MilpOracle",
        "search": "milpcb.oracles.search:SearchOracle",
        "enumeration": "milpcb.oracles.enumeration:EnumerationOracle",
        "audited": "milpcb.oracles.audited:AuditedOracle",
    },
    "relaxation": {
        "paper": "milpcb.relaxations.paper:Paper",
        "centred": "milpcb.relaxations.centred:Centred",
        "bistro": "milpcb.relaxations.bistro:Bistro",
        "half": "milpcb.relaxations.half:Half",
        "coordinate": "milpcb.relaxations.coordinate:Coordinate",
    },
    "learner": {
        "best_in_hindsight": "milpcb.learners.best_in_hindsight:BestInHindsight",
        "bistro_plus": "milpcb.learners.bistro_plus:BistroPlus",
        "doubling": "milpcb.learners.doubling:Doubling",
        "epoch_greedy": "milpcb.learners.epoch_greedy:EpochGreedy",
        "epsilon_greedy": "milpcb.learners.epsilon_greedy:EpsilonGreedy",
        "exp4": "milpcb.learners.exp4:Exp4",
        "exp4p": "milpcb.learners.exp4p:Exp4P",
        "explore_then_commit": "milpcb.learners.explore_then_commit:ExploreThenCommit",
        "ftpl": "milpcb.learners.ftpl:ContextualFTPL",
        "hedge": "milpcb.learners.hedge:Hedge",
        "ilovetoconbandits": "milpcb.learners.ilovetoconbandits:ILoveToConBandits",
        "policy_elimination": "milpcb.learners.policy_elimination:PolicyElimination",
        "randomized_ucb": "milpcb.learners.randomized_ucb:RandomizedUCB",
        "uniform": "milpcb.learners.uniform:Uniform",
    },
    "environment": {
        "planted": "milpcb.environments.planted:Planted",
        "switching": "milpcb.environments.switching:Switching",
        "drifting": "milpcb.environments.drifting:Drifting",
        "late_bloomer": "milpcb.environments.late_bloomer:LateBloomer",
        "alternating_leader": "milpcb.environments.alternating_leader:AlternatingLeader",
        "seasonal": "milpcb.environments.seasonal:Seasonal",
        "parity": "milpcb.environments.parity:Parity",
        "heavy_noise": "milpcb.environments.heavy_noise:HeavyNoise",
        "supervised": "milpcb.environments.supervised:Supervised",
        "replay": "milpcb.environments.replay:Replay",
    },
    "constraint": {
        "share_at_most": "milpcb.experiments.study.side_constraints:share_at_most",
        "never_play": "milpcb.experiments.study.side_constraints:never_play",
        "must_play": "milpcb.experiments.study.side_constraints:must_play",
        "parity": "milpcb.experiments.study.side_constraints:parity",
        "mean_at_most": "milpcb.experiments.study.side_constraints:mean_at_most",
    },
    "backend": {
        "serial": "milpcb.experiments.run.backends.serial:Serial",
        "processes": "milpcb.experiments.run.backends.processes:Processes",
        "dask": "milpcb.experiments.run.backends.dask:Dask",
    },
}


def names(kind: str) -> list[str]:
    """Return the registered names of a kind, sorted."""
    return sorted(_table(kind))


def target(kind: str, name: str) -> str:
    """Return ``module:Class`` behind a name, which may be that itself; raises UnknownNameError with the nearest name."""
    if ":" in name:
        return name
    table = _table(kind)
    if name not in table:
        raise UnknownNameError("policy class" if kind == "policies" else kind, name, table)
    return table[name]


def load(kind: str, name: str) -> Any:
    """Import and return the class behind a name; raises InputError when what is registered is not there."""
    module, _, attribute = target(kind, name).partition(":")
    try:
        return getattr(import_module(module), attribute)
    except (ImportError, AttributeError) as error:
        raise InputError(
            f"{kind} '{name}' cannot be loaded: {error}; install the package that brings it, or run where the module is"
        ) from error


@cache
def _table(kind: str) -> dict[str, str]:
    table = dict(BUILTIN[kind])
    for point in entry_points(group=f"milpcb.{kind}"):
        if point.name in table:
            raise InputError(f"{kind} '{point.name}' is registered twice: by {table[point.name]} and {point.value}")
        table[point.name] = point.value
    return table
