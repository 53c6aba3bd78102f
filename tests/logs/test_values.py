"""Values of a file are read as they were meant, or refused in one line, or reported in a note."""

import csv
import io
import re

import numpy as np
import polars as pl
import pytest

from milpcb.data.schema import Schema
from milpcb.errors import InputError
from milpcb.estimators.inputs import Columns
from milpcb.logs.read import read_file
from milpcb.logs.source import make_source, read_source
from tests.refused import refused

ROWS = 300
AGES = [18 + 8 * i % 63 for i in range(ROWS)]  # every one of 63 ages
TREAT = ["letter" if i % 3 else "call" for i in range(ROWS)]
OUTCOME = [i * i % 5 for i in range(ROWS)]


def written(tmp_path, columns, name="log.csv", sign=","):
    """Write columns, action treat and outcome y into a file, and return its path."""
    table = {**columns, "treat": TREAT, "y": OUTCOME}
    text = io.StringIO()
    csv.writer(text, delimiter=sign).writerows([list(table), *zip(*table.values(), strict=True)])
    path = tmp_path / name
    path.write_text(text.getvalue())
    return path


def source(path, **options):
    """Return the log of a file."""
    return read_source(path, Columns("treat", "y", maximise=True, randomised=True, **options))


def without(values, mark, every=20):
    """Return values of which every so many are a mark."""
    return [mark if i % every == 3 else value for i, value in enumerate(values)]


