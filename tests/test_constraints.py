"""Side constraints: bounds that are nearly attained, conflicts, refusals; definitions: tests/experiments/study."""

from itertools import combinations

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis.extra.numpy import arrays

from milpcb import LabelConstraint, open_oracle
from milpcb.constraints import always, mean_at_most, never, parity, share_at_most
from milpcb.errors import InfeasibleError
from policies import DecisionTrees, LinearRules, ThresholdRules
from tests.refused import refused

BINARY = np.array([[0, 1, 1], [1, 1, 0], [0, 0, 1], [1, 1, 0], [0, 1, 0]], dtype=float)
REALS = np.array([[0.3, -2.0], [1.7, 5.5], [0.3, -2.0], [0.9, 1.0], [2.4, 0.0]])
INSTANCES = {
    "trees of depth 1": (DecisionTrees(3, depth=1), BINARY),
    "trees of depth 2": (DecisionTrees(2, depth=2), BINARY),
    "threshold rules": (ThresholdRules(3, max_cuts=2), REALS),
    "linear rules": (LinearRules(max_weight=2), BINARY),
}
LABELINGS = {name: policies.on(contexts).labelings() for name, (policies, contexts) in INSTANCES.items()}
KINDS = pytest.mark.parametrize("kind", ["milp", "enumeration", "search"])

WHOLE = st.integers(-4, 4).map(float)
REAL = st.floats(-4.0, 4.0, allow_subnormal=False)
# Integers and a little: totals that differ by less than any solver's tolerance, but by more than 1e-9.
NEAR = st.tuples(st.integers(-2, 2), st.integers(-3, 3)).map(lambda pair: pair[0] + 1e-7 * pair[1])


def totals(weights, labelings):
    """Total weight (N,) of each labeling."""
    return np.asarray(weights)[np.arange(labelings.shape[1]), labelings].sum(axis=1)


def kept(constraint, labelings):
    """Which labelings (N,) keep a constraint, by its definition."""
    weights = np.asarray(constraint.weights, dtype=float)
    return totals(weights, labelings) <= constraint.upper + 1e-9 * np.abs(weights).max(axis=1).sum()


def draw_constraint(data, labelings, n_actions, number):
    """One rule whose bound is the total of some labeling, or a little off it."""
    shape = (labelings.shape[1], n_actions)
    weights = data.draw(arrays(np.float64, shape, elements=data.draw(st.sampled_from([WHOLE, REAL, NEAR]))))
    at = data.draw(st.sampled_from(totals(weights, labelings).tolist()))
    return LabelConstraint(weights, at + data.draw(st.sampled_from([0.0, 0.0, 0.5, -2e-7])), f"rule {number}")


@KINDS
@pytest.mark.parametrize("rule", ["none", "share", "never"])
@pytest.mark.parametrize("name", ["trees of depth 2", "threshold rules"])
def test_totals_that_differ_by_a_rounding_are_no_infinity(kind, rule, name):
    """Where all costs of a context are alike up to their last digits, each action still has a policy, and its cost."""
    policies, contexts = INSTANCES[name]
    rules = {"none": [], "share": [share_at_most(0, 0.8)], "never": [never(1, rows=[3])]}[rule]
    costs = np.zeros((5, policies.n_actions))
    costs[2] = 10.0
    costs[2, 0] = np.nextafter(10.0, 0.0)
    oracle = open_oracle(policies, contexts, kind=kind, constraints=rules)
    assert np.allclose(oracle.profile(costs, 0), 10.0)
    assert np.allclose(oracle.profile(1e9 * costs - 3e9, 0), 1e10 - 15e9)


