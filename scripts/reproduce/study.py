"""Functions of the scripts beside this file: a study is run from its config, and tables are printed of its curves."""

import argparse
import subprocess
import sys
from pathlib import Path

from rich.console import Console


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


def console() -> Console:
    """Return where tables are printed: as wide as the screen, or 140 characters into a file."""
    return Console(width=140) if not sys.stdout.isatty() else Console()
