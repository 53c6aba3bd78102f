"""Linear rules by branch and bound and by the label polytope with cuts: the same optima as the list of all rules."""

from __future__ import annotations

from collections.abc import Callable

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings

from milpcb import LabelConstraint, open_oracle
from milpcb.errors import InputError
from milpcb.types import Floats
from policies import LinearRules
from policies.linear.search_branching import BranchingSearch

RNG = np.random.default_rng(0)
DENSE = RNG.integers(0, 2, (9, 3)).astype(float)
PLANE = RNG.normal(size=(7, 2))


@settings(max_examples=25)
@given(data=st.data())
def test_real_weights_equal_every_halfspace_labeling(draw_costs: Callable[..., Floats], data: st.DataObject) -> None:
    """With ``max_weight=None`` the cut program finds the best of all linearly separable labelings."""
    rules = LinearRules(2, max_weight=None)
    program, listed = (open_oracle(rules, PLANE, kind=kind) for kind in ("milp", "enumeration"))
    costs, row = draw_costs(data, 7, 2), data.draw(st.integers(0, 6))
    answer = program.minimise(costs)
    assert answer.value == pytest.approx(listed.value(costs), abs=1e-6)
    assert answer.policy is not None
    assert costs[np.arange(7), answer.policy.predict(PLANE)].sum() == pytest.approx(answer.value, abs=1e-9)
    assert program.profile(costs, row) == pytest.approx(listed.profile(costs, row), abs=1e-6)


def test_a_budget_on_real_weights() -> None:
    """A side constraint holds on the cut program too, and the optimum is that of the list."""
    weights = np.zeros((7, 2))
    weights[:, 1] = 1.0
    constraints = [LabelConstraint(weights, 3, "at most three")]
    program, listed = (
        open_oracle(LinearRules(2, max_weight=None), PLANE, kind=kind, constraints=constraints)
        for kind in ("milp", "enumeration")
    )
    for seed in range(10):
        costs = np.random.default_rng(seed).integers(-5, 6, (7, 2)).astype(float)
        assert program.value(costs) == listed.value(costs)


def test_cuts_found_once_serve_later_queries() -> None:
    """On 64 contexts in ten dimensions the optimum is separable, and no better than any planted labeling's cost."""
    rng = np.random.default_rng(3)
    contexts = rng.normal(size=(64, 10))
    oracle = open_oracle(LinearRules(2, max_weight=None), contexts)
    for _ in range(4):
        planted = (contexts @ rng.normal(size=10) >= 0).astype(int)
        noisy = np.where(rng.random(64) < 0.03, 1 - planted, planted)
        costs = np.where(np.eye(2)[noisy] == 1, -1.0, 1.0)
        answer = oracle.minimise(costs)
        assert answer.value <= costs[np.arange(64), planted].sum()
        assert answer.policy is not None
        assert costs[np.arange(64), answer.policy.predict(contexts)].sum() == answer.value


@settings(max_examples=15)
@given(data=st.data())
def test_branch_and_bound_equals_enumeration(draw_costs: Callable[..., Floats], data: st.DataObject) -> None:
    """Dense weights by branch and bound: value, policy and profile are those of the list."""
    rules = LinearRules(2, max_weight=2)
    opened = rules.on(DENSE)
    listed = open_oracle(opened, DENSE, kind="enumeration")
    branching = BranchingSearch(opened.scored, "the test asks for it")
    costs = draw_costs(data, 9, 2)
    merged = np.zeros((len(opened.contexts), 2))
    np.add.at(merged, opened.group, costs)
    value, policy = branching.minimise(merged)
    assert value == pytest.approx(listed.value(costs), abs=1e-9)
    assert costs[np.arange(9), policy.predict(DENSE)].sum() == pytest.approx(value, abs=1e-9)
    row = data.draw(st.integers(0, 8))
    profile = branching.profile(merged, int(opened.group[row]))
    assert profile == pytest.approx(listed.profile(costs, row), abs=1e-9)


def test_three_actions_with_real_weights_are_refused() -> None:
    """Real weights are for two actions; the message says what to set."""
    with pytest.raises(InputError, match="max_weight"):
        LinearRules(3, max_weight=None)
