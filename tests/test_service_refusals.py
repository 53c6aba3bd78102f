"""Whatever a bandit cannot take is refused in one line that names it; the decision it was said of stays open."""

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from decimal import Decimal as Money
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

from milpcb import Bandit, Decision, mean_at_most, never, share_at_most
from milpcb.offline import read_log
from policies import DecisionTrees, FiniteClass, LinearRules
from tests.refused import refused

BITS = np.array([[i >> j & 1 for j in range(3)] for i in range(8)], dtype=float)
NUMBERED = DecisionTrees(3, 1, thresholds=[[0.5]] * 3)
CALLS = {"action_names": ["call", "write", "wait"]}
PEOPLE = DecisionTrees(3, depth=1, thresholds=[[30, 60], []], feature_names=["age", "region"], **CALLS)
MEMBERS = DecisionTrees(3, 2, thresholds=[[30, 60], [0.5]], feature_names=["age", "member"], **CALLS)
VISITS = DecisionTrees(2, 1, thresholds=[[30], [5]], feature_names=["age", "visits"], action_names=["call", "wait"])
TEXTS = DecisionTrees(2, 2, thresholds=[[30, 60], []], feature_names=["age", "region"], action_names=["call", "wait"])
REGIONS: dict[str, Any] = {"region": ["north", "south", "west"]}
MAYBE: dict[str, Any] = {**REGIONS, "age": [None]}
YOUNG = DecisionTrees(2, 1, thresholds=[[0.5]] * 2, feature_names=["young", "x"], action_names=["call", "write"])
NOBODY = [[0, 0], [1, 0]]

LOG = read_log(NOBODY, ["call", "write"], cost=[0, 1], propensity=[0.5, 0.5])


def keeping(constraint: Any, policies: Any = MEMBERS, **options: Any) -> Bandit:
    """Return a bandit under a constraint."""
    return Bandit(policies, constraints=constraint, **options)


def of_areas(where: str, area: str) -> Decision:
    """Decide under a guard-rail on an area, of which two are declared."""
    bandit = keeping(never("call", where), values={"area": ["north", "south"]})
    return bandit.act({"age": 20, "member": 1, "vip": "yes", "area": area})


def from_log(log: Any, *learner: str, **options: Any) -> Bandit:
    """Return a bandit that goes on from a log."""
    return Bandit.from_log(YOUNG, log, *learner, **options)


def grown(policies: Any, action: Any, *learner: str, **options: Any) -> None:
    """Add an action."""
    Bandit(policies, *learner, **options).add_action(action)


def learnt(policies: Any) -> Any:
    """Return the rule of a bandit after some decisions."""
    bandit = Bandit(policies, seed=0)
    for visits in [1, 9] * 60:
        decision = bandit.act([1, visits])
        bandit.learn(decision, cost=float(decision.action != ("call" if visits == 1 else "wait")))
    return bandit.policy()


