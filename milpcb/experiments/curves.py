"""Curves on disk: one row per learner, seed and checkpoint; everything drawn or tabulated is read from here."""

from __future__ import annotations

import csv
import io
from dataclasses import asdict, dataclass, fields
from pathlib import Path

from milpcb.errors import RunError

CURVES = "curves.csv"


@dataclass(frozen=True)
class Row:
    """One checkpoint of one learner and seed; costs and regret in the environment's cost units.

    Only ``seconds`` and ``oracle_seconds`` differ between two runs of the same config.
    """

    learner: str
    seed: int
    horizon: int
    round: int
    cumulative_cost: float
    best_cost: float
    regret: float
    guarantee: float
    oracle_calls: int
    seconds: float
    oracle_seconds: float


_KINDS = {field.name: {"str": str, "int": int, "float": float}[str(field.type)] for field in fields(Row)}
_MEND = "remove the file and run the experiment again"


def read_curves(path: Path) -> list[Row]:
    """Return the rows of a run directory's curves, all of them whole; raises RunError when there are none."""
    file = path / CURVES
    try:
        text = file.read_text(encoding="utf-8")
    except OSError as error:
        raise RunError(
            f"{path} holds no {CURVES} ({error.strerror}); is it a run directory with a finished curve?"
        ) from error
    except UnicodeDecodeError as error:
        raise RunError(f"{file} is damaged: it is not UTF-8 text; {_MEND}") from error
    reader = csv.reader(io.StringIO(text))
    try:
        if next(reader, []) != list(_KINDS):
            raise RunError(f"{file} is damaged or from another version of milpcb: its columns differ; {_MEND}")
        rows = [_row(line) for line in reader]
    except (csv.Error, ValueError) as error:
        raise RunError(f"{file}, line {reader.line_num} is damaged: {error}; {_MEND}") from error
    last = {(row.learner, row.seed, row.horizon): row.round for row in rows}
    if not (rows and text.endswith("\n")) or any(horizon != stop for (_, _, horizon), stop in last.items()):
        raise RunError(f"{file} is damaged: it ends before its last curve does; {_MEND}")
    return rows


def _row(line: list[str]) -> Row:
    if len(line) != len(_KINDS):
        raise ValueError(f"{len(line)} cells instead of {len(_KINDS)}")
    return Row(**{key: kind(cell) for (key, kind), cell in zip(_KINDS.items(), line, strict=True)})


def write_curves(rows: list[Row]) -> str:
    """Return the file's text: sorted rows, numbers in full precision."""
    out = io.StringIO()
    writer = csv.DictWriter(out, [field.name for field in fields(Row)], lineterminator="\n")
    writer.writeheader()
    writer.writerows(asdict(row) for row in sorted(rows, key=lambda row: (row.learner, row.seed, row.round)))
    return out.getvalue()
