"""A file that is no table is refused in our words, with the line that is wrong and how to fix it."""

from __future__ import annotations

import gzip

import pytest

from milpcb.errors import InputError
from milpcb.logs.read import read_file

FOREIGN = ("Schema", "null_values", "truncate_ragged_lines", "dtype", "ignore_errors", "polars", "parse")
BAD = {
    "ragged": (
        b"a,b\n1,2\n1,2,3\n",
        "line 3 has 3 values where the first line has 2; put a value that holds a comma in quotes",
    ),
    "ragged after a value of two lines": (b'a,b\n"x\ny",2\n1,2,3\n', "line 4 has 3 values"),
    "a quote left open": (b'a,b\n"1,2\n3,4\n', 'the quote (") that opens in line 2 is not closed'),
    "a quote left open later": (b'a,b\n1,x\n2,"z\n3,4\n', "opens in line 3"),
    "latin-1": ("a,b\n1,x\nf\xfc,2\n".encode("latin-1"), "line 3 is not in UTF-8"),
    "UTF-16": ("a,b\n1,2\n".encode("utf-16"), "is in UTF-16; save it as UTF-8"),
    "gzip": (gzip.compress(b"a,b\n1,2\n"), "is compressed (gzip)"),
    "a spreadsheet": (b"PK\x03\x04....", "a zip archive or a spreadsheet"),
    "Parquet": (b"PAR1....", "call it .parquet"),
    "empty": (b"", "is empty; write a header"),
    "a header only": (b"a,b\n", "has no rows"),
    "a column without a name": (b"a,,c\n1,2,3\n", "column 2 has no name"),
    "two columns of one name": (b"a,b,a\n1,2,3\n", "two columns are called 'a'"),
}


@pytest.mark.parametrize("what", BAD)
def test_a_file_that_is_no_table_is_explained(what, tmp_path):
    """The place is named, and no word is that of the library that reads."""
    content, fragment = BAD[what]
    path = tmp_path / "log.csv"
    path.write_bytes(content)
    with pytest.raises(InputError) as refused:
        read_file(path)
    assert fragment in str(refused.value)
    assert not [word for word in FOREIGN if word in str(refused.value)]


def test_a_damaged_parquet_file_is_explained(tmp_path):
    """The same for Parquet."""
    (tmp_path / "log.parquet").write_bytes(b"PAR1....PAR1")
    with pytest.raises(InputError, match="is no Parquet file, or a damaged one"):
        read_file(tmp_path / "log.parquet")


def test_a_good_file_is_read(tmp_path):
    """A byte order mark, quotes, values of two lines and missing ones are no faults."""
    path = tmp_path / "log.csv"
    path.write_bytes('\ufeffa,b\n"x, ""y""\nz",2\n,3\n'.encode())
    frame = read_file(path).frame
    assert frame.to_dict(as_series=False) == {"a": ['x, "y"\nz', None], "b": [2, 3]}
