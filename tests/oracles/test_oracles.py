"""The oracle's seam: exactness, proofs, counting, and what it refuses."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from milpcb import LabelConstraint, open_oracle
from milpcb.errors import InfeasibleError, InputError, OracleInexact, SolverFailedError, UnknownNameError
from milpcb.oracles.base import Oracle
from milpcb.oracles.milp import MilpOracle
from milpcb.types import Floats, Solution, Stop
from policies import DecisionTrees, FiniteClass

CONTEXTS = np.array([[0, 0], [0, 1], [1, 0], [1, 1], [0, 1]], float)
TREES = DecisionTrees(n_actions=3, depth=1)


def costs_of(seed: int, shape: tuple[int, int] = (5, 3)) -> Floats:
    """Return whole costs of both signs."""
    return np.random.default_rng(seed).integers(-9, 10, shape).astype(float)


@pytest.fixture(params=["milp", "enumeration"])
def oracle(request: pytest.FixtureRequest) -> Oracle:
    """One oracle of each kind on the same contexts."""
    return open_oracle(TREES, CONTEXTS, kind=request.param)


def test_every_question_is_counted_and_timed(oracle: Oracle) -> None:
    """Value, minimise and profile count as one question each."""
    oracle.value(costs_of(0))
    oracle.minimise(costs_of(0))
    oracle.profile(costs_of(0), 2)
    assert oracle.calls == 3
    assert oracle.seconds > 0


@given(seed=st.integers(0, 10_000))
@settings(max_examples=40, deadline=None)
def test_whole_costs_give_whole_values(seed: int) -> None:
    """With whole costs the value is an integer, with nothing left of the solver's rounding."""
    value = open_oracle(TREES, CONTEXTS).value(costs_of(seed))
    assert value == round(value)


def test_kinds_agree(oracle: Oracle) -> None:
    """The answer does not depend on the kind of oracle."""
    reference = open_oracle(TREES, CONTEXTS, kind="enumeration")
    for seed in range(20):
        costs = costs_of(seed)
        assert oracle.value(costs) == reference.value(costs)
        assert (oracle.profile(costs, 3) == reference.profile(costs, 3)).all()


def test_repeated_rows_share_an_action() -> None:
    """Rows that no policy tells apart are merged: their costs add up and their label is one."""
    oracle = open_oracle(TREES, CONTEXTS)
    costs = np.zeros((5, 3))
    costs[1, 0], costs[4, 1] = -5.0, -4.0  # rows 1 and 4 are the same context
    assert oracle.value(costs) == -5.0


def test_large_whole_costs_stay_exact() -> None:
    """Totals in the millions are still proved to the unit."""
    costs = costs_of(3) * 1_000_003 + costs_of(4)
    expected = open_oracle(TREES, CONTEXTS, kind="enumeration").value(costs)
    assert open_oracle(TREES, CONTEXTS).value(costs) == expected


def test_caller_keeps_its_costs(oracle: Oracle) -> None:
    """No question changes the array it was given."""
    costs = costs_of(1)
    before = costs.copy()
    oracle.profile(costs, 0)
    oracle.minimise(costs)
    assert (costs == before).all()


class LyingSession:
    """A solver that claims an optimum it does not have, or runs out of time."""

    def __init__(self, solution: Solution) -> None:
        self._solution = solution

    def solve(self, *_: object, **__: object) -> Solution:
        """Return the canned solution."""
        return self._solution


def replaced(solution: Solution) -> MilpOracle:
    """Return an oracle whose solver says ``solution`` to everything."""
    oracle = open_oracle(TREES, CONTEXTS)
    assert isinstance(oracle, MilpOracle)
    oracle._session = LyingSession(solution)  # type: ignore[assignment]
    return oracle


def test_a_claimed_optimum_is_checked_against_its_policy() -> None:
    """A solver whose bound is below the cost of the policy it returns is caught."""
    honest = open_oracle(TREES, CONTEXTS)
    assert isinstance(honest, MilpOracle)
    costs = costs_of(2)
    right = honest._session.solve(honest._encoding.objective(honest._checked(costs)).coefficients)
    with pytest.raises(OracleInexact, match="claims an optimum"):
        replaced(Solution(Stop.OPTIMAL, right.objective - 3, right.bound - 3, right.x)).minimise(costs)


def test_a_time_limited_incumbent_is_a_bound_never_a_value() -> None:
    """Bounds and policy are there; asking for the value raises."""
    honest = open_oracle(TREES, CONTEXTS)
    assert isinstance(honest, MilpOracle)
    costs = costs_of(2)
    best = honest.value(costs)
    incumbent = honest._session.solve(np.zeros(honest.program.n_columns))
    oracle = replaced(Solution(Stop.TIME_LIMIT, np.inf, best - 7.5, incumbent.x))
    answer = oracle.minimise(costs)
    assert answer.stop is Stop.TIME_LIMIT
    assert answer.lower <= best <= answer.upper
    with pytest.raises(OracleInexact, match="time"):
        _ = answer.value
    with pytest.raises(OracleInexact, match="time"):
        oracle.value(costs)


