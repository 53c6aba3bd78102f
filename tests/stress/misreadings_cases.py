"""Drawn columns with the meaning of their values, values of other types, and ways to hand a row over."""

import dataclasses
import random
import sqlite3
from collections import namedtuple
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
import polars as pl

LEVELS = ("least", "less", "middle", "more", "most")
# Of each kind of column: what its values mean, the type that pandas has for it, and whether a bandit has them declared.
KINDS: dict[str, tuple[Sequence[Any], Any, bool]] = {
    "floats": ((18.5, 30.0, 45.25, 60.0), float, False),
    "integers": ((1, 5, 9, 12), int, False),
    "nullable integers": ((1, 5, 9), "Int64", False),
    "0 and 1": ((0, 1), int, False),
    "decimals": ((Decimal("0.5"), Decimal("2.5")), object, False),
    "booleans": ((False, True), bool, True),
    "nullable booleans": ((False, True), "boolean", True),
    "strings": (("north", "south", "east"), object, True),
    "words": (("NA", "none", "true", "7"), object, True),
    "digits": (("12", "7", "30"), "string", True),
    "leading zeros": (("01", "1", "001"), object, True),
    "codes": ((101, 205, 317), "category", True),
    "levels": (LEVELS, pd.CategoricalDtype(LEVELS, ordered=True), True),
}
NAMES = (
    "age", "region", "is it", "age ", "0", "x_1", "Größe", "a = b", "x and y", '"x"', "g <= 1", "x\ny", "in {g}",
    "missing",
)  # fmt: skip
ACTIONS = (
    ("A", "B"), ("B", "A"), ("1", "0"), ("missing", ""), ("a\nb", "a\\nb"), ('say "no"', "it's"), ("else:", "if x:"),
)  # fmt: skip
LOST: tuple[Any, ...] = (None, float("nan"), pd.NA, pd.NaT, np.datetime64("NaT"), Decimal("NaN"))


@dataclass
class Service:
    """A column, what is learnt of it, and the other column of each row, a number."""

    kind: str
    name: str
    other: str
    values: list[Any]
    dtype: Any
    missing: bool
    needs_b: set[Any]
    frame: Any = field(repr=False)
    actions: tuple[str, str] = ("A", "B")

    @property
    def declared(self) -> bool:
        """Whether the values are declared to a bandit."""
        return KINDS[self.kind][2]

    @property
    def cuts(self) -> list[float]:
        """Return the cut points of the column: between all values."""
        known = sorted(float(value) for value in self.values) if not self.declared else []
        return [(low + high) / 2 for low, high in pairwise(known)]

    def right(self, value: Any, other: float) -> str:
        """Return the action that a row needs: of the values that need B those with a large other number."""
        return self.actions[bool(value in self.needs_b and other > 5)]


def drawn_service(rng: random.Random) -> Service:
    """Return a service whose rows each stand four times in its table, with columns and actions in any order."""
    kind = rng.choice(list(KINDS))
    values, dtype, _ = KINDS[kind]
    if isinstance(values[0], str) and kind != "levels":
        values = rng.sample(values, rng.choice((2, 3)))
    missing = rng.random() < 0.4 and dtype is not bool
    name, other = rng.sample(NAMES, 2)
    known = [*values, None] if missing else list(values)
    if dtype is int and missing:
        dtype = float
    needs = (
        {rng.choice(known)}
        if KINDS[kind][2]
        else set(rng.choice(([None] if missing else values[:1], values[:1], values[:-1])))
    )
    rows = [(value, other_value) for value in known for other_value in (2.0, 8.0)] * 2
    rng.shuffle(rows)
    if dtype == "category":
        column = pd.Series(pd.Categorical([value for value, _ in rows], categories=rng.sample(values, len(values))))
    else:
        column = pd.Series([value for value, _ in rows], dtype=dtype)
    columns = {name: column, other: pd.Series([number for _, number in rows])}
    order = rng.sample(list(columns), 2)
    actions = rng.choice(ACTIONS)
    return Service(kind, name, other, list(values), dtype, missing, needs, pd.DataFrame(columns)[order], actions)


