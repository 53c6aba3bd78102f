"""Contexts and decisions of a service: strings, missing values."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

from milpcb import Bandit
from policies import DecisionTrees
from tests.refused import refused

NUMBERS = DecisionTrees(2, 1, thresholds=[[30], [5]], feature_names=["age", "visits"], action_names=["call", "wait"])
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
    refused(lambda: never.act({"age": 1, "region": ""}), "feature 'region' is missing: fill it in, or declare")


@pytest.mark.parametrize("text", ["", "N/A"])
def test_text_of_a_web_form_is_no_number(text: str) -> None:
    """Nor is it missing: the error says how to give it, and how to declare that it may be."""
    person, known = {"age": text, "region": "north"}, {"region": ["north"]}
    for values, line in [
        ({**known, "age": [None]}, "'age' is '"),
        (known, "give None, and declare that it may be missing, as in Bandit(..., values={'age'"),
    ]:
        refused(lambda values=values: Bandit(TEXTS, values=values).act(person), line)