@pytest.mark.parametrize("solver", ["highs", "pulp:PULP_CBC_CMD", "scipy", "scip"])
def test_a_bound_missed_by_less_than_a_solver_sees_is_missed(solver):
    """A total 1e-7 above its bound breaks the rule; one 1e-13 above, which is rounding, keeps it."""
    if solver == "scip":
        pytest.importorskip("pyscipopt", reason="scip: needs PySCIPOpt")
    policies, contexts = INSTANCES["trees of depth 1"]
    weights = np.tile([0.0, 0.0, 1.0], (5, 1))
    costs = np.tile([2.0, 1.0, 0.0], (5, 1))
    for excess, value in ((1e-7, 2.0), (1e-13, 1.0)):
        weights[0, 2] = 1.0 + excess
        oracle = open_oracle(policies, contexts, solver=solver, constraints=[LabelConstraint(weights, 4.0)])
        least = open_oracle(policies, contexts, kind="enumeration", constraints=[LabelConstraint(weights, 4.0)])
        assert oracle.value(costs) == least.value(costs)
        assert oracle.value(costs) == value


def test_totals_too_close_for_any_solver_are_an_error(monkeypatch):
    """Where labelings without end come too close to the bound, the oracle says so and gives no wrong value."""
    monkeypatch.setattr("milpcb.oracles.milp.MOST_CUT_OFF", 3)
    above = 1.0 + 1e-7 * np.arange(1, 16).reshape(5, 3)
    close = [LabelConstraint(above, 5.0)]
    refused(lambda: open_oracle(*INSTANCES["trees of depth 1"], constraints=close), "round its weights")
    costs = np.arange(15.0).reshape(5, 3) % 4
    far = open_oracle(*INSTANCES["trees of depth 1"], constraints=[LabelConstraint(above, 5.1)])
    assert far.value(costs) == open_oracle(*INSTANCES["trees of depth 1"]).value(costs)


@KINDS
@pytest.mark.parametrize("unit", [1e-60, 1e-9, 1e9, 1e60])
def test_the_unit_of_a_constraint_does_not_matter(kind, unit):
    """The same rule in very small or large units, and with a bound far away, is the same rule."""
    costs = np.tile([2.0, 1.0, 0.0], (5, 1))
    weights = np.tile([0.0, 0.0, unit], (5, 1))
    policies, contexts = INSTANCES["trees of depth 1"]
    for bound, value in ((3 * unit, 2.0), (4 * unit, 1.0), (1e200, 0.0)):
        rules = [LabelConstraint(weights, bound)]
        assert open_oracle(policies, contexts, kind=kind, constraints=rules).value(costs) == value
    with pytest.raises(InfeasibleError):
        open_oracle(policies, contexts, kind=kind, constraints=[LabelConstraint(weights, -1e200)])


# ------------------------------------------------------------------- conflicts


@KINDS
@settings(max_examples=10)
@given(data=st.data())
def test_the_constraints_named_are_a_smallest_conflict(kind, data):
    """Together the named rules exclude every labeling; without any one of them they do not."""
    policies, contexts = INSTANCES["trees of depth 1"]
    labelings = LABELINGS["trees of depth 1"]
    drawn = [draw_constraint(data, labelings, 3, number) for number in range(4)]
    rules = [LabelConstraint(rule.weights, rule.upper - 2.0, rule.name) for rule in drawn]
    keeps = {rule.name: kept(rule, labelings) for rule in rules}
    if np.all(list(keeps.values()), axis=0).any():
        open_oracle(policies, contexts, kind=kind, constraints=rules)
        return
    with pytest.raises(InfeasibleError) as refusal:
        open_oracle(policies, contexts, kind=kind, constraints=rules)
    named = [keeps[name] for name in keeps if f"'{name}'" in str(refusal.value)]
    assert named
    assert not np.all(named, axis=0).any()
    if len(named) > 1:
        assert all(np.all(fewer, axis=0).any() for fewer in combinations(named, len(named) - 1))


def test_a_conflict_that_the_time_limit_left_open_is_told_by_a_later_answer():
    """Without time the oracle opens, and its answer has no policy and claims no value."""
    nobody = LabelConstraint(np.ones((5, 3)), 4.0, "at most four of five")
    oracle = open_oracle(*INSTANCES["trees of depth 1"], constraints=[nobody], time_limit=0)
    answer = oracle.minimise(np.ones((5, 3)))
    assert answer.policy is None
    assert answer.upper == np.inf


# ------------------------------------------------------------------- the named constraints


