"""Tables from users' files: CSV, or Parquet by the ending .parquet.

Readers of CSV disagree on what they forgive: too few values, a quote that is not closed, a quote inside a value. Here
all rows have one width, quotes are as the standard has them, and an error names its line. The separator is the sign
that cuts all rows into as many values.
"""

from __future__ import annotations

import csv
import io
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from milpcb.core.checks import check_file, number_array
from milpcb.core.decimals import spaced
from milpcb.data.actions import action_name
from milpcb.data.columns import Value, as_number
from milpcb.data.fields import Field
from milpcb.data.frames import check_once
from milpcb.errors import InputError, UnknownNameError, clipped, needs
from milpcb.types import Floats

if TYPE_CHECKING:
    import polars as pl

ENDINGS = ("", ".csv", ".tsv", ".tab", ".txt", ".dat", ".data", ".parquet")
MARK = b"\xef\xbb\xbf"  # spreadsheets put it first
SEPARATORS = {b",": "','", b";": "';'", b"\t": "tabs", b"|": "'|'"}
CODE = re.compile(r"[-+]?0[0-9]")  # what a number is not written with, and an area, a ward or an item is
QUOTED = re.compile(rb'"[^"]*+"')
BLANK = re.compile(rb'("[^"]*+")|(?<![^\n])\r?\n')  # a line without values, outside of quotes

MOST_VALUES = 500_000_000  # of a Parquet file: 4 GB as numbers; a small file may hold any number of equal ones

DAMAGED = "is no Parquet file, or a damaged one; write it anew"
ROW_NUMBERS = re.compile(r"\s*|Unnamed: [\d.]+|__index_level_\d+__")  # how pandas writes an index without a name
LONG = re.compile(r"[-+]?[0-9]{16,300}")  # an integer that may be beyond 2^53


def check_table(path: Path) -> None:
    """Raise InputError unless a file is a table by its ending, and one of bounded size where it is Parquet."""
    check_file(path)
    if path.suffix.lower() not in ENDINGS:
        raise InputError(f"{path} is no table by its ending; only CSV and Parquet are read; save the table as CSV")
    if path.suffix == ".parquet":
        rows, columns = parquet_rows(path)
        if rows * len(columns) > MOST_VALUES:
            size = f"{spaced(rows)} rows and {spaced(len(columns))} columns"
            raise InputError(f"{path} has {size}; at most {spaced(MOST_VALUES)} values are read")


def read_table(path: Path) -> tuple[tuple[str, ...], Floats]:
    """Return column names (empty without a header) and numbers (rows, columns); raises InputError with the place."""
    return read_labelled(path, None)[:2]


def remarks(*paths: Path) -> Iterator[str]:
    """Yield remarks on files that were read: other separators than commas, and a first line 0,1,... of numbers."""
    for path in (path for path in paths if path.suffix != ".parquet"):
        text = csv_text(path)
        yield from text.notes()
        first = next(values for _, values in text.rows())
        if len(first) > 1 and first == list(map(str, range(len(first)))):
            yield f"{path.name}: the first line, {clipped(','.join(first))}, is read as numbers, and not as names."


def read_labelled(path: Path, place: int | None) -> tuple[tuple[str, ...], Floats, list[str]]:
    """Return a table as ``read_table`` does but for the column at a place (-1: the last), and that one as strings."""
    check_table(path)
    names, numbers, labels = _of_parquet(path, place) if path.suffix == ".parquet" else _of_csv(path, place)
    check_once(f"{path} has several columns", names)
    for number, name in enumerate(names, 1):
        if ROW_NUMBERS.fullmatch(name):
            what = f"is called '{clipped(name)}', as pandas calls row numbers: take it out (index=False), or name it"
            raise InputError(f"{path}, column {number} {what}")
    return names, numbers, labels


def read_parquet(path: Path) -> pl.DataFrame:
    """Return the columns of a Parquet file that ``check_table`` has let pass; raises InputError."""
    import polars as pl

    with _whole(path):
        return pl.read_parquet(path)


def frame_of(fields: Sequence[Field], rows: Sequence[Sequence[Value]]) -> pl.DataFrame:
    """Return rows of plain values as a data frame with a column for each field."""
    with needs("learn", "a table whose columns have names"):
        import polars as pl

    columns = zip(fields, zip(*rows, strict=True), strict=True)
    return pl.DataFrame([pl.Series(field.name, list(values), strict=False) for field, values in columns])


