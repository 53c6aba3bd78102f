"""Parts that the benchmarks share: options, one thread, times of the processor, tables, and figures written down.

It is imported before numpy, as linear algebra reads the number of its threads when numpy is imported.
"""

import argparse
import json
import os
import platform
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from time import process_time
from typing import Any

os.environ |= {"OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}

import numpy as np
from rich.console import Console
from rich.table import Table

from milpcb.core.decimals import spaced

Row = dict[str, Any]  # of a table: figures by heading
TURN = 0.02  # seconds of a contender in a round

MACHINE = {"machine": platform.processor() or platform.machine(), "python": platform.python_version()}


def options(explanation: str | None, quick: str = "") -> argparse.ArgumentParser:
    """Return a parser of --json, and of --quick where there is a quick way, which leaves out ``quick``."""
    parser = argparse.ArgumentParser(description=explanation, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", type=Path, help="also write the figures to this file")
    if quick:
        parser.add_argument("--quick", action="store_true", help=f"leave out {quick}")
    return parser


def timed(ask: Callable[..., Any], *arguments: Any, turns: int = 1) -> tuple[float, Any]:
    """Return the least CPU seconds of several turns, and the answer."""
    seconds = []
    for _ in range(turns):
        start = process_time()
        answer = ask(*arguments)
        seconds.append(process_time() - start)
    return min(seconds), answer


def compete(contenders: dict[str, Callable[[], Any]], rounds: int = 15) -> dict[str, float]:
    """Return CPU milliseconds a call, the best of rounds of about TURN seconds each, in which all take turns."""
    many = {
        name: max(1, int(TURN / max(1e-6, timed(call, turns=3)[0])))  # the first may load code
        for name, call in contenders.items()
    }
    best = dict.fromkeys(contenders, np.inf)
    for _ in range(rounds):
        for name, call in contenders.items():
            start = process_time()
            for _ in range(many[name]):
                call()
            best[name] = min(best[name], 1e3 * (process_time() - start) / many[name])
    return best


def check_same(who: str, answers: Sequence[float], expected: Sequence[float]) -> None:
    """Stop the script where an optimum differs by more than roundings."""
    for answer, known in zip(answers, expected, strict=True):
        if not np.isclose(answer, known, rtol=1e-7, atol=1e-6):
            raise SystemExit(f"{who}: the optimum is {known}, not {answer}")


def show(title: str, rows: Sequence[Row]) -> None:
    """Print a table; a row may lack some of the headings."""
    table = Table(title=title, title_justify="left")
    headings = list(dict.fromkeys(heading for row in rows for heading in row))
    for heading in headings:
        table.add_column(
            heading, justify="right" if any(isinstance(row.get(heading), float) for row in rows) else "left"
        )
    for row in rows:
        table.add_row(*(_cell(row.get(heading, "")) for heading in headings))
    Console(width=200).print(table)


def _cell(figure: Any) -> str:
    if isinstance(figure, float):
        return spaced(round(figure)) if 1e3 <= abs(figure) < np.inf else f"{figure:.3g}"
    return str(figure)


def report(tables: Mapping[str, Sequence[Row]], file: Path | None) -> None:
    """Print the tables that have rows, by title, and write all down where a file is asked for."""
    for title, rows in tables.items():
        if rows:
            show(title, rows)
    write(file, {**MACHINE, **tables})


def write(file: Path | None, figures: Any) -> None:
    if file:
        file.write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")
