"""Which columns of a log policies may read, what is noted on the others, and the digest that recognises a log."""

import datetime as dt

import numpy as np
import polars as pl
import pytest

from milpcb.errors import InputError
from milpcb.estimators.inputs import Columns
from milpcb.logs.origin import digest
from milpcb.logs.source import make_source, read_source
from tests.refused import refused

ROWS = 240


def trial(**more):
    """Return a log of 240 rows with age, treat and y, and further columns."""
    rows = range(ROWS)
    return pl.DataFrame(
        {"age": [20 + i % 40 for i in rows], "treat": ["ab"[i % 2] for i in rows], "y": [i % 3 for i in rows], **more}
    )


def read(frame, **options):
    """Return the source of a trial."""
    return make_source("log.csv", frame, Columns("treat", "y", maximise=True, randomised=True, **options))


@pytest.mark.parametrize(
    ("name", "column", "why"),
    [
        ("extra", [f"C{i}" for i in range(ROWS)], "an identifier"),
        ("extra", list(range(700, 700 + ROWS)), "an identifier"),
        ("extra", [3 * i + i % 2 for i in range(ROWS)], "an identifier"),  # with gaps where rows were dropped
        ("extra", [f"2024-01-{1 + i % 28:02d}" for i in range(ROWS)], "dates"),
        ("extra", [f"2024-01-{1 + i % 28:02d} 10:3{i % 9}:00" for i in range(ROWS)], "dates"),
        ("extra", [dt.date(2024, 1, 1 + i % 28) for i in range(ROWS)], "dates"),
        ("extra", [f"patient no {i} came late again" for i in range(ROWS)], "free text"),
        ("extra", [f"patient no {i // 2} came late again" for i in range(ROWS)], "free text"),  # and no group
        *((name, list(range(ROWS)), "row numbers") for name in ("Unnamed: 0", "__index_level_0__")),
        *(
            (name, [i * 37 % 241 for i in range(ROWS)], "an identifier")
            for name in ("user_id", "userId", "ID", "patient ID", "id", "id-number", "session.uuid")
        ),
    ],
)
def test_what_is_no_trait_is_left_out_with_a_line(name, column, why):
    """A rule on it says nothing of other people; the log is read, and the line names column and reason."""
    found = read(trial(**{name: column}))
    assert found.frame.columns == ["age"]
    assert found.notes == (f"'{name}' ({why}) is left out: no rule for other people can use it.",)


def test_what_only_looks_like_an_identifier_stays():
    """Numbers that differ, categories that are many, an id of few values, an outcome of dates' digits."""
    draw = np.random.default_rng(0)
    frame = trial(
        income=draw.permutation(10 * np.arange(ROWS)),
        city=[f"city {i % 90}" for i in range(ROWS)],
        store_id=[i % 12 for i in range(ROWS)],
        version=[f"1.{i % 7}" for i in range(ROWS)],
    )
    found = read(frame)
    assert found.frame.columns == ["age", "income", "city", "store_id", "version"]
    assert found.notes == ()


