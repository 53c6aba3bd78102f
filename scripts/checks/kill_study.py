"""Kill a study at random moments, resume it, and compare what is left with a run that nobody disturbed.

    python scripts/checks/kill_study.py [--times 20] [--seed 0]

Each time: start `milpcb run` on a small study, kill -9 it after a random time, look that its workers die with it, finish it
with `milpcb resume`, and compare every file byte for byte, apart from the columns of times and the logs. Exit code 1 if any
differs.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

STUDY = """\
[experiment]
name = "killed"
horizon = [500, 12_000]
seeds = [0, 1]
checkpoints = 10
[environment]
name = "planted"
n_contexts = 40
n_features = 6
[policies]
name = "decision_trees"
depth = 2
[oracle]
kind = "search"
[[learners]]
name = "bistro_plus"
queries = "profile"
[[learners]]
name = "exp4"
[[learners]]
name = "uniform"
[run]
backend = "{backend}"
checkpoint_seconds = 0.05
"""
TIMES = ("seconds", "oracle_seconds")
NOT_COMPARED = (".lock", ".parquet", ".log")


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "milpcb.cli", *arguments]


def contents(directory: Path) -> dict[str, object]:
    """Return every file of a run directory by its name, times left out."""
    found: dict[str, object] = {}
    for file in sorted(path for path in directory.rglob("*") if path.is_file()):
        name = str(file.relative_to(directory))
        if name.endswith(NOT_COMPARED):
            continue
        if file.parent.name == "cells" and file.suffix == ".json":
            record = json.loads(file.read_bytes())
            found[name] = {key: value for key, value in record.items() if key not in TIMES}
        elif name == "curves.csv":
            rows = [line.split(",") for line in file.read_text().splitlines()]
            kept = [i for i, column in enumerate(rows[0]) if column not in TIMES]
            found[name] = [[row[i] for i in kept] for row in rows]
        else:
            found[name] = file.read_bytes()
    return found


def workers_of(folder: Path) -> list[int]:
    """Return the processes that run in ``folder`` (Linux)."""
    there = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if (process / "cwd").resolve(strict=True) == folder.resolve():
                there.append(int(process.name))
        except OSError:
            continue
    return there


def kill_after(seconds: float, folder: Path, backend: str) -> str:
    """Start the study, kill it, and say how far it was; finish it with resume."""
    (folder / "study.toml").write_text(STUDY.format(backend=backend))
    with subprocess.Popen(command("run", "study.toml", "--out", "out", "--progress", "quiet"), cwd=folder) as process:
        time.sleep(seconds)
        process.kill()
    out = folder / "out"
    done, parts = (
        len(list(out.glob("cells/*.json"))),
        [json.loads(p.read_bytes())["round"] for p in out.glob("cells/*.part")],
    )
    for _ in range(100):
        if not workers_of(folder):
            break
        time.sleep(0.05)
    else:
        return f"workers live on: {workers_of(folder)}"
    again = ("resume", "out") if (out / "config.toml").exists() else ("run", "study.toml", "--out", "out")
    ended = subprocess.run(
        command(*again, "--progress", "quiet"), cwd=folder, capture_output=True, text=True, check=False
    )
    if ended.returncode:
        return f"{again[0]} failed: {ended.stderr.strip()}"
    return f"{done} tasks finished, checkpoints at rounds {sorted(parts)}, went on with {again[0]}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--times", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    moments = random.Random(options.seed)  # noqa: S311 - moments, no secrets
    with tempfile.TemporaryDirectory() as name:
        wanted, lasted = {}, {}
        for backend in ("processes", "serial"):
            whole = Path(name) / backend
            whole.mkdir()
            (whole / "study.toml").write_text(STUDY.format(backend=backend))
            start = time.perf_counter()
            subprocess.run(command("run", "study.toml", "--out", "out", "--progress", "quiet"), cwd=whole, check=True)
            lasted[backend], wanted[backend] = time.perf_counter() - start, contents(whole / "out")
            print(f"undisturbed, {backend}: {lasted[backend]:.1f} s, {len(wanted[backend])} files")
        wrong = 0
        for i in range(options.times):
            backend = ("processes", "serial")[i % 2]
            folder = Path(name) / f"killed{i}"
            folder.mkdir()
            seconds = moments.uniform(0.5, lasted[backend])
            saw = kill_after(seconds, folder, backend)
            found = contents(folder / "out")
            differs = sorted(n for n in {*found, *wanted[backend]} if found.get(n) != wanted[backend].get(n))
            wrong += bool(differs)
            print(
                f"{i + 1:3d} {backend:9s} killed after {seconds:4.1f} s: {saw}: {f'DIFFERS in {differs}' if differs else 'equal'}"
            )
            sys.stdout.flush()
    print(f"{options.times - wrong} of {options.times} ended as if nobody had killed them")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
