"""A digest of a log: the same for the same decisions, whatever the order of rows and columns, and the kind of file."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping

import numpy as np

from milpcb.data.columns import Values
from milpcb.data.schema import read_columns
from milpcb.logs.source import Source
from milpcb.offline.by_place import Words, mixed

ACTION, OUTCOME = "\0action", "\0outcome"  # whatever these two columns are called


def digest(source: Source, features: Iterable[str]) -> str | None:
    """Return a digest of what was done, what came of it, and some columns; None where the log lacks one of these."""
    names = tuple(features)
    if not set(names) <= set(source.table.columns):
        return None
    columns = read_columns(source.table, source.table.columns, names)
    done = np.array(source.log.actions, dtype=object)[source.log.action]
    return _of_columns({**columns, ACTION: done, OUTCOME: source.log.outcome})


def _of_columns(columns: Mapping[str, Values]) -> str:
    """Return the digest of a table: of its rows as a multiset, each of them a sum over its named entries."""
    with np.errstate(over="ignore"):
        rows = sum(mixed(_words(column) ^ _word(f"column {name}")) for name, column in columns.items())
    return hashlib.blake2b(np.sort(np.asarray(rows)).tobytes(), digest_size=16).hexdigest()


def _words(column: Values) -> Words:
    """Return 64 bits (n,) for each entry: those of its number, or of its text; all missing entries have the same.

    A boolean is the number 0 or 1: files mix the two up.
    """
    if column.dtype != object:
        numbers = np.where(np.isnan(column), np.nan, np.asarray(column, dtype=float) + 0.0)  # -0 is 0
        return np.ascontiguousarray(numbers).view(np.uint64)
    listed = column.tolist()
    known = {entry: _of_entry(entry) for entry in set(listed)}
    return np.array([known[entry] for entry in listed], dtype=np.uint64)


def _of_entry(entry: object) -> np.uint64:
    if isinstance(entry, str):
        return _word(f"text {entry}")
    number = np.nan if entry is None else float(entry) + 0.0  # type: ignore[arg-type]
    return np.uint64(np.array(number).view(np.uint64))


def _word(text: str) -> np.uint64:
    return np.uint64(int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "little"))