def parquet_rows(path: Path) -> tuple[int, Mapping[str, Any]]:
    """Return how many rows a Parquet file has, and the types of its columns, without reading it; raises InputError."""
    with needs("studies", f"reading the Parquet file {path}"):
        import polars as pl

    check_file(path)
    with _whole(path):
        columns = pl.read_parquet_schema(path)
        rows = int(pl.scan_parquet(path).select(pl.len()).collect().item())
    return rows, columns


def parquet_pieces(path: Path, columns: Sequence[str], size: int) -> Iterator[pl.DataFrame]:
    """Yield some columns of a Parquet file, ``size`` rows at a time; raises InputError on damage, UnknownNameError."""
    import polars as pl

    rows, there = parquet_rows(path)
    for name in columns:
        if name not in there:
            raise UnknownNameError(f"column of {path}:", name, there)
    for start in range(0, rows, size):
        with _whole(path):
            try:
                piece = pl.scan_parquet(path).select(columns).slice(start, size).collect()
            except KeyboardInterrupt:
                time.sleep(0)  # polars raises it, and then Python's own handler does: here, and in nobody's __exit__
                raise
        yield piece


@contextmanager
def _whole(path: Path) -> Iterator[None]:
    """Raise InputError where a Parquet file turns out to be damaged."""
    try:
        yield
    except (GeneratorExit, KeyboardInterrupt, MemoryError):
        raise
    except BaseException as error:  # the reader panics at some broken files, which is no Exception
        reason = error.strerror if isinstance(error, OSError) else None
        raise InputError(f"cannot read {path}: {reason}" if reason else f"{path} {DAMAGED}") from error


def _of_parquet(path: Path, place: int | None) -> tuple[tuple[str, ...], Floats, list[str]]:
    frame, labels = read_parquet(path), []
    names = tuple(frame.columns)
    if frame.is_empty():
        raise InputError(f"{path} has no rows; write one row per context")
    if place is not None and len(names) >= abs(place):
        labels = ["" if entry is None else action_name(entry) for entry in frame[names[place]].to_list()]
        frame = frame.drop(names[place])
    found = []
    for column in frame.get_columns():  # integers with all their digits
        values = column.to_numpy() if column.dtype.is_float() else column.to_list()
        found.append(number_array(f"{path}, column '{clipped(column.name)}'", values))
    return names, np.column_stack(found), labels


def _of_csv(path: Path, place: int | None) -> tuple[tuple[str, ...], Floats, list[str]]:
    """Return what ``read_labelled`` does; a first line without numbers is a header."""
    rows = list(csv_text(path).rows())
    if not rows:
        raise InputError(f"{path} is empty; write one line per context")
    first = rows[0][1]
    header = () if any(map(_is_number, first)) else tuple(first)
    body = rows[1:] if header else rows
    if not body:
        raise InputError(f"{path} has a header but no rows; write one line per context")
    at = -1 if place is None or len(first) < abs(place) else len(first) + place
    numbers = number_array(str(path), [_numbers(path, line, values, skipped=at) for line, values in body])
    return header, numbers, [values[at].strip() for _, values in body] if at >= 0 else []


def _numbers(path: Path, line: int, values: list[str], skipped: int) -> list[float]:
    read = [(column, value) for column, value in enumerate(values) if column != skipped]
    for column, value in read:
        if not _is_number(value):
            what = f"'{clipped(value)}' is not a number; write numbers as in 1234.5, codes such as 02 as columns of 0/1"
            raise InputError(f"{path}, line {line}, column {column + 1}: {what}")
    return [int(value) if LONG.fullmatch(value.strip()) else float(value) for _, value in read]


def _is_number(value: str) -> bool:
    if as_number(value) is None:
        return False
    return "_" not in value and not CODE.match(value.strip())  # Python reads 1_2 as 12, and nobody else does


