"""Tables of others: the same numbers however they are written, one rule on size, and mistakes with their place."""

import bz2
import gzip
import lzma
import zlib

import numpy as np
import polars as pl
import pytest

from milpcb.data import tables
from milpcb.data.tables import DAMAGED, read_table, remarks
from milpcb.errors import InputError
from milpcb.logs.read import read_file
from tests.refused import refused

READABLE = {
    "with a header": ("age,insured\n20,0\n30.5,1\n", ("age", "insured")),
    "without a header": ("20,0\n30.5,1\n", ()),
    "with quotes and spaces": ('"age, years", insured\n20 , 0\n"30.5",1\n', ("age, years", " insured")),
    "with blank lines": ("\nage,insured\n\n20,0\n30.5,1\n\n", ("age", "insured")),
    "with a byte order mark": ("\ufeff20,0\n30.5,1\n", ()),
    "with a mark before the header": ("\ufeffage,insured\n20,0\n30.5,1\n", ("age", "insured")),
    "with carriage returns": ("age,insured\r\n20,0\r\n30.5,1\r\n", ("age", "insured")),
    "in scientific notation": ("2e1,0\n3.05E+1,1e0\n", ()),
    "with semicolons": ("age;insured\n20;0\n30.5;1\n", ("age", "insured")),
    "with tabs": ("age\tinsured\n20\t0\n30.5\t1\n", ("age", "insured")),
    "without an end of line": ("20,0\n30.5,1", ()),
}


@pytest.mark.parametrize("case", READABLE)
def test_tables_are_read_however_they_are_written(case, tmp_path):
    """The same numbers come out, and the names if there are any."""
    text, expected = READABLE[case]
    (tmp_path / "t.csv").write_text(text, encoding="utf-8", newline="")
    names, numbers = read_table(tmp_path / "t.csv")
    assert names == expected
    assert numbers.dtype == np.float64
    assert np.array_equal(numbers, [[20.0, 0.0], [30.5, 1.0]])


UNREADABLE = {
    "empty": ("", "is empty; write one line per context"),
    "blank": ("\n\n", "is empty; write one line per context"),
    "a header and no rows": ("a,b\n", "has a header but no rows"),
    "ragged": (
        "a,b\n1,2\n\n1\n",
        "line 4 has 1 value where the first line has 2; write a comma for each empty value too",
    ),
    "a string value": ("1,2\n\n3,x\n", "line 3, column 2: 'x' is not a number; write numbers as in 1234.5"),
    "digits with an underscore": ("a,b\n1,1_2\n", "line 2, column 2: '1_2' is not a number"),
    "a code": ("x,y\n1,2\n3, 02\n", "line 3, column 2: '02' is not a number; write numbers as in 1234.5"),
    "an empty value": ("1,2\n3,\n", "line 2, column 2: '' is not a number"),
    "half a header": ("1,x\n3,4\n", "line 1, column 2: 'x' is not a number"),
    "decimal commas": ('a,b\n1,"2,5"\n', "line 2, column 2: '2,5' is not a number; write numbers as in 1234.5"),
    "two separators": ("a,b;c\n1,2;3\n", "can be read as separated by ',' and by ';'"),
    "pandas' index": (",a\n0,5\n1,7\n", "column 1 is called '', as pandas calls row numbers: take it out"),
    "its index read again": ("Unnamed: 0,a\n0,5\n", "column 1 is called 'Unnamed: 0', as pandas calls row numbers"),
    "its index in Parquet": ("__index_level_0__,a\n0,5\n", "'__index_level_0__', as pandas calls row numbers"),
}


@pytest.mark.parametrize("case", UNREADABLE)
def test_a_wrong_table_is_refused_with_line_and_cell(case, tmp_path):
    """One line names the file, the line as an editor counts it, the value and the fix."""
    text, message = UNREADABLE[case]
    (tmp_path / "t.csv").write_text(text)
    with pytest.raises(InputError) as refused:
        read_table(tmp_path / "t.csv")
    assert str(refused.value).startswith(str(tmp_path / "t.csv"))
    assert message in str(refused.value)
    assert "\n" not in str(refused.value)


