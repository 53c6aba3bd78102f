"""Values of any origin as they are read, or refused, and in which words; kinds inferred for columns."""

from collections import namedtuple
from decimal import Decimal
from enum import StrEnum
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

from milpcb.data.fields import Field, plain
from milpcb.data.schema import Schema
from milpcb.errors import InputError
from milpcb.estimators import OptimalPolicyTree, OptimalScoringRule
from milpcb.offline import read_log, scores
from policies import DecisionTrees
from tests.exported import in_duckdb, in_python
from tests.refused import refused

NUMBER, SHARE = Field("x", values=(18.0, 80.0)), Field("x", values=(0.0, 1.0))
TEXT, CODE = Field("x", "category", ("12", "7")), Field("x", "category", (101, 205))
TRUTH = Field("x", "boolean", (False, True))
LOST = (None, np.nan, np.float32("nan"), np.ma.masked, pd.NA, pd.NaT, np.datetime64("NaT"), Decimal("NaN"))


class Region(StrEnum):
    """Strings as people name them in programs."""

    NORTH = "north"


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (np.float32(2.5), 2.5),
        (np.int8(3), 3),
        (np.bool_(True), True),
        (np.str_("a"), "a"),
        (np.array(3), 3),
        (np.array("a"), "a"),
        (np.longdouble(2), 2.0),
        (Decimal("1.5"), 1.5),
        (Fraction(1, 4), 0.25),
        (Region.NORTH, "north"),
        ("nan", "nan"),
        *((lost, None) for lost in LOST),
    ],
)
def test_a_value_of_any_origin(value: Any, expected: Any) -> None:
    """Is plain data of its own kind."""
    assert plain(value) == expected
    assert type(plain(value)) is type(expected)


@pytest.mark.parametrize(
    ("field", "value", "expected"),
    [
        (NUMBER, np.int64(25), 25),
        (SHARE, True, 1),
        (TEXT, "never seen", "never seen"),
        (CODE, 205.0, 205),
        (CODE, np.int8(7), 7),
        (TRUTH, 1, True),
        (TRUTH, 0.0, False),
        (TRUTH, np.False_, False),
    ],
)
def test_what_fits_is_read(field: Field, value: Any, expected: Any) -> None:
    """0 and 1 are what False and True are; a category that was never seen is one."""
    assert field.one(value) == expected
    assert type(field.one(value)) is type(expected)


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        (NUMBER, "25", "column 'x' is '25' in row 0, which is text, not a number: convert it"),
        (NUMBER, "north", "column 'x' is 'north' in row 0, which is text, and its values are numbers"),
        (Field("x", missing=True), "", "column 'x' is '' in row 0, which is text, and its values are numbers: give a"),
        (NUMBER, True, "column 'x' is True in row 0, and its values are numbers such as 80"),
        (NUMBER, -np.inf, "column 'x' is -inf in row 0, which is infinite or beyond"),
        (NUMBER, 10**400, "column 'x' is 1000000000"),
        (TEXT, 12, "column 'x' is 12 in row 0, and its values are strings such as \"12\": turn it into the string"),
        (TEXT, True, "column 'x' is True in row 0, and its values are strings"),
        (TEXT, "12 ", "column 'x' is '12 ' in row 0, and is known as '12': write it so"),
        (TEXT, " ", "column 'x' is ' ' in row 0, which is no known value, or a missing one"),
        (TEXT, "N/A", "column 'x' is 'N/A' in row 0, which is no known value, or a missing one: give None"),
        (Field("x", "category", ("Zürich",)), "ZURICH", "column 'x' is 'ZURICH' in row 0, and is known as 'Zürich'"),
        (CODE, "205", "column 'x' is '205' in row 0, which is text, and its values are codes such as 101: turn it"),
        (CODE, True, "column 'x' is True in row 0, and its values are codes"),
        (TRUTH, "true", "column 'x' is 'true' in row 0, which is text, and its values are true and false: give True"),
        (TRUTH, 2, "column 'x' is 2 in row 0, and its values are true and false"),
        *((field, None, "column 'x' is missing in row 0: it never was") for field in (NUMBER, TEXT, CODE, TRUTH)),
    ],
)
def test_what_can_be_read_in_two_ways_is_refused(field: Field, value: Any, message: str) -> None:
    """By a column of objects as by a table, in one line with the column, the row, the value and the mend."""
    for read in (lambda: field.one(value, 0), lambda: Schema((field,)).read([{"x": value}])):
        with pytest.raises(InputError) as caught:
            read()
        assert str(caught.value).startswith(message)
        assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("column", "kind", "values", "missing"),
    [
        (pd.Series([1, 2, 3]), "number", (1.0, 3.0), False),
        (pd.Series([Decimal(1), None], dtype=object), "number", (1.0, 1.0), True),
        (pd.Series([True, None], dtype=object), "boolean", (False, True), True),
        (pd.Series([True, 0], dtype=object), "boolean", (False, True), False),
        (pd.Series([None, None], dtype=object), "number", (), True),
        (pd.Series(["b", "a", None]), "category", ("a", "b"), True),
        (pd.Series([3, 1, None], dtype="category"), "category", (1, 3), True),
        (pd.Series([True, False], dtype="category"), "boolean", (False, True), False),
        (
            pd.Series(["b", "a"], dtype=pd.CategoricalDtype(["b", "c", "a"], ordered=True)),
            "ordered category",
            ("b", "a"),
            False,
        ),
        (pl.Series(["b", "a"], dtype=pl.Enum(["b", "a", "c"])), "ordered category", ("b", "a"), False),
        (pl.Series(["b", "a"], dtype=pl.Categorical), "category", ("a", "b"), False),
    ],
)
def test_a_column_is_what_its_type_says(column: Any, kind: str, values: tuple[Any, ...], *, missing: bool) -> None:
    """A column of objects is what all of them are; categories keep their order, and are never numbers."""
    frame = pl.DataFrame({"x": column}) if isinstance(column, pl.Series) else pd.DataFrame({"x": column})
    assert Schema.infer(frame) == Schema((Field("x", kind, values, missing),))


