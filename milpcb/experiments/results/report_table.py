"""The table of a report: a row for the seeds of each environment, policy class, oracle, learner and horizon."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from milpcb.experiments.results.figures.results import NO_ORACLE, Results
from milpcb.experiments.results.figures.words import THIN, number, whole
from milpcb.experiments.results.slopes import mean_interval

RUN = (
    "environment",
    "policies",
    "oracle",
    "learner",
    "horizon",
)  # what the runs of a row share; they differ in the seed


@dataclass(frozen=True)
class Column:
    """A column of the table of results: its key in the address, its heading, whether it holds numbers."""

    key: str
    heading: str
    numeric: bool = True


@dataclass(frozen=True)
class Cell:
    """A cell: what is read, and what it is sorted by (None, which comes last, where there is nothing)."""

    text: str
    value: float | str | None
    numeric: bool = True


def summary(results: Results) -> dict[str, Any]:
    """Return columns, rows of cells and a caption; by environment, policy class and horizon, the least regret first."""
    frame = results.finals
    keys = [key for key in ("environment", "policies") if frame[key].n_unique() > 1]
    keys += ["oracle"] if frame.filter(pl.col("oracle") != NO_ORACLE)["oracle"].n_unique() > 1 else []
    certified = bool((frame["certificate"].fill_null(0.0).fill_nan(0.0) != 0).any())
    spread = f"\u00b1 is half the 95{THIN}% interval of the mean over the seeds. " if results.seeds > 1 else ""
    return {
        "columns": _columns(keys, certified=certified),
        "rows": [_row(group, keys, results, certified=certified) for group in _groups(frame)],
        "caption": f"After the last round. {spread}".strip(),
    }


def _groups(frame: pl.DataFrame) -> list[pl.DataFrame]:
    worlds = frame.select("environment", "policies").unique(maintain_order=True).rows()

    def place(group: pl.DataFrame) -> tuple[int, int, float]:
        first = group.row(0, named=True)
        world = worlds.index((first["environment"], first["policies"]))
        return world, first["horizon"], float(group["regret"].to_numpy().mean())

    return sorted((group for _, group in frame.group_by(RUN, maintain_order=True)), key=place)


def _columns(keys: Sequence[str], *, certified: bool) -> list[Column]:
    columns = [Column(key, key, numeric=False) for key in [*keys, "learner"]]
    columns += [Column("horizon", "horizon T"), Column("seeds", "seeds"), Column("regret", "regret")]
    columns += [Column("guarantee", "guarantee"), Column("share", "of the guarantee")]
    columns += [Column("certificate", "certificate")] if certified else []
    return [
        *columns,
        Column("calls", "oracle calls"),
        Column("time", "\u00b5s per round"),
        Column("oracle_time", "in oracle"),
    ]


def _row(group: pl.DataFrame, keys: Sequence[str], results: Results, *, certified: bool) -> list[Cell]:
    first = group.row(0, named=True)
    mean, half = mean_interval(group["regret"].to_numpy().astype(np.float64)[:, None])
    regret, promised = float(mean[0]), float(group["guarantee"].to_numpy().max())
    spread = f" \u00b1{THIN}{number(float(half[0]))}" if np.isfinite(half[0]) else ""
    wanted = len(results.settings.get("experiment", {}).get("seeds", ()))
    thought, asked = (
        1e6 * float((group[key] / group["round"]).to_numpy().mean()) for key in ("seconds", "oracle_seconds")
    )
    cells = [Cell(str(first[key]), str(first[key]), numeric=False) for key in [*keys, "learner"]]
    cells += [_count(first["horizon"]), Cell(_of(len(group), wanted), len(group))]
    cells += [Cell(number(regret) + spread, regret), _measure(promised)]
    cells += [_measure(100 * regret / promised if 0 < promised < np.inf else np.inf, f"{THIN}%", "")]
    cells += [_measure(float(group["certificate"].to_numpy().astype(np.float64).mean()))] if certified else []
    return [*cells, _count(group["oracle_calls"].to_numpy().mean()), _measure(thought), _measure(asked)]


def _count(value: float) -> Cell:
    return Cell(whole(round(value)), float(value))


def _measure(value: float, unit: str = "", without: str = "none") -> Cell:
    return Cell(number(value) + unit, value) if np.isfinite(value) else Cell(without, None)


def _of(done: int, wanted: int) -> str:
    return str(done) if done >= wanted else f"{done} of {wanted}"