AMOUNTS = [i * 37 % 211 for i in range(ROWS)]
REGIONS = [["NA", "EU", "ASIA"][i % 3] for i in range(ROWS)]
BOTH = [1.5, None, None] * (ROWS // 3)
ITEMS = [2**64 - 5 - 7 * (i % 3) for i in range(ROWS)]
USUAL = ["NA", "NULL", "N/A", "#N/A", "#NA", "n/a", "NaN", "None", "-", ".", " null ", "?", "<NA>"]


def read():
    """Yield a column, its values, options, the values as they are read, and parts of the notes."""
    for mark in USUAL:
        note = f"Read as missing: 'age' where it is {mark.strip()} (15 rows)."
        yield "age", without(AGES, mark), {}, without(AGES, None), [note]
    yield "age", without(AGES, "not asked"), {"missing": ("not asked",)}, without(AGES, None), ["not asked (15 rows)"]
    slipped = ["4o", *without(AGES, "N/A")[1:]]
    yield "age", slipped, {"missing": ("4o",)}, [None, *without(AGES, None)[1:]], ["'age' where it is"]
    # NA among strings is a string, unless it is named
    kept = "'region' is 'NA' in 100 rows, which is read as a string like any other: add --missing NA if"
    yield "region", REGIONS, {}, REGIONS, [kept]
    lost, note = [None if each == "NA" else each for each in REGIONS], "'region' where it is NA (100 rows)."
    yield "region", REGIONS, {"missing": ("NA",)}, lost, [f"Read as missing: {note}"]
    # few numbers, codes with a 0 in front, and many other strings are no measurement
    for name, values in (
        ("stage", [["1", "2", "3", "4+"][i % 4] for i in range(ROWS)]),
        ("ward", [["02", "7", "x"][i % 3] for i in range(ROWS)]),
        ("item", [["250", "V30", "E11", "401"][i % 4] + str(i % 9) for i in range(ROWS)]),
    ):
        yield name, values, {}, values, []
    # ranges, ranks and names with numbers are categories
    for pair in (("18-25", "65+"), ("Ward 1", "Ward 2"), ("yes", "no")):
        yield "x", list(pair) * (ROWS // 2), {}, list(pair) * (ROWS // 2), []
    # a -1 beside 0, a single -9, and a 99 among a hundred others are what they are
    for values in ([i % 9 - 1 for i in range(ROWS)], [-9, *AGES[1:]], [i % 100 for i in range(ROWS)]):
        yield "score", values, {}, values, []
    for name in ("bid", "paid", "grid", "covid", "PAID", "fluid level", "hybrid"):  # words that only end in id
        yield name, AMOUNTS, {}, AMOUNTS, []
    infinite = ["1.5", "inf", "-inf"] * (ROWS // 3)
    yield "x", infinite, {"missing": ("inf", "-inf")}, BOTH, ["Read as missing: 'x' where it is"]
    digits = "'item' holds strings of digits, such as"
    yield "item", ITEMS, {}, list(map(str, ITEMS)), [digits]
    for mark in (-1, -9, -99, -999, -9999, 999, 9999):  # repeats far from all others
        far = f"'age' is {mark} in 15 rows, far from its other numbers (18 to 80): add --missing {mark} if nothing"
        yield "age", without(AGES, mark), {}, without(AGES, mark), [far]
        yield "age", without(AGES, mark), {"missing": ("NA", str(mark))}, without(AGES, None), ["(15 rows)"]


@pytest.mark.parametrize(("name", "values", "options", "expected", "notes"), list(read()))
def test_a_column_is_read_as_it_was_meant(name, values, options, expected, notes, tmp_path):
    """Missing where it must be, else as it stands; a note on what somebody might not expect, and no other."""
    found = source(written(tmp_path, {name: values}), **options)
    assert found.frame[name].to_list() == expected
    assert [part for part, note in zip(notes, found.notes, strict=True) if part not in note] == []
    assert found.warnings == ()


@pytest.mark.parametrize("values", [["true", "false"], ["2024-01-05", "2024-02-11"]])
def test_a_usual_mark_among_booleans_or_dates_is_missing(values, tmp_path):
    """They stay of their kind."""
    path = written(tmp_path, {"x": without([values[i % 2] for i in range(ROWS)], "NULL")})
    assert read_file(path).frame["x"].null_count() == 15


def prices(shape):
    """Return numbers of thousands, as they are written somewhere."""
    return [shape.format(1 + i % 9, 7 * i % 1000) for i in range(ROWS)]


CENTS = [f"{17 + 7 * i % 180}" for i in range(ROWS)]
TWO_WAYS = "of which the point or comma can be read in two ways"
UNREADABLE = [
    (without(AGES, "not asked"), "'x' (numbers but for 'not asked' (15 rows); --missing \"not asked\" if nothing is"),
    (["4o", *without(AGES, "N/A")[1:]], "'x' (numbers but for '4o' (1 row); --missing 4o if"),
    ([age if i % 2 else "?x" for i, age in enumerate(AGES)], "numbers but for '?x' (150 rows)"),
    (without([f"{age},5" for age in AGES], "unknown to us"), "numbers but for 'unknown to us' (15 rows)"),
    *((prices(shape), TWO_WAYS) for shape in ("{},{:03d}", "{}.{:03d},5", "{},{:03d},000", "{},5")),
    ([f"{cents} €" for cents in CENTS], "numbers with '€', such as '17 €', which are strings to a rule: write them"),
    ([f"{cents}%" for cents in CENTS], "numbers with '%'"),
    (["8'961", "950", "N/A"], f"numbers such as '8'961', {TWO_WAYS}"),
    *(([number, "950"], TWO_WAYS) for number in ("8\u2019961", "1_000", "1\u202f234", "1\u00a0234,5")),
    ([chr(0x661 + i % 9) + chr(0x660 + i // 9) for i in range(40)], "numbers in other signs than 0 to 9"),
    (["1.5", "inf", "2"], "infinite in row 2; --missing inf if nothing is known there"),
]


@pytest.mark.parametrize(("values", "what"), UNREADABLE)
def test_measurements_that_are_no_plain_numbers_are_refused(values, what, tmp_path):
    """One line names the column, the first of them, and the way out."""
    with pytest.raises(InputError, match=re.escape(what)) as caught:
        source(written(tmp_path, {"x": [values[i % len(values)] for i in range(ROWS)]}))
    assert str(caught.value).startswith("no rule can read 'x'")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(("sign", "word"), [(";", "';'"), ("\t", "tabs"), ("|", "'|'")])
def test_other_separators_are_read_and_said(sign, word, tmp_path):
    """The same table comes out; numbers whose points may stand behind thousands have a line, unless commas separate."""
    columns = {"age": AGES, "price": [f"{1 + i % 9}.{111 + i}" if i % 2 else "0" for i in range(ROWS)]}
    plain = source(written(tmp_path, columns))
    found = source(written(tmp_path, columns, "b.csv", sign))
    assert found.frame.equals(plain.frame)
    assert plain.notes == ()
    assert found.notes == (
        f"b.csv is read as separated by {word}.",
        "'price' is written with a point: '2.112' is read as 2.112, and not as 2112.",
    )


@pytest.mark.parametrize("sign", [";", "\t"])
def test_decimal_commas_are_read_where_no_comma_separates(sign, tmp_path):
    """The same numbers come out; what may as well be thousands stays refused, in that column and beside it."""
    halves = [f"{age},5" if age % 3 else str(age) for age in AGES]
    plain = source(written(tmp_path, {"age": AGES, "x": [each.replace(",", ".") for each in halves]}))
    found = source(written(tmp_path, {"age": AGES, "x": halves}, "b.csv", sign))
    assert found.frame.equals(plain.frame)
    assert "'x' is written with decimal commas: '" in found.notes[-1]
    thousands = [f"{1 + i % 9},{111 + i}" for i in range(ROWS)]
    refused(lambda: source(written(tmp_path, {"x": thousands}, "c.csv", sign)), TWO_WAYS)
    columns = {"price": [each.replace(",", ".") for each in thousands], "x": halves}
    refused(lambda: source(written(tmp_path, columns, "d.csv", sign)), "'price' is written with a point", "1234.5")


def test_a_blank_behind_each_comma_is_of_no_name_and_no_value(tmp_path):
    """Numbers stay numbers, and strings are those without it."""
    lines = ["age, region, treat, y"] + [
        f"{age}, {'nS'[age % 2]}, {treat}, {y}" for age, treat, y in zip(AGES, TREAT, OUTCOME, strict=True)
    ]
    (tmp_path / "log.csv").write_text("\n".join(lines))
    found = source(tmp_path / "log.csv")
    assert found.frame.to_dict(as_series=False) == {"age": AGES, "region": ["nS"[age % 2] for age in AGES]}
    assert found.log.actions == ("call", "letter")


@pytest.mark.parametrize(
    ("values", "what"),
    [
        (["north", "south", "north "], "'north' and 'north ', which are two strings to a rule"),
        (["Größe", "Gr\u006f\u0308ße"], "'Gr\u006f\u0308ße' and 'Größe', which are two strings to a rule"),
        (["5 €", "10 €", "N/A"], "numbers with '€', such as '10 €'"),
        (["\u0663", "\u0664", "5"], "numbers in other signs than 0 to 9, - and ., such as '\u0663'"),
    ],
)
def test_strings_that_may_mean_the_same_or_numbers_are_said(values, what, tmp_path):
    """By a note on the log, and by the schema of an estimator; among dates, ranges and ranks there is nothing odd."""
    column = [values[i % len(values)] for i in range(ROWS)]
    assert any(f"'x' holds {what}" in note for note in source(written(tmp_path, {"x": column})).notes)
    assert any(f"'x' holds {what}" in line for line in Schema.infer(pl.DataFrame({"x": column})).lines())


@pytest.mark.parametrize("name", ["", "Unnamed: 0", "number"])
def test_row_numbers_of_files_are_left_out(name, tmp_path):
    """However pandas calls them, in files of both kinds."""
    columns = {name: list(range(ROWS)), "age": AGES}
    in_csv = source(written(tmp_path, columns))
    assert in_csv.frame.columns == ["age"]
    assert f"'{name}'" in in_csv.notes[0]
    if name:
        pl.DataFrame({**columns, "treat": TREAT, "y": OUTCOME}).write_parquet(tmp_path / "log.parquet")
        assert source(tmp_path / "log.parquet").notes == in_csv.notes


def test_parquet_is_read_as_csv(tmp_path):
    """Numbers beyond floats are their digits, and named marks are missing, however their numbers are written."""
    frame = pl.DataFrame({"item": pl.Series(ITEMS, dtype=pl.UInt64), "treat": TREAT, "y": OUTCOME})
    frame.write_parquet(tmp_path / "log.parquet")
    assert source(tmp_path / "log.parquet").frame["item"].to_list() == list(map(str, ITEMS))
    frame = pl.DataFrame({"age": without(AGES, -999), "treat": TREAT, "y": OUTCOME})
    asked = Columns("treat", "y", maximise=True, randomised=True, missing=("NA", "-999.0"))
    found = make_source("log", frame, asked)
    assert found.frame["age"].to_list() == without(AGES, None)
    assert "(15 rows)" in found.notes[0]


@pytest.mark.parametrize("column", ["y", "smokes", "w", "later"])
def test_a_number_for_nothing_is_said_of_few_values_outcomes_and_weights(column):
    """-999 beside 0 and 1; of columns that are left out too, as limits may be on them."""
    bits = pl.Series([i // 2 % 2 for i in range(ROWS)])
    columns = {"smokes": bits, "w": bits + 1, "later": bits, "y": bits, column: without(bits.to_list(), 999)}
    frame = pl.DataFrame({"age": AGES, **columns, "treat": TREAT})
    named = Columns("treat", "y", maximise=True, randomised=True, weight="w", leave_out=("later",))
    found = [note for note in make_source("log", frame, named).notes if "far from its other numbers" in note]
    assert [note.partition(" ")[0] for note in found] == [f"'{column}'"]


def test_actions_that_may_be_one_are_said():
    """A blank more makes another."""
    frame = pl.DataFrame({"age": AGES, "y": OUTCOME, "treat": ["call", "letter", "call "] * (ROWS // 3)})
    (note,) = make_source("log", frame, Columns("treat", "y", maximise=True, randomised=True)).notes
    assert note.startswith("'treat' holds 'call' and 'call ', which are two strings")


def _leaking():
    rng = np.random.default_rng(0)
    numbers, bits = rng.normal(size=2000), rng.integers(0, 2, 2000)
    yield "a cost with noise", numbers, numbers + 0.1 * rng.normal(size=2000)
    yield "falling", numbers, -np.exp(numbers)
    yield "by a number", bits, bits + 0.3 * rng.normal(size=2000)
    yield "by a string", bits, np.where(bits ^ (rng.random(2000) < 0.02), "paid", "open")
    yield "by a string with 3 % flips", bits, np.where(bits ^ (rng.random(2000) < 0.03), "paid", "open")
    yield "by what is missing", bits, np.where(bits == 1, rng.normal(size=2000), np.nan)
    yield "by strings", numbers, np.array([f"class {place:.0f}" for place in 4 * numbers])
    places = np.repeat(np.arange(80), [2, 3] * 40)  # the mean of few other rows tells it
    yield "by small groups", 1.0 + places, np.array([f"town {place}" for place in rng.permutation(80)[places]])
    yield "", bits, bits + rng.normal(size=2000)
    yield "", numbers, numbers + rng.normal(size=2000)
    yield "", bits, np.array([f"town {i}" for i in rng.integers(0, 90, 2000)])


@pytest.mark.parametrize(("why", "outcome", "feature"), list(_leaking()))
def test_a_feature_that_tells_the_outcome_is_a_warning(why, outcome, feature):
    """By ranks, by groups and by what is missing, at more than 0.95; the line says how to learn without it."""
    treat = ["ab"[i % 2] for i in range(len(outcome))]
    frame = pl.DataFrame({"x": feature, "treat": treat, "y": outcome}).with_columns(pl.col("treat"))
    warnings = make_source("log", frame, Columns("treat", "y", maximise=True, randomised=True)).warnings
    assert len(warnings) == bool(why)
    if why:
        assert "'x' goes with 'y' almost exactly" in warnings[0]
        assert warnings[0].endswith("the values here are too good; learn without it by --leave-out x")
