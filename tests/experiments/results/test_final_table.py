"""The summary of a run."""

from __future__ import annotations

import io

import numpy as np
import polars as pl
from rich.console import Console

from milpcb.experiments.results.final_table import summary_table


def printed(table):
    """Return the cells of a table's rows as printed, headings first."""
    console = Console(file=io.StringIO(), width=150)
    console.print(table)
    lines = [line.split("  ") for line in console.file.getvalue().splitlines() if line.strip(" ─━")]
    return [[cell.strip() for cell in line if cell.strip()] for line in lines]


def test_the_summary_is_of_the_last_round_and_the_mean_over_seeds(make_frame):
    """Regret, calls and time are means over seeds at T; the guarantee is shown, or none."""
    frame = pl.concat(
        [
            make_frame("bistro_plus", 0, [5.0, 1000.0], guarantee=1234.5),
            make_frame("bistro_plus", 1, [7.0, 2000.5], guarantee=1234.5),
            make_frame("uniform", 0, [0.5, -3.25, 4.0], guarantee=np.inf),
        ]
    )
    headings, *lines = printed(summary_table(frame))
    assert headings == [
        "learner",
        "seeds",
        "rounds",
        "mean cost",
        "best cost",
        "regret",
        "certificate",
        "bound",
        "guarantee",
        "oracle calls",
        "ms/round",
    ]
    assert lines == [
        [
            "bistro_plus",
            "2",
            "2",
            "750.6250",
            "0.5000",
            "1,500.2",
            "1,502.2\u00b10.7",
            "1,503.2",
            "1,234.5",
            "6",
            "500.000",
        ],
        ["uniform", "1", "3", "1.6667", "0.3333", "4.0", "6.0\u00b11.0", "7.0", "none", "9", "500.000"],
    ]


def test_what_there_are_several_of_has_its_own_column_and_lines(make_frame):
    """Environments, oracles and horizons are not averaged over; a single one needs no column."""
    frame = pl.concat(
        [
            make_frame("a", 0, [1.0, 2.0], environment="one", oracle="x"),
            make_frame("a", 0, [1.0, 3.0], environment="two", oracle="x"),
            make_frame("a", 0, [1.0, 4.0], environment="two", oracle="y"),
            make_frame("a", 0, [5.0], environment="two", oracle="y"),
        ]
    )
    headings, *lines = printed(summary_table(frame))
    assert headings[:3] == ["learner", "environment", "oracle"]
    assert [[*line[1:3], line[4], line[7]] for line in lines] == [
        ["one", "x", "2", "2.0"],
        ["two", "x", "2", "3.0"],
        ["two", "y", "2", "4.0"],
        ["two", "y", "1", "5.0"],
    ]