def test_parquet_says_the_same(tmp_path):
    """Names and numbers, integers and booleans among these, gaps as NaN; no rows are refused."""
    path = tmp_path / "t.parquet"
    pl.DataFrame({"age": [20, None], "insured": [False, True]}).write_parquet(path)
    names, numbers = read_table(path)
    assert (names, str(numbers.tolist())) == (("age", "insured"), "[[20.0, 0.0], [nan, 1.0]]")
    pl.DataFrame({"age": []}, schema={"age": pl.Float64}).write_parquet(path)
    refused(lambda: read_table(path), "no rows")


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_integers_that_would_be_one_number_are_refused(ending, tmp_path):
    """Identifiers of 64 bits, of which floats lose digits; those that stay apart are numbers."""
    path = tmp_path / f"t.{ending}"
    for items in ([2**53 + 1, 2**53], [2**62 + 1, 2**62 + 3], [10**18, 10**18 + 10**9]):
        getattr(pl.DataFrame({"item": items, "age": [20.5, 30.0]}), f"write_{ending}")(path)
        if items[0] % 2 == 0:
            assert read_table(path)[1][:, 0].tolist() == items
            continue
        with pytest.raises(InputError, match=f"holds {items[0]} and {items[1]}, integers beyond 2.53") as refused:
            read_table(path)
        assert str(refused.value).startswith(str(path))


def test_a_first_line_of_numbers_that_may_be_names_is_said(tmp_path):
    """As pandas writes columns that it has only numbered; numbers that are no such names are data."""
    said = ["x.csv: the first line, 0,1, is read as numbers, and not as names."]
    for text, wanted in (("0,1\n5,7\n", said), ("a,b\n0,1\n", []), ("1,0\n0,1\n", []), ("0\n1\n", [])):
        (tmp_path / "x.csv").write_text(text)
        assert list(remarks(tmp_path / "x.csv")) == wanted


# ------------------------------------------------------------------- limits

TEXT = b"x,action,y\n" + b"0,1,0.5\n" * 500
OTHERS = {
    "a.csv": gzip.compress(TEXT),
    "b.csv": zlib.compress(TEXT, 0),
    "c.csv": bz2.compress(TEXT),
    "d.csv": lzma.compress(TEXT),
    "e.csv": b"PK\x03\x04\x14\x00",
    "f.csv": b"PAR1" + bytes(4),
    "g.csv": TEXT.decode().encode("utf-16"),
    **dict.fromkeys(("a.json", "a.jsonl", "a.JSON", "a.arff"), b"[{}]"),
    "a.xlsx": b"PK\x03\x04",
    "a.vw": b"1 | x",
    "a.parquet": TEXT,
}


@pytest.mark.parametrize("read", [read_table, read_file])
@pytest.mark.parametrize("name", OTHERS)
def test_other_kinds_of_files_are_refused(name, read, tmp_path):
    """By their endings, or by their bytes whatever they are called: 400 kB may unpack to 400 MB."""
    (tmp_path / name).write_bytes(OTHERS[name])
    wanted = {".csv": "UTF-8", ".parquet": "Parquet"}.get(
        (tmp_path / name).suffix, "only CSV and Parquet are read; save"
    )
    refused(lambda: read(tmp_path / name), name, wanted)


@pytest.mark.parametrize("read", [read_table, read_file])
def test_a_small_file_of_many_rows_is_refused(read, tmp_path, monkeypatch):
    """A Parquet file keeps a value that repeats once; its values are counted before they are read."""
    pl.DataFrame({"x": pl.zeros(5000, eager=True), "y": pl.zeros(5000, eager=True)}).write_parquet(
        tmp_path / "a.parquet"
    )
    assert (tmp_path / "a.parquet").stat().st_size < 2000
    monkeypatch.setattr(tables, "MOST_VALUES", 9_999)
    monkeypatch.setattr(pl, "read_parquet", lambda path: pytest.fail(f"{path} was read"))
    refused(lambda: read(tmp_path / "a.parquet"), "has 5 000 rows and 2 columns; at most 9 999 values are read")


# ------------------------------------------------------------------- damage


@pytest.mark.parametrize("read", [read_table, read_file])
def test_a_damaged_parquet_file_is_one_line(read, tmp_path):
    """Lost, changed and cut bytes: the message has no words of polars, or of its panics."""
    rng, path = np.random.default_rng(5), tmp_path / "t.parquet"
    texts = {} if read is read_table else {"s": rng.choice(["a", "b"], 50)}
    pl.DataFrame({"x": rng.normal(size=50), "y": range(50), **texts}).write_parquet(path)
    whole, refused = path.read_bytes(), []
    for _ in range(40):
        at = int(rng.integers(4, len(whole) - 4))
        path.write_bytes(whole[:at] if rng.random() < 0.2 else whole[:at] + rng.bytes(4) + whole[at + 4 :])
        try:
            read(path)
        except InputError as error:
            refused.append(str(error))
    assert len(refused) > 10
    assert set(refused) == {f"{path} {DAMAGED}"}
