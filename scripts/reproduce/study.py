"""Functions of the scripts beside this file: a study is run from its config, and tables are printed of its curves."""

import argparse
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table

from milpcb.experiments.results.curves import Slope


def run(script: str, explanation: str | None) -> Path:
    """Run the config of a script's name, or another by --config; return the run directory.

    What is finished is not played again. Ends Python with the exit code of a run that fails.
    """
    config = Path(script).with_suffix(".toml")
    arguments = argparse.ArgumentParser(description=explanation, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--config", type=Path, default=config)
    arguments.add_argument("--out", type=Path, default=Path("runs") / config.stem)
    options = arguments.parse_args()
    command = [sys.executable, "-m", "milpcb.cli", "run", str(options.config), "--out", str(options.out)]
    if (code := subprocess.run(command, check=False).returncode) != 0:
        raise SystemExit(code)
    return Path(options.out)


def show(title: str, rows: Sequence[Mapping[str, str]]) -> None:
    """Print a table, of which the first column has names: as wide as the screen, or 140 characters into a file."""
    table = Table(title=title, title_justify="left")
    for number, heading in enumerate(rows[0]):
        table.add_column(heading, justify="right" if number else "left", no_wrap=True)
    for row in rows:
        table.add_row(*row.values())
    console = Console(width=140) if not sys.stdout.isatty() else Console()
    console.print(table)


def in_words(fit: Slope) -> str:
    """Return a slope with its interval."""
    return f"{fit.slope:.2f} ({fit.low:.2f} to {fit.high:.2f})" if fit.fitted else fit.note