@dataclass(frozen=True)
class CsvText:
    """The text of a CSV file: rows of one width, and perhaps blank lines between them."""

    path: Path
    content: bytes
    separator: bytes

    def rows(self) -> Iterator[tuple[int, list[str]]]:
        """Yield the number of the line in which a row begins, and its values; raises InputError on a long value."""
        lines = io.TextIOWrapper(io.BytesIO(self.content), "utf-8", newline="")
        reader, line = csv.reader(lines, delimiter=self.separator.decode()), 1
        try:
            for values in reader:
                if values:
                    yield line, values
                line = 1 + reader.line_num
        except csv.Error as error:
            most = spaced(csv.field_size_limit())
            raise InputError(f"{self.path}, line {line} has a value of more than {most} characters") from error

    @property
    def without_blanks(self) -> bytes:
        """The rows without the blank lines."""
        return BLANK.sub(rb"\1", self.content) if re.search(rb"(\A|\n)\r?\n", self.content) else self.content

    def notes(self) -> Iterator[str]:
        """Yield a note on the separator, where it is no comma."""
        if self.separator != b",":
            yield f"{self.path.name} is read as separated by {SEPARATORS[self.separator]}."


def csv_text(path: Path) -> CsvText:
    """Return the text of a CSV file; raises InputError, with the line, on rows of several widths and on odd quotes."""
    try:
        content = path.read_bytes().removeprefix(MARK)
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}") from error
    _check_text(path, content)
    widths = {sign: _width(content, 0, sign) for sign in SEPARATORS}
    cuts = [sign for sign, width in widths.items() if width > 1] or [b","]
    ends = {sign: _end(content, sign, widths[sign]) for sign in cuts}
    alike = [sign for sign in cuts if ends[sign] == len(content)]
    if len(alike) > 1:
        one, other = (SEPARATORS[sign] for sign in alike[:2])
        raise InputError(f"{path} can be read as separated by {one} and by {other}: put values with these in quotes")
    separator = (alike or cuts)[0]
    text = CsvText(path, content, separator)
    if not alike:
        raise _fault(text, ends[separator], widths[separator])
    return text


def _row(separator: bytes, width: str) -> bytes:
    """Return the pattern of a row: values, with as many more as ``width`` has as a repetition, and its end."""
    sign = re.escape(separator)
    value = rb'(?:"[^"]*+(?:""[^"]*+)*+"|[^"\r\n%b]*+)' % sign
    return rb"%b(?:%b%b)%b(?:\r?\n|\Z)" % (value, sign, value, width.encode())


def _width(content: bytes, start: int, separator: bytes) -> int:
    """Return how many values the first row from a place on has, 0 where it does not end well."""
    found = re.compile(rb"(?:\r?\n)*+(%b)" % _row(separator, "*+")).match(content, start)
    return 1 + QUOTED.sub(b"", found[1]).count(separator) if found else 0


def _end(content: bytes, separator: bytes, width: int) -> int:
    """Return where the rows of a width end that a text begins with."""
    found = re.match(rb"(?:%b|\r?\n)*+" % _row(separator, f"{{{width - 1}}}"), content) if width else None
    return found.end() if found else 0


def _check_text(path: Path, content: bytes) -> None:
    place = content.find(b"\0")
    try:
        content.decode()
    except UnicodeDecodeError as error:
        place = error.start if place < 0 else min(place, error.start)
    if place >= 0:
        fix = "save it as CSV in UTF-8, or as Parquet called .parquet; unpack a compressed file first"
        raise InputError(f"{path}, line {_line(content, place)} is not text in UTF-8: {fix}")


def _line(content: bytes, place: int) -> int:
    return 1 + content.count(b"\n", 0, place)


def _fault(text: CsvText, place: int, width: int) -> InputError:
    """Return what is wrong with the row that begins at a place."""
    if count := _width(text.content, place, text.separator):
        sign = "comma" if text.separator == b"," else "separator"
        more, fewer = f"put a value that holds a {sign} in quotes", f"write a {sign} for each empty value too"
        fix = more if count > width else fewer
        what = f"has {count} value{'s' * (count > 1)} where the first line has {width}; {fix}"
    elif b'"' in text.content[place:].partition(b"\n")[0]:
        what = 'has a quote (") inside a value, or one that is not closed behind it; write "a ""b""" for a "b"'
    else:
        what = "has a carriage return without a line feed; save the file with the line ends of one system"
    return InputError(f"{text.path}, line {_line(text.content, place)} {what}")
