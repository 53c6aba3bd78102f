"""Starts of solvers under side constraints: they are the search's policies, and they change no answer."""

from __future__ import annotations

import numpy as np
import pytest

from milpcb import LabelConstraint, open_oracle
from milpcb.constraints import parity, share_at_most
from milpcb.errors import OracleInexact
from milpcb.oracles import starts
from milpcb.oracles.milp import MilpOracle
from milpcb.oracles.opened_under import OpenedUnder
from milpcb.testing.problems import violation
from milpcb.types import Stop
from policies import BoxRules, DecisionTrees, FiniteClass, LinearRules, MonotoneRules, RuleLists, ThresholdRules

RNG = np.random.default_rng(0)
CONTEXTS = RNG.integers(0, 2, (20, 3)).astype(float)
ROWS = np.arange(20)
BUDGET = share_at_most(2, 0.2, n_contexts=20, n_actions=3)
PARITY = parity(0, 0.2, groups=CONTEXTS[:, 0], n_actions=3)
CLASSES = [
    DecisionTrees(3),
    ThresholdRules(3),
    BoxRules(3),
    RuleLists(3, max_rules=2),
    LinearRules(3, max_weight=1),
    FiniteClass([*RNG.integers(0, 3, (40, 20)).tolist(), [0] * 20], 3),
]
RULES = {"budget": [BUDGET], "budget and parity": [BUDGET, *PARITY]}


@pytest.fixture(autouse=True)
def _of_any_size(monkeypatch: pytest.MonkeyPatch) -> None:
    """Programs of any size have starts."""
    monkeypatch.setattr(starts, "FEWEST_COLUMNS", 0)


def costs_of(seed: int, *, whole: bool = True) -> np.ndarray:
    """Return costs (m, K) of which the last action is cheap."""
    rng = np.random.default_rng(seed)
    costs = rng.integers(-9, 10, (20, 3)).astype(float) if whole else rng.normal(size=(20, 3))
    return costs - np.array([0.0, 0.0, 2.0])


def started(policies: object, rules: list[LabelConstraint], **options: object) -> MilpOracle:
    """Return an oracle of kind "milp" that has starts."""
    oracle = open_oracle(policies, CONTEXTS, constraints=rules, **options)  # type: ignore[arg-type]
    assert isinstance(oracle, MilpOracle)
    assert oracle._starts is not None
    return oracle


@pytest.mark.parametrize("rules", RULES.values(), ids=RULES)
@pytest.mark.parametrize("policies", CLASSES, ids=lambda policies: type(policies).__name__)
def test_a_start_is_the_best_policy_and_a_point_of_the_program(policies, rules):
    """It keeps the rows, stands for the labels it says, costs the least; answers are those of the list."""
    oracle, listed = started(policies, rules), open_oracle(policies, CONTEXTS, "enumeration", constraints=rules)
    for seed in range(4):
        costs = costs_of(seed, whole=seed % 2 == 0)
        value, grouped = listed.value(costs), oracle._checked(costs)
        start = oracle._starts.at(grouped)
        assert violation(oracle.program, start.x) == 0.0
        assert (oracle._encoding.decode(start.x, grouped).predict(oracle._distinct) == start.labels).all()
        assert costs[ROWS, start.policy.predict(CONTEXTS)].sum() == pytest.approx(value, rel=0, abs=1e-9)
        assert oracle.value(costs) == pytest.approx(value, rel=0, abs=1e-7)
        np.testing.assert_allclose(oracle.profile(costs, 7), listed.profile(costs, 7), rtol=0, atol=1e-7)


class Labels:
    """The policy that plays ``labels``."""

    def __init__(self, labels: list[int]) -> None:
        self.labels = np.array(labels)

    def predict(self, contexts):
        """Return the labels."""
        return self.labels[: len(contexts)]


@pytest.mark.parametrize(
    ("labels", "accepted"),
    [([0] * 20, True), ([2] * 20, False), ([0] * 10 + [1] * 10, False)],
    ids=["a poor policy", "one that breaks the budget", "none of the class"],
)
def test_a_wrong_search_changes_no_value(labels, accepted, monkeypatch):
    """Its poor policy is a start, others are none; the solver finds the optimum all the same."""
    rng = np.random.default_rng(3)
    policies = FiniteClass([[0] * 20, [2] * 20, *rng.choice(3, (30, 20), p=[0.5, 0.4, 0.1]).tolist()], 3)
    contexts = rng.normal(size=(20, 2))
    listed = open_oracle(policies, contexts, "enumeration", constraints=[BUDGET])
    wrong = Labels(labels)
    monkeypatch.setattr(OpenedUnder, "search", lambda _: type("Wrong", (), {"minimise": lambda *_: (-1e3, wrong)})())
    oracle = open_oracle(policies, contexts, constraints=[BUDGET])
    for seed in range(4):
        costs = costs_of(seed)
        assert (oracle._starts.at(costs) is not None) == accepted
        assert oracle.value(costs) == listed.value(costs)
        labels_found = oracle.minimise(costs).policy.predict(contexts)
        assert costs[ROWS, labels_found].sum() == listed.value(costs)


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


def test_who_has_no_start(monkeypatch):
    """No constraints, a class whose search holds none, or a small program: then nothing is searched."""
    free, monotone = (
        open_oracle(DecisionTrees(3), CONTEXTS),
        open_oracle(MonotoneRules(3), CONTEXTS, constraints=[BUDGET]),
    )
    assert free._starts is None
    assert monotone._starts is None
    oracle = open_oracle(DecisionTrees(3), CONTEXTS, constraints=[BUDGET])
    monkeypatch.setattr(starts, "FEWEST_COLUMNS", oracle.program.n_columns + 1)
    assert open_oracle(DecisionTrees(3), CONTEXTS, constraints=[BUDGET])._starts is None
