"""Starts of solvers under side constraints: they are the search's policies, and they change no answer."""

from typing import Any

import numpy as np
import pytest

from milpcb import LabelConstraint, open_oracle
from milpcb.constraints import parity, share_at_most
from milpcb.errors import OracleInexact
from milpcb.oracles import milp
from milpcb.oracles.chain import OpenedUnder
from milpcb.oracles.milp import MilpOracle
from milpcb.testing.problems import violation
from milpcb.types import Stop
from policies import BoxRules, DecisionTrees, MonotoneRules, RuleLists, ThresholdRules
from policies.trees.program import TreeEncoding
from policies.trees.rule import DecisionTree, Leaf

CONTEXTS = np.random.default_rng(0).integers(0, 2, (20, 3)).astype(float)
CONTEXTS[:, 2] = np.random.default_rng(1).normal(size=20)
ROWS = np.arange(20)
BUDGET = share_at_most(2, 0.2)
PARITY = parity(0, CONTEXTS[:, 0], 0.2)
CLASSES = {
    "stumps": DecisionTrees(3, depth=1),
    "trees": DecisionTrees(3),
    "few leaves": DecisionTrees(3, max_leaves=3),
    "large leaves": DecisionTrees(3, min_leaf_size=3, max_features=3),
    "one cut": ThresholdRules(3, max_cuts=1),
    "three cuts": ThresholdRules(3, max_cuts=3),
    "boxes": BoxRules(3, max_features=2),
    "one rule": RuleLists(3, max_rules=1),
    "two rules": RuleLists(3, max_rules=2),
    "three rules": RuleLists(3, max_rules=3, thresholds=1),
}
BOTH = [BUDGET, PARITY]


@pytest.fixture(autouse=True)
def _of_any_size(monkeypatch: pytest.MonkeyPatch) -> None:
    """Programs of any size have starts."""
    monkeypatch.setattr(milp, "FEWEST_COLUMNS", 0)


def costs_of(seed: int, *, whole: bool = True) -> np.ndarray:
    """Return costs (m, K) of which the last action is cheap."""
    rng = np.random.default_rng(seed)
    costs = rng.integers(-9, 10, (20, 3)).astype(float) if whole else rng.normal(size=(20, 3))
    return costs - np.array([0.0, 0.0, 2.0])


def has_starts(oracle: Any) -> bool:
    """Return whether an oracle hands starts to its solver."""
    return "start: the policy that the class's own search finds" in oracle.explain()


def start_of(oracle: Any, costs: np.ndarray) -> Any:
    """Return the start for costs (m, K)."""
    return oracle._starts.at(oracle._checked(costs))


def started(policies: object, rules: list[LabelConstraint], **options: object) -> MilpOracle:
    """Return an oracle of kind "milp" that has starts."""
    oracle = open_oracle(policies, CONTEXTS, constraints=rules, **options)  # type: ignore[arg-type]
    assert isinstance(oracle, MilpOracle)
    assert has_starts(oracle)
    return oracle


@pytest.mark.parametrize(("policies", "rules"), [(policies, BOTH) for policies in CLASSES.values()], ids=CLASSES)
def test_a_start_is_the_best_policy_and_a_point_of_the_program(policies, rules):
    """It keeps the rows, stands for the labels it says, costs the least; answers are those of the list."""
    oracle, listed = started(policies, rules), open_oracle(policies, CONTEXTS, "enumeration", constraints=rules)
    for seed in range(2):
        costs = costs_of(seed, whole=seed % 2 == 0)
        value, start = listed.value(costs), start_of(oracle, costs)
        assert violation(oracle.program, start.x) == 0.0
        assert start.total == pytest.approx(value, rel=0, abs=1e-9)
        assert costs[ROWS, start.policy.predict(CONTEXTS)].sum() == pytest.approx(value, rel=0, abs=1e-9)
        assert oracle.value(costs) == pytest.approx(value, rel=0, abs=1e-7)
        np.testing.assert_allclose(oracle.profile(costs, 7), listed.profile(costs, 7), rtol=0, atol=1e-7)


@pytest.mark.parametrize("policies", CLASSES.values(), ids=CLASSES)
def test_every_policy_has_a_point(policies):
    """It keeps the rows of the program, and decodes to the labels of the policy, of one leaf or of many."""
    opened = policies.on(CONTEXTS)
    encoding, costs = opened.program(constrained=True), np.zeros((len(opened.contexts), 3))
    listed = list(opened.policies())
    for number in [0, 1, 2, *np.random.default_rng(0).integers(0, len(listed), 20)]:
        x = encoding.encode(listed[number])
        assert violation(encoding.program, x) == 0.0
        labels = encoding.decode(x, costs).predict(opened.contexts)
        assert (labels == listed[number].predict(opened.contexts)).all()


