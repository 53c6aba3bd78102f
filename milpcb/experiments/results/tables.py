"""The table that a run ends with."""

from __future__ import annotations

import numpy as np
import polars as pl
from rich.box import SIMPLE_HEAD
from rich.table import Table

from milpcb.experiments.study.cells import NO_ORACLE


def summary(frame: pl.DataFrame) -> Table:
    """Return the table of final checkpoints, means over seeds: regret, guarantee, oracle calls, ms per round.

    Environment, policies and oracle have a column each where there are several of them.
    """
    axes = [axis for axis in ("environment", "policies", "oracle") if (frame[axis].unique() != NO_ORACLE).sum() > 1]
    table = Table(box=SIMPLE_HEAD)
    for heading in ("learner", *axes):
        table.add_column(heading, no_wrap=True)
    for heading in ("seeds", "rounds", "regret", "guarantee", "oracle calls", "ms/round"):
        table.add_column(heading, justify="right", no_wrap=True)
    last = frame.filter(pl.col("round") == pl.col("horizon"))
    means = last.group_by(["learner", *axes, "horizon"], maintain_order=True).agg(
        pl.len().alias("seeds"),
        pl.col("regret", "oracle_calls", "seconds").mean(),
        pl.col("guarantee").max(),
    )
    for row in means.iter_rows(named=True):
        table.add_row(
            row["learner"],
            *(row[axis] for axis in axes),
            str(row["seeds"]),
            f"{row['horizon']:,}",
            f"{row['regret']:,.1f}",
            f"{row['guarantee']:,.1f}" if np.isfinite(row["guarantee"]) else "none",
            f"{row['oracle_calls']:,.0f}",
            f"{1e3 * row['seconds'] / row['horizon']:.3f}",
        )
    return table