def test_tables_are_read_by_name_where_they_have_names() -> None:
    """Frames, records, lists of rows; columns that are only numbered go by position, other numbers are names."""
    schema = Schema((Field("a"), Field("b")))
    swapped = pd.DataFrame({"b": [2.0], "c": [9.0], "a": [1.0]})
    Row = namedtuple("Row", ["b", "a"])
    tables = (swapped, pl.from_pandas(swapped), swapped.to_records(), [Row(2, 1)], pd.DataFrame([[1, 2]]), [[1, 2]])
    for table in tables:
        assert {name: column.tolist() for name, column in schema.read(table).items()} == {"a": [1.0], "b": [2.0]}
    numbered = Schema.infer(pd.DataFrame([[1, 2]], columns=[7, 3]))
    assert numbered.read(pd.DataFrame([[5, 6]], columns=[3, 7]))["7"].tolist() == [6.0]


MASKED = np.ma.array([[1.0, 2.0], [3.0, 4.0]], mask=[[0, 1], [0, 0]])
NO_VALUES: list[Any] = [b"a", [1], {1}, np.array([1]), 1j, np.datetime64("2020-01-01"), pd.Timestamp(0), object()]
READ = Schema((Field("a"), Field("b"))).read


@pytest.mark.parametrize(
    ("call", "message"),
    [
        *(
            (
                lambda field=field, value=value: field.one(value, 4),
                "column 'x' is .* in row 4, which is no value: give a",
            )
            for field in (NUMBER, TEXT, CODE, TRUTH)
            for value in NO_VALUES
        ),
        *(
            (lambda table=table: READ(table), message)
            for table, message in (
                (pd.DataFrame({"alter": [1], "b": [2]}), "the table has no column named 'a', but alter, b: add it"),
                ([{"a": 1, "b": 2}, {"a": 1}], "row 1 has no value named 'b', but a: add it"),
                ([{"a": 1, "b": 2}, [1, 2]], "row 1 carries no names, and row 0 does"),
                (pd.DataFrame([[1, 2]], columns=["a", "a"]), "the table has 2 columns named 'a'"),
                ([[1, 2, 3]], "the policy reads 2 columns: a, b"),
                ([[1, 2], [1]], "a table must have rows of one length"),
                ({"a": [1], "b": [2]}, "a table is a data frame, an array"),
                ("ab", "a table is a data frame, an array"),
                (pl.DataFrame({"a": [1]}).lazy(), "a lazy data frame was given"),
            )
        ),
        (lambda: READ(MASKED), "masked entries"),
        (lambda: DecisionTrees(2, depth=1, thresholds=2).on(MASKED), "masked entries"),
        (lambda: OptimalPolicyTree().fit(MASKED, [0, 1]), "masked entries"),
    ],
)
def test_what_is_no_value_or_table_is_refused(call: Any, message: str) -> None:
    """In a column of any kind; a table names the column, and what is there in its place; a mask hides no value."""
    with pytest.raises(InputError, match=message):
        call()


FRAME = pd.DataFrame({"flag": [True, False] * 20, "age": [20, 60] * 20, "town": ["n", "s"] * 20})
RECORDS = FRAME.to_records(index=False)


@pytest.mark.parametrize(
    "rows", [RECORDS, list(RECORDS), FRAME.to_dict("records"), list(FRAME.itertuples(index=False))]
)
def test_estimators_read_rows_that_carry_names(rows: Any) -> None:
    """Numpy's records and lists of rows, as a data frame of the same columns: to fit, predict, and as a log."""
    y = ["a", "b"] * 20
    own, other = (OptimalPolicyTree(max_depth=1).fit(table, y) for table in (FRAME, rows))
    assert own.schema_ == other.schema_
    assert own.predict(rows).tolist() == other.predict(FRAME).tolist() == y
    logs = [read_log(table, y, reward=np.arange(40.0), propensity="randomised") for table in (FRAME, rows)]
    assert np.array_equal(*(scores(log, method="dr").table for log in logs))
    refused(lambda: own.predict(RECORDS[0]), "column 'flag' has shape (): give a table")


