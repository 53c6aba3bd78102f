"""The columns of a log that a policy may read, and warnings about columns that may mean something else."""

import re
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import polars as pl
from scipy.stats import rankdata

from milpcb.core.checks import MOST
from milpcb.core.decimals import fixed, written
from milpcb.core.text import listed
from milpcb.data.fields import GROUPED, MARKS, odd_numbers, odd_words
from milpcb.data.made_columns import MOST_CATEGORIES
from milpcb.data.tables import CODE, ROW_NUMBERS
from milpcb.errors import InputError, clipped
from milpcb.logs.read import DATE, among
from milpcb.types import Floats

PARTS = re.compile(r"[\W_]+|(?<=[a-z0-9])(?=[A-Z])")  # what separates the words of a name: patient_id, patientID
IDENTIFIERS = {"id", "ids", "uid", "uuid", "guid"}
IDENTIFIER = "an identifier"
MOSTLY = 0.5  # share of the rows from which different strings are taken for an identifier
WORDS = 3  # of a string, in the mean, from which it is free text
MANY = 20  # rows below which consecutive numbers are no sign of an identifier
SCALE = 10  # different numbers from which a column is taken for a measurement, whatever else it holds
FEW = 5  # other strings in such a column, up to which they are no categories
FAR = 50  # from which one such number alone is doubted
SENTINELS = (-1, -9, -99, -999, -9999, 99, 999, 9999)  # numbers that people write where none is known
MOST_RANKED = 200_000  # rows by which leaks are looked for: every second row of more, and so on
LARGE = 30  # rows of a group whose mean hardly depends on one of them
ALIKE = 0.95  # from which a feature is taken for the outcome under another name


def usable(frame: pl.DataFrame, columns: Sequence[str], asked: bool) -> tuple[tuple[str, ...], dict[str, str]]:
    """Return the columns that policies may read, and why others are left out, unless they were ``asked`` for."""
    left = {} if asked else {name: why for name in columns if (why := _no_trait(frame[name]))}
    kept = tuple(name for name in columns if name not in left)
    wrong = {name: why for name in kept if (why := _unreadable(frame[name]))}
    if wrong:
        named = [f"'{clipped(name)}' ({why})" for name, why in wrong.items()]
        raise InputError(
            f"no rule can read {listed(named)}: turn each into numbers or into at most {MOST_CATEGORIES} different "
            f"strings, or add {' '.join(f'--leave-out {in_command(name)}' for name in wrong)}"
        )
    return kept, left


def in_command(name: str) -> str:
    """Return a name in the form in which a command takes it."""
    return name if re.fullmatch(r"[\w.-]+", name) else f'"{name}"'


def _no_trait(column: pl.Series) -> str:
    if ROW_NUMBERS.fullmatch(column.name):
        return "row numbers"
    known, strings = column.drop_nulls(), column.dtype == pl.String
    if column.dtype.is_temporal() or (strings and len(known) and known.unique().str.contains(DATE).all()):
        return "dates"
    if not len(known) or not (strings or is_whole(known)):
        return ""
    different = known.n_unique()
    many = different > MOST_CATEGORIES
    if many and _called_identifier(column.name):
        return IDENTIFIER
    if strings:
        if many and float(known.str.count_matches(r"\S+").mean()) > WORDS:  # type: ignore[arg-type]
            return "free text"  # rows that share one do so by chance
        numbered = many and different >= MOSTLY * len(known) and not _nearly_numbers(column)
    else:
        span = float(known.max()) - float(known.min()) + 1  # type: ignore[arg-type]
        numbered = len(known) >= MANY and different == len(known) and (span == different or known.is_sorted())
    return IDENTIFIER if numbered else ""


def _called_identifier(name: str) -> bool:
    """Return whether the first or the last word of a name is that of an identifier: not "bid", nor "paid"."""
    parts = [part.lower() for part in PARTS.split(name) if part]
    return bool(parts) and not IDENTIFIERS.isdisjoint((parts[0], parts[-1]))


def is_whole(column: pl.Series) -> bool:
    """Return whether a column holds integers, apart from missing values."""
    return column.dtype.is_integer() or (column.dtype.is_float() and bool((column == column.round()).all()))


