"""Tables of others: one rule for all commands on what is compressed, how wide and how large they may be."""

import bz2
import gzip
import lzma
import zlib

import polars as pl
import pytest

from milpcb.data import tables
from milpcb.data.tables import read_table
from milpcb.errors import InputError
from milpcb.logs.read import read_file

TEXT = b"x,action,y\n" + b"0,1,0.5\n" * 500
PACKED = {
    "gzip": gzip.compress(TEXT),
    "zlib": zlib.compress(TEXT),
    "fast zlib": zlib.compress(TEXT, 0),
    "bzip2": bz2.compress(TEXT),
    "xz": lzma.compress(TEXT),
    "zstd": b"\x28\xb5\x2f\xfd" + TEXT,
}


@pytest.mark.parametrize("read", [read_table, read_file])
@pytest.mark.parametrize("packed", PACKED)
def test_a_compressed_file_is_refused(packed, read, tmp_path):
    """Whatever it is called: 400 kB may unpack to 400 MB."""
    (tmp_path / "log.csv").write_bytes(PACKED[packed])
    with pytest.raises(InputError, match=r"log\.csv is compressed \(\w+\); unpack it first"):
        read(tmp_path / "log.csv")


@pytest.mark.parametrize("name", ["x^2", "x", "PK", "BZ"])
def test_a_header_that_begins_alike_is_text(name, tmp_path):
    """Only what no string begins with is taken for compressed."""
    (tmp_path / "log.csv").write_text(f"{name},y\n1,2\n")
    assert read_file(tmp_path / "log.csv").frame.columns == [name, "y"]
    assert read_table(tmp_path / "log.csv")[0] == (name, "y")


@pytest.mark.parametrize("read", [read_table, read_file])
def test_a_small_file_of_many_rows_is_refused(read, tmp_path, monkeypatch):
    """A Parquet file keeps a value that repeats once; its values are counted before they are read."""
    pl.DataFrame({"x": pl.zeros(5000, eager=True), "y": pl.zeros(5000, eager=True)}).write_parquet(
        tmp_path / "a.parquet"
    )
    assert (tmp_path / "a.parquet").stat().st_size < 2000
    monkeypatch.setattr(tables, "MOST_VALUES", 9_999)
    monkeypatch.setattr(pl, "read_parquet", lambda path: pytest.fail(f"{path} was read"))
    with pytest.raises(InputError, match=r"has 5 000 rows and 2 columns; at most 9 999 values are read"):
        read(tmp_path / "a.parquet")


def test_a_long_text_is_refused(tmp_path):
    """One text that stands in each row takes no room in the file, and would in memory."""
    pl.DataFrame({"x": ["a" * 10_001] * 50}).write_parquet(tmp_path / "a.parquet")
    with pytest.raises(InputError, match=r"column 'x' has a string of 10 001 bytes"):
        read_file(tmp_path / "a.parquet")
    pl.DataFrame({"x": ["a" * 10_000] * 50}).write_parquet(tmp_path / "a.parquet")
    assert read_file(tmp_path / "a.parquet").frame.shape == (50, 1)


@pytest.mark.parametrize("read", [read_table, read_file])
def test_a_file_of_too_many_columns_is_refused(read, tmp_path):
    """A header of two bytes a column would take minutes."""
    (tmp_path / "a.csv").write_text("," * 10_000 + "\n")
    with pytest.raises(InputError, match="more than 10 000 columns"):
        read(tmp_path / "a.csv")
    pl.DataFrame({f"x{i}": [0] for i in range(10)}).write_parquet(tmp_path / "b.csv")
    with pytest.raises(InputError):
        read(tmp_path / "b.csv")
