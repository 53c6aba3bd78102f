"""One table of every learner: regret, guarantee, oracle calls and microseconds a round.

Runs scripts/reproduce/learners.toml (planted and switching environments, T = 1e4 and 1e5, 5 seeds; what is finished is
not played again), then prints, for each environment and horizon, what each learner paid above the best policy in
hindsight. "holds" compares the worst seed with the guarantee, where the environment keeps what the learner assumes.
"""

import tomllib
from pathlib import Path

import polars as pl
import study
from rich.table import Table

import milpcb
from milpcb.core.decimals import spaced
from milpcb.plugins import registry

IID = {"planted", "parity", "heavy_noise"}  # environments whose costs are i.i.d. given the context


def main() -> None:
    directory = study.run(__file__, __doc__)
    stochastic = needs_iid_costs(directory)
    last = milpcb.load(directory).filter(pl.col("round") == pl.col("horizon"))
    console = study.console()
    for (environment, horizon), rows in last.group_by("environment", "horizon", maintain_order=True):
        console.print(table(str(environment), int(horizon), rows, stochastic))


def needs_iid_costs(directory: Path) -> set[str]:
    """Return the labels of the learners whose guarantee is for i.i.d. costs only."""
    held = tomllib.loads((directory / "config.toml").read_text())["learners"]
    return {entry["label"] for entry in held if registry.load("learner", entry["name"]).stochastic}


def table(environment: str, horizon: int, rows: pl.DataFrame, stochastic: set[str]) -> Table:
    shown = Table(title=f"{environment}, T = {spaced(horizon)}", title_justify="left")
    shown.add_column("learner", no_wrap=True)
    for heading in ("regret", "least", "most", "guarantee", "holds", "calls/round", "us/round", "of it oracle"):
        shown.add_column(heading, justify="right", no_wrap=True)
    for (learner,), own in rows.group_by("learner", maintain_order=True):
        regret, guarantee = own["regret"], own["guarantee"].max()
        iid_only = learner in stochastic and environment not in IID
        shown.add_row(
            str(learner),
            spaced(regret.mean(), ".0f"),
            spaced(regret.min(), ".0f"),
            spaced(regret.max(), ".0f"),
            "none" if guarantee == float("inf") else spaced(guarantee, ".0f"),
            "-"
            if guarantee == float("inf")
            else "not assumed"
            if iid_only
            else "yes"
            if regret.max() <= guarantee
            else "NO",
            spaced(own["oracle_calls"].mean() / horizon, ".3g"),
            spaced(1e6 * own["seconds"].mean() / horizon, ".0f"),
            spaced(1e6 * own["oracle_seconds"].mean() / horizon, ".0f"),
        )
    return shown


if __name__ == "__main__":
    main()
