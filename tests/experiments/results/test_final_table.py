"""The table that a run prints when it ends."""

import io

import numpy as np
import polars as pl
import pytest
from rich.console import Console

from milpcb.experiments.results.figures.results import Results
from milpcb.experiments.results.report import report_table, summary_table


def printed(frame, **settings):
    """Return the cells of the table's rows as printed, headings first."""
    console = Console(file=io.StringIO(), width=200)
    console.print(summary_table(Results(frame, "a study", settings)))
    lines = [line.split("  ") for line in console.file.getvalue().splitlines() if line.strip(" ─━")]
    return [[cell.strip() for cell in line if cell.strip()] for line in lines]


def test_it_shows_means_over_seeds_after_the_last_round(make_frame):
    """Regret and cost are means over seeds at T, with narrow spaces between thousands; the guarantee, or none."""
    frame = pl.concat(
        [
            make_frame("bistro_plus", 0, [5.0, 1000.0], guarantee=1234.5),
            make_frame("bistro_plus", 1, [7.0, 2000.5], guarantee=1234.5),
            make_frame("uniform", 0, [0.5, -3.25], guarantee=np.inf),
            make_frame("uniform", 1, [0.5, -3.25], guarantee=np.inf),
        ]
    )
    headings, *lines = printed(frame)
    words = "learner, regret, certificate, guarantee, of the guarantee, own bound, mean cost, best cost, oracle calls"
    assert headings == [*words.split(", "), "\u00b5s per round", "in oracle"]
    assert [line[0] for line in lines] == ["uniform", "bistro_plus"]
    cells = ["\u22123.2 ±\u202f0.0", "\u22121.2 ±\u202f0.7", "none", "\u22120.250", "\u22121.1250", "0.5000", "6"]
    assert lines[0][1:] == [*cells, "500\u202f000", "250\u202f000"]
    assert lines[1][2:4] == ["1\u202f502.2 ±\u202f0.7", "1\u202f234"]


def test_its_numbers_are_those_of_the_report(make_frame):
    """A cell of the terminal is the text of the report's cell in the column of that heading."""
    frame = pl.concat([make_frame(name, seed, [1.0, 250.5 + seed]) for name in ("a", "b") for seed in (0, 1)])
    report = report_table(Results(frame, "a study"))
    of_page = [dict(zip((column.heading for column in report["columns"]), row, strict=True)) for row in report["rows"]]
    headings, *lines = printed(frame)
    assert lines == [[row[heading] for heading in headings if row[heading]] for row in of_page]


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
    headings, *lines = printed(frame)
    assert headings[:5] == ["learner", "environment", "oracle", "horizon T", "regret"]
    assert [line[1:5] for line in lines[:4]] == [  # notes follow
        ["one", "x", "2", "2.0"],
        ["two", "y", "1", "5.0"],
        ["two", "x", "2", "3.0"],
        ["two", "y", "2", "4.0"],
    ]


@pytest.mark.parametrize("width", [50, 80, 100])
def test_a_narrow_terminal_gets_fewer_columns_and_is_told_which(make_frame, width):
    """No line is wider than the terminal; learner and regret stay; a wide one, or a file, has every column."""
    frame = pl.concat([make_frame(f"learner {i}", seed, [1.0, 250.5 + seed]) for i in range(3) for seed in (0, 1)])
    results = Results(frame, "a study")
    console = Console(file=io.StringIO(), width=width)
    table = summary_table(results, width)
    console.print(table)
    text = console.file.getvalue()
    assert max(map(len, text.splitlines())) <= width
    headings = [str(column.header) for column in table.columns]
    assert headings[:2] == ["learner", "regret"]
    every = [str(column.header) for column in summary_table(results).columns]
    assert all(heading in str(table.caption) for heading in every if heading not in headings)
    assert "\u2026" not in text
