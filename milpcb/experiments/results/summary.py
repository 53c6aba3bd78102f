"""Summary of a study: means over seeds at the last round.

The table of a terminal and that of a report show the same.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from milpcb.experiments.results.confident import column_in
from milpcb.experiments.results.slopes import mean_interval
from milpcb.types import Floats

RUN = ("environment", "policies", "oracle", "learner", "horizon")  # what runs share that differ in the seed only


@dataclass(frozen=True)
class Summary:
    """Means over the seeds of an environment, policy class, oracle, learner and horizon, after the last round.

    ``mean_cost`` is the learner's cost per round (where costs are 0 or 1: its error rate), ``best_mean_cost`` that of
    the best policy in hindsight, ``half_width`` half the 95 % interval of ``regret`` (NaN for one seed), ``guarantee``
    the largest of the seeds' (inf where there is none), ``certificate`` the mean of the certificates, which bounds mean
    regret, and ``certificate_error`` its standard error, ``bound`` the mean of the bounds that the learner's own
    analysis gives of each run, ``confident`` that of the certificates with confidence, each about its own run (these
    four NaN where any is unknown), ``seconds`` and ``oracle_seconds`` are per round.
    """

    environment: str
    policies: str
    oracle: str
    learner: str
    horizon: int
    seeds: int
    mean_cost: float
    best_mean_cost: float
    regret: float
    half_width: float
    guarantee: float
    certificate: float
    certificate_error: float
    confident: float
    bound: float
    oracle_error: float
    oracle_calls: float
    rule_changes: float
    seconds: float
    oracle_seconds: float


def summaries(frame: pl.DataFrame) -> list[Summary]:
    """Return the summaries of curves, of the runs that have reached their horizon, in the order of the rows."""
    last = frame.filter(pl.col("round") == pl.col("horizon"))
    return [_summary(group) for _, group in last.group_by(RUN, maintain_order=True)]


def _summary(group: pl.DataFrame) -> Summary:
    first = group.row(0, named=True)
    horizon = first["horizon"]
    mean, half = mean_interval(_column(group, "regret")[:, None])
    confident = column_in(group.columns)
    return Summary(
        **{name: first[name] for name in RUN},
        seeds=len(group),
        mean_cost=_mean(group, "cumulative_cost") / horizon,
        best_mean_cost=_mean(group, "best_cost") / horizon,
        regret=float(mean[0]),
        half_width=float(half[0]),
        guarantee=float(_column(group, "guarantee").max()),
        certificate=_mean(group, "certificate"),
        certificate_error=float(np.sqrt((_column(group, "certificate_error") ** 2).sum()) / len(group)),
        confident=np.nan if confident is None else _mean(group, confident),
        bound=_mean(group, "bound"),
        oracle_error=_mean(group, "oracle_error"),
        oracle_calls=_mean(group, "oracle_calls"),
        rule_changes=_mean(group, "rule_changes"),
        seconds=_mean(group, "seconds") / horizon,
        oracle_seconds=_mean(group, "oracle_seconds") / horizon,
    )


def _mean(group: pl.DataFrame, name: str) -> float:
    return float(_column(group, name).mean())


def _column(group: pl.DataFrame, name: str) -> Floats:
    return np.asarray(group[name].to_numpy(), dtype=np.float64)
