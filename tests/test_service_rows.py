"""Rows, costs and decisions are read as they were meant: strings, missing values, types at serving, rows by name."""

import json
import sqlite3
from collections import namedtuple
from dataclasses import asdict, make_dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

from milpcb import Bandit, always, never
from milpcb.errors import InputError
from policies import DecisionTrees
from tests.inside import open_decisions, state_of
from tests.refused import refused

TEXTS = DecisionTrees(2, 2, thresholds=[[30, 60], []], feature_names=["age", "region"], action_names=["call", "wait"])
VALUES = {"region": ["north", "south", "west"], "age": [None]}


# ------------------------------------------------------------------- strings and missing values


@pytest.mark.usefixtures("same_draws")
def test_texts_and_missing_values_are_tested_by_the_rules_found(tmp_path: Path) -> None:
    """The rule hidden in the costs is found, prints in words, and reads people as they come; a file keeps all of it."""
    bandit, draws = Bandit(TEXTS, seed=0, values=VALUES), np.random.default_rng(0)
    for t in range(600):
        person = {
            "age": [20, 45, 70, None][draws.integers(4)],  # 70 is beyond every cut
            "region": ["north", "south", "west", "?"][draws.integers(4)],
        }
        right = "call" if person["region"] == "north" or person["age"] is None else "wait"
        decision = bandit.act(person)
        bandit.learn(decision, cost=float(decision.action != right))
        if t == 300:
            bandit.save(tmp_path / "bandit.json")
            bandit = Bandit.load(tmp_path / "bandit.json")
    policy: Any = bandit.policy()
    assert "age is missing" in str(policy)
    assert "region = north" in str(policy)
    people = pd.DataFrame({"age": [20, None, 45], "region": ["north", "south", "east"]})
    assert list(policy.predict_names(people)) == ["call", "call", "wait"]
    assert decision.context == (person["age"], person["region"])


@pytest.mark.parametrize(
    "row",
    [
        {"region": "north", "age": float("nan")},
        [None, "north"],
        (np.nan, np.str_("north")),
        pd.DataFrame({"region": ["north"], "age": [np.nan]}),
        pd.Series({"region": "north", "age": pd.NA}),
        pl.DataFrame({"region": ["north"], "age": [None]}),
    ],
)
def test_one_row_may_come_in_many_ways(row: Any) -> None:
    """All are the same context."""
    bandit = Bandit(TEXTS, values=VALUES)
    assert bandit.act(row).context == (None, "north")


def test_truth_stands_for_a_number_where_a_cut_point_divides_1_from_0() -> None:
    """Beside a column of strings; among cut points that are ages it is a mistake."""
    cuts = [[0.5, 3.0], []]
    few = DecisionTrees(2, 1, thresholds=cuts, feature_names=["visits", "region"], action_names=["call", "wait"])
    assert Bandit(few, values={"region": ["north"]}).act({"visits": True, "region": "north"}).context == (1, "north")
    other = Bandit(TEXTS, values={"region": ["north"]})
    line = "feature 'age' is True, and its values are numbers such as 60"
    refused(lambda: other.act({"age": True, "region": "north"}), line)


def test_contexts_with_texts_may_be_known() -> None:
    """A frame of them, and decisions on its rows; others are refused."""
    people = pd.DataFrame({"age": [20, None], "region": ["north", "south"]})
    bandit = Bandit(TEXTS, contexts=people, values=VALUES)
    assert bandit.act({"age": None, "region": "south"}).context == (None, "south")
    refused(lambda: bandit.act([70, "west"]), "none of those")


# ------------------------------------------------------------------- bounds


def test_an_empty_string_is_missing_unless_it_was_declared() -> None:
    """As in a CSV file: it is no further region."""
    may_be = Bandit(TEXTS, values={"age": [None], "region": ["north", None]})
    assert may_be.act({"age": 1, "region": ""}).context == (1, None)
    of_its_own = Bandit(TEXTS, values={"age": [None], "region": ["north", ""]})
    assert of_its_own.act({"age": 1, "region": ""}).context == (1, "")
    never = Bandit(TEXTS, values={"age": [None], "region": ["north"]})
    refused(lambda: never.act({"age": 1, "region": ""}), "feature 'region' is missing: fill it in, or declare it")


AGES = DecisionTrees(2, depth=1, thresholds=[[45], [5]], feature_names=["age", "visits"])


def trees(name: str) -> DecisionTrees:
    """Return trees of one test of one column of strings."""
    return DecisionTrees(2, depth=1, thresholds=[[]], feature_names=[name], action_names=["a", "b"])


def taught(name: str, values: list[Any], stream: list[Any], special: Any) -> Bandit:
    """Return a bandit that has learnt that b is right where a value is special, and a elsewhere."""
    bandit = Bandit(trees(name), seed=0, values={name: values})
    for value in stream:
        decision = bandit.act({name: value})
        bandit.learn(decision, cost=float(decision.action != ("b" if value == special else "a")))
    return bandit


@pytest.mark.parametrize(
    ("declared", "special"),
    [
        (["north", "south"], "north"),
        (["north", "south"], "south"),
        (["south", "north"], "south"),
        (["south"], "south"),
        (["north", None], "north"),
    ],
)
def test_every_declared_string_is_tested_against_all_others(declared: list[Any], special: str) -> None:
    """Also against those that nobody declared, whatever the order in which they were."""
    bandit = taught("region", declared, ["north", "south", "east"] * 60, special)
    policy: Any = bandit.policy()
    assert str(policy) == f"if region = {special}:\n    play b\nelse:\n    play a"