def test_an_identifier_of_several_rows_suggests_a_group():
    """The line names the option; with it, the line does not come again, and the rows are grouped."""
    frame = trial(patient=[f"P{i // 2}" for i in range(ROWS)], patient_id=[i // 2 for i in range(ROWS)])
    assert "--group patient" in read(frame).notes[1]
    grouped = read(frame, group="patient")
    assert not any("--group" in note for note in grouped.notes)
    assert np.unique(grouped.log.group, return_counts=True)[1].tolist() == [2] * (ROWS // 2)


def test_all_columns_without_use_are_named_at_once():
    """One line names each with its reason and the options that leave them out, which then work."""
    town, income = [f"town {i % 110}" for i in range(ROWS)], [np.inf if i == 6 else float(i % 7) for i in range(ROWS)]
    frame = trial(town=town, income=income, tags=[["a"]] * ROWS)
    parts = ("'town' (110 different strings)", "'income' (infinite in row 7; --missing inf", "'tags' (list values)")
    refused(lambda: read(frame), *parts, "--leave-out town --leave-out income --leave-out tags")
    assert read(frame, leave_out=("town", "income", "tags")).frame.columns == ["age"]


def test_what_is_asked_for_by_name_is_never_left_out():
    """A date that is named as a feature is a category; too many of them are refused, not dropped."""
    dates = [f"2024-01-{1 + i % 28:02d}" for i in range(ROWS)]
    assert read(trial(day=dates), features=("day",)).frame.columns == ["day"]
    with pytest.raises(InputError, match="'person' \\(240 different strings\\)"):
        read(trial(person=[f"C{i}" for i in range(ROWS)]), features=("age", "person"))


@pytest.mark.parametrize(
    ("options", "fragment"),
    [
        ({"leave_out": ("aeg",)}, "did you mean 'age'"),
        ({"group": "persn"}, "unknown column of log.csv: 'persn'"),
        ({"features": ("age",), "leave_out": ("age",)}, "or is left out, so it can be no feature"),
        ({"group": "same"}, "all rows are in one group"),
        ({"group": "holes"}, "row 2: 'holes' is missing"),
        ({"group": "person"}, "row 4: 'person' is missing"),
    ],
)
def test_wrong_names_of_columns_are_one_line(options, fragment):
    """The line names the column and what to write."""
    persons = [np.nan if i == 3 else float(i // 2) for i in range(ROWS)]
    frame = trial(same=["x"] * ROWS, holes=["p", None] * (ROWS // 2), person=persons)
    refused(lambda: read(frame, **options), fragment)


# ------------------------------------------------------------------- the digest of a log

NAMES = ("age", "sex", "member")


@pytest.fixture
def frame():
    """Return a log with numbers, strings, booleans, and missing ones."""
    rows = range(60)
    return pl.DataFrame(
        {
            "age": [None if i % 17 == 3 else 20 + i % 30 for i in rows],
            "sex": [("f", "m", None)[i % 3] for i in rows],
            "member": [i % 4 < 2 for i in rows],
            "treat": ["ab"[i // 2 % 2] for i in rows],
            "y": [0.1 * (i * 7 % 11) for i in rows],
        }
    )


def digested(frame, **names):
    """Return the digest of a log."""
    columns = {"action": "treat", "outcome": "y", **names}
    return digest(make_source("log", frame, Columns(maximise=True, randomised=True, **columns)), NAMES)


def test_a_log_that_is_saved_again_is_recognised(frame, tmp_path):
    """As CSV or Parquet, with rows and columns in another order, more columns, or another name for the outcome."""
    first = digested(frame)
    assert digested(frame.sample(fraction=1.0, shuffle=True, seed=1).select(sorted(frame.columns))) == first
    assert digested(frame.with_columns(extra=pl.lit(1.0)).rename({"y": "gain"}), outcome="gain") == first
    frame.write_parquet(tmp_path / "log.parquet")
    frame.with_columns(pl.col("member").cast(pl.Int8)).write_csv(tmp_path / "log.csv")
    for name in ("log.parquet", "log.csv"):
        source = read_source(tmp_path / name, Columns("treat", "y", maximise=True, randomised=True))
        assert digest(source, NAMES) == first, name


@pytest.mark.parametrize(
    "change",
    [
        lambda frame: frame.with_columns(y=pl.col("y") + pl.when(pl.int_range(pl.len()) == 5).then(1e-9).otherwise(0)),
        lambda frame: frame.with_columns(treat=pl.col("treat").reverse()),
        lambda frame: frame.with_columns(age=pl.col("age").fill_null(0)),
        lambda frame: frame.with_columns(sex=pl.col("sex").fill_null("missing")),
        lambda frame: frame.rename({"age": "member", "member": "age"}).with_columns(pl.col("age").cast(pl.Int8)),
        lambda frame: frame.head(59),
        lambda frame: pl.concat([frame, frame.head(1)]),
    ],
)
def test_another_log_is_told_from_it(change, frame):
    """One outcome in one row, what was done, a missing entry filled, names exchanged, a row more or less."""
    assert digested(change(frame)) != digested(frame)


def test_a_log_without_the_columns_has_none(frame):
    """A log without all columns that the policy reads cannot be the log that it was learnt from."""
    assert digested(frame.drop("sex")) is None
