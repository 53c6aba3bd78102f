"""Exports act as ``predict`` does: SQL in two databases, to the last digit, Python source, JSON and pickles."""

import ctypes
import json
import pickle
import sqlite3
import subprocess
import sys

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pytest

import policies
from milpcb.data.columns import Membership, Number, Reached
from milpcb.data.fields import Field
from milpcb.errors import InputError
from milpcb.estimators import (
    OptimalPolicy,
    OptimalPolicyTree,
    OptimalRuleList,
    OptimalScoringRule,
    OptimalThresholdRule,
)
from policies import DecisionTrees
from policies.exports.sql import literal
from policies.names import Names
from policies.trees import DecisionTree, Leaf, Split
from tests.exported import exported, in_duckdb, in_python, in_sqlite
from tests.refused import refused

ESTIMATORS = {
    "tree": OptimalPolicyTree(thresholds=7),
    "deep_tree": OptimalPolicyTree(max_depth=3, thresholds=3),
    "yes": OptimalPolicyTree(missing="yes", thresholds=7),
    "no": OptimalPolicyTree(missing="no", thresholds=7),
    "threshold": OptimalThresholdRule(max_cuts=3),
    "list": OptimalRuleList(max_rules=3, thresholds=3),
    "score": OptimalScoringRule(),
    "levels": OptimalScoringRule(features=["level", 'the "age"', "member"], thresholds=5, max_tests=2),
    "box": OptimalPolicy(policies="box_rules"),
    "monotone": OptimalPolicy(policies="monotone_rules", features=["level", "visits", "sex"]),
}


@pytest.fixture(scope="module", params=ESTIMATORS)
def fitted(request, people, costs_of):
    """A fitted estimator of each class, and 2 000 other rows, many of which lie on its cut points."""
    table = people(400, 0)
    table.loc[::40, "sex"] = None
    estimator = ESTIMATORS[request.param].fit(table, costs_of(table, 1))
    rows = people(2_000, 2)
    cuts = np.array(
        [data["threshold"] for _, data in estimator.policy_.graph().nodes(data=True) if "threshold" in data]
    )
    if len(cuts):  # a column of floats gets the numbers that the rule compares with
        rows["level"] = np.where(np.arange(len(rows)) % 3 == 0, np.resize(cuts, len(rows)), rows["level"])
    rows.loc[::7, "sex"] = None
    rows.loc[::11, "region; 'x'"] = "never seen"
    assert len(set(estimator.predict(rows))) > 1  # no constant was learnt, so that something is compared
    return estimator, rows


def test_exports_answer_as_predict(fitted):
    """The CASE expression in a database with strict types too, and a function that needs no import and few builtins."""
    estimator, rows = fitted
    frame, sql, expected = pl.from_pandas(rows), estimator.to_sql(), estimator.predict(rows).tolist()
    assert in_sqlite(sql, frame) == in_duckdb(sql, frame) == estimator.predict(frame).tolist() == expected
    used = (abs, bool, float, hasattr, isinstance, str, type, ValueError)
    scope = {"__builtins__": {builtin.__name__: builtin for builtin in used}}
    exec(estimator.to_python("answer"), scope)  # noqa: S102 - it is what is tested
    for listed in (rows.to_dict("records"), frame.to_dicts()):  # with NaN, and with None
        assert [scope["answer"](row) for row in listed] == expected


def test_json_and_pickle_answer_as_predict(fitted):
    """A pickle is the whole estimator; the JSON is that of its policy, with values and parameters."""
    estimator, rows = fitted
    expected = estimator.predict(rows).tolist()
    back = pickle.loads(pickle.dumps(estimator))  # noqa: S301 - ours
    assert back.predict(rows).tolist() == expected
    policy, document = policies.from_json(estimator.to_json()), json.loads(estimator.to_json())
    assert policy == back.policy_ == estimator.policy_
    assert str(policy) == str(back.policy_)
    assert policy.predict_names(rows) == expected
    assert {**document["parameters"], "constraints": ()} == estimator.get_params()  # JSON has lists only
    assert document["policy_value_"] == estimator.policy_value_


@pytest.mark.parametrize("kind", ["TINYINT", "INTEGER", "BIGINT", "FLOAT", "DOUBLE", "DECIMAL(9, 2)"])
def test_every_type_of_number_is_compared_alike(kind):
    """The types of a database are compared with cuts, and added up, as the floats that they are."""
    rng = np.random.default_rng(0)
    unit = 10 if kind in ("FLOAT", "DOUBLE", "DECIMAL(9, 2)") else 1
    table = pd.DataFrame(rng.integers(-100, 100, (300, 2)) / unit, columns=["x", "y"])
    rows = table.astype(np.float32) if kind == "FLOAT" else table
    costs = np.column_stack([table["x"] * 2 + table["y"], np.zeros(300)])
    ties = {"x": np.unique(table["x"]), "y": [0.1]}
    for estimator in (OptimalPolicyTree(thresholds=ties), OptimalScoringRule(thresholds=ties, max_tests=2)):
        estimator.fit(table, costs)
        columns = ", ".join(f"CAST({name} AS {kind}) AS {name}" for name in rows)
        cast = duckdb.sql(f"SELECT {columns} FROM rows").pl()
        assert in_duckdb(estimator.to_sql(), cast) == estimator.predict(rows).tolist()


