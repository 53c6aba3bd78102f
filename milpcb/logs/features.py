"""Which columns of a log a policy may read.

Identifiers and dates are recognised and left out, as a rule on them means nothing for the next person; a column that no
rule can read for another reason is an error, and all such columns are named at once.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import polars as pl

from milpcb.core.text import listed
from milpcb.data.csv_pieces import CODE
from milpcb.data.made_columns import MOST_CATEGORIES
from milpcb.errors import InputError, clipped

DATE = r"^\s*(\d{4}[-/.]\d{1,2}[-/.]\d{1,2}|\d{1,2}[-/.]\d{1,2}[-/.](\d{4}|\d{2}))([T ,]+\d{1,2}:\d{2}.*)?\s*$"
CALLED_ID = re.compile(r"(^|[\W_])id$|[a-z]I[dD]$", re.IGNORECASE)
CALLED_CHANCE = re.compile(r"propensit|probabilit", re.IGNORECASE)
MOSTLY = 0.5  # share of the rows from which different strings are taken for an identifier
MANY = 20  # rows below which consecutive numbers are no sign of an identifier


@dataclass(frozen=True)
class LeftOut:
    """A column that was left out of the features: why, and whether several rows share its values."""

    name: str
    why: str
    shared: bool = False


def usable(frame: pl.DataFrame, columns: Sequence[str], asked: bool) -> tuple[tuple[str, ...], tuple[LeftOut, ...]]:
    """Return the columns that policies may read, and those left out; raises InputError with all that are no use.

    Parameters
    ----------
    frame : the log
    columns : names of the candidates
    asked : whether they were named one by one: then an identifier or a date is no use, and not left out

    """
    left = () if asked else tuple(each for each in (_no_trait(frame[name]) for name in columns) if each)
    kept = tuple(name for name in columns if name not in {each.name for each in left})
    wrong = [f"'{clipped(name)}' ({why})" for name in kept if (why := _unreadable(frame[name]))]
    if wrong:
        names = " ".join(f"--leave-out {_quoted(name)}" for name in kept if _unreadable(frame[name]))
        raise InputError(
            f"no rule can read {listed(wrong)}: turn each into numbers or into at most {MOST_CATEGORIES} "
            f"different strings, or add {names}"
        )
    return kept, left


def words(left: Sequence[LeftOut], grouped: bool) -> Iterator[str]:
    """Yield what was left out, and what to do where rows seem to belong together."""
    if left:
        named = [f"'{clipped(each.name)}' ({each.why})" for each in left]
        yield f"{listed(named)} {'is' if len(left) == 1 else 'are'} left out: no rule for other people can use it."
    shared = [each.name for each in left if each.shared]
    if shared and not grouped:
        yield (
            f"Several rows have the same '{clipped(shared[0])}': if they belong together, such as the visits of one "
            f"person, add --group {_quoted(shared[0])}, or intervals are too narrow."
        )


def coded(frame: pl.DataFrame) -> Iterator[str]:
    """Yield which columns would be numbers if they were not written as codes."""
    for column in frame.get_columns():
        if column.dtype != pl.String:
            continue
        known = column.drop_nulls()
        codes = known.filter(known.str.contains(f"^{CODE.pattern}"))
        if len(codes) and not known.cast(pl.Float64, strict=False).null_count():
            yield (
                f"'{clipped(column.name)}' is taken for codes and not for numbers, as '{clipped(codes[0])}' begins "
                "with 0: rules test which string it is."
            )


def chances(table: pl.DataFrame) -> Iterator[str]:
    """Yield which features look like the probability of what was done, where no column was named to be it."""
    for column in table.get_columns():
        if CALLED_CHANCE.search(column.name) and column.dtype.is_numeric() and column.is_between(0, 1).all():
            name = _quoted(column.name)
            yield (
                f"'{clipped(column.name)}' is taken for a feature that a rule may read: if it is the probability of "
                f"what was done, name it by --propensity {name}, without --randomised, or add --leave-out {name}."
            )


def _no_trait(column: pl.Series) -> LeftOut | None:
    """Return why a column is an identifier or a date; None where it is neither."""
    if _dated(column):
        return LeftOut(column.name, "dates")
    known = column.drop_nulls()
    if not len(known) or not (column.dtype == pl.String or column.dtype.is_integer()):
        return None
    different = known.n_unique()
    named = bool(CALLED_ID.search(column.name)) and different > MOST_CATEGORIES
    if column.dtype == pl.String:
        numbered = different > MOST_CATEGORIES and different >= MOSTLY * len(known)
    else:
        numbered = len(known) >= MANY and different == len(known) == _span(known)
    return LeftOut(column.name, "an identifier", different < len(known)) if named or numbered else None


def _span(known: pl.Series) -> int:
    return int(known.max()) - int(known.min()) + 1  # type: ignore[arg-type]


def _dated(column: pl.Series) -> bool:
    if column.dtype.is_temporal():
        return True
    if column.dtype != pl.String:
        return False
    different = column.drop_nulls().unique()
    return bool(len(different)) and bool(different.str.contains(DATE).all())


def _unreadable(column: pl.Series) -> str:
    """Return why no rule can read a column, "" where one can."""
    kind = column.dtype
    if kind.is_temporal():
        return "dates or times"
    if kind.is_numeric():
        return _infinite(column)
    if kind in (pl.Boolean, pl.Null):
        return ""
    if kind in (pl.String, pl.Categorical, pl.Enum):
        different = column.n_unique()
        return f"{different:,} different strings" if different > MOST_CATEGORIES else ""
    return f"{str(kind).partition('(')[0].lower()} values"


def _infinite(column: pl.Series) -> str:
    if not column.dtype.is_float():
        return ""
    found = column.is_infinite().arg_max()
    return f"infinite in row {found + 1}" if found is not None and column.is_infinite().any() else ""


def _quoted(name: str) -> str:
    return name if re.fullmatch(r"[\w.-]+", name) else f'"{name}"'
