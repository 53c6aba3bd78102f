"""Is anything slower than it was? Runs a benchmark with the code of two checkouts in turn and compares every time.

    python scripts/benchmarks/against.py CHECKOUT [--scripts trees oracles] [--repeats 5]

CHECKOUT is a folder with another version of this project. Each version runs its own copy of scripts/benchmarks/NAME.py
with ``--quick --json``, in processes that take turns, and the least of the repeats counts, so that a busy machine
changes ratios little. Shown are the times that both have; the script ends with code 1 when one of ours is more than
10 % above the other.
"""

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import bench
from rich.console import Console
from rich.progress import track

ROOT = Path(__file__).parents[2]
ALLOWED = 1.1
NO_TIMES = ("/", "faster", "worst")  # parts of the names of figures that are not times


def times(script: str, checkout: Path) -> dict[str, float]:
    """Return each time that one run of a benchmark measures with the code of a checkout, by its name."""
    with TemporaryDirectory() as folder:
        file = Path(folder) / "figures.json"
        command = [sys.executable, f"scripts/benchmarks/{script}.py", "--quick", "--json", str(file)]
        environ = os.environ | {"PYTHONPATH": str(checkout)}
        done = subprocess.run(command, cwd=checkout, env=environ, capture_output=True, text=True, check=False)
        if done.returncode:
            raise SystemExit(f"{script}.py of {checkout} failed:\n{done.stderr}")
        return dict(named(json.loads(file.read_text(encoding="utf-8")), script))


def named(figures: Any, name: str) -> Iterator[tuple[str, float]]:
    """Yield the times in what a benchmark wrote; a row of a table has the name of its cells that are no times."""
    if isinstance(figures, list):
        for row in figures:
            words = [str(cell) for cell in row.values() if not isinstance(cell, float)] if isinstance(row, dict) else []
            yield from named(row, ", ".join([name, *words]))
    elif isinstance(figures, dict):
        for key, cell in figures.items():
            if not any(part in key for part in NO_TIMES):
                yield from named(cell, f"{name}: {key}")
    elif isinstance(figures, float):
        yield name, figures


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkout", type=Path)
    parser.add_argument("--scripts", nargs="+", default=["trees", "oracles"])
    parser.add_argument("--repeats", type=int, default=5)
    asked = parser.parse_args()
    least: list[dict[str, float]] = [{}, {}]
    for _ in track(range(asked.repeats), description="repeats", console=Console(stderr=True)):
        for script in asked.scripts:
            for kept, checkout in zip(least, (ROOT, asked.checkout.resolve()), strict=True):
                for name, time in times(script, checkout).items():
                    kept[name] = min(time, kept.get(name, time))
    ours, theirs = least
    ratios = {name: ours[name] / theirs[name] for name in ours if theirs.get(name)}
    named_rows = [
        {"time": name, "ours": ours[name], "theirs": theirs[name], "ratio": ratios[name]}
        for name in sorted(ratios, key=lambda name: -ratios[name])
    ]
    bench.show(f"least of {asked.repeats}, the largest ratios first", named_rows)
    slower = sum(ratio > ALLOWED for ratio in ratios.values())
    print(f"{len(ratios)} times compared, {slower} of ours more than {ALLOWED - 1:.0%} above the other")
    raise SystemExit(1 if slower else 0)


if __name__ == "__main__":
    main()