def test_a_number_that_never_was_missing(people, costs_of):
    """Where ``predict`` raises, SQL gives NULL and Python raises too; columns that the rule does not read may lack."""
    table = people(300, 0)
    estimator = OptimalThresholdRule(features=["visits"]).fit(table, costs_of(table, 1))
    rows = table.astype({"visits": float})
    rows.loc[3, "visits"] = np.nan
    rows.loc[4, "level"] = np.nan
    refused(lambda: estimator.predict(rows), "column 'visits' is missing in row 3: it never was")
    assert len(estimator.predict(rows.drop(3))) == 299
    answers = in_duckdb(estimator.to_sql(), pl.from_pandas(rows))
    assert [i for i, answer in enumerate(answers) if answer is None] == [3]
    with pytest.raises(ValueError, match="column 'visits' is None, which is no number as when the policy was learnt"):
        in_python(estimator.to_python(), rows[3:4])


def test_a_pickle_needs_no_solver(people, costs_of, tmp_path):
    """A fitted estimator predicts in a process in which no solver and no compiler can be imported."""
    table = people(200, 0)
    estimator = OptimalPolicyTree(kind="milp", thresholds=3).fit(table, costs_of(table, 1))
    (tmp_path / "policy.pickle").write_bytes(pickle.dumps(estimator))
    table.to_pickle(tmp_path / "table.pickle")
    code = """
import sys, pickle, pathlib
for name in ("highspy", "pulp", "numba"):
    sys.modules[name] = None
estimator, table = (pickle.loads(pathlib.Path(name).read_bytes()) for name in ("policy.pickle", "table.pickle"))
print(*estimator.predict(table), sep="|")
"""
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout.strip().split("|") == estimator.predict(table).tolist()


def test_what_cannot_be_written_is_one_line():
    """A halfspace has no source that always agrees; its JSON is there."""
    X = np.random.default_rng(0).normal(size=(20, 2))
    estimator = OptimalPolicy(policies="halfspaces").fit(X, (X[:, 0] > 0).astype(int))
    refused(estimator.to_sql, "HalfspaceRule cannot be written as SQL or Python")
    assert np.array_equal(policies.from_json(estimator.to_json()).predict(X), estimator.predict(X))


@pytest.mark.parametrize("asked", ["Nord", " nord", "NORD", "S\u00fcd  ", "n/a", "NULL", " None"])
def test_another_spelling_of_a_known_string_is_refused(asked):
    """In predict and the exported function by a line, in SQL by NULL; what looks like none is like any other value."""
    towns = pd.DataFrame({"town": ["nord", "s\u00fcd", "west"] * 20})
    tree = OptimalPolicyTree(max_depth=1).fit(towns, ["a", "b", "b"] * 20)
    again, python = policies.from_json(tree.to_json()), tree.to_python()
    frame = pd.DataFrame({"town": [asked, "east"]})
    for predict in (tree.predict, again.predict):
        with pytest.raises(InputError, match=r"column 'town' is .*(and is known as|no known value)"):
            predict(frame)
    with pytest.raises(ValueError, match=r"column 'town' is .*, another spelling of a known string or of none"):
        in_python(python, frame[:1])
    assert tree.predict(frame[1:]).tolist() == in_python(python, frame[1:]) == ["b"]
    assert in_duckdb(tree.to_sql(), frame) == in_sqlite(tree.to_sql(), frame) == [None, "b"]
    assert (
        '-- town: category, nord, s\u00fcd, west; never missing; read as missing: ""; another spelling' in tree.to_sql()
    )


# ------------------------------------------------------------------- SQL, to the last sign and digit

BREAKS = ["a\nb", "a\n  b", "a\n      b", "a\r\nb", "it's\n'c'"]
LINUX = pytest.mark.skipif(sys.platform != "linux", reason="the settings of the processor are set by glibc's names")
NEAR = [2**53 - 1, 2**53, 2**53 + 1, 2**53 + 2, 2**53 + 3, -(2**53) - 1, 2**62 + 1, 0]


