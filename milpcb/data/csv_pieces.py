"""The text of a CSV file, checked: rows of one width, quotes as the standard has them; an error names its line.

Readers of tables disagree on what they forgive: too few values, a quote that is not closed, a quote inside a value. The
separator is the sign that cuts all rows into as many values.
"""

import csv
import io
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from milpcb.core.decimals import spaced
from milpcb.errors import InputError

MARK = b"\xef\xbb\xbf"  # spreadsheets put it first
SEPARATORS = {b",": "','", b";": "';'", b"\t": "tabs", b"|": "'|'"}
CODE = re.compile(r"[-+]?0[0-9]")  # what a number is not written with, and an area, a ward or an item is
QUOTED = re.compile(rb'"[^"]*+"')
BLANK = re.compile(rb'("[^"]*+")|(?<![^\n])\r?\n')  # a line without values, outside of quotes
MOST_COLUMNS = 10_000


@dataclass(frozen=True)
class CsvText:
    """Rows of one width; blank lines may stand between them."""

    path: Path
    content: bytes
    separator: bytes

    def rows(self) -> Iterator[tuple[int, list[str]]]:
        """Yield the number of the line in which a row begins, and its values; raises InputError on a long value."""
        reader, line = csv.reader(io.StringIO(self.content.decode(), newline=""), delimiter=self.separator.decode()), 1
        try:
            for values in reader:
                if values:
                    yield line, values
                line = 1 + reader.line_num
        except csv.Error as error:
            most = spaced(csv.field_size_limit())
            raise InputError(f"{self.path}, line {line} has a value of more than {most} characters") from error

    @cached_property
    def without_blanks(self) -> bytes:
        """The rows without the blank lines."""
        return BLANK.sub(rb"\1", self.content) if re.search(rb"(\A|\n)\r?\n", self.content) else self.content

    def notes(self) -> Iterator[str]:
        """Yield by which sign values are read as separated, where that is no comma."""
        if self.separator != b",":
            yield f"{self.path.name} is read as separated by {SEPARATORS[self.separator]}."


def csv_text(path: Path) -> CsvText:
    """Return the text of a CSV file, of which the first row is the header.

    Raises InputError, with the line: too many or few values, a quote that does not close at the end of its value, or is
    inside one, bytes that are not text, two signs that may separate its values.
    """
    try:
        content = path.read_bytes().removeprefix(MARK)
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}") from error
    _check_text(path, content)
    separator = _separator(path, content)
    text = CsvText(path, content, separator)
    width = _width(content, 0, separator)
    if width > MOST_COLUMNS:
        raise InputError(f"{path} has more than {spaced(MOST_COLUMNS)} columns; leave some out")
    if (end := _end(content, separator, width)) < len(content):
        raise _fault(text, end, width)
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
    if not 0 < width <= MOST_COLUMNS:
        return 0
    found = re.match(rb"(?:%b|\r?\n)*+" % _row(separator, f"{{{width - 1}}}"), content)
    return found.end() if found else 0


def _separator(path: Path, content: bytes) -> bytes:
    """Return the sign between the values; raises InputError where two signs cut all rows alike."""
    widths = {sign: _width(content, 0, sign) for sign in SEPARATORS}
    cuts = [sign for sign, width in widths.items() if width > 1]
    alike = [sign for sign in cuts if _end(content, sign, widths[sign]) == len(content)]
    if len(alike) > 1:
        one, other = (SEPARATORS[sign] for sign in alike[:2])
        raise InputError(
            f"{path} can be read as separated by {one} and by {other}: put values that hold one of them in quotes"
        )
    return next(iter([*alike, *cuts]), b",")


def _check_text(path: Path, content: bytes) -> None:
    place = content.find(b"\0")
    try:
        content.decode()
    except UnicodeDecodeError as error:
        place = error.start if place < 0 else min(place, error.start)
    if place >= 0:
        raise InputError(
            f"{path}, line {_line(content, place)} is not text in UTF-8: save the table as CSV in UTF-8 "
            "('CSV UTF-8' in Excel), or as Parquet called .parquet; unpack a compressed file first"
        )


def _line(content: bytes, place: int) -> int:
    return 1 + content.count(b"\n", 0, place)


def _fault(text: CsvText, place: int, width: int) -> InputError:
    """Return what is wrong with the row that begins at a place."""
    where = f"{text.path}, line {_line(text.content, place)}"
    if count := _width(text.content, place, text.separator):
        sign = "comma" if text.separator == b"," else "separator"
        more, fewer = f"put a value that holds a {sign} in quotes", f"write a {sign} for each empty value too"
        return InputError(
            f"{where} has {count} value{'s' * (count > 1)} where the first line has {width}; "
            f"{more if count > width else fewer}"
        )
    if b'"' not in text.content[place:].partition(b"\n")[0]:
        return InputError(
            f"{where} has a carriage return without a line feed; save the file with the line ends of one system"
        )
    return InputError(
        f'{where} has a quote (") inside a value, or one that is not closed at the end of its value; put the whole '
        'value in quotes, with "" for each of its own'
    )
