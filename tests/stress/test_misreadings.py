"""Drawn tables, services and files: no value is read as something else than was meant, without a word.

A rule is learnt from a column of some kind; rows come later in other types, ways and orders, to all that reads them.
"""

import random
import sqlite3
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing
from decimal import Decimal
from functools import partial
from typing import Any

import pandas as pd
import pytest

import policies
from milpcb import Bandit
from milpcb.estimators import OptimalPolicyTree
from policies import DecisionTrees
from tests.inside import numbers_of
from tests.stress import misreadings_files
from tests.stress.misreadings_cases import Service, drawn_service, quoted, spelt, ways

Outcome = tuple[str, str]  # "as meant", "refused" or "SILENT", and what was asked how
ROWS = 6  # that are asked of each service


def tables(rng: random.Random) -> Iterator[Outcome]:
    """Yield what an estimator, its policy in JSON, and the function that it exports make of rows of a drawn service."""
    service = drawn_service(rng)
    right = [service.right(_plain(row[service.name]), row[service.other]) for _, row in service.frame.iterrows()]
    cuts = {service.name: service.cuts, service.other: [5.0]}
    tree = OptimalPolicyTree(max_depth=2, thresholds=cuts).fit(service.frame, right)
    scope: dict[str, Any] = {}
    exec(tree.to_python(), scope)  # noqa: S102 - ours
    again = policies.from_json(tree.to_json())
    yield outcome(lambda table: tree.predict(table).tolist(), service.frame, [right], f"{service.kind}: rows learnt")
    for _ in range(ROWS):
        value, meant = spelt(rng, service)
        other = rng.choice((2.0, 8.0))
        unseen = "unseen" in meant  # it is in no set that was learnt: the printed rule says on which side
        wanted = list(service.actions) if unseen else [service.right(each, other) for each in meant]
        for way, row in handed(rng, service, value, other):
            what = f"{service.kind}: {value!r} as {way}"
            yield outcome(lambda row: again.predict_names(_table(row))[0], row, wanted, what)
            if way in ("mapping", "Series", "record", "sqlite3.Row"):
                yield outcome(scope["decide"], row, wanted, f"{what}, exported")
        own = {type(None), type(service.values[0])} - {Decimal}
        if type(value) in own:  # databases convert other types by their own rules
            yield outcome(partial(_in_sqlite, tree.to_sql(), service), (value, other), wanted, f"{value!r} in SQLite")


def services(rng: random.Random) -> Iterator[Outcome]:
    """Yield what a bandit reads of rows of a drawn service, in terms of what it reads of the rows that they mean."""
    service = drawn_service(rng)
    declared = [*service.values, None] if service.missing else service.values
    values = {service.name: rng.sample(declared, len(declared))} if service.declared else {service.name: [None]}
    trees = DecisionTrees(2, depth=2, thresholds=[service.cuts, [5.0]], feature_names=[service.name, service.other])
    bandit = Bandit(trees, seed=0, values=values if service.declared or service.missing else None)

    def read(row: Any) -> list[float]:
        return numbers_of(bandit, row).tolist()  # type: ignore[no-any-return]

    apart = [
        read([value, 2.0])
        for value in (*service.values, *(["undeclared"] if isinstance(service.values[0], str) else []))
    ]
    yield (
        "as meant" if len({*map(tuple, apart)}) == len(apart) else "SILENT",
        f"{service.kind}: {values} are told apart",
    )
    for _ in range(ROWS):
        value, meant = spelt(rng, service)
        other = rng.choice((2.0, 8.0))
        wanted = [read([service.values[0].__class__(each) if each is not None else None, other]) for each in meant]
        for way, row in handed(rng, service, value, other):
            yield outcome(read, row, wanted, f"{service.kind}: {value!r} as {way}, asked a bandit")
    for wrong in ({2.0, 8.0}, b"ab", "ab", frozenset((1.0, 2.0))):
        yield outcome(read, wrong, [], f"{wrong!r} as a row")


def handed(rng: random.Random, service: Service, value: Any, other: float) -> Iterator[tuple[str, Any]]:
    """Yield a row in two ways, with columns in any order and perhaps one more; some ways cannot take some values."""
    row = [(service.name, value), (service.other, other)] + ([("more", "text")] if rng.random() < 0.5 else [])
    rng.shuffle(row)
    known = ways([name for name, _ in row], [entry for _, entry in row])
    if isinstance(value, bool) and "boolean" not in service.kind:
        del known["sqlite3.Row"]  # there it is a number
    for way in rng.sample(sorted(known), 2):
        try:
            handed_over = known[way]()
        except Exception:  # noqa: BLE001, S112 - whatever pandas, polars and sqlite3 raise
            continue
        yield way, handed_over


def outcome(ask: Callable[[Any], Any], row: Any, wanted: list[Any], what: str) -> Outcome:
    """Return whether an answer about a row is one that was meant, or refused in one line."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            answer = ask(row)
    except ValueError as error:  # an InputError is one
        return ("refused" if "\n" not in str(error) else "SILENT", what)
    except Exception as error:  # noqa: BLE001 - a raw error is what is looked for
        return ("SILENT", f"{what}: {type(error).__name__}: {error}")
    return ("as meant" if answer in wanted else "SILENT", f"{what}: {answer!r}, not {wanted!r}")


def _in_sqlite(sql: str, service: Service, row: tuple[Any, float]) -> str:
    """Return what an exported expression answers for a row; raises ValueError where that is NULL."""
    columns = ", ".join(f"? AS {quoted(name)}" for name in (service.name, service.other))
    with closing(sqlite3.connect(":memory:")) as base:
        (answer,) = base.execute(f"SELECT {sql} FROM (SELECT {columns})", row).fetchone()  # noqa: S608 - ours
    if answer is None:
        raise ValueError("NULL")
    return str(answer)


def _table(row: Any) -> Any:
    return (
        row
        if hasattr(row, "columns") or (getattr(row, "ndim", 0) == 1 and hasattr(row, "dtype") and row.dtype.names)
        else [row]
    )


def _plain(value: Any) -> Any:
    return None if pd.isna(value) else value


def outcomes(numbers: range, *parts: Callable[[random.Random], Iterator[Outcome]]) -> Iterator[Outcome]:
    """Yield what came of the cases; the parts take turns."""
    for number in numbers:
        part = parts[number % len(parts)]
        for kind, what in part(random.Random(f"0 {number}")):  # noqa: S311 - no secrets
            yield kind, f"case {number}, {part.__name__}: {what}"


@pytest.mark.cases(40)
def test_nothing_is_read_silently(numbers: range) -> None:
    """Values are read as meant, or refused in one line."""
    found = list(outcomes(numbers, tables, services))
    assert [what for kind, what in found if kind == "SILENT"] == []
    assert min(Counter(kind for kind, _ in found)[kind] for kind in ("as meant", "refused")) > len(numbers)


@pytest.mark.cases(15)
def test_no_drawn_file_is_misread(numbers: range) -> None:
    """Each column is as meant, refused in one line, or named in a note."""
    found = list(outcomes(numbers, misreadings_files.files))
    assert [what for kind, what in found if kind == "SILENT"] == []
    assert sum(kind == "as meant" for kind, _ in found) > 5 * len(numbers)
