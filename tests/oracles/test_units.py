"""Costs in any unit: the policy that is best in one is best in all, by every kind of oracle and every solver."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from milpcb import LabelConstraint, open_oracle
from milpcb.errors import InputError
from milpcb.protocols import PolicyClass
from milpcb.solvers import describe_all
from milpcb.types import PROVED, Floats, Stop
from policies import (
    BoxRules,
    DecisionTrees,
    FiniteClass,
    Halfspaces,
    LinearRules,
    MonotoneRules,
    RuleLists,
    ThresholdRules,
)

UNITS = [1e-300, 1e300]
CONTEXTS = np.random.default_rng(0).integers(0, 3, (12, 3)).astype(float)
TREES = DecisionTrees(3, depth=2, thresholds=2)
SOLVERS = ["highs", "scip", "scipy", "gurobi", "cplex", "xpress", "copt", "pulp:PULP_CBC_CMD"]
BUDGET = LabelConstraint(np.tile([0.0, 1.0, 0.5], (12, 1)), 4.0, "budget")


def tables(n_actions: int = 3) -> Iterator[Floats]:
    """Yield costs whose best policies are hard to tell apart: small differences, a large part that all pay."""
    rng = np.random.default_rng(1)
    yield rng.normal(size=(12, n_actions))
    yield rng.integers(-2, 3, (12, n_actions)) + 1e-6 * rng.normal(size=(12, n_actions))


def span(costs: Floats) -> float:
    """Return the range of total costs."""
    return float((costs.max(axis=1) - costs.min(axis=1)).sum())


def needs(solver: str) -> None:
    """Skip, with the reason, where a solver cannot run."""
    missing = {info.name: info.missing for info in describe_all()}[solver]
    if missing:
        pytest.skip(f"{solver}: {missing}")


def check(policies: PolicyClass, contexts: Floats, n_actions: int, **options: Any) -> None:
    """Values, policies and profiles are those of the list of all policies, in every unit."""
    constraints = options.get("constraints", ())
    listed = open_oracle(policies, contexts, kind="enumeration", constraints=constraints)
    oracle = open_oracle(policies, contexts, **options)
    rows = np.arange(len(contexts))
    for costs in tables(n_actions):
        least, profile = listed.value(costs), listed.profile(costs, 3)
        for unit in UNITS:
            near = 1.01 * PROVED * span(costs)
            answer = oracle.minimise(costs * unit)
            assert answer.stop is Stop.OPTIMAL
            assert abs(answer.value / unit - least) <= near, (unit, answer, least)
            assert answer.lower / unit >= least - 2 * near
            assert abs(costs[rows, answer.policy.predict(contexts)].sum() - least) <= near
            assert abs(oracle.value(costs * unit) / unit - least) <= near
            np.testing.assert_allclose(oracle.profile(costs * unit, 3) / unit, profile, rtol=0, atol=near)


@pytest.mark.parametrize("constrained", [False, True])
@pytest.mark.parametrize("solver", SOLVERS)
def test_every_solver_answers_in_any_unit(solver: str, constrained: bool) -> None:
    """From 1e-300 to 1e300 a solver proves the same policy, with a side constraint and without."""
    needs(solver)
    check(TREES, CONTEXTS, 3, solver=solver, constraints=[BUDGET] if constrained else [])


@pytest.mark.parametrize("kind", ["search", "enumeration", "audited"])
def test_every_kind_answers_in_any_unit(kind: str) -> None:
    """So do the search, the list, and the search that is audited by HiGHS at every question."""
    check(TREES, CONTEXTS, 3, kind=kind, **({"audit": 1.0} if kind == "audited" else {}))


NEVER_ONE = np.random.default_rng(2).integers(0, 2, (9, 12))
NEVER_ONE[:, 3] = 0  # no policy plays action 1 on context 3, so its profile is infinite there
CLASSES = {
    "threshold rules": (ThresholdRules(3, max_cuts=2), 3),
    "rule lists": (RuleLists(2), 2),
    "boxes": (BoxRules(2), 2),
    "linear rules": (LinearRules(2, max_weight=2), 2),
    "halfspaces": (Halfspaces(), 2),
    "monotone rules": (MonotoneRules(2), 2),
    "a list": (FiniteClass(NEVER_ONE, 2), 2),
}


@pytest.mark.parametrize(
    ("name", "kind"),
    [(name, kind) for name in CLASSES for kind in ("milp", "search") if (name, kind) != ("halfspaces", "search")],
)
def test_every_class_answers_in_any_unit(name: str, kind: str) -> None:
    """Programs and searches of all classes; halfspaces have no search."""
    policies, n_actions = CLASSES[name]
    check(policies, CONTEXTS, n_actions, kind=kind)


@pytest.mark.parametrize("kind", ["milp", "search", "enumeration", "audited"])
def test_a_sum_that_overflows_is_one_line(kind: str) -> None:
    """Costs whose sums are no floats are refused; single ones may be as large as they like."""
    oracle = open_oracle(TREES, CONTEXTS, kind=kind)
    with pytest.raises(InputError, match=r"add up to more than 1e\+306; give costs in a larger unit"):
        oracle.value(np.full((12, 3), 1e305))
    largest = np.zeros((12, 3))
    largest[3, 1] = -9e305
    assert oracle.value(largest) == -9e305


@pytest.mark.parametrize("solver", SOLVERS)
def test_whole_costs_are_exact_where_solvers_tell_totals_apart(solver: str) -> None:
    """Totals in the millions that differ by one are told apart; those of 1e12 by 1e-9 of their range."""
    needs(solver)
    oracle, listed = open_oracle(TREES, CONTEXTS, solver=solver), open_oracle(TREES, CONTEXTS, kind="enumeration")
    rng = np.random.default_rng(6)
    for _ in range(3):
        costs = rng.integers(-9, 10, (12, 3)) * 100_003.0 + rng.integers(-9, 10, (12, 3))
        assert oracle.value(costs) == listed.value(costs)
        large = costs * 1e6
        assert abs(oracle.value(large) - listed.value(large)) <= PROVED * span(large)


@pytest.mark.parametrize("unit", [5e-324, 1e-307, 1e-305, 1e-300, 1.0, 1e300])
def test_where_all_costs_are_alike_each_action_has_its_policy(unit: float) -> None:
    """A solver prices other actions out by a small share of the costs, which it must see in the smallest units too."""
    costs = np.full((12, 3), unit)
    oracle = open_oracle(TREES, CONTEXTS, constraints=[BUDGET])
    np.testing.assert_allclose(oracle.profile(costs, 3) / unit, np.full(3, 12.0))


@pytest.mark.parametrize("kind", ["search", "enumeration"])
@pytest.mark.parametrize("constraints", [(), (BUDGET,)], ids=["free", "budget"])
def test_a_rate_beyond_all_costs_puts_all_weight_on_the_least_total(kind: str, constraints: tuple[Any, ...]) -> None:
    """Where rate times costs is beyond the largest number, weights are those of the limit, and no NaN."""
    costs = np.random.default_rng(0).normal(size=(12, 3))
    oracle = open_oracle(TREES, CONTEXTS, kind=kind, constraints=constraints)
    best = oracle.profile(costs, 3).argmin()
    for unit, rate in ((1e200, 1e200), (1e300, 1e10), (1.0, 1e300), (1e-300, 1e307)):
        assert oracle.action_weights(costs * unit, 3, rate).tolist() == np.eye(3)[best].tolist()
