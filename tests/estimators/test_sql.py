"""SQL says what the rule says whatever stands in names and categories, and however large numbers are."""

# ruff: noqa: S608 - SQL of ours, in databases of its own

import sqlite3

import duckdb
import pandas as pd
import pytest

from milpcb.data.columns import Membership, Number, Reached
from milpcb.data.fields import Field
from milpcb.errors import InputError
from milpcb.estimators import OptimalPolicyTree
from policies import DecisionTrees
from policies.names import Names
from policies.trees import DecisionTree, Leaf, Split

BREAKS = ["a\nb", "a\n  b", "a\n      b", "a\r\nb", "it's\n'c'"]
NEAR = [2**53 - 1, 2**53, 2**53 + 1, 2**53 + 2, 2**53 + 3, -(2**53) - 1, 2**62 + 1, 0]


def sqlite(sql, rows, columns):
    """Return the value of an expression for each row."""
    base = sqlite3.connect(":memory:")
    base.execute(f"CREATE TABLE t ({columns})")
    base.executemany(f"INSERT INTO t VALUES ({', '.join('?' * len(rows[0]))})", rows)
    return [answer for (answer,) in base.execute(f"SELECT {sql} FROM t")]


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
    assert sqlite(tree.to_sql(), rows, '"g\nh", x') == expected
    assert [answer for (answer,) in duckdb.sql(f"SELECT {tree.to_sql()} FROM frame").fetchall()] == expected
    scope = {}
    exec(tree.to_python(), scope)  # noqa: S102 - it is what is tested
    assert [scope["decide"](row) for row in frame.to_dict("records")] == expected


@pytest.mark.parametrize("cut", [2.0**53, 2.0**53 + 2, -(2.0**53), 2.0**62, 0.5])
def test_whole_numbers_beyond_floats_are_compared_as_predict_does(cut):
    """``predict`` reads floats; SQLite would compare an integer with a float exactly."""
    frame = pd.DataFrame({"x": NEAR})
    trees = DecisionTrees(2, depth=1, thresholds=[[cut]], feature_names=["x"]).on([[cut - 2**12], [cut + 2**12]])
    tree = next(each for each in trees.policies() if each.leaf_actions == (0, 1))
    reached = Names(("x",), (), (Reached("x", cut),))
    for rule in (tree, DecisionTree(Split(0, 0.5, Leaf(0), Leaf(1), binary=True), reached)):
        expected = rule.predict(frame).tolist()
        assert sqlite(rule.to_sql(), [(x,) for x in NEAR], "x INTEGER") == expected
        assert [answer for (answer,) in duckdb.sql(f"SELECT {rule.to_sql()} FROM frame").fetchall()] == expected


def test_a_category_that_sql_cannot_hold_is_left_out_where_no_rule_tests_it():
    """It never comes; where a rule tests it, one line says that it cannot be written."""
    frame = pd.DataFrame({"town": ["a", "b", "c\0"] * 20})
    tree = OptimalPolicyTree(max_depth=1)
    assert duckdb.sql(f"SELECT {tree.fit(frame, [1, 0, 0] * 20).to_sql()} FROM frame").fetchall()[0] == (1,)
    with pytest.raises(InputError, match="a name or category has a zero character"):
        tree.fit(frame, [0, 0, 1] * 20).to_sql()
