"""The digest by which a log is recognised that a policy was learnt from."""

import polars as pl
import pytest

from milpcb.logs.origin import digest
from milpcb.logs.source import Columns, make_source, read_source

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


def read(frame, **names):
    """Return the digest of a log."""
    columns = {"action": "treat", "outcome": "y", **names}
    return digest(make_source("log", frame, Columns(maximise=True, randomised=True, **columns)), NAMES)


def test_a_log_that_is_saved_again_is_recognised(frame, tmp_path):
    """As CSV or Parquet, with rows and columns in another order, more columns, or another name for the outcome."""
    first = read(frame)
    assert read(frame.sample(fraction=1.0, shuffle=True, seed=1).select(sorted(frame.columns))) == first
    assert read(frame.with_columns(extra=pl.lit(1.0)).rename({"y": "gain"}), outcome="gain") == first
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
    assert read(change(frame)) != read(frame)


def test_a_log_without_the_columns_has_none(frame):
    """A log without all columns that the policy reads cannot be the log that it was learnt from."""
    assert read(frame.drop("sex")) is None
