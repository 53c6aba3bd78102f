"""The table that a run prints when it ends."""

from __future__ import annotations

import numpy as np
import polars as pl
from rich.box import SIMPLE_HEAD
from rich.table import Table

from milpcb.experiments.results.confident import column_in, percent_of
from milpcb.experiments.results.figures.words import legible
from milpcb.experiments.results.summary import summaries
from milpcb.experiments.study.cells import NO_ORACLE


def summary_table(frame: pl.DataFrame) -> Table:
    """Return the table of the last rounds: means over seeds, the mean cost and the time of a round.

    The best cost is that of the best policy in hindsight.

    The mean of the certificates, shown with two standard errors, bounds mean regret, and so does that of the bounds,
    which learners compute by their own analysis. Where the study asks for a confidence, there is the mean of the
    certificates that hold with it too, each about its own run.

    Environment, policies and oracle have a column each where there are several of them.
    """
    axes = [axis for axis in ("environment", "policies", "oracle") if (frame[axis].unique() != NO_ORACLE).sum() > 1]
    confident = column_in(frame.columns)
    table = Table(box=SIMPLE_HEAD)
    for heading in ("learner", *axes):
        table.add_column(heading, no_wrap=True)
    for heading in (
        "seeds",
        "rounds",
        "mean cost",
        "best cost",
        "regret",
        "certificate",
        *([] if confident is None else [f"{percent_of(confident)}% cert."]),
        "bound",
        "guarantee",
        "oracle calls",
        "ms/round",
    ):
        table.add_column(heading, justify="right", no_wrap=True)
    for row in summaries(frame):
        table.add_row(
            *(legible(getattr(row, column)) for column in ("learner", *axes)),
            str(row.seeds),
            f"{row.horizon:,}",
            f"{row.mean_cost:.4f}",
            f"{row.best_mean_cost:.4f}",
            f"{row.regret:,.1f}",
            _with_error(row.certificate, row.certificate_error),
            *([] if confident is None else [_or_none(row.confident)]),
            *(_or_none(value) for value in (row.bound, row.guarantee)),
            f"{row.oracle_calls:,.0f}",
            f"{1e3 * row.seconds:.3f}",
        )
    return table


def _with_error(value: float, error: float) -> str:
    """Return a certificate with two standard errors: it may lie below the regret by chance."""
    return _or_none(value) + (f"\u00b1{2 * error:,.1f}" if np.isfinite(value + error) else "")


def _or_none(value: float) -> str:
    return f"{value:,.1f}" if np.isfinite(value) else "none"