def _unreadable(column: pl.Series) -> str:
    kind = column.dtype
    if kind.is_temporal():
        return "dates or times"
    if kind.is_float() and (infinite := column.is_infinite()).any():
        marks = ",".join(map(str, column.filter(infinite).unique().to_list()))
        return f"infinite in row {infinite.to_list().index(True) + 1}; --missing {marks} if nothing is known there"
    if kind.is_numeric() or kind in (pl.Boolean, pl.Null):
        return ""
    if kind in (pl.String, pl.Categorical, pl.Enum):
        different = column.n_unique()
        many = f"{fixed(different, 0)} different strings" if different > MOST_CATEGORIES else ""
        return _nearly_numbers(column) or many
    return f"{str(kind).partition('(')[0].lower()} values"


def _nearly_numbers(column: pl.Series) -> str:
    """Return which values of a column of strings are no numbers where it seems to be one of numbers, else ""."""
    known = column.drop_nulls().cast(pl.String).value_counts(sort=True)
    values, counts = known[column.name].str.strip_chars(), known["count"]
    plain = values.cast(pl.Float64, strict=False).is_not_null()
    own = ~among(values.str.to_lowercase(), MARKS)  # marks are missing once no other string is there
    odd, strange = own & ~plain, own & ~plain & ~values.str.contains(GROUPED)
    if values.str.contains(f"^{CODE.pattern}").any() or not odd.any():
        return ""
    if own.sum() > 1 and not strange.any():
        shown = values.filter(odd)[0]
        return f"numbers such as '{shown}', of which the point or comma can be read in two ways: write 1234.5"
    if len(values) > SCALE and (how := odd_numbers(values)):
        return how
    others, numbers = values.filter(strange).to_list(), own & ~strange
    if numbers.sum() <= SCALE or not 0 < len(others) <= FEW or 2 * counts.filter(numbers).sum() < counts.sum():
        return ""
    named = [f"'{clipped(each)}' ({_rows(n)})" for each, n in zip(others, counts.filter(strange), strict=True)]
    return f"numbers but for {listed(named)}; --missing {in_command(','.join(others))} if nothing is known there"


def notes(
    table: pl.DataFrame,
    others: pl.DataFrame,
    missing: Mapping[str, Mapping[str, int]],
    actions: Mapping[str, Sequence[str]],
) -> Iterator[str]:
    """Yield remarks on the marks that counted as ``missing``, and on values with a second reading."""
    columns = [
        f"'{clipped(name)}' where it is {listed([f'{clipped(mark)} ({_rows(rows)})' for mark, rows in counts.items()])}"
        for name, counts in missing.items()
    ]
    if columns:
        yield f"Read as missing: {'; '.join(columns)}."
    for column in table.get_columns():
        if column.dtype == pl.String:
            yield from _of_strings(column)
    for column in (*table.get_columns(), *others.get_columns()):
        if column.dtype.is_numeric():
            yield from _of_numbers(column)
    for name, texts in actions.items():
        if odd := odd_words(texts):
            yield f"'{clipped(name)}' holds {odd}."


def notes_on_left(frame: pl.DataFrame, left: Mapping[str, str], grouped: bool) -> Iterator[str]:
    """Yield remarks on the columns left out, and advice where rows seem to belong together."""
    if left:
        named = [f"'{clipped(name)}' ({why})" for name, why in left.items()]
        yield f"{listed(named)} {'is' if len(left) == 1 else 'are'} left out: no rule for other people can use it."
    shared = (
        name for name, why in left.items() if why == IDENTIFIER and frame[name].drop_nulls().is_duplicated().any()
    )
    if not grouped and (name := next(shared, None)) is not None:
        yield (
            f"Several rows have the same '{clipped(name)}': if they belong together, such as the visits of one person, "
            f"add --group {in_command(name)}, or intervals are too narrow."
        )


def _rows(n: int) -> str:
    return f"{fixed(n, 0)} row{'s' * (n > 1)}"


