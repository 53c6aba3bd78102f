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


def read_curves(path: Path) -> list[Row]:
    """Return the rows of a run directory's curves; raises RunError when there are none."""
    try:
        text = (path / CURVES).read_text(encoding="utf-8")
    except OSError as error:
        raise RunError(
            f"{path} holds no {CURVES} ({error.strerror}); is it a run directory with a finished curve?"
        ) from error
    reader = csv.DictReader(io.StringIO(text))
    kinds = {field.name: {"str": str, "int": int, "float": float}[str(field.type)] for field in fields(Row)}
    if list(reader.fieldnames or []) != list(kinds):
        raise RunError(
            f"{path / CURVES} is not from this version of milpcb: its columns differ; run the experiment again"
        )
    try:
        return [Row(**{key: kinds[key](value) for key, value in line.items()}) for line in reader]
    except (KeyError, TypeError, ValueError) as error:
        raise RunError(
            f"{path / CURVES}, line {reader.line_num}: damaged ({error}); remove the file and run again"
        ) from error


def write_curves(rows: list[Row]) -> str:
    """Return the file's text: sorted rows, numbers in full precision."""
    out = io.StringIO()
    writer = csv.DictWriter(out, [field.name for field in fields(Row)], lineterminator="\n")
    writer.writeheader()
    writer.writerows(asdict(row) for row in sorted(rows, key=lambda row: (row.learner, row.seed, row.round)))
    return out.getvalue()
