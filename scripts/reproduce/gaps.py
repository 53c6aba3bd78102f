"""Does the mean certificate bound mean regret? Every learner in every environment of the gallery, and in a mirror.

    milpcb run scripts/reproduce/gaps.toml && python scripts/reproduce/gaps.py

Prints the mean over 50 seeds of regret less certificate, with its standard error, and how many of these means lie more
than two standard errors above 0; chance alone would put 2.3 % there if no certificate gave anything away.
"""

import polars as pl

import milpcb


def main() -> None:
    curves = milpcb.load("runs/gaps")
    last, over = curves.filter(pl.col("round") == pl.col("horizon")), pl.col("regret") - pl.col("certificate")
    means = last.group_by("environment", "learner", maintain_order=True).agg(
        pl.col("regret", "certificate").mean(), over=over.mean(), error=over.std() / pl.len().sqrt()
    )
    with pl.Config(tbl_rows=-1, tbl_hide_column_data_types=True, float_precision=1):
        print(means)
    print(f"{(means['over'] > 2 * means['error']).sum()} of {len(means)} means are more than 2 standard errors above 0")


if __name__ == "__main__":
    main()