def test_line_breaks_in_names_and_categories_are_kept():
    """Indenting nested decisions leaves literals alone: every row gets its action, to the last space of its name."""
    columns = (Membership("g\nh", ("a\n  b", "it's\n'c'")), Membership("g\nh", ("a\nb",)), Number("x"))
    fields = (Field("g\nh", "category", ("a",)), Field("x"))
    names = Names(("g\nh", "x"), ("play\n  one", "play\none", "two\n\n"), columns, fields)
    deep = Split(1, 0.5, Leaf(1), Split(2, 3.0, Leaf(0), Leaf(2), binary=False), binary=True)
    tree = DecisionTree(Split(0, 0.5, Split(2, 1.0, Leaf(0), Leaf(2)), deep, binary=True), names)
    rows = [(text, float(x)) for text in [*BREAKS, "other"] for x in (0, 1, 2, 3, 4)]
    frame = pd.DataFrame(rows, columns=["g\nh", "x"])
    expected = tree.predict_names(frame)
    assert len(set(expected)) == 3
    assert exported(tree, frame) == expected


@pytest.mark.parametrize("cut", [2.0**53, 2.0**53 + 2, -(2.0**53), 2.0**62, 0.5])
def test_whole_numbers_beyond_floats_are_compared_as_predict_does(cut):
    """``predict`` reads floats; SQLite would compare an integer with a float exactly."""
    frame = pd.DataFrame({"x": NEAR})
    trees = DecisionTrees(2, depth=1, thresholds=[[cut]], feature_names=["x"]).on([[cut - 2**12], [cut + 2**12]])
    tree = next(each for each in trees.policies() if each.leaf_actions == (0, 1))
    reached = Names(("x",), (), (Reached("x", cut),))
    for rule in (tree, DecisionTree(Split(0, 0.5, Leaf(0), Leaf(1), binary=True), reached)):
        expected = rule.predict(frame).tolist()
        assert in_sqlite(rule.to_sql(), frame, "INTEGER") == in_duckdb(rule.to_sql(), frame) == expected


def test_a_category_that_sql_cannot_hold_is_left_out_where_no_rule_tests_it():
    """It never comes; where a rule tests it, one line says that it cannot be written."""
    frame = pd.DataFrame({"town": ["a", "b", "c\0"] * 20})
    tree = OptimalPolicyTree(max_depth=1)
    assert in_duckdb(tree.fit(frame, [1, 0, 0] * 20).to_sql(), frame) == [1, 0, 0] * 20
    refused(lambda: tree.fit(frame, [0, 0, 1] * 20).to_sql(), "a name or category has a zero character")


def numbers():
    """Return floats of every size, of few and of many digits."""
    rng = np.random.default_rng(0)
    wide = rng.normal(size=1500) * 10.0 ** rng.integers(-30, 30, 1500)
    middles = (rng.integers(0, 10**9, 1500) + rng.integers(0, 10**9, 1500)) / 2e9
    short = [float(f"{a}e{e}") for a, e in zip(rng.integers(1, 10**15, 1500), rng.integers(-22, 8, 1500), strict=True)]
    return [*wide.tolist(), *middles.tolist(), *short, 5e-324, 1e308, -1.7e-300, 2.0**62 + 2**20, 0.1, 1e22, 2.0**80]


@pytest.fixture(params=[64, pytest.param(53, marks=LINUX)])
def digits(request):
    """Let the processor compute with 64 digits, or with 53 as some libraries leave it."""
    if request.param == 64:
        yield
        return
    library, kept = ctypes.CDLL(None), ctypes.create_string_buffer(256)
    library.fegetenv(kept)
    if kept.raw[:2] != b"\x7f\x03":
        pytest.skip("no x87 processor")
    library.fesetenv(ctypes.create_string_buffer(b"\x7f\x02" + kept.raw[2:], 256))
    try:
        yield
    finally:
        library.fesetenv(kept)


@pytest.mark.usefixtures("digits")
def test_every_number_is_read_as_itself():
    """SQLite rounds decimals twice, and with 53 digits otherwise; what is written stands above either."""
    base, drawn = sqlite3.connect(":memory:"), numbers()
    assert [x for x in drawn if base.execute(f"SELECT {literal(x)}").fetchone()[0] != x] == []
    assert list(duckdb.sql(f"SELECT {', '.join(map(literal, drawn[::5]))}").fetchall()[0]) == drawn[::5]


def test_decimals_that_people_write_stay_as_they_are():
    """A number that is read alike everywhere is not taken apart; others are made of powers of two."""
    written = ["0.5e0", "2.25e0", "1e-05", "40", "0.1e0", "686.5e0", "16777215", "16777216.0e0"]
    assert [literal(float(text)) for text in written] == written
    assert literal(2.0**-70) == "(1e0 / 4611686018427387904e0 / 256e0)"
    assert literal(-3 * 2.0**132) == "(-3e0 * 4611686018427387904e0 * 4611686018427387904e0 * 256e0)"