Case = tuple[Callable[[], object], str]
CASES: list[Case] = [
    (lambda: Bandit(NUMBERED, "exp5"), "exp4"),
    (lambda: Bandit(NUMBERED, rate="fixed"), "horizon"),
    *((lambda given=given: Bandit(NUMBERED, reward_range=given), "reward_range") for given in ((1, 0), 5)),
    (lambda: Bandit(NUMBERED, cost_range=(0, 9), reward_range=(0, 9)), "either cost_range"),
    (lambda: Bandit(NUMBERED, cost_range=(0, 9)).learn("some", cost=10), "cost"),
    (lambda: Bandit(NUMBERED, "bistro_plus", horizon=10), "contexts"),
    (lambda: Bandit(DecisionTrees(2, 1)), "cut points"),
    (lambda: Bandit(3), "policies"),  # type: ignore[arg-type]
    (lambda: Bandit(NUMBERED, oracle=3), "oracle"),  # type: ignore[arg-type]
    (lambda: Bandit(VISITS, contexts=[], values={"age": [None]}), "at least one row"),
    (lambda: Bandit(VISITS, contexts=5, values={"age": [None]}), "a table is"),
    (lambda: Bandit(VISITS, "ftpl", horizon=9), 'epsilon = "adaptive"'),
    *((lambda name=name: Bandit(VISITS, name), "contexts") for name in ("ilovetoconbandits", "randomized_ucb")),
    *((lambda name=name: Bandit(VISITS, name, horizon=9), "all actions") for name in ("hedge", "best_in_hindsight")),
    # values of features
    *(
        (lambda values=values: Bandit(TEXTS, values=values), named)
        for values, named in (
            ({"region": "north"}, "region"),
            ({"region": [None]}, "cut points"),
            (["region"], "values"),
        )
    ),
    (lambda: Bandit(LinearRules(2, feature_names=["region"]), values={"region": ["a", "b"]}), "cut points"),
    (lambda: Bandit(VISITS, values={"age": ["25", 30]}), "several kinds"),
    (lambda: Bandit(VISITS, values={"age": [[1]]}), "'age'"),
    # baselines
    (lambda: Bandit(PEOPLE, values=REGIONS, baseline="cal"), "'call'"),
    (lambda: Bandit(PEOPLE, values=REGIONS, baseline="call", loss=-1), "loss"),
    (lambda: Bandit(TEXTS, values=REGIONS, baseline=learnt(VISITS)), "'visits'"),
    # constraints
    (lambda: keeping(never("call", "age > 1"), learner="uniform"), "constraints"),
    (lambda: keeping("call"), "share_at_most"),
    (lambda: keeping(never("call", rows=[0])), "rows of a constraint"),
    (lambda: keeping(share_at_most("call", 0.5, weights=[1])), "weights of a constraint"),
    *(
        (lambda given=given: keeping(mean_at_most(given, 1)), "amounts of a constraint")
        for given in ({"call": [1]}, [[1, 2, 3], [3, 2, 1]])
    ),
    (lambda: keeping(mean_at_most([1, 2], 1)), "3 columns"),
    # groups
    *((lambda groups=groups: Bandit(TEXTS, values=REGIONS, groups=groups), "condition") for groups in ([3], "all")),
    # logs
    (lambda: Bandit(NUMBERED).log(), "keep_log"),
    (lambda: from_log([[0.0, 1.0]]), "read_log"),
    (lambda: from_log(read_log(NOBODY, ["call", "write"], cost=[0, 1])), "chances"),
    (lambda: from_log(read_log(NOBODY, ["call", "write"], cost=[0, 3], propensity=[0.5, 0.5])), "row 1"),
    (lambda: from_log(read_log(NOBODY, ["call", "sing"], cost=[0, 1], propensity=[0.5, 0.5])), "'sing'"),
    (lambda: from_log(LOG, "epsilon_greedy"), "late"),
    (lambda: from_log(LOG, baseline="call"), "baseline"),
    # more actions
    *((lambda name=name: grown(YOUNG, name), "name") for name in ("call", True, 5, " ")),
    (lambda: grown(DecisionTrees(2, 1, thresholds=[[0.5]]), "x"), "the next number, 2"),
    (lambda: grown(YOUNG, "x", "epsilon_greedy"), "EpsilonGreedy"),
    (lambda: grown(FiniteClass(np.array([[0], [1]]), 2), "2", contexts=[[0.0]]), "FiniteClass"),
    (lambda: grown(YOUNG, "x", contexts=BITS[:4, :2], constraints=share_at_most("call", 0.5)), "constraints"),
    # questions
    (lambda: Bandit(NUMBERED).act([1, 0]), "contexts have 2"),
    (lambda: Bandit(NUMBERED).act([1, 0, float("inf")]), "inf"),
    (lambda: Bandit(NUMBERED).act({"age": 1}), "feature_names"),
    (lambda: Bandit(NUMBERED, contexts=BITS[:4]).act(BITS[7]), "context 0"),
    (lambda: Bandit(DecisionTrees(2, 1, thresholds=[[1]])).act(["a"]), "'0'"),
    *(
        (lambda row=row: Bandit(VISITS).act(row), named)
        for row, named in (
            ({"age": "old", "visits": 1}, "'age'"),
            ({"age": 1, "visits": float("nan")}, "'visits'"),
            ([1.0, float("nan")], "'visits'"),
            ({"age": 1, "visit": 0}, "'visits'"),
            ({"alter": 67, "visits": 1}, "'age'"),
            *((nothing, "a context is a list of values") for nothing in (5, "old", "20", b"2\x14", {50, 20})),
            (pl.DataFrame({"visits": [1, 9, 1], "age": [20, 40, 20]}), "3 rows"),
        )
    ),
    *(
        (lambda text=text, given=given: Bandit(TEXTS, values=given).act({"age": text, "region": "north"}), named)
        for text in ("", "N/A")
        for given, named in (
            (MAYBE, "'age' is '"),
            (REGIONS, "or declare it, as in Bandit(..., values={'age': [None]})"),
        )
    ),
    (lambda: Bandit(TEXTS, values=MAYBE).act([20]), "1 features"),
    (lambda: keeping(share_at_most("phone", 0.2)).act([20, 1]), "action"),
    (lambda: keeping(never("call", "size > 3")).act([20, 1]), "'size > 3'"),
    (lambda: of_areas("vip = yes", "north"), "values={'vip'"),
    (lambda: of_areas("area = nord", "north"), "'nord'"),
    (lambda: keeping(never("call", "age <= 17"), contexts=[[25, 0], [45, 1]]).act({"age": 17, "member": 0}), "'call'"),
    (lambda: Bandit(NUMBERED).statement(None), "confidence"),  # type: ignore[arg-type]
    *(
        (lambda given=given, age=age: Bandit(NUMBERED).give_up(*given, older_than=age), named)
        for given, age, named in (
            ((), None, "older_than"),
            (("1",), timedelta(1), "older_than"),
            ((), 30, "must be a timedelta"),
            ((), timedelta(days=-1), "must be a timedelta"),
            (("1",), None, "is not known here"),
        )
    ),
    *((lambda call=call: call(5), "path") for call in (Bandit(NUMBERED).save, Bandit.load)),
    *(
        (lambda path=path, call=call: call(path), "cannot")
        for path in ("b" * 300, "b\0.json", "none/b.json")
        for call in (Bandit(NUMBERED).save, Bandit.load)
    ),
    *(
        (lambda text=text: Decision.from_json(text), "no decision")
        for text in ("", "[1]", '{"id": "a"}', '{"id": 1, "id": 2}', "[" * 10_000)
    ),
]