def test_a_gap_below_one_proves_a_whole_value() -> None:
    """With whole costs a bound within 0.999 of the incumbent is a proof, even at a time limit."""
    honest = open_oracle(TREES, CONTEXTS)
    assert isinstance(honest, MilpOracle)
    costs = costs_of(2)
    right = honest._session.solve(honest._encoding.objective(honest._checked(costs)).coefficients)
    answer = replaced(Solution(Stop.TIME_LIMIT, right.objective, right.bound - 0.999, right.x)).minimise(costs)
    assert answer.stop is Stop.OPTIMAL
    assert answer.value == honest.value(costs)


@pytest.mark.parametrize("kind", ["milp", "enumeration"])
def test_infeasible_constraints_are_named(kind: str) -> None:
    """A budget that no policy meets is refused at opening, by its name."""
    everyone = np.ones((5, 3))
    with pytest.raises(InfeasibleError, match="'at most two'"):
        open_oracle(TREES, CONTEXTS, kind=kind, constraints=[LabelConstraint(everyone, 2, "at most two")])


@pytest.mark.parametrize("kind", ["milp", "enumeration"])
def test_a_budget_row_holds(kind: str) -> None:
    """The best policy under a budget is worse than the free one, and within the budget."""
    weights = np.zeros((5, 3))
    weights[:, 2] = 1
    costs = np.tile([3.0, 2.0, -1.0], (5, 1))
    oracle = open_oracle(TREES, CONTEXTS, kind=kind, constraints=[LabelConstraint(weights, 2)])
    assert open_oracle(TREES, CONTEXTS).value(costs) == -5
    assert oracle.value(costs) == 2 * -1 + 3 * 2


@pytest.mark.parametrize(
    ("call", "fragment"),
    [
        (lambda o: o.value(np.zeros((4, 3))), r"shape \(4, 3\)"),
        (lambda o: o.value(np.zeros((5, 2))), r"\(5, 3\)"),
        (lambda o: o.value([[1, 2], [3]]), "rectangular"),
        (lambda o: o.value([["a"] * 3] * 5), "numbers"),
        (lambda o: o.value(np.full((5, 3), np.nan)), r"costs\[0, 0\] is nan"),
        (lambda o: o.minimise(np.where(np.eye(5, 3) == 1, np.inf, 0.0)), "costs must be finite"),
        (lambda o: o.profile(np.zeros((5, 3)), 5), "row .* got 5"),
        (lambda o: o.profile(np.zeros((5, 3)), -1), "row .* got -1"),
    ],
)
def test_bad_questions_are_one_clear_line(oracle: Oracle, call: object, fragment: str) -> None:
    """Wrong shapes and numbers that are not finite are named."""
    with pytest.raises(InputError, match=fragment) as caught:
        call(oracle)  # type: ignore[operator]
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("arguments", "fragment"),
    [
        ({"contexts": np.zeros(3)}, "table"),
        ({"contexts": np.zeros((0, 2))}, "at least one"),
        ({"contexts": [[0.0, np.nan]]}, r"contexts\[0, 1\] is nan"),
        ({"contexts": [["a", "b"]]}, "numbers"),
        ({"contexts": CONTEXTS, "kind": "mlip"}, "did you mean 'milp'"),
        ({"contexts": CONTEXTS, "constraints": [LabelConstraint(np.zeros((2, 3)), 1)]}, r"\(5, 3\)"),
        ({"contexts": CONTEXTS, "constraints": [LabelConstraint(np.full((5, 3), np.inf), 1)]}, "finite"),
    ],
)
def test_bad_openings_are_one_clear_line(arguments: dict[str, object], fragment: str) -> None:
    """Contexts, kind and constraints are checked when the oracle is opened."""
    with pytest.raises(InputError, match=fragment):
        open_oracle(TREES, **arguments)  # type: ignore[arg-type]


def test_too_many_policies_are_not_enumerated(monkeypatch: pytest.MonkeyPatch) -> None:
    """Enumeration stops at its limit and says what to do."""
    monkeypatch.setattr("milpcb.oracles.enumeration.LARGEST", 10)
    with pytest.raises(InputError, match="use oracle kind 'milp'"):
        open_oracle(TREES, CONTEXTS, kind="enumeration")


def test_unknown_kind_is_an_unknown_name() -> None:
    """An unknown oracle kind names the nearest one."""
    with pytest.raises(UnknownNameError, match="enumeration"):
        open_oracle(TREES, CONTEXTS, kind="enumerate")


def test_the_milp_oracle_solves_an_lp_where_the_encoding_is_integral() -> None:
    """Integral encodings open relaxed; a side constraint brings integrality back."""
    free = open_oracle(FiniteClass([[0, 1], [1, 1]], 2), [[0.0], [1.0]])
    bound = open_oracle(FiniteClass([[0, 1], [1, 1]], 2), [[0.0], [1.0]], constraints=[LabelConstraint(np.eye(2), 1.5)])
    assert isinstance(free, MilpOracle)
    assert isinstance(bound, MilpOracle)
    assert (free.program.integral, bound.program.integral) == (True, False)


