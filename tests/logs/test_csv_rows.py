"""Rows, values and numbers of a CSV file are decided once, for logs and for milpcb solve."""

import csv
import gzip
import io

import numpy as np
import pytest

from milpcb.data.conditions import holds
from milpcb.data.tables import csv_text, read_table
from milpcb.errors import InputError
from milpcb.estimators.inputs import Columns
from milpcb.logs.read import read_file
from milpcb.logs.source import make_source
from tests.refused import refused

READERS = [read_table, read_file]
WRONG = {
    "too few values": (b"a,b,c\n1,2,3\n4,5\n", "t.csv, line 3 has 2 values where the first line has 3; write a comma"),
    "one value": (b"a,b,c\n1,2,3\n4\n", "line 3 has 1 value where the first line has 3"),
    "spaces alone": (b"a,b\n1,2\n  \n3,4\n", "line 3 has 1 value where the first line has 2"),
    "too many values": (
        b"a,b\n1,2,\n",
        "line 2 has 3 values where the first line has 2; put a value that holds a comma",
    ),
    "a decimal comma": (b"a,b\n1,2\n1,5,2\n", "line 3 has 3 values"),
    "a quote left open": (b'a,b\n1,2\n3,"4\n5,6\n', "line 3 has a quote"),
    "a quote left open in the header": (b'a,"b\n1,2\n', "line 1 has a quote"),
    "a quote closed before the end": (b'a,b\n1,2\n"3"4,5\n', "line 3 has a quote"),
    "an open quote before others": (b'a,b\n"1,2\n"3",4\n', "line 2 has a quote"),
    "inches": (b'a,b\n1,2\n5" pipe,4\n', 'line 3 has a quote (") inside a value'),
    "a space before a quote": (b'a,b\n1, "2,3"\n', "line 2 has a quote"),
    "a zero byte": (b"a,b\n1,2\n3,\x004\n", "line 3 is not text in UTF-8"),
    "half a letter": (b"a,b\n1,2\n3,\xff\n", "line 3 is not text in UTF-8"),
    "old line ends": (b"a,b\r1,2\r", "line 1 has a carriage return without a line feed"),
    "UTF-16": ("a,b\n1,2\n".encode("utf-16"), "line 1 is not text in UTF-8"),
    "compressed": (gzip.compress(b"a,b\n1,2\n", mtime=0), "unpack a compressed file first"),
    "a value of 200 000 characters": (b"a,b\n1,2\n" + b"3" * 200_000 + b",4\n", "line 3"),
}
# Files that are no tables; read_table has its own words for them, see tests/test_tables.py.
NO_TABLE = {
    "ragged after a value of two lines": (b'a,b\n"x\ny",2\n1,2,3\n', "line 4 has 3 values"),
    "empty": (b"", "empty"),
    "a header only": (b"a,b\n", "no rows"),
    "a column without a name": (b"a,,c\n1,2,3\n", "column 2"),
    "two columns of one name": (b"a,b,a\n1,2,3\n", "'a'"),
}
FOREIGN = ("Schema", "null_values", "truncate_ragged_lines", "dtype", "ignore_errors", "polars", "parse")
CASES = [(read, *wrong) for wrong in WRONG.values() for read in READERS]
CASES = [case for case in CASES if case[0] is read_table or b"3" * 9 not in case[1]]  # a log may hold long strings
CASES += [(read_file, *wrong) for wrong in NO_TABLE.values()]


@pytest.mark.parametrize(("read", "content", "named"), CASES)
def test_a_row_that_readers_take_in_different_ways_is_refused(read, content, named, tmp_path):
    """Nothing is guessed or filled in: file and line are named, and no word is that of the library that reads."""
    path = tmp_path / "t.csv"
    path.write_bytes(content)
    refused(lambda: read(path), "t.csv", named)
    with pytest.raises(InputError) as caught:
        read(path)
    assert not [word for word in FOREIGN if word in str(caught.value)]


GOOD = {
    "a mark, quotes, two lines, nothing": ('\ufeffa,b\n"x, ""y""\nz",2\n,3\n', {"a": ['x, "y"\nz', None], "b": [2, 3]}),
    "blank lines, as editors leave them": ("\n\na,b\n1,2\n\r\n3,4\n\n\n", {"a": [1, 3], "b": [2, 4]}),
    **{  # areas, wards and items are written with a 0 in front, numbers are not: 02 and 2 are two of them
        f"codes {codes}": (
            "code,b\n" + "".join(f"{code},1\n" for code in codes),
            {"code": [code or None for code in codes], "b": [1] * len(codes)},
        )
        for codes in (["1", "02", "2"], ["00", "1"], ["007", ""], ["-01", "3"], ["1.5", "01.50"])
    },
}
NUMBERS = {"0": 0, "10": 10, "0.5": 0.5, "-0.25": -0.25, "1e05": 1e5, "100": 100}


