"""Time and memory to learn from a log of many files in one pass: seconds of the processor and of the clock, memory.

    python scripts/benchmarks/one_pass.py

`milpcb learn --one-pass` of 30 million rows of 10 features, and of twice as many, in files of a million.
"""

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import polars as pl

from milpcb.core.decimals import spaced

ROWS, FILE = 30_000_000, 1_000_000
SIZES = (1, 2)  # times as many rows
OPTIONS = ["--action", "done", "--reward", "y", "--propensity", "p", "--thresholds", "9", "--one-pass"]


def log(rows: int, seed: int) -> pl.DataFrame:
    """Return a log of three actions whose best rule is a tree of depth 2."""
    rng = np.random.default_rng(seed)
    features = {f"x{i}": rng.normal(size=rows) for i in range(10)}
    done, p = rng.integers(0, 3, rows), rng.choice([0.25, 0.5], rows)
    y = 0.3 * np.where((features["x3"] > 0.2) & (features["x7"] < 0.5), done == 1, done == 2) + rng.normal(size=rows)
    return pl.DataFrame({**features, "done": np.array(["call", "mail", "none"])[done], "y": y, "p": p})


def main() -> None:
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "logs"
        folder.mkdir()
        for share in SIZES:
            for number in range((share - 1) * ROWS // FILE, share * ROWS // FILE):
                log(FILE, number).write_parquet(folder / f"part{number:03d}.parquet")
            command = [sys.executable, "-m", "milpcb", "learn", folder, *OPTIONS, "--out", Path(place) / f"out{share}"]
            began = time.monotonic()
            running = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            _, status, used = os.wait4(running.pid, 0)
            running.returncode = os.waitstatus_to_exitcode(status)
            print(
                f"{spaced(share * ROWS)} rows x 10 columns: {used.ru_utime + used.ru_stime:.1f} s of processor, "
                f"{time.monotonic() - began:.1f} s of the clock, {used.ru_maxrss / 1e6:.2f} GB at most, "
                f"exit code {running.returncode}"
            )


if __name__ == "__main__":
    main()
