"""The big-M program of scoring rules starts at the policy that the search by tables finds."""

import numpy as np
import pytest

from milpcb import LabelConstraint, open_oracle
from milpcb.oracles.milp import MilpOracle
from milpcb.types import Floats, Stop
from policies.linear import LinearRules
from policies.linear import program as program_module
from policies.linear.policy_class import OpenedLinear
from policies.linear.program import LinearEncoding

CASES = {
    "two of four": (LinearRules(max_weight=3, max_features=2), (0, 1), 4),
    "all of three": (LinearRules(max_weight=2), (0, 1), 3),
    "three actions, two of three": (LinearRules(3, max_weight=2, max_features=2), (-2, 0, 3), 3),
    "columns alike": (LinearRules(2, max_weight=1, max_features=3), (0, 2), -4),
}
EVERY_CASE = pytest.mark.parametrize("name", CASES)


def contexts_of(name: str, rows: int = 12) -> tuple[LinearRules, Floats]:
    """Return the class and random contexts; a negative number of columns turns one of them round."""
    rules, values, features = CASES[name]
    contexts = np.random.default_rng(0).choice(values, (rows, abs(features))).astype(float)
    if features < 0:
        contexts[:, -1] = 7 - contexts[:, 0]
    return rules, contexts


@EVERY_CASE
def test_the_point_of_a_rule_is_in_the_polytope_and_costs_what_the_rule_costs(name: str) -> None:
    """It keeps all rows and bounds, its objective is the total of the rule, and it decodes to the same labels."""
    rules, contexts = contexts_of(name)
    opened, rng = rules.on(contexts), np.random.default_rng(1)
    assert isinstance(opened, OpenedLinear)
    encoding = LinearEncoding(opened.scored)
    program, costs = encoding.program, rng.normal(size=(len(opened.contexts), rules.n_actions))
    listed = list(opened.policies())
    for rule in [*(opened.draw(rng) for _ in range(20)), *listed[:: 1 + len(listed) // 30]]:
        x, labels = encoding.encode(rule), rule.predict(opened.contexts)
        activity = program.matrix @ x
        assert (program.row_lower <= activity).all()
        assert (activity <= program.row_upper).all()
        assert (program.column_lower <= x).all()
        assert (x <= program.column_upper).all()
        assert (x == np.rint(x)).all()
        objective = encoding.objective(costs)
        total = costs[np.arange(len(costs)), labels].sum()
        assert objective.coefficients @ x + objective.offset == pytest.approx(total)
        assert (encoding.decode(x, costs).predict(opened.contexts) == labels).all()


@pytest.mark.parametrize("held", [False, True])
def test_without_time_the_answer_is_the_policy_of_the_search(held: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a time limit of 0, where HiGHS alone would have no policy, the upper bound is the least total."""
    monkeypatch.setattr(program_module, "MOST_COLUMNS", 0)
    rng = np.random.default_rng(2)
    contexts = rng.integers(0, 2, (300, 8)).astype(float)
    rules, costs = LinearRules(max_features=3), rng.integers(-9, 10, (300, 2)).astype(float)
    budget = [LabelConstraint(np.tile([0.0, 1.0], (300, 1)), 90.0, "budget")] if held else []
    search = open_oracle(rules, contexts, kind="search", constraints=budget)
    program = open_oracle(rules, contexts, time_limit=0.0, constraints=budget)
    assert isinstance(program, MilpOracle)
    assert "start: the policy that the class's own search finds" in program.explain()
    answer = program.minimise(costs)
    assert answer.upper == search.value(costs)
    assert answer.lower <= answer.upper
    assert answer.stop is Stop.TIME_LIMIT