def _of_strings(column: pl.Series) -> Iterator[str]:
    found = column.drop_nulls().value_counts()
    values, name = found[column.name], clipped(column.name)
    numbers, codes = values.cast(pl.Float64, strict=False), values.filter(values.str.contains(f"^{CODE.pattern}"))
    odd_ones = pl.concat([codes, values.filter(numbers.is_finite() & (numbers.abs() > MOST))])
    if len(values) and not numbers.null_count() and (len(odd_ones) or len(values) > SCALE):
        such = clipped([*odd_ones, *values][0])
        yield f"'{name}' holds strings of digits, such as '{such}', and no numbers: rules test which string it is."
    for value, rows in found.filter(values.str.to_lowercase().is_in(list(MARKS))).iter_rows():
        yield (
            f"'{name}' is '{value}' in {_rows(rows)}, which is read as a string like any other: add --missing "
            f"{in_command(value)} if nothing is known there."
        )
    texts = sorted(values.to_list())
    if odd := odd_numbers(texts) or odd_words(texts):
        yield f"'{name}' holds {odd}."


def _of_numbers(column: pl.Series) -> Iterator[str]:
    if column.min() not in SENTINELS and column.max() not in SENTINELS:
        return
    values = np.unique(column.drop_nulls().cast(pl.Float64).to_numpy())
    for outside, others in ((values[:1], values[1:]), (values[-1:], values[:-1])):
        if len(others) < 2 or outside[0] not in SENTINELS:
            continue
        gap = float(np.abs(others - outside[0]).min())
        rows = int((column == outside[0]).sum())
        if ((rows > 1 and len(others) > 2) or gap > FAR) and gap > max(1, np.diff(others).max()):
            mark, ends = written(float(outside[0])), f"{written(others[0])} to {written(others[-1])}"
            yield (
                f"'{clipped(column.name)}' is {mark} in {_rows(rows)}, far from its other numbers ({ends}): add "
                f"--missing {in_command(mark)} if nothing is known there."
            )


def leaks(table: pl.DataFrame, outcome: str, values: Floats) -> Iterator[str]:
    """Yield a warning for each feature from which the outcome, ``values`` (n,), can nearly be predicted."""
    step = -(-len(table) // MOST_RANKED) if len(table) else 1
    for column in table.gather_every(step).get_columns():
        found = _association(column, values[::step])
        if found > ALIKE:
            yield (
                f"'{clipped(column.name)}' goes with '{outcome}' almost exactly ({found:.3f} by ranks): if it is known "
                "only afterwards, no policy can read it, and the values here are too good; learn without it by "
                f"--leave-out {in_command(column.name)}"
            )


def _association(column: pl.Series, outcome: Floats) -> float:
    """Return how well a column, or that it is missing, predicts the outcome, at most 1."""
    if column.dtype.is_numeric() or column.dtype == pl.Boolean:
        numbers = column.cast(pl.Float64).fill_null(np.nan).to_numpy()
        there = np.isfinite(numbers)
        return max(_by_ranks(numbers[there], outcome[there]), _by_ranks(there.astype(float), outcome))
    groups = column.cast(pl.String).fill_null("\0missing").rank("dense").to_numpy().astype(np.int64) - 1
    sizes, sums = np.bincount(groups)[groups], np.bincount(groups, outcome)[groups]
    means = np.where(sizes > 1, (sums - outcome) / np.maximum(sizes - 1, 1), outcome.mean())  # of other rows
    return _by_ranks(np.where(sizes >= LARGE, sums / sizes, means), outcome, rising=True)


def _by_ranks(numbers: Floats, outcome: Floats, *, rising: bool = False) -> float:
    """Return the rank AUC for a binary outcome, else the rank correlation; 0 where one is constant."""
    if len(numbers) < 3 or np.ptp(numbers) == 0 or np.ptp(outcome) == 0:
        return 0.0
    ranks, positive = rankdata(numbers), outcome == outcome.max()
    if len(np.unique(outcome)) > 2:
        found = float(np.corrcoef(ranks, rankdata(outcome))[0, 1])
        return found if rising else abs(found)
    ones = int(positive.sum())
    area = (float(ranks[positive].sum()) - ones * (ones + 1) / 2) / (ones * (len(numbers) - ones))
    return area if rising else max(area, 1 - area)