MISFITS = [
    (share_at_most(3, 0.5), "unknown action of a constraint '3'; known: 0, 1, 2"),
    (share_at_most(-1, 0.5), "unknown action of a constraint '-1'"),
    (never(3, rows=[0]), "unknown action of a constraint '3'"),
    (mean_at_most({0: "x9"}, 0.5), "unknown column of a constraint 'x9'"),
    (mean_at_most({0: [1, 2]}, 0.5), "amounts must have an entry for each of the 5 rows, got 2"),
    (mean_at_most([[1, 2, 3]] * 2, 0.5), "amounts must have an entry for each of the 5 rows, got 2"),
    (mean_at_most([1, 2], 0.5), "amounts must have 3 columns, one for each action, got 2"),
    (share_at_most(0, 0.5, weights=[1, 2]), "weights must have an entry for each of the 5 rows, got 2"),
    (share_at_most(0, 0.5, weights="x9"), "unknown column of a constraint 'x9'"),
    (share_at_most(0, 0.5, weights="x0"), "weights must not be negative: column 'x0' has a number below 0"),
    (parity(0, [0, 1, 2], 0.1), "the values of a group must have an entry for each of the 5 rows, got 3"),
    (parity(0, [1] * 5, 0.1), "group has one value only, so parity has no two groups to compare"),
    (parity(0, 9, 0.1), "the column of a constraint must be"),
    (always(0, rows=[5]), "row 5 is outside the 5 rows; rows count from 0"),
    (always(0, rows=[True, False]), "the booleans of rows must have an entry for each of the 5 rows, got 2"),
]


def opened(rule):
    """Return an oracle on five rows under a constraint."""
    policies, contexts = INSTANCES["trees of depth 1"]
    return open_oracle(policies, contexts - 10.0, constraints=[rule])


@pytest.mark.parametrize(
    ("make", "fragment"),
    [
        (lambda: share_at_most(0, 1.5), "share must be between 0 and 1, got 1.5"),
        (lambda: share_at_most(0, np.nan), "share must be between"),
        (lambda: mean_at_most({0: ["a", "b"]}, 0.5), "an amount of mean_at_most must be numbers"),
        (lambda: mean_at_most({0: [[1, 2]]}, 0.5), "a finite number for each row, or the name of a column"),
        (lambda: share_at_most(0, 0.5, weights=[1, -2]), "weights must not be negative, nor all 0"),
        (lambda: share_at_most(0, 0.5, weights=[0, 0]), "weights must not be negative, nor all 0"),
        (lambda: share_at_most(0, 0.5, weights=["a", "b"]), "weights must be numbers"),
        (lambda: parity(0, [[0, 1]], 0.1), "group must be the name or number of a column, or a value for each row"),
        (lambda: parity(0, None, 0.1), "group must be the name or number of a column"),
        (lambda: parity(0, [0, 1], -0.1), "delta must be between"),
        *(
            (lambda given=given: mean_at_most(given, 0.5), "amounts, by action or as a table, must be numbers")
            for given in ([[1, 2], [3]], {}, "abc")
        ),
        (lambda: mean_at_most([1, np.nan], 0.5), "amounts must map names of actions to numbers or columns"),
        (lambda: mean_at_most({0: 1}, np.inf), "bound on the mean must be finite"),
        (lambda: mean_at_most({0: 1, 1: np.nan}, 1.0), "an amount of mean_at_most must be a finite number"),
        *(
            (lambda rows=rows: always(0, rows=rows), "rows must be row numbers, which count from 0, or a boolean")
            for rows in ([], [False, False], [-1], [0.5], [[1], [2, 3]])
        ),
        (lambda: never(0), "never needs either a condition"),
        (lambda: always(0, "x0 = 1", rows=[0]), "always needs either a condition"),
        *((lambda rule=rule: opened(rule), line) for rule, line in MISFITS),
    ],
)
def test_a_wrong_constraint_is_one_clear_line(make, fragment):
    """Arguments when it is made; actions, columns and entries by row when the oracle is opened."""
    refused(make, fragment)
