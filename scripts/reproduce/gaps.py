"""Does the mean certificate bound mean regret? Every learner in every environment of the gallery, and in a mirror.

Runs scripts/reproduce/gaps.toml (50 seeds; what is finished is not played again), then prints, for each environment,
the mean over seeds of regret less certificate with its standard error, and whether it is at most 0 within two of them.
A certificate is a random number whose mean bounds mean regret; how far below 0 the difference lies is the gap, how much
the certificate gives away. The last line counts the means above 0, and how many of them chance alone would put there if
no certificate gave anything away.
"""

import math
from typing import Any

import polars as pl
import study

import milpcb
from milpcb.core.decimals import spaced

STANDARD_ERRORS = 2.0


def main() -> None:
    directory = study.run(__file__, __doc__)
    means = gaps(milpcb.load(directory))
    for (environment,), rows in means.group_by("environment", maintain_order=True):
        study.show(str(environment), [shown(row) for row in rows.iter_rows(named=True)])
    print(count(means))


def gaps(curves: pl.DataFrame) -> pl.DataFrame:
    """Return a row for each environment and learner: means over seeds at the last round, and whether they hold."""
    last = curves.filter(pl.col("round") == pl.col("horizon"))
    over = pl.col("regret") - pl.col("certificate")
    means = last.group_by("environment", "learner", maintain_order=True).agg(
        pl.col("regret").mean(),
        pl.col("certificate").mean(),
        over.mean().alias("over"),
        (over.std() / pl.len().sqrt()).alias("error"),
    )
    return means.with_columns((pl.col("over") <= STANDARD_ERRORS * pl.col("error")).alias("holds"))


def shown(row: dict[str, Any]) -> dict[str, str]:
    """Return the figures of one learner as they are printed."""
    named = {
        "regret": "regret",
        "certificate": "certificate",
        "over": "regret - certificate",
        "error": "standard error",
    }
    figures = {heading: spaced(row[name], ".1f") for name, heading in named.items()}
    return {"learner": row["learner"], **figures, "at most 0": "yes" if row["holds"] else "NO"}


def count(means: pl.DataFrame) -> str:
    tests, failed = len(means), int((~means["holds"]).sum())
    chance = math.erfc(STANDARD_ERRORS / math.sqrt(2)) / 2
    return (
        f"{failed} of {tests} means lie more than {STANDARD_ERRORS:g} standard errors above 0; "
        f"chance alone puts at most {chance * tests:.1f} there on average"
    )


if __name__ == "__main__":
    main()
