"""Columns of a log that may mean something else than was read: a note for each, and warnings of leaks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
import polars as pl
from scipy.stats import rankdata

from milpcb.core.checks import MOST
from milpcb.core.decimals import written
from milpcb.core.text import listed
from milpcb.data.csv_pieces import CODE
from milpcb.data.spellings import MARKS, odd_numbers, odd_words
from milpcb.errors import clipped
from milpcb.logs.features import SCALE, in_command
from milpcb.types import Floats, Ints

FAR = 50  # from which one such number alone is doubted
SENTINELS = (-1, -9, -99, -999, -9999, 99, 999, 9999)  # numbers that people write where none is known
MOST_RANKED = 200_000  # rows by which leaks are looked for: every second row of more, and so on
ALIKE = 0.95  # from which a feature is taken for the outcome under another name


# ------------------------------------------------------------------- missing


def missing_words(missing: Mapping[str, Mapping[str, int]]) -> Iterator[str]:
    """Yield one line on what was read as missing: of each column which mark, and in how many rows."""
    columns = [
        f"'{clipped(name)}' where it is {listed([f'{clipped(mark)} ({_rows(rows)})' for mark, rows in counts.items()])}"
        for name, counts in missing.items()
    ]
    if columns:
        yield f"Read as missing: {'; '.join(columns)}."


def _rows(n: int) -> str:
    return f"{n:,} row{'s' * (n > 1)}"


def doubts(table: pl.DataFrame) -> Iterator[str]:
    """Yield a note for each column that may hold something else than was read."""
    for column in table.get_columns():
        if column.dtype == pl.String:
            yield from _of_strings(column)
        elif column.dtype.is_numeric():
            yield from _of_numbers(column)


def _of_strings(column: pl.Series) -> Iterator[str]:
    found = column.drop_nulls().value_counts()
    values, name = found[column.name], clipped(column.name)
    numbers = values.cast(pl.Float64, strict=False)
    codes = values.filter(values.str.contains(f"^{CODE.pattern}"))
    if len(values) and not numbers.null_count():
        if len(codes):
            yield (
                f"'{name}' is taken for codes and not for numbers, as '{clipped(codes[0])}' begins with 0: rules test "
                "which string it is."
            )
        elif (numbers.is_finite() & (numbers.abs() > MOST)).any():
            yield f"'{name}' holds integers beyond 2^53, as identifiers are: rules test which string it is."
        elif len(values) > SCALE:
            yield f"'{name}' holds numbers that are written as strings: rules test which string it is."
    for value, rows in found.filter(values.str.to_lowercase().is_in(list(MARKS))).iter_rows():
        yield (
            f"'{name}' is '{value}' in {_rows(rows)}, which is read as a string like any other: add --missing "
            f"{in_command(value)} if nothing is known there."
        )
    texts = sorted(values.to_list())
    if odd := odd_numbers(texts) or odd_words(texts):
        yield f"'{name}' holds {odd}."


def _of_numbers(column: pl.Series) -> Iterator[str]:
    """Yield whether a round number stands far outside of all others."""
    if column.min() not in SENTINELS and column.max() not in SENTINELS:
        return
    values = np.unique(column.drop_nulls().cast(pl.Float64).to_numpy())
    for outside, others in ((values[:1], values[1:]), (values[-1:], values[:-1])):
        if len(others) < 3 or outside[0] not in SENTINELS:
            continue
        gap = float(np.abs(others - outside[0]).min())
        rows = int((column == outside[0]).sum())
        if (rows > 1 or gap > FAR) and gap > max(1, np.diff(others).max()):
            mark, ends = written(float(outside[0])), f"{written(others[0])} to {written(others[-1])}"
            yield (
                f"'{clipped(column.name)}' is {mark} in {_rows(rows)}, far from its other numbers ({ends}): add "
                f"--missing {in_command(mark)} if nothing is known there."
            )


# --------------------------------------------------------------------- leaks


def leaks(table: pl.DataFrame, outcome: str, values: Floats) -> Iterator[str]:
    """Yield a warning for each feature from which the outcome, ``values`` (n,), is nearly known."""
    step = -(-len(table) // MOST_RANKED) if len(table) else 1
    for column in table.gather_every(step).get_columns():
        found, how = _association(column, values[::step])
        if found > ALIKE:
            name = clipped(column.name)
            yield (
                f"'{name}' goes with '{outcome}' almost exactly ({how} {found:.3f}): if it is known only afterwards, "
                "no policy can read it, and the values here are too good; learn without it by --leave-out "
                f"{in_command(column.name)}"
            )


def _association(column: pl.Series, outcome: Floats) -> tuple[float, str]:
    """Return how well a column predicts the outcome, at most 1, and by which measure."""
    binary = len(np.unique(outcome)) == 2
    if column.dtype.is_numeric() or column.dtype == pl.Boolean:
        numbers = column.cast(pl.Float64).fill_null(np.nan).to_numpy()
        there = np.isfinite(numbers)
        known = _of_ranks(numbers[there], outcome[there], binary=binary)
        lost = _of_ranks(there.astype(float), outcome, binary=binary)  # that it is missing may be as good
        return max(known, lost), "rank AUC" if binary else "rank correlation"
    groups = column.cast(pl.String).fill_null("\0missing").rank("dense").to_numpy().astype(np.int64) - 1
    means = _means_of_others(groups, outcome)
    if binary:
        return _area(means, outcome == outcome.max()), "rank AUC"
    return 1 - float(((outcome - means) ** 2).sum()) / max(float(((outcome - outcome.mean()) ** 2).sum()), 1e-300), "R2"


def _of_ranks(numbers: Floats, outcome: Floats, *, binary: bool) -> float:
    """Return the rank AUC of numbers for a binary outcome, else their rank correlation; 0 where one is constant."""
    if len(numbers) < 3 or np.ptp(numbers) == 0 or np.ptp(outcome) == 0:
        return 0.0
    if binary:
        area = _area(numbers, outcome == outcome.max())
        return max(area, 1 - area)
    return float(abs(np.corrcoef(rankdata(numbers), rankdata(outcome))[0, 1]))


def _area(numbers: Floats, positive: Floats) -> float:
    """Return the chance that of two rows the positive one has the larger number."""
    ones = int(positive.sum())
    ranks = float(rankdata(numbers)[positive].sum())
    return (ranks - ones * (ones + 1) / 2) / (ones * (len(numbers) - ones))


def _means_of_others(groups: Ints, outcome: Floats) -> Floats:
    """Return the mean outcome (n,) of the other rows of a row's group, of all rows where there are none."""
    sizes, sums = np.bincount(groups)[groups], np.bincount(groups, outcome)[groups]
    return np.where(sizes > 1, (sums - outcome) / np.maximum(sizes - 1, 1), outcome.mean())