@pytest.mark.parametrize("limits", [{"max_leaves": 3}, {"max_leaves": 4, "min_leaf_size": 3}, {"max_features": 3}])
@pytest.mark.parametrize("depth", [2, 3])
def test_limited_trees_have_a_start_without_constraints(depth, limits):
    """Their program branches too; the start is the best tree, whose leaves may end before the last test."""
    policies = DecisionTrees(3, depth=depth, thresholds=2 if depth == 2 else 1, **limits)
    oracle, search = started(policies, []), open_oracle(policies, CONTEXTS, "search")
    for seed in range(2):
        costs = costs_of(seed, whole=seed % 2 == 0)
        start = start_of(oracle, costs)
        assert violation(oracle.program, start.x) == 0.0
        assert start.total == pytest.approx(search.value(costs), rel=0, abs=1e-9)
        assert oracle.value(costs) == pytest.approx(search.value(costs), rel=0, abs=1e-7)


class Found:
    """A search that finds the tree of one leaf, which plays ``action``, whatever the costs are."""

    def __init__(self, action: int) -> None:
        self._policy = DecisionTree(Leaf(action))

    def minimise(self, costs):
        """Return a value that is too low, and the tree."""
        return float(costs.min(axis=1).sum()) - 1e3, self._policy


@pytest.mark.parametrize(("action", "kept"), [(0, True), (2, False)], ids=["a poor one", "one that breaks the budget"])
def test_a_wrong_search_changes_no_value(action, kept, monkeypatch):
    """Its poor policy is a start, one that breaks a row is none; the solver finds the optimum all the same."""
    monkeypatch.setattr(OpenedUnder, "search", lambda _: Found(action))
    oracle = started(DecisionTrees(3), [BUDGET])
    listed = open_oracle(DecisionTrees(3), CONTEXTS, "enumeration", constraints=[BUDGET])
    for seed in range(2):
        costs = costs_of(seed)
        assert (start_of(oracle, costs) is not None) == kept
        assert oracle.value(costs) == listed.value(costs)
        labels = oracle.minimise(costs).policy.predict(CONTEXTS)
        assert costs[ROWS, labels].sum() == listed.value(costs)


@pytest.mark.parametrize(
    "spoil",
    [lambda x: 0.0 * x, lambda x: 0.5 * x, lambda x: x + np.eye(len(x))[0], lambda x: np.roll(x, 3)],
    ids=["nothing", "halves", "one more", "another"],
)
def test_a_wrong_point_changes_no_value(spoil, monkeypatch):
    """A point that is none of the program, or stands for another policy, is dropped by the solver."""
    encode = TreeEncoding.encode
    monkeypatch.setattr(TreeEncoding, "encode", lambda *given: spoil(encode(*given)))
    oracle = started(DecisionTrees(3), [BUDGET])
    listed = open_oracle(DecisionTrees(3), CONTEXTS, "enumeration", constraints=[BUDGET])
    for seed in range(2):
        costs = costs_of(seed)
        assert oracle.value(costs) == listed.value(costs)


def test_without_time_the_policy_of_the_search_is_the_upper_bound():
    """The answer is no value: it carries the search's policy, and a bound that the solver has proved."""
    oracle, listed = (
        started(DecisionTrees(3), [BUDGET], time_limit=0.0),
        open_oracle(DecisionTrees(3), CONTEXTS, "enumeration", constraints=[BUDGET]),
    )
    costs = costs_of(1)
    answer = oracle.minimise(costs)
    assert answer.stop is Stop.TIME_LIMIT
    assert answer.lower < answer.upper == listed.value(costs)
    assert costs[ROWS, answer.policy.predict(CONTEXTS)].sum() == answer.upper
    with pytest.raises(OracleInexact, match="time_limit"):
        oracle.value(costs)


@pytest.mark.parametrize(("policies", "rules"), [(DecisionTrees(3), []), (MonotoneRules(3), [BUDGET])])
def test_who_has_no_start(policies, rules):
    """No constraints, or a class whose search holds none: then nothing is searched."""
    oracle = open_oracle(policies, CONTEXTS, constraints=rules)
    assert not has_starts(oracle)
    assert "start: the last answer" in oracle.explain()


def test_small_programs_have_no_start(monkeypatch):
    """They are quick without."""
    encoding = DecisionTrees(3).on(CONTEXTS).program(constrained=True).program
    monkeypatch.setattr(milp, "FEWEST_COLUMNS", encoding.n_columns + encoding.n_rows + 1)
    assert not has_starts(open_oracle(DecisionTrees(3), CONTEXTS, constraints=[BUDGET]))
