"""Which action is meant: names and numbers of every type are matched by one rule, never by position where they name."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

from milpcb.data.actions import action_name, by_action, place, places, played
from milpcb.errors import InputError
from milpcb.offline import evaluate, read_log, scores
from policies.names import Names
from policies.thresholds import ThresholdRule

N = 300
THREE = [
    [1, 2, 3], [2, 10, 1], [0, 1, 2], [1.0, 2.0, 3.0], [0.5, 1.0, 2.0], ["write", "call", "wait"], ["10", "9", "8"],
    ["1", "02", "2"], ["missing", "", "true"], ["a\nb", "a\\nb", "a\n  b"], ['say "no"', "it's", "'"],
    ["play", "else:", "if x <= 1:"],
]  # fmt: skip


@pytest.mark.parametrize(
    ("value", "name"),
    [
        ("call", "call"),
        (2, "2"),
        (np.int8(2), "2"),
        (np.float32(2), "2"),
        (-0.0, "0"),
        (0.5, "0.5"),
        (2**53 + 1, "9007199254740993"),
        (True, "True"),
        (np.bool_(False), "False"),
        ("1.0", "1.0"),
    ],
)
def test_what_an_action_is_called(value, name):
    """Integers of any type are their digits, strings are themselves, booleans are words."""
    assert action_name(value) == name


@pytest.mark.parametrize(
    ("names", "value", "expected"),
    [
        (("1", "2", "3"), 3.0, 2),
        (("1", "2", "3"), "2", 1),
        (("2", "0", "1"), 0, 1),
        (("call", "write"), np.float64(0), 0),
        (("call", "write"), True, 1),
        (("0", "1"), True, 1),
        (("False", "True"), 1, 1),
        (("True", "False"), 1, 0),
        (("True", "1"), 1, 1),
        (("True", "1"), True, 0),
        (("0.5", "1"), 1.0, 1),
        (("", "call"), "", 0),
    ],
)
def test_an_action_is_looked_up_by_name_before_its_place(names, value, expected):
    """Numbers are places only where no name is a number."""
    assert place("action", value, names) == expected
    assert places("action", [value, value], names).tolist() == [expected] * 2
    assert places("action", np.array([value]), names).tolist() == [expected]


@pytest.mark.parametrize(
    ("names", "values", "message"),
    [
        (("1", "2", "3"), [1, 0], "unknown action '0'"),
        (("call", "write"), [-1], "unknown action '-1'"),
        (("call", "write"), ["0"], "unknown action '0'"),
        (("0.5", "1"), [0], "unknown action '0'"),
        (("1", "2"), np.array([1.0, np.nan]), "action is missing in row 1"),
        (("1", "2"), [[1], 2], "one a row, got shape"),
    ],
)
def test_what_is_no_action_is_one_line(names, values, message):
    """Nothing is guessed: the names are listed."""
    with pytest.raises(InputError, match=message):
        places("action", values, names)


@pytest.mark.parametrize(
    "table",
    [
        {"b": [0.1, 0.2], "a": [0.9, 0.8]},
        pd.DataFrame({"b": [0.1, 0.2], "a": [0.9, 0.8]}),
        pl.DataFrame({"b": [0.1, 0.2], "a": [0.9, 0.8]}),
        np.array([[0.9, 0.1], [0.8, 0.2]]),
        pd.DataFrame([[0.9, 0.1], [0.8, 0.2]]),
    ],
)
def test_columns_are_bound_to_actions_by_name(table):
    """Data frames and mappings say what their columns are; arrays, and numbered columns, are in the given order."""
    assert np.array_equal(np.asarray(by_action("propensity", table, ("a", "b"))), [[0.9, 0.1], [0.8, 0.2]])


def test_one_number_an_action_is_bound_by_name():
    """Shares as pandas counts them come the most frequent first."""
    shares = pd.Series(["b", "b", "a"]).value_counts(normalize=True)
    assert list(shares.index) == ["b", "a"]
    assert np.allclose(by_action("propensity", shares, ("a", "b")), [1 / 3, 2 / 3])
    assert np.allclose(by_action("propensity", {10: 0.75, 2: 0.25}, ("2", "10")), [0.25, 0.75])


@pytest.mark.parametrize("columns", [["a", "c"], ["a"], ["a", "b", "c"], [True, "1"]])
def test_columns_that_are_not_the_actions_are_one_line(columns):
    """A column that is called as no action is an error, not the next one in the order."""
    names = ("0", "1") if True in columns else ("a", "b")
    table = pd.DataFrame(np.full((3, len(columns)), 0.5), columns=columns)
    with pytest.raises(InputError, match="propensity"):
        by_action("propensity", table, names)


def world(names, *, frame=True):
    """Return a log in which action ``names[x]`` gives 1 and any other 0, with its propensities by name."""
    rng = np.random.default_rng(0)
    x = rng.integers(0, 3, N)
    chances = np.where(np.arange(3) == x[:, None], 0.6, 0.2)
    done = np.array([rng.choice(3, p=p) for p in chances])
    table = pd.DataFrame(chances, columns=names)[[names[2], names[0], names[1]]] if frame else chances
    log = read_log(x[:, None], [names[k] for k in done], reward=(done == x) * 1.0, propensity=table)
    return x, scores(log, "ips"), np.mean((done == x) / 0.6)


@pytest.mark.parametrize("names", THREE)
def test_the_best_policy_is_worth_what_it_is_worth_whatever_actions_are_called(names):
    """Names as integers, floats and strings: a policy that always plays the best is valued by its definition."""
    x, table, truth = world(names)
    best = [names[k] for k in x]

    class Best:
        def predict(self, contexts):
            return np.array([names[int(k)] for k in contexts[:, 0]])

    for policy in (Best(), best, np.array(best), np.array(best, dtype=object), list(map(action_name, best))):
        assert evaluate(table, policy).value.estimate == pytest.approx(truth)
    for k, name in enumerate(map(action_name, names)):
        done = np.array(table.actions)[table.log.action]
        always = np.mean((done == name) & (x == k)) / 0.6
        assert evaluate(table, best).constants[name].estimate == pytest.approx(always)


def test_a_policy_of_a_class_plays_columns_or_its_names():
    """Its numbers are the columns of the costs that it was found by; where it has names, these are looked up."""
    rule = ThresholdRule(0, (0.5, 1.5), (0, 1, 2))
    x, table, truth = world([1, 2, 3])
    assert played(rule, x[:, None], table.actions).tolist() == x.tolist()
    named = ThresholdRule(0, (0.5, 1.5), (2, 0, 1), Names(actions=("2", "3", "1")))
    assert evaluate(table, named).value.estimate == pytest.approx(truth)
    with pytest.raises(InputError, match="unknown action of the policy 'wait'"):
        evaluate(table, ThresholdRule(0, (0.5,), (0, 1), Names(actions=("1", "wait"))))
    shown = ThresholdRule(0, (0.5, 1.5), (0, 1, 2), Names(actions=("low", "middle", "high")))
    assert evaluate(world([0, 1, 2])[1], shown).value.estimate == pytest.approx(truth)
