"""CSV files read in chunks of whole rows, each checked: an error names its line, and nothing is guessed.

Readers of tables disagree on what they forgive: too few values, a quote that is not closed, a quote inside a value. The
separator is the sign that cuts all rows into as many values, or the one that a first line such as sep=; names.
"""

import csv
import io
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from milpcb.errors import InputError
from milpcb.types import Bools, Ints

FIRST_BYTES = {
    b"\x1f\x8b": "is compressed (gzip); unpack it first",
    b"x\x01": "is compressed (zlib); unpack it first",
    b"x\x9c": "is compressed (zlib); unpack it first",
    b"x\xda": "is compressed (zlib); unpack it first",
    b"\x28\xb5\x2f\xfd": "is compressed (zstd); unpack it first",
    b"BZh": "is compressed (bzip2); unpack it first",
    b"\xfd7zX": "is compressed (xz); unpack it first",
    b"PK\x03\x04": "is a zip archive or a spreadsheet; save the table as CSV",
    b"PAR1": "is a Parquet file; call it .parquet",
    b"\xff\xfe": "is in UTF-16; save it as UTF-8",
    b"\xfe\xff": "is in UTF-16; save it as UTF-8",
}
MARK = b"\xef\xbb\xbf"  # spreadsheets put it first
BLOCK = 2**24  # bytes that are looked at together; no row is longer
SEPARATORS = {b",": "','", b";": "';'", b"\t": "tabs", b"|": "'|'"}
NAMED = re.compile(rb"\"?sep=([,;\t|])\"?\r?\n")  # a first line that is for a spreadsheet alone
CODE = re.compile(r"[-+]?0[0-9]")  # what a number is not written with, and an area, a ward or an item is

Tick = Callable[[int, int], None]  # tick(done, total), in bytes


@dataclass(frozen=True)
class Piece:
    """Some rows of a CSV file, blank lines left out: their bytes, and the number of the line in which each begins."""

    content: bytes
    lines: Ints
    separator: bytes

    def rows(self) -> Iterator[tuple[int, list[str]]]:
        """Yield the number of the line in which a row begins, and its values."""
        text = io.StringIO(self.content.decode(), newline="")
        yield from zip(self.lines.tolist(), csv.reader(text, delimiter=self.separator.decode()), strict=True)


def disguised(path: Path) -> str:
    """Return what a file is that is called CSV and is none, by its first bytes; "" where it may be one."""
    with path.open("rb") as file:
        first = file.read(4)
    return next((found for start, found in FIRST_BYTES.items() if first.startswith(start)), "")


def pieces(path: Path, tick: Tick = lambda *_: None) -> Iterator[Piece]:
    """Yield the rows of a CSV file in pieces, the header being the first row of the first; OSError as usual.

    Raises InputError, with the line: too many or few values, a quote that does not close at the end of its value, or is
    inside one, bytes that are not text, two signs that may separate its values.
    """
    line, width, done, size = 1, 0, 0, path.stat().st_size
    separator = b""
    with path.open("rb") as file:
        rest = file.read(len(MARK)).removeprefix(MARK)
        if named := NAMED.match(rest + file.peek(16)):
            separator, line = named[1], 2
            file.readline()
            rest = b""
        while content := rest + (block := file.read(BLOCK)):
            separator = separator or _separator(content, path)
            scan = _Scan(content, path, line, separator)
            end = scan.end if block else len(content)
            if not end and len(content) > BLOCK:
                scan.check_quotes(len(content))
                raise InputError(f"{path}, line {line} is longer than {BLOCK // 2**20} MB; write a line for each row")
            piece, width = scan.piece(end, width)
            if len(piece.lines):
                yield piece
            rest = content[end:]
            line += content.count(b"\n", 0, end)
            done += end
            tick(done, size)


def separated(path: Path, separator: bytes) -> Iterator[str]:
    """Yield by which sign the values of a file are read as separated, where that is no comma."""
    if separator != b",":
        yield f"{path.name} is read as separated by {SEPARATORS[separator]}."


def _separator(content: bytes, path: Path) -> bytes:
    """Return the sign between the values of the first rows; raises InputError where two signs cut them all alike."""
    widths = {sign: _Scan(content, path, 1, sign).widths() for sign in SEPARATORS}
    cuts = [sign for sign, found in widths.items() if len(found) and found[0] > 1]
    alike = [sign for sign in cuts if (widths[sign] == widths[sign][0]).all()]
    if len(alike) > 1:
        one, other = (SEPARATORS[sign] for sign in alike[:2])
        raise InputError(
            f"{path} can be read as separated by {one} and by {other}: put values that hold one of them in quotes"
        )
    return next(iter([*alike, *cuts]), b",")


