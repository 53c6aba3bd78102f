"""One table of every learner: regret, guarantee, oracle calls and microseconds a round.

Runs scripts/reproduce/learners.toml (planted and switching environments, T = 1e4 and 1e5, 5 seeds; what is finished is
not played again), then prints, for each environment and horizon, what each learner paid above the best policy in
hindsight. "holds" compares the worst seed with the guarantee, where the environment keeps what the learner assumes.
"""

import tomllib
from collections.abc import Iterator
from pathlib import Path

import polars as pl
import study

import milpcb
from milpcb.core.decimals import spaced
from milpcb.plugins import registry

IID = {"planted", "parity", "heavy_noise"}  # environments whose costs are i.i.d. given the context


def main() -> None:
    directory = study.run(__file__, __doc__)
    stochastic = needs_iid_costs(directory)
    last = milpcb.load(directory).filter(pl.col("round") == pl.col("horizon"))
    for (environment, horizon), rows in last.group_by("environment", "horizon", maintain_order=True):
        table = list(figures(str(environment), int(horizon), rows, stochastic))
        study.show(f"{environment}, T = {spaced(horizon)}", table)


def needs_iid_costs(directory: Path) -> set[str]:
    """Return the labels of the learners whose guarantee is for i.i.d. costs only."""
    held = tomllib.loads((directory / "config.toml").read_text())["learners"]
    return {entry["label"] for entry in held if registry.load("learner", entry["name"]).stochastic}


def figures(environment: str, horizon: int, rows: pl.DataFrame, stochastic: set[str]) -> Iterator[dict[str, str]]:
    for (learner,), own in rows.group_by("learner", maintain_order=True):
        regret, guarantee = own["regret"], own["guarantee"].max()
        held = "yes" if regret.max() <= guarantee else "NO"
        if guarantee == float("inf"):
            held = "-"
        elif learner in stochastic and environment not in IID:
            held = "not assumed"
        yield {
            "learner": str(learner),
            "regret": spaced(regret.mean(), ".0f"),
            "least": spaced(regret.min(), ".0f"),
            "most": spaced(regret.max(), ".0f"),
            "guarantee": "none" if guarantee == float("inf") else spaced(guarantee, ".0f"),
            "holds": held,
            "calls/round": spaced(own["oracle_calls"].mean() / horizon, ".3g"),
            "us/round": spaced(1e6 * own["seconds"].mean() / horizon, ".0f"),
            "of it oracle": spaced(1e6 * own["oracle_seconds"].mean() / horizon, ".0f"),
        }


if __name__ == "__main__":
    main()
