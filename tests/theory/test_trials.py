"""A trial ends with a policy that it should not end with no more often than delta: exactly, on small games."""

from fractions import Fraction

import numpy as np
import pytest

from milpcb.offline.settled import STAKES, Refutation, TrialRows, means_before
from milpcb.oracles.growing import GrowingOracle
from policies import DecisionTrees
from tests.theory.coins.trials import TRIAL_MUTANTS, TRIALS, judge_trial


@pytest.mark.parametrize("rule", TRIALS, ids=lambda rule: rule.name)
def test_false_endings_are_no_more_frequent_than_delta(rule):
    """For any leader and any time of looking; and there are some, so that the check could fail."""
    assert -rule.delta < judge_trial(rule) <= 0


@pytest.mark.parametrize("rule", TRIAL_MUTANTS, ids=lambda rule: rule.name)
def test_mutants_are_rejected(rule):
    """Each with one thing wrong ends wrongly too often."""
    assert judge_trial(rule) > 0


def test_floats_decide_as_fractions_do():
    """The evidence of a run is the logarithm of the product of fractions, along one history of three constants."""
    constants = DecisionTrees(3, depth=1, thresholds=[[]])
    oracle = GrowingOracle(constants)
    rng = np.random.default_rng(0)
    action, cost = rng.integers(3, size=60), rng.integers(2, size=60).astype(float)
    rows = TrialRows.of(oracle.rows(np.zeros((60, 1))), action, cost, np.full(60, 1 / 3), np.full(60, 1 / 3), 3)
    found, expected = Refutation(oracle, oracle.log_union, rows, 0.95), means_before(action, cost, 3)
    leader = int(found.policy.predict(np.zeros((1, 1)))[0])
    eps = Fraction(1, 16)
    products = {}
    for stake, rival in ((stake, rival) for stake in STAKES for rival in range(3)):
        product = Fraction(1)
        for s in range(60):
            table = [Fraction(float(number)) for number in expected[s]]
            reach = max(*table, *(1 - number for number in table))
            own = min(Fraction(stake), Fraction(1 - 1e-6) / 3 / reach)
            table[action[s]] += (int(cost[s]) - table[action[s]]) * 3
            product *= 1 + own * (table[rival] - table[leader] + eps)
        products[stake, rival] = product
    evidence = found._evidence(float(eps))
    for named, table in zip(STAKES[-len(evidence) :], evidence, strict=True):
        for rival in range(3):
            assert table[0, rival] == pytest.approx(float(np.log(float(products[named, rival]))), abs=1e-9)
