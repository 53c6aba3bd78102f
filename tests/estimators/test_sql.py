"""SQL says what the rule says, whatever stands in names, and reads numbers as exactly the floats that it compares."""

import ctypes
import sqlite3
import subprocess
import sys

import duckdb
import numpy as np
import pandas as pd
import pytest

from milpcb.data.columns import Membership, Number, Reached
from milpcb.data.fields import Field
from milpcb.estimators import OptimalPolicyTree
from policies import DecisionTrees
from policies.exports.sql import literal
from policies.names import Names
from policies.trees import DecisionTree, Leaf, Split
from tests.exported import exported, in_duckdb, in_sqlite
from tests.refused import refused

BREAKS = ["a\nb", "a\n  b", "a\n      b", "a\r\nb", "it's\n'c'"]
LINUX = pytest.mark.skipif(sys.platform != "linux", reason="the settings of the processor are set by glibc's names")
PRECISION = """
import ctypes, sqlite3
from milpcb.oracles import open_oracle
from policies import DecisionTrees
def settings():
    kept = ctypes.create_string_buffer(256)
    ctypes.CDLL(None).fegetenv(kept)
    return kept.raw[:2]
before = settings()
contexts, costs = [[0.0], [1.0]], [[0.0, 1.0], [1.0, 0.0]]
open_oracle(DecisionTrees(2, depth=1), contexts, kind="milp", solver="xpress").minimise(costs)
assert settings() == before, (before, settings())
number = -8.93581510298914e-10
assert sqlite3.connect(":memory:").execute(f"SELECT {number!r}").fetchone()[0] == number
"""
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
    base = sqlite3.connect(":memory:")
    assert [x for x in numbers() if base.execute(f"SELECT {literal(x)}").fetchone()[0] != x] == []


def test_another_database_reads_the_same():
    """The form is SQL of all databases, and its arithmetic is exact."""
    drawn = numbers()[::5]
    assert list(duckdb.sql(f"SELECT {', '.join(map(literal, drawn))}").fetchall()[0]) == drawn


def test_decimals_that_people_write_stay_as_they_are():
    """A cut that is read alike everywhere is not taken apart."""
    assert [literal(x) for x in (0.5, 2.25, 1e-5, 40.0, 0.1, 686.5)] == [
        "0.5e0",
        "2.25e0",
        "1e-05",
        "40",
        "0.1e0",
        "686.5e0",
    ]
    assert literal(2.0**-70) == "(1e0 / 4611686018427387904e0 / 256e0)"
    assert literal(-3 * 2.0**132) == "(-3e0 * 4611686018427387904e0 * 4611686018427387904e0 * 256e0)"


@LINUX
def test_xpress_leaves_the_processor_as_it_was():
    """Its library sets 53 digits when it is loaded; the adapter puts the settings back, so that decimals stay exact."""
    pytest.importorskip("xpress")
    done = subprocess.run([sys.executable, "-c", PRECISION], capture_output=True, text=True, check=False, timeout=600)
    assert done.returncode == 0, done.stderr
