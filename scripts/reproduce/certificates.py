"""Proofs of runs about themselves: regret, certificate, bound and guarantee by horizon, and how they grow with it.

Runs scripts/reproduce/certificates.toml (T = 1e3 to 1e6; what is finished is not played again), then prints a table for
each learner, and the slopes of regret and certificate on logarithmic axes with 95 % intervals, from T = 1e4 on.
"""

from collections.abc import Iterator

import polars as pl
import study

import milpcb
from milpcb.core.decimals import spaced
from milpcb.experiments.results.curves import Slope, fit_slope

LEAST_HORIZON = 10_000  # of the slopes: below it most learners have hardly left uniform play


def main() -> None:
    directory = study.run(__file__, __doc__)
    last = milpcb.load(directory).filter(pl.col("round") == pl.col("horizon"))
    for (learner,), rows in last.group_by("learner", maintain_order=True):
        study.show(str(learner), list(means(rows)))
        for name in ("regret", "certificate"):
            print(f"slope of the {name} from T = {spaced(LEAST_HORIZON)} on: {study.in_words(slope(rows, name))}")


def means(rows: pl.DataFrame) -> Iterator[dict[str, str]]:
    """Yield the means over seeds of one learner, a row for each horizon."""
    for (horizon,), own in rows.group_by("horizon", maintain_order=True):
        found = {name: number(own[name].mean()) for name in ("regret", "certificate", "bound", "guarantee")}
        calls, seconds = own["oracle_calls"].mean() / horizon, 1e6 * own["seconds"].mean() / horizon
        yield {"T": spaced(horizon), **found, "calls/round": f"{calls:.3g}", "us/round": spaced(seconds, ".0f")}


def slope(rows: pl.DataFrame, name: str) -> Slope:
    """Return the fitted growth of a column with the horizon."""
    kept = rows.filter(pl.col("horizon") >= LEAST_HORIZON)
    return fit_slope({horizon: own[name].to_list() for (horizon,), own in kept.group_by("horizon")})


def number(value: float | None) -> str:
    return spaced(value, ".0f") if value is not None and abs(value) < float("inf") else "-"


if __name__ == "__main__":
    main()
