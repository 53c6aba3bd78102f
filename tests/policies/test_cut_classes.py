"""Classes of rules that cut features, alike in what their contexts, programs, weights and drawings are."""

import numpy as np
import pytest

from milpcb.oracles import open_oracle
from milpcb.protocols import PolicyClass
from policies import BoxRules, DecisionTrees, RuleLists, ThresholdRules

CLASSES = [
    DecisionTrees(3, 2),
    ThresholdRules(3, max_cuts=2),
    BoxRules(3),
    BoxRules(3, 2),
    RuleLists(3, 1),
    RuleLists(3, 2),
    RuleLists(3, 3),
]
EVERY_CLASS = pytest.mark.parametrize("rules", CLASSES, ids=str)
KINDS = (DecisionTrees, ThresholdRules, BoxRules, RuleLists)


@pytest.mark.parametrize("kind", KINDS)
def test_contexts_between_the_same_cuts_are_one(kind: type[PolicyClass]) -> None:
    """Contexts that no rule tells apart are merged."""
    rules = kind(2, thresholds=((1.0,), (0.0,)))  # type: ignore[call-arg]  # all have cut points
    opened = rules.on(np.array([[0.1, 5.0], [2.0, 3.0], [0.9, 7.0], [2.0, -1.0]]))
    assert opened.group.tolist() == [0, 1, 0, 2]
    assert opened.contexts.tolist() == [[0.1, 5.0], [2.0, 3.0], [2.0, -1.0]]


@pytest.mark.parametrize("kind", KINDS)
def test_a_feature_is_binary_only_if_all_its_values_are(kind: type[PolicyClass]) -> None:
    """A column whose merged representatives happen to be 0 and 1 is still said with its threshold."""
    rules, contexts = kind(2, thresholds=((0.5,),)), np.array([[0.0], [1.0], [0.25]])  # type: ignore[call-arg]
    answer = open_oracle(rules, contexts).minimise([[0, 1], [1, 0], [0, 1]])
    assert str(answer.policy).startswith("if x0 <= 0.5:")
    assert answer.policy in set(rules.on(contexts).policies())


@EVERY_CLASS
def test_a_high_rate_picks_the_profile(rules: PolicyClass) -> None:
    """At a high rate the Exp4 distribution is on the actions with the least profile, without overflow."""
    rng = np.random.default_rng(4)
    contexts, costs = rng.integers(0, 2, (8, 3)).astype(float), rng.integers(-9, 9, (8, 3)).astype(float)
    oracle = open_oracle(rules, contexts, kind="search")
    profile = oracle.profile(costs, 2)
    for rate in (60.0, 1e6):
        weights = oracle.action_weights(costs, 2, rate)
        assert weights[profile == profile.min()].sum() == pytest.approx(1.0, abs=1e-10)