@pytest.mark.parametrize(
    ("values", "asked", "message"),
    [
        (["12", "7"], 12, "feature 'x' is 12, and its values are strings such as \"12\": turn it into the string"),
        (["12", "7"], 12.0, "feature 'x' is 12.0, and its values are strings"),
        (["12", "7"], np.int64(12), "feature 'x' is .*12.*, and its values are strings"),
        (["12", "7"], True, "feature 'x' is True, and its values are strings"),
        (["12", "7"], None, "feature 'x' is missing: fill it in, or declare it, as in Bandit"),
        ([True, False], "True", "feature 'x' is 'True', which is text, and its values are true and false"),
        ([True, False], "1", "feature 'x' is '1', which is text, and its values are true and false"),
        ([True, False], 2, "feature 'x' is 2, and its values are true and false"),
        ([101, 205], "205", "feature 'x' is '205', which is text, and its values are codes"),
        (["a"], [1], "feature 'x' is .*, which is no value"),
    ],
)
def test_a_type_at_serving_that_was_not_declared(values: list[Any], asked: Any, message: str) -> None:
    """Is refused, as ``policy().predict`` refuses; nothing is played."""
    bandit = taught("x", values, values * 5, values[0])
    with pytest.raises(InputError, match=message):
        bandit.act({"x": asked})
    refused(lambda: bandit.policy().predict([{"x": asked}]), "column 'x' is")
    assert not open_decisions(bandit)


ROW = namedtuple("Row", ["visits", "age"])(50, 20)
FRAME = pd.DataFrame({"visits": [50], "age": [20]})
BASE = sqlite3.connect(":memory:", check_same_thread=False)
BASE.row_factory = sqlite3.Row


@pytest.mark.parametrize(
    "row",
    [
        ROW,
        next(FRAME.itertuples()),
        FRAME.to_records()[0],
        FRAME.to_records(),
        np.array([(50.0, 20.0)], dtype=[("visits", float), ("age", float)])[0],
        FRAME.iloc[0],
        BASE.execute("SELECT 50 AS visits, 20 AS age").fetchone(),
        make_dataclass("Visit", ["visits", "age"])(50, 20),
        pd.DataFrame([[20, 50]]),
        pd.Series([20, 50]),
        np.array([20, 50]),
    ],
    ids=lambda row: type(row).__name__,
)
def test_a_row_that_carries_names_goes_by_name(row: Any) -> None:
    """Whatever the order of its columns; one that is only numbered goes by position."""
    assert Bandit(AGES).act(row).context == (20, 50)


def test_constraints_read_by_the_same_schema() -> None:
    """A column that only a guard-rail reads is declared, or a number; text that spells a number is converted."""
    rail = always(1, where='store = "12"')
    bandit = Bandit(AGES, values={"store": ["12", "7"]}, constraints=[rail])
    assert bandit.schema["store"].role == "constraint"
    assert bandit.act({"age": 20, "visits": 1, "store": "12"}).action == 1
    person = {"age": 20, "visits": 1, "store": 12, "weight": "16"}
    refused(lambda: bandit.act(person), "feature 'store' is 12, and its values are strings")
    other = Bandit(AGES, constraints=[never(1, where="weight <= 17")])
    refused(lambda: other.act(person), "'weight' is '16', which is text, not a number: convert it")


# ------------------------------------------------------------------- costs and decisions


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        (True, 1.0),
        (np.True_, 1.0),
        (False, 0.0),
        (Fraction(1, 4), 0.25),
        (np.array(0.25), 0.25),
        (np.array(True), 1.0),
        (np.float32(0.25), 0.25),
        (np.int8(1), 1.0),
    ],
)
@pytest.mark.parametrize("kind", ["cost", "reward"])
def test_numbers_of_any_type_are_taken(given: Any, meant: float, kind: str) -> None:
    """As costs and as rewards, for what they are."""
    bandit = Bandit(AGES, keep_log=True)
    bandit.learn(bandit.act([0, 0]), **{kind: given})
    paid = state_of(bandit)["log"][0][2]
    assert (paid, type(paid)) == (meant if kind == "cost" else 1 - meant, float)


@pytest.mark.parametrize(
    "stored",
    [
        lambda made: made.to_json(),
        lambda made: made.to_json().encode(),
        lambda made: json.dumps(asdict(made), indent=2),
        lambda made: json.loads(made.to_json()),
        lambda made: made.id.encode(),
    ],
    ids=["text", "bytes", "pretty", "table", "id"],
)
def test_a_decision_is_taken_as_it_was_stored(stored: Any) -> None:
    """Once; the second time it was learnt already."""
    bandit = Bandit(AGES)
    kept = stored(bandit.act([0, 0]))
    bandit.learn(kept, cost=0.5)
    refused(lambda: bandit.learn(kept, cost=0.5), "it was learnt already")
    assert bandit.statement().startswith("1 decision")


@pytest.mark.parametrize("options", [{}, {"feature_names": []}])
def test_a_class_without_features_needs_no_context(options: dict[str, Any]) -> None:
    """It finds the arm that is best; a context of a number is refused."""
    bandit = Bandit(DecisionTrees(4, depth=1, thresholds=[], **options), seed=0)
    for context in [[], {}, (), None, np.empty(0)] * 100:
        decision = bandit.act(context)
        bandit.learn(decision, cost=0.1 if decision.action == 2 else 0.9)
    assert bandit.act().probabilities[2] > 0.9
    assert bandit.policy().predict([[0.0]]).tolist() == [2]
    for wrong in ([1], 1, np.array(1), "x"):
        refused(lambda wrong=wrong: bandit.act(wrong), "the class has no features: call act() without a context")