def spelt(rng: random.Random, service: Service) -> tuple[Any, list[Any]]:
    """Return a value as somebody may hand it over, and what it may mean: nothing, where it must be refused."""
    if rng.random() < 0.15:
        lost = rng.choice((*LOST, "") if isinstance(service.values[0], str) else LOST)
        return lost, [None] if service.missing else []
    meant = rng.choice(service.values)
    ways: list[Callable[[Any], Any]] = [lambda value: value]
    if isinstance(meant, bool):
        ways += [np.bool_, int, float, str, lambda value: str(value).lower(), lambda value: "yes" if value else "no"]
        ways += [lambda value: str(int(value)), lambda _: 2]
    elif isinstance(meant, str):
        ways += [np.str_, np.array, _as_number, str.encode, lambda value: [value], lambda _: True, lambda _: "unseen"]
        ways += [str.upper, lambda value: f" {value}", lambda _: rng.choice(("n/a", "NULL", " none "))]
    else:
        ways += [np.float64, np.array, Decimal, Fraction, float, str, _as_integer, np.float32]
        ways += [lambda _: True, lambda _: "old", lambda _: float("inf"), lambda value: [value], complex]
    value = rng.choice(ways)(meant)
    return value, meanings(value, service)


def meanings(value: Any, service: Service) -> list[Any]:
    """Return what a value that is no missing one may mean in a column, by definition and not by the reader's code."""
    plain = (
        value.item() if isinstance(value, np.generic) or (isinstance(value, np.ndarray) and not value.ndim) else value
    )
    first = service.values[0]
    if isinstance(plain, (bytes, list, complex)):
        return []
    if isinstance(first, bool):
        return [bool(plain)] if not isinstance(plain, str) and plain in (0, 1) else _truth(plain)
    if isinstance(first, str):
        return _strings(plain, service.values)
    if isinstance(plain, bool):
        return [int(plain)] if set(service.values) <= {0, 1} else []
    try:
        number = float(plain)
    except ValueError:
        return []
    return [number] if abs(number) <= 1e100 else []


def _strings(plain: Any, values: list[Any]) -> list[Any]:
    """Return the strings that a value may mean: one that nobody knows is of its own, unless it looks like another."""
    if isinstance(plain, str):
        doubted = {*(text.strip().lower() for text in values), "n/a", "null", "none"}
        return [] if plain not in values and plain.strip().lower() in doubted else [plain]
    return [] if isinstance(plain, bool) else [text for text in values if text == str(plain)]


def _truth(word: Any) -> list[bool]:
    """Return the booleans that a word may mean: it need not be read, but where it is, it must be as this."""
    words = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}
    return [words[str(word).lower()]] if str(word).lower() in words else []


def _as_number(text: str) -> Any:
    return int(text) if text.lstrip("0").isdigit() else text


def _as_integer(value: Any) -> Any:
    return np.int64(int(value)) if value == int(value) else value


# ----------------------------------------------------------------- ways to hand a row over


def ways(names: Sequence[str], values: Sequence[Any]) -> dict[str, Callable[[], Any]]:
    """Return the ways to hand over one row: by names in this order. Some values cannot be handed over in some ways."""
    named = dict(zip(names, values, strict=True))
    found: dict[str, Callable[[], Any]] = {
        "mapping": lambda: named,
        "Series": lambda: pd.Series(list(values), index=list(names), dtype=object),
        "record": lambda: _record(names, values),
        "records": lambda: _record(names, values, rows=1),
        "pandas": lambda: pd.DataFrame({name: pd.Series([value], dtype=object) for name, value in named.items()}),
        "pandas, typed": lambda: pd.DataFrame({name: [value] for name, value in named.items()}),
        "polars": lambda: pl.DataFrame({name: [value] for name, value in named.items()}),
        "sqlite3.Row": lambda: _sqlite(names, values),
    }
    if any(isinstance(value, Decimal) and value.is_nan() for value in values):
        del found["polars"]  # it panics
    if all(name.isidentifier() for name in names):
        found["namedtuple"] = lambda: namedtuple("Row", names)(*values)
        found["dataclass"] = lambda: dataclasses.make_dataclass("Row", names)(*values)
        found["itertuples"] = lambda: next(
            pd.DataFrame({n: pd.Series([v], dtype=object) for n, v in named.items()}).itertuples()
        )
    return found


def _record(names: Sequence[str], values: Sequence[Any], rows: int = 0) -> Any:
    array = np.empty(1, dtype=[(name, object) for name in names])
    for name, value in zip(names, values, strict=True):
        array[name][0] = value
    return array if rows else array[0]


def quoted(name: str) -> str:
    """Return the name of a column as SQL has it."""
    return '"' + name.replace('"', '""') + '"'


def _sqlite(names: Sequence[str], values: Sequence[Any]) -> Any:
    base = sqlite3.connect(":memory:")
    base.row_factory = sqlite3.Row
    columns = ", ".join(f"? AS {quoted(name)}" for name in names)
    return base.execute(f"SELECT {columns}", list(values)).fetchone()
