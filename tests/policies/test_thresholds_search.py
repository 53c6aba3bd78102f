"""The dynamic program for threshold rules against the list of all rules and against the program."""

from collections.abc import Callable
from itertools import combinations, product

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given

from milpcb import open_oracle
from milpcb.types import Floats
from policies.thresholds import ThresholdRule, ThresholdRules
from policies.thresholds.policy_class import Bins

RNG = np.random.default_rng(0)
POOLS = {
    "binary": RNG.integers(0, 2, (7, 3)).astype(float),
    "real": RNG.normal(size=(9, 2)),
    "repeated": np.repeat(RNG.normal(size=(4, 2)), 2, axis=0),
    "one context": np.zeros((1, 2)),
}


@given(data=st.data())
def test_action_weights_sum_over_derivations(draw_costs: Callable[..., Floats], data: st.DataObject) -> None:
    """The Exp4 distribution counts every feature, set of cuts and actions once, to 1e-10."""
    contexts, rules = POOLS["real"], ThresholdRules(2, max_cuts=2)
    costs, row = draw_costs(data, 9, 2), data.draw(st.integers(0, 8))
    mass = np.zeros(2)
    for f, cuts in Bins.of(contexts, rules.thresholds).cuts.items():
        for c in range(3):
            for chosen, actions in product(combinations(cuts.tolist(), c), product(range(2), repeat=c + 1)):
                labels = ThresholdRule(f, chosen, actions).predict(contexts)
                mass[labels[row]] += np.exp(-0.3 * costs[np.arange(9), labels].sum())
    oracle = open_oracle(rules, contexts, kind="search")
    weights = oracle.action_weights(costs, row, 0.3)
    assert weights == pytest.approx(mass / mass.sum(), abs=1e-10)
    assert np.exp(oracle.log_derivations) == pytest.approx(2 * (2 + 3 * 4 + 3 * 8))


def test_search_equals_the_program_on_a_larger_pool() -> None:
    """On 300 contexts with 10 features and 9 cuts both routes agree on whole costs."""
    rng = np.random.default_rng(1)
    contexts, rules = rng.normal(size=(300, 10)), ThresholdRules(3, max_cuts=2, thresholds=9)
    search, program = (open_oracle(rules, contexts, kind=kind) for kind in ("search", "milp"))
    for _ in range(5):
        costs = rng.integers(-20, 21, (300, 3)).astype(float)
        assert search.value(costs) == program.value(costs)
        assert (search.profile(costs, 7) == program.profile(costs, 7)).all()