HARD = (DecisionTrees(3, depth=2), (np.random.default_rng(0).random((60, 6)) < 0.5).astype(float))
SOLVERS_WITH_LIMITS = ["highs", "pulp:PULP_CBC_CMD", "scipy", "scip"]


@pytest.mark.parametrize("constrained", [False, True])
@pytest.mark.parametrize("solver", SOLVERS_WITH_LIMITS)
def test_no_time_means_what_is_known_at_once(solver: str, constrained: bool) -> None:
    """With time limit 0 the bounds are honest, a policy attains the upper one, and only a proof has a value."""
    if solver == "scip":
        pytest.importorskip("pyscipopt", reason="scip: needs PySCIPOpt")
    budget = LabelConstraint(np.tile([0.0, 0.0, 1.0], (60, 1)), 9.5, "budget")
    costs = costs_of(0, (60, 3))
    options = {"solver": solver, "constraints": [budget] if constrained else []}
    least = open_oracle(*HARD, **options).value(costs)
    oracle = open_oracle(*HARD, **options, time_limit=0)
    answer = oracle.minimise(costs)
    assert answer.lower <= least <= answer.upper
    if answer.policy is None:
        assert answer.upper == np.inf
    else:
        assert costs[np.arange(60), answer.policy.predict(HARD[1])].sum() == answer.upper
    if answer.stop is not Stop.OPTIMAL:
        for question in (lambda: answer.value, lambda: oracle.value(costs), lambda: oracle.profile(costs, 0)):
            with pytest.raises(OracleInexact, match="time"):
                question()


def test_the_sum_of_the_least_costs_is_a_lower_bound() -> None:
    """Without any time the lower bound is at least what every context alone would cost."""
    costs = costs_of(0, (60, 3))
    answer = open_oracle(*HARD, time_limit=0).minimise(costs)
    assert answer.stop is Stop.TIME_LIMIT
    assert answer.lower >= costs.min(axis=1).sum()


@pytest.mark.parametrize("kind", ["milp", "audited"])
@pytest.mark.parametrize("limit", [-1, -1e-9, np.nan, -np.inf, "1", True])
def test_a_time_limit_that_is_none_is_refused(kind: str, limit: object) -> None:
    """A negative limit, NaN and what is no number are refused at opening, by every kind that has one."""
    with pytest.raises(InputError, match="time_limit must be seconds"):
        open_oracle(TREES, CONTEXTS, kind=kind, time_limit=limit)  # type: ignore[arg-type]


@pytest.mark.parametrize("solver", ["highs", "pulp:PULP_CBC_CMD", "scipy"])
def test_an_infinite_time_limit_is_no_limit(solver: str) -> None:
    """Infinity means None."""
    expected = open_oracle(TREES, CONTEXTS).value(costs_of(1))
    assert open_oracle(TREES, CONTEXTS, solver=solver, time_limit=np.inf).value(costs_of(1)) == expected


@pytest.mark.parametrize("stop", [Stop.FAILED, Stop.UNKNOWN, Stop.UNBOUNDED, Stop.INFEASIBLE])
def test_a_solver_that_fails_gives_no_value(stop: Stop) -> None:
    """On a free class, which is never empty, even 'infeasible' is the solver's failure; it is one line."""
    oracle = replaced(Solution(stop, np.inf, -np.inf))
    for question in (oracle.value, oracle.minimise, lambda costs: oracle.profile(costs, 0)):
        with pytest.raises(SolverFailedError, match=f"stopped with '{stop}'") as caught:
            question(costs_of(2))
        assert "\n" not in str(caught.value)


@pytest.mark.parametrize("stop", [Stop.OPTIMAL, Stop.TIME_LIMIT])
def test_a_bound_above_a_policys_cost_is_a_lie(stop: Stop) -> None:
    """A solver whose lower bound exceeds the cost of the policy it returns is caught."""
    honest = open_oracle(TREES, CONTEXTS)
    assert isinstance(honest, MilpOracle)
    costs = costs_of(2)
    right = honest._session.solve(honest._encoding.objective(honest._checked(costs)).coefficients)
    with pytest.raises(OracleInexact, match="claims a lower bound"):
        replaced(Solution(stop, right.objective, right.bound + 3, right.x)).minimise(costs)


def test_a_session_can_be_closed_twice() -> None:
    """Closing frees the solver and may be repeated."""
    oracle = open_oracle(TREES, CONTEXTS)
    assert isinstance(oracle, MilpOracle)
    oracle.close()
    oracle.close()


def test_a_class_must_open_itself() -> None:
    """A class of somebody's own whose ``on`` forgets to return is named, not what came of it."""

    class Forgetful(DecisionTrees):
        def on(self, contexts: object) -> None:  # type: ignore[override]
            del contexts

    with pytest.raises(InputError, match=r"Forgetful\.on must return an Opened, got None"):
        open_oracle(Forgetful(2), np.eye(2))
