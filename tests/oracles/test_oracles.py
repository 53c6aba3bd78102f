"""The oracle's seam: exactness, proofs, counting, and what it refuses."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from milpcb import LabelConstraint, open_oracle
from milpcb.errors import InputError, OracleInexact, SolverFailedError
from milpcb.oracles.base import Oracle
from milpcb.oracles.milp import MilpOracle
from milpcb.solvers.lazy import LazySession
from milpcb.types import Floats, Solution, Stop
from policies import DecisionTrees, FiniteClass
from tests.refused import refused

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


def test_caller_keeps_its_costs(oracle: Oracle) -> None:
    """No question changes the array it was given."""
    costs = costs_of(1)
    before = costs.copy()
    oracle.profile(costs, 0)
    oracle.minimise(costs)
    assert (costs == before).all()


Lie = Callable[[Solution], Solution]
Lying = Callable[[Lie], Any]


class LyingSession:
    """A session of a solver that answers otherwise than it found."""

    def __init__(self, session: Any, lie: Lie) -> None:
        self._session, self._lie = session, lie

    def solve(self, *arguments: Any, **options: Any) -> Solution:
        """Return what is made of the solution."""
        return self._lie(self._session.solve(*arguments, **options))


@pytest.fixture
def lying(monkeypatch: pytest.MonkeyPatch) -> Lying:
    """Return ``lying(lie)``: an oracle whose solver answers with what ``lie`` makes of its solution."""

    def made(lie: Lie) -> Any:
        with monkeypatch.context() as patched:
            patched.setattr("milpcb.oracles.milp.LazySession", lambda *given: LyingSession(LazySession(*given), lie))
            return open_oracle(TREES, CONTEXTS)

    return made


@pytest.mark.parametrize(
    ("lie", "error", "words"),
    [
        (
            lambda right: replace(right, objective=right.objective - 3, bound=right.bound - 3),
            OracleInexact,
            "an optimum",
        ),
        *(
            (lambda right, stop=stop: replace(right, stop=stop, bound=right.bound + 3), OracleInexact, "a lower bound")
            for stop in (Stop.OPTIMAL, Stop.TIME_LIMIT)
        ),
        *(
            (lambda _right, stop=stop: Solution(stop, np.inf, -np.inf), SolverFailedError, f"'{stop}'")
            for stop in (Stop.FAILED, Stop.UNKNOWN, Stop.UNBOUNDED, Stop.INFEASIBLE)
        ),
    ],
)
def test_a_solver_that_lies_or_fails_gives_no_value(lie: Lie, error: type[Exception], words: str, lying: Lying) -> None:
    """A bound on the wrong side of the policy's cost; on a free class even 'infeasible' is the solver's failure."""
    oracle = lying(lie)
    for question in (oracle.value, oracle.minimise, lambda costs: oracle.profile(costs, 0)):
        refused(lambda question=question: question(costs_of(2)), words, error=error)


def test_a_time_limited_incumbent_is_a_bound_never_a_value(lying: Lying) -> None:
    """Bounds and policy are there; asking for the value raises."""
    costs = costs_of(2)
    best = open_oracle(TREES, CONTEXTS).value(costs)
    oracle = lying(lambda right: Solution(Stop.TIME_LIMIT, np.inf, right.bound - 7.5, right.x))
    answer = oracle.minimise(costs)
    assert answer.stop is Stop.TIME_LIMIT
    assert answer.lower < best <= answer.upper
    for ask in (lambda: answer.value, lambda: oracle.value(costs)):
        refused(ask, "time", error=OracleInexact)


def test_a_gap_below_one_proves_a_whole_value(lying: Lying) -> None:
    """With whole costs a bound within 0.999 of the incumbent is a proof, even at a time limit."""
    costs = costs_of(2)
    answer = lying(lambda right: replace(right, stop=Stop.TIME_LIMIT, bound=right.bound - 0.999)).minimise(costs)
    assert answer.stop is Stop.OPTIMAL
    assert answer.value == open_oracle(TREES, CONTEXTS).value(costs)


def test_too_many_policies_are_not_enumerated(monkeypatch: pytest.MonkeyPatch) -> None:
    """Enumeration stops at its limit and says what to do, which gives the same value."""
    whole = open_oracle(TREES, CONTEXTS, kind="enumeration")
    monkeypatch.setattr("milpcb.oracles.search.MOST_LISTED", 10)
    with pytest.raises(InputError, match="use oracle kind 'milp'"):
        open_oracle(TREES, CONTEXTS, kind="enumeration")
    assert open_oracle(TREES, CONTEXTS, kind="milp").value(costs_of(0)) == whole.value(costs_of(0))


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


@pytest.mark.parametrize("solver", ["highs", "pulp:PULP_CBC_CMD", "scipy"])
def test_an_infinite_time_limit_is_no_limit(solver: str) -> None:
    """Infinity means None."""
    expected = open_oracle(TREES, CONTEXTS).value(costs_of(1))
    assert open_oracle(TREES, CONTEXTS, solver=solver, time_limit=np.inf).value(costs_of(1)) == expected