@pytest.mark.parametrize(("call", "named"), CASES)
def test_what_no_bandit_takes_is_named(call: Callable[[], object], named: str) -> None:
    """Before the first decision; in questions, by feature and value, path or name."""
    refused(call, named)


OUTCOMES: list[tuple[dict[str, Any], str]] = [
    ({}, "cost"),
    ({"cost": 0.5, "reward": 1}, "cost"),
    *(({"cost": cost}, "cost_range") for cost in (1.5, float("nan"), 10**400)),
    ({"reward": 11}, "reward_range"),
    ({"reward": "much"}, "reward"),
    *(
        ({"cost": cost}, f"type {type(cost).__name__}")
        for cost in ("1", b"1", [0.5], np.array([0.5]), pd.NA, 0.5j, Money("1.5"))
    ),
]


def test_outcomes_that_are_none_leave_the_decision_open() -> None:
    """A wrong number, another bandit's decision, one that is made up; then it is learnt, once."""
    bandit = Bandit(NUMBERED, contexts=BITS, reward_range=(0, 10))
    decision = bandit.act(BITS[0])
    for given, named in OUTCOMES:
        refused(lambda given=given: bandit.learn(decision, **given), named)
    made_up = Decision("5", "1", 0.9, (0.05, 0.05, 0.9), (0, 0, 0))
    for wrong in (made_up, replace(decision, id="5")):
        refused(lambda wrong=wrong: bandit.learn(wrong, reward=1), "another bandit's")
    for text in ('{"id": "1"}', {"id": 1}, "{"):
        refused(lambda text=text: bandit.learn(text, reward=1), "no decision")
    for nothing in (0, None, 0.5):
        refused(lambda nothing=nothing: bandit.learn(nothing, reward=1), "takes a Decision, or its id")
    refused(lambda: bandit.learn("some", reward=7), "some")
    bandit.learn(decision, reward=10)
    refused(lambda: bandit.learn(decision, reward=10), "already")
    assert bandit.statement().startswith("1 decision")


def test_a_learner_that_takes_costs_in_order_decides_one_by_one() -> None:
    """A second decision before the first is learnt is refused; the next ones are made."""
    bandit = Bandit(NUMBERED, "epsilon_greedy", contexts=BITS)
    decision = bandit.act(BITS[0])
    refused(lambda: bandit.act(BITS[1]), "EpsilonGreedy")
    bandit.learn(decision, cost=1.0)
    assert bandit.act(BITS[1]).id != decision.id