def test_a_list_of_rows_keeps_the_kinds_of_its_columns() -> None:
    """A number beside a string is a number, to an estimator and in a log."""
    rows, y = [[20, "n"], [60, "s"]] * 20, ["a", "b"] * 20
    tree = OptimalPolicyTree(max_depth=1).fit(rows, y)
    assert [field.kind for field in tree.schema_.fields] == ["number", "category"]
    assert tree.predict([[30, "n"], [70, "s"]]).tolist() == ["a", "b"]
    log = read_log(rows, y, reward=np.arange(40.0), propensity="randomised")
    assert Schema.infer(log.features, ["age", "town"])["age"].kind == "number"


@pytest.mark.parametrize("missing", ["yes", "no"])
@pytest.mark.parametrize("kind", [OptimalPolicyTree, OptimalScoringRule])
def test_a_side_that_is_settled_needs_no_row(kind: Any, missing: str) -> None:
    """With "yes" or "no" what was never missing may be missing later: numbers, 0 and 1, strings and truth."""
    frame = pd.DataFrame({"age": [20.0, 50.0] * 20, "old": [0, 1] * 20, "s": ["u", "v"] * 20, "t": [False, True] * 20})
    for name in frame:
        rule = kind(missing=missing, features=[name]).fit(frame, ["a", "b"] * 20)
        assert rule.predict(frame).tolist() == ["a", "b"] * 20
        later = rule.predict(frame.astype(object).assign(**{name: None}))
        assert len(set(later)) == 1
        if name == "age" and kind is OptimalPolicyTree:
            assert later[0] == ("a" if missing == "yes" else "b")
            assert f"({'or' if missing == 'yes' else 'not'} missing)" in str(rule.policy_)


def test_ordered_categories_are_tested_from_below() -> None:
    """Beyond four, the first so many against the rest, in the order of the type."""
    levels = [f"level {i}" for i in (3, 1, 4, 5, 9, 2)]
    column = pd.Categorical(levels * 4, categories=levels, ordered=True)
    right = ["low" if level in levels[:3] else "high" for level in column]
    tree = OptimalPolicyTree(max_depth=1).fit(pd.DataFrame({"x": column}), right)
    assert str(tree.policy_).startswith("if x in {level 3, level 1, level 4}:")
    assert tree.predict(pd.DataFrame({"x": column})).tolist() == right


ITEMS = [2**53 + 1, 2**53, 2**62 + 3, 2**62 + 1]


@pytest.mark.parametrize("dtype", [np.int64, np.uint64, "Int64", "UInt64", object])
def test_integers_that_floats_do_not_distinguish_keep_their_digits(dtype: Any) -> None:
    """They are looked up by all digits, in the exports too, whatever the table; floats of that size are refused."""
    frame = pd.DataFrame({"item": pd.Series(ITEMS * 10, dtype=dtype)})
    codes = frame.astype({"item": "category"})
    for table in (
        codes,
        frame.to_records(index=False),
        frame.to_numpy(),
        [{"item": item} for item in ITEMS * 10],
        frame,
    ):
        tree = OptimalPolicyTree(max_depth=1).fit(table, [0, 1, 1, 1] * 10)
        assert tree.predict(table).tolist() == [0, 1, 1, 1] * 10
        (line,) = tree.schema_.lines()
        assert line.endswith("is a category of numbers: its values are looked up, and not compared")
    for table in (codes, frame, pl.DataFrame({"item": ITEMS * 10}), [{"item": item} for item in ITEMS * 10]):
        assert tree.predict(table).tolist() == [0, 1, 1, 1] * 10
    assert in_python(tree.to_python(), [{"item": item} for item in ITEMS]) == [0, 1, 1, 1]
    assert in_duckdb(tree.to_sql(), frame) == [0, 1, 1, 1] * 10
    with pytest.raises(
        InputError, match=r"column 'item' is .*, a float beyond 2.53, and its values are codes: give it"
    ):
        tree.predict(frame.astype(float))
    with pytest.raises(ValueError, match="which is no code as when"):
        in_python(tree.to_python(), [{"item": float(ITEMS[0])}])


def test_large_integers_that_differ_as_floats_are_numbers() -> None:
    """Moments in nanoseconds, in a table as in a list beside other numbers."""
    moments = [10**18 + 10**9 * i for i in range(40)]
    rows = [[moment, 0.5] for moment in moments]
    tree = OptimalPolicyTree(max_depth=1, thresholds="all").fit(rows, [0] * 20 + [1] * 20)
    assert tree.predict(np.array(rows)).tolist() == tree.predict(rows).tolist() == [0] * 20 + [1] * 20
    with pytest.raises(InputError, match=r"contexts holds .*, integers beyond 2.53, which are one number to policies"):
        DecisionTrees(2).on([[2**53, 0.5], [2**53 + 1, 0.5]])