class _Scan:
    """Where rows and values end in the bytes of some lines, of which the first is number ``line`` of a file."""

    def __init__(self, content: bytes, path: Path, line: int, separator: bytes) -> None:
        self._content, self._path, self._line, self._separator = content, path, line, separator
        self._signs = np.frombuffer(content, dtype=np.uint8)
        self._quotes = self._where(b'"')
        feeds = self._where(b"\n")
        self._ends = feeds[~self._inside(feeds)]
        self.end = int(self._ends[-1]) + 1 if len(self._ends) else 0  # behind the last whole row

    def piece(self, end: int, width: int) -> tuple[Piece, int]:
        """Return the rows before ``end`` but blank ones, and how many values each has: ``width`` unless it is 0."""
        self._check_text(end)
        self.check_quotes(end)
        starts, ends, blank = self._rows(end)
        values, lines = self._values(starts, end)[~blank], self._line_of(starts)[~blank]
        width = width or (int(values[0]) if len(values) else 0)
        self._check_width(values, lines, width)
        content = self._content[:end]
        if blank.any():
            kept = np.ones(end, dtype=bool)
            for start, stop in zip(starts[blank], ends[blank], strict=True):
                kept[start : stop + 1] = False
            content = self._signs[:end][kept].tobytes()
        return Piece(content, lines, self._separator), width

    def widths(self) -> Ints:
        """Return how many values each row has, blank ones left out; a row that is cut off counts if it is alone."""
        end = self.end or len(self._content)
        starts, _, blank = self._rows(end)
        return self._values(starts, end)[~blank]

    def _rows(self, end: int) -> tuple[Ints, Ints, Bools]:
        ends = self._ends if end == self.end else np.append(self._ends, end)
        starts = np.append(0, ends[:-1] + 1)[: len(ends)]
        return starts, ends, (ends == starts) | ((ends == starts + 1) & (self._signs[starts] == ord("\r")))

    def _values(self, starts: Ints, end: int) -> Ints:
        signs = self._where(self._separator)
        return np.asarray(1 + np.diff(np.searchsorted(signs[~self._inside(signs)], np.append(starts, end))))

    def check_quotes(self, end: int) -> None:
        """Raise InputError on the first quote before ``end`` that neither begins nor ends a value."""
        quotes = self._quotes[: np.searchsorted(self._quotes, end)]
        opening, closing = quotes[0::2], quotes[1::2]
        stray = opening[~np.isin(self._signs[opening - 1], list(self._separator + b'\n"')) & (opening > 0)]
        closes = np.isin(self._after(closing), list(self._separator + b'\r\n"'))
        unclosed = np.append(opening[: len(closing)][~closes], opening[len(closing) :])
        if len(unclosed) and not (len(stray) and stray[0] <= unclosed[0]):
            line = self._line_of(unclosed[:1])[0]
            raise InputError(
                f'{self._path}: the quote (") that opens in line {line} is not closed at the end of its value; close '
                'it there, or write "" for a quote in a value'
            )
        if len(stray):
            raise self._fault(
                stray[0], 'has a quote (") inside a value; put the whole value in quotes, with "" for each of its own'
            )

    def _check_text(self, end: int) -> None:
        """Raise InputError on bytes that are not UTF-8, and on line ends that some readers take for none."""
        content = self._content[:end]
        if (place := content.find(b"\0")) >= 0:
            raise self._fault(place, "holds bytes that are not text; save the table as CSV")
        try:
            content.decode()
        except UnicodeDecodeError as error:
            raise self._fault(
                error.start, "is not in UTF-8; save the file as UTF-8, in Excel as 'CSV UTF-8'"
            ) from error
        returns = self._where(b"\r")
        returns = returns[~self._inside(returns) & (returns < end)]
        alone = returns[self._after(returns, beyond=0) != ord("\n")]
        if len(alone):
            raise self._fault(
                alone[0], "has a carriage return without a line feed; save the file with the line ends of one system"
            )

    def _check_width(self, values: Ints, lines: Ints, width: int) -> None:
        wrong = np.flatnonzero(values != width)
        if not len(wrong):
            return
        count = int(values[wrong[0]])
        sign = "comma" if self._separator == b"," else "separator"
        more, fewer = f"put a value that holds a {sign} in quotes", f"write a {sign} for each empty value too"
        fix = more if count > width else fewer
        raise InputError(
            f"{self._path}, line {lines[wrong[0]]} has {count} value{'s' * (count > 1)} where the first line has "
            f"{width}; {fix}"
        )

    def _fault(self, place: Any, what: str) -> InputError:
        return InputError(f"{self._path}, line {self._line_of(np.array([place]))[0]} {what}")

    def _line_of(self, places: Ints) -> Ints:
        return self._line + np.searchsorted(self._where(b"\n"), places)

    def _where(self, sign: bytes) -> Ints:
        return np.flatnonzero(self._signs == ord(sign))

    def _after(self, places: Ints, beyond: int = ord("\n")) -> Any:
        """Return the sign behind each place, ``beyond`` behind the last."""
        last = len(self._signs) - 1
        return np.where(places < last, self._signs[np.minimum(places + 1, last)], beyond)

    def _inside(self, places: Ints) -> Bools:
        """Return whether each place is in quotes: behind an odd number of them."""
        odd: Bools = np.searchsorted(self._quotes, places) % 2 == 1
        return odd
