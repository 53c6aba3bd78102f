"""Other arguments of a service than contexts: masks of actions, numbers of any type, decisions as stored."""

import json
from dataclasses import asdict
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

from milpcb import Bandit
from milpcb.errors import InputError
from policies import DecisionTrees
from tests.inside import open_decisions, state_of

NAMED = DecisionTrees(3, depth=1, thresholds=[[0.5]], action_names=["a", "b", "c"])
TRUE_OR_FALSE = DecisionTrees(2, depth=1, thresholds=[[0.5]], action_names=["True", "False"])


def there(bandit: Bandit, available: Any) -> list[bool]:
    """Return which actions a decision may take, by its law."""
    return [chance > 0 for chance in bandit.act([0], available=available).probabilities]


# ------------------------------------------------------------------- what is available


@pytest.mark.parametrize(
    "mask",
    [
        [True, False, True],
        (True, False, True),
        np.array([True, False, True]),
        [np.True_, np.False_, np.True_],
        np.array([True, False, True], dtype=object),
        pd.Series([True, False, True]),
        pd.Series({"c": True, "b": False, "a": True}),
        {"b": False, "a": True, "c": np.True_},
        pd.DataFrame({"c": [True], "a": [True], "b": [False]}),
        pl.DataFrame({"c": [True], "a": [True], "b": [False]}),
        ["c", "a"],
        pd.Series(["c", "a"]),
        {"c", "a"},
        [2, 0],
        iter(["a", "c"]),
    ],
    ids=lambda mask: type(mask).__name__,
)
def test_a_mask_leaves_the_actions_where_it_is_true(mask: Any) -> None:
    """By place or by name, as a list of these actions does; the forbidden one has no chance."""
    assert there(Bandit(NAMED), mask) == [True, False, True]


@pytest.mark.parametrize(
    "each",
    [
        [["a", "b"], ["c"]],
        [[True, True, False], [False, False, True]],
        np.array([[True, True, False], [False, False, True]]),
        [np.array([True, True, False]), ["c"]],
        [{"a": True, "b": True, "c": False}, {"c"}],
        pd.DataFrame([[False, True, True], [True, False, False]], columns=["c", "a", "b"]),
        pl.DataFrame({"c": [False, True], "b": [True, False], "a": [True, False]}),
    ],
    ids=lambda each: type(each).__name__,
)
def test_each_row_may_have_its_own_mask(each: Any) -> None:
    """The first may get a or b, the second c only."""
    laws = [decision.probabilities for decision in Bandit(NAMED).act_all([[0.0], [1.0]], available=each)]
    assert [[chance > 0 for chance in law] for law in laws] == [[True, True, False], [False, False, True]]


def test_one_mask_holds_for_all_rows() -> None:
    """Also where there are as many rows as actions."""
    for decision in Bandit(NAMED).act_all([[0.0], [1.0], [1.0]], available=[False, True, True]):
        assert decision.probabilities[0] == 0


@pytest.mark.parametrize(
    ("policies", "available", "message"),
    [
        (NAMED, [True, False], "2 booleans for the 3 actions"),
        (NAMED, [True, "a", "b"], "a list of actions or a mask of booleans"),
        (NAMED, [1, 0, 1], "lists 'b' twice"),
        (NAMED, np.array([1.0, 0.0, 1.0]), "lists 'b' twice"),
        (TRUE_OR_FALSE, [1, 0], "may be a list or a mask"),
        (TRUE_OR_FALSE, np.array([0, 1]), "may be a list or a mask"),
        (NAMED, {"a": 1, "b": 0, "c": 1}, "a list of actions or a mask of booleans"),
        (NAMED, {"a": True, "b": False}, "2 booleans for the 3 actions"),
        (NAMED, {"a": True, "b": False, "d": True}, "'d'"),
        (NAMED, pd.DataFrame({"a": [1], "b": [0], "c": [1]}), "a list of actions or a mask of booleans"),
        (NAMED, [["a"], ["b"]], "available has 2 rows for 1 contexts"),
        (NAMED, [False, False, False], "no action is available"),
        *((NAMED, nothing, "available must be a list of actions") for nothing in (np.array(1), "a", 3)),
        (NAMED, [], "no action is available"),
        (NAMED, ["a", "walk"], "'walk'"),
        (TRUE_OR_FALSE, [True, False], "can be read in two ways"),
        (TRUE_OR_FALSE, {True, False}, "can be read in two ways"),
    ],
)
def test_what_can_be_read_in_two_ways_is_refused(policies: Any, available: Any, message: str) -> None:
    """In one line, and no decision is made."""
    bandit = Bandit(policies)
    with pytest.raises(InputError, match=message) as caught:
        bandit.act([0], available=available)
    assert "\n" not in str(caught.value)
    assert not open_decisions(bandit)


def test_a_mask_by_name_is_right_where_actions_are_called_true_and_false() -> None:
    """Names can be read in one way only."""
    assert there(Bandit(TRUE_OR_FALSE), {"True": False, "False": True}) == [False, True]
    assert there(Bandit(TRUE_OR_FALSE), ["False"]) == [False, True]


# ------------------------------------------------------------------- costs and rewards


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        (True, 1.0),
        (np.True_, 1.0),
        (False, 0.0),
        (Decimal("0.25"), 0.25),
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
    bandit = Bandit(NAMED, keep_log=True)
    bandit.learn(bandit.act([0]), **{kind: given})
    paid = state_of(bandit)["log"][0][2]
    assert (paid, type(paid)) == (meant if kind == "cost" else 1 - meant, float)


# ------------------------------------------------------------------- decisions and contexts


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
    bandit = Bandit(NAMED)
    kept = stored(bandit.act([0]))
    bandit.learn(kept, cost=0.5)
    with pytest.raises(InputError, match="it was learnt already"):
        bandit.learn(kept, cost=0.5)


@pytest.mark.parametrize("options", [{}, {"feature_names": []}])
def test_a_class_without_features_needs_no_context(options: dict[str, Any]) -> None:
    """It finds the arm that is best; a context of a number is refused."""
    bandit = Bandit(DecisionTrees(4, depth=1, thresholds=[], **options), seed=0)
    for context in [[], {}, (), None, np.empty(0)] * 100:
        decision = bandit.act(context)
        bandit.learn(decision, cost=0.1 if decision.action == 2 else 0.9)
    bandit.learn(bandit.act_all([[], {}])[1], cost=0.5)
    assert bandit.act().probabilities[2] > 0.9
    assert bandit.policy().predict([[0.0]]).tolist() == [2]
    for wrong in ([1], 1, np.array(1), "x"):
        with pytest.raises(InputError, match=r"the class has no features: call act\(\) without a context"):
            bandit.act(wrong)
    with pytest.raises(InputError, match="takes a list of contexts, each empty"):
        bandit.act_all(5)
