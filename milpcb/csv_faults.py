"""What is wrong with a CSV file, and in which line: the readers of tables know that they failed, but hardly why."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path
from typing import TextIO

from milpcb.errors import clipped

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


def disguised(path: Path) -> str:
    """Return what a file is that is called CSV and is none, by its first bytes; "" where it may be one."""
    with path.open("rb") as file:
        first = file.read(4)
    return next((found for start, found in FIRST_BYTES.items() if first.startswith(start)), "")


def csv_fault(path: Path) -> str:
    """Return what is wrong with a CSV file that could not be read, and how to mend it; "" where nothing is found."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            return _fault(file)
    except UnicodeDecodeError:
        return f"line {_undecodable(path)} is not in UTF-8; save the file as UTF-8"


def _fault(file: TextIO) -> str:
    rows = csv.reader(_without_nul(file), strict=True)
    began, header = 1, None
    try:
        for row in rows:
            if header is None:
                header = row
                if fault := _of_header(row):
                    return fault
            elif len(row) > len(header):
                return (
                    f"line {began} has {len(row)} cells where the header has {len(header)}; put a cell that holds a "
                    "comma in quotes"
                )
            began = rows.line_num + 1
    except csv.Error as error:
        if "end of data" in str(error):
            return (
                f'the quote (") that opens in line {began} is not closed; close it, or write "" for a quote in a cell'
            )
        if "NUL" in str(error):
            return f"line {began} holds bytes that are no text; save the table as CSV"
        return f'line {began} has a quote (") inside a cell; put the whole cell in quotes, with "" for each of its own'
    return "" if header else "it is empty; write a header and then a line for each decision"


def _of_header(names: list[str]) -> str:
    for place, name in enumerate(names):
        if not name.strip():
            return f"column {place + 1} has no name; give it one, or take it out"
        if name in names[:place]:
            return f"two columns are called '{clipped(name)}'; give each its own name"
    return ""


def _without_nul(file: TextIO) -> Iterator[str]:
    for line in file:
        if "\0" in line:
            raise csv.Error("NUL")
        yield line


def _undecodable(path: Path) -> int:
    """Return the number of the first line that is not UTF-8."""
    with path.open("rb") as file:
        for number, line in enumerate(file, 1):
            try:
                line.decode("utf-8-sig")
            except UnicodeDecodeError:
                return number
    return 1