@pytest.mark.parametrize("case", GOOD)
def test_a_good_file_is_read(case, tmp_path):
    """As it was meant, each column as what it is."""
    text, columns = GOOD[case]
    (tmp_path / "t.csv").write_bytes(text.encode())
    assert read_file(tmp_path / "t.csv").frame.to_dict(as_series=False) == columns


def test_numbers_that_begin_with_zero_are_numbers(tmp_path):
    """A zero alone, before a point, or in an exponent says nothing."""
    (tmp_path / "t.csv").write_text("a,b\n" + "".join(f"{value},1\n" for value in NUMBERS))
    assert read_file(tmp_path / "t.csv").frame["a"].to_list() == list(NUMBERS.values())
    assert read_table(tmp_path / "t.csv")[1][:, 0].tolist() == list(NUMBERS.values())


def test_codes_are_actions_groups_and_categories(tmp_path):
    """The codes 02 and 2 are different values of a log, and a note names the features that hold them."""
    rows = [f"{ward},{treat},{y},{person}" for ward, treat, y, person in _log()]
    (tmp_path / "log.csv").write_text("\n".join(["ward,treat,y,person", *rows]) + "\n")
    columns = Columns("treat", "y", maximise=True, randomised=True, group="person")
    source = make_source("log.csv", read_file(tmp_path / "log.csv").frame, columns)
    assert source.log.actions == ("02", "1", "2")
    assert set(source.frame["ward"]) == {"1", "02", "2"}
    assert len(set(source.log.members.tolist())) == 4
    assert [note for note in source.notes if "'ward' holds strings of digits, such as '02', and no numbers" in note]


def _log():
    for i in range(60):
        yield ("1", "02", "2")[i % 3], ("02", "1", "2")[i // 3 % 3], i % 2, ("7", "07", "8", "9")[i % 4]


def test_an_outcome_that_is_a_code_is_explained(tmp_path):
    """Where a number must be, the line says which value is none, and why."""
    (tmp_path / "log.csv").write_text("x,treat,y\n1,a,3\n2,b,04\n")
    frame = read_file(tmp_path / "log.csv").frame
    assert frame["y"].to_list() == ["3", "04"]
    with pytest.raises(InputError, match=r"column 'y' must hold numbers, and holds '04' in row 2"):
        make_source("log.csv", frame, Columns("treat", "y", maximise=True))


ALPHABET = ["a", "7", "ü", ",", '"', "\n", "\r\n", " ", "x^", ""]


def test_whatever_is_written_well_is_read_as_it_was_written(tmp_path):
    """Cells of any signs come back, with the line in which each row begins."""
    rng = np.random.default_rng(0)
    for _ in range(20):
        width = int(rng.integers(2, 4))
        table = [["".join(rng.choice(ALPHABET, 4)) for _ in range(width)] for _ in range(int(rng.integers(1, 9)))]
        text = io.StringIO()
        csv.writer(text, lineterminator=str(rng.choice(["\n", "\r\n"]))).writerows(table)
        (tmp_path / "t.csv").write_bytes(text.getvalue().encode())
        read = list(csv_text(tmp_path / "t.csv").rows())
        assert [values for _, values in read] == table
        assert [line for line, _ in read] == _lines(table, text.getvalue())


def _lines(table, text):
    """Return the number of the line in which each row begins, by what stands before it."""
    lines, line = [], 1
    for row in table:
        lines.append(line)
        line += 1 + sum(value.count("\n") for value in row)
    assert line == text.count("\n") + 1
    return lines


def test_no_damage_changes_what_is_read_unseen(tmp_path):
    """A sign lost or put in gives an error, or the very values that the standard reads in rows of one width."""
    good = 'a,b,c\n1,"x, ""y""\nz",3\n4,5,6\n"7",8,\n'
    rng, refused = np.random.default_rng(1), 0
    for _ in range(150):
        at = int(rng.integers(len(good)))
        text = good[:at] + str(rng.choice([",", '"', "\n", "", "7"])) + good[at + int(rng.integers(2)) :]
        (tmp_path / "t.csv").write_text(text)
        try:
            read = [values for _, values in csv_text(tmp_path / "t.csv").rows()]
        except InputError:
            refused += 1
            continue
        assert read == [row for row in csv.reader(io.StringIO(text, newline=""), strict=True) if row]
        assert len({len(row) for row in read}) == 1
    assert 50 < refused < 150


def test_a_condition_finds_the_code_that_it_names():
    """02 without quotes is a number, and the line says how the text 02 is written, not the text 2."""
    with pytest.raises(InputError, match="some have \"02\" in column 'ward'; write 'ward = \"02\"'"):
        holds("ward = 02", {"ward": np.array(["2", "02"], dtype=object)})
    assert holds('ward = "02"', {"ward": np.array(["2", "02"], dtype=object)}).tolist() == [False, True]
