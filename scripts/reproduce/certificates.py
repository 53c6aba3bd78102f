"""Proofs of runs about themselves: regret, certificate, bound and guarantee by horizon, and how they grow with it.

Runs scripts/reproduce/certificates.toml (T = 1e3 to 1e6; what is finished is not played again), then prints a table for
each learner, and the slopes of regret and certificate on logarithmic axes with 95 % intervals, from T = 1e4 on.
"""

import polars as pl
import study
from rich.table import Table

import milpcb
from milpcb.core.decimals import spaced
from milpcb.experiments.results.curves import Slope, fit_slope

LEAST_HORIZON = 10_000  # of the slopes: below it most learners have hardly left uniform play


def main() -> None:
    """Run the study and print its tables."""
    directory = study.run(__file__, __doc__)
    last = milpcb.load(directory).filter(pl.col("round") == pl.col("horizon"))
    console = study.console()
    for (learner,), rows in last.group_by("learner", maintain_order=True):
        console.print(table(str(learner), rows))
        for name in ("regret", "certificate"):
            console.print(f"slope of the {name} from T = {spaced(LEAST_HORIZON)} on: {shown(slope(rows, name))}")


def table(learner: str, rows: pl.DataFrame) -> Table:
    """Return the means over seeds of one learner, a row for each horizon."""
    made = Table(title=learner, title_justify="left")
    for heading in ("T", "regret", "certificate", "bound", "guarantee", "calls/round", "us/round"):
        made.add_column(heading, justify="right", no_wrap=True)
    for (horizon,), own in rows.group_by("horizon", maintain_order=True):
        means = [own[name].mean() for name in ("regret", "certificate", "bound", "guarantee")]
        a_round = own["oracle_calls"].mean() / horizon, 1e6 * own["seconds"].mean() / horizon
        made.add_row(spaced(horizon), *map(number, means), f"{a_round[0]:.3g}", spaced(a_round[1], ".0f"))
    return made


def slope(rows: pl.DataFrame, name: str) -> Slope:
    """Return the fitted growth of a column with the horizon."""
    kept = rows.filter(pl.col("horizon") >= LEAST_HORIZON)
    return fit_slope({horizon: own[name].to_list() for (horizon,), own in kept.group_by("horizon")})


def shown(fit: Slope) -> str:
    """Return a slope in words."""
    return f"{fit.slope:.2f} ({fit.low:.2f} to {fit.high:.2f})" if fit.fitted else fit.note


def number(value: float | None) -> str:
    """Return a number with separators; "-" where there is none."""
    return spaced(value, ".0f") if value is not None and abs(value) < float("inf") else "-"


if __name__ == "__main__":
    main()
