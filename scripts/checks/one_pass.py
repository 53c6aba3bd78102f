"""Logs that are added up in one pass: against memory, by Dask workers, killed, interrupted, damaged; time and memory.

    python scripts/checks/one_pass.py [--rows 30000000] [--interrupts 20] [--logs 30] [--seed 0]

Small logs: rule, value and standard error of one pass are those of a fit in memory (1e-9 of the range), for trees,
rule lists and threshold rules. Files with whole scores: sums by two Dask workers are those of one process to the last
bit, and so are they where a worker is killed in the middle. `milpcb learn` gets SIGINT at random moments, half of them
in the middle of the pass: it ends in one line, and the same command then writes the policy of an undisturbed run. A
damaged file ends in one line that names it. Then --rows rows of 10 features, and twice as many, are learnt from:
seconds of processor and of the clock, and the greatest memory. 0 leaves that out. Exit code 1 if anything else happens.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
import psutil
from rich.console import Console

from milpcb.estimators import LoggedPolicyTree, LoggedRuleList, LoggedThresholdRule
from milpcb.experiments.run.backends.dask import Dask
from milpcb.experiments.run.backends.serial import Serial
from milpcb.logs.one_pass.counting import Parts, count
from milpcb.logs.one_pass.files import log_files
from milpcb.logs.one_pass.learning import PassQuestions, counter_of, sample_of
from milpcb.logs.source import Columns
from milpcb.offline import evaluate

OPTIONS = ["--action", "done", "--reward", "y", "--propensity", "p", "--thresholds", "9", "--one-pass"]
COLUMNS = Columns("done", "y", maximise=True, propensity=("p",))
FILE = 1_000_000  # rows
CLOSE = 1e-9  # of the range of the scores
console = Console(highlight=False)


def log(n: int, seed: int, *, whole: bool = False) -> pl.DataFrame:
    """Return a log of three actions whose best rule is a tree of depth 2; whole scores if ``whole``."""
    rng = np.random.default_rng(seed)
    features = {f"x{i}": rng.normal(size=n) for i in range(10)}
    done, p = rng.integers(0, 3, n), rng.choice([0.25, 0.5], n)
    y = 0.3 * np.where((features["x3"] > 0.2) & (features["x7"] < 0.5), done == 1, done == 2) + rng.normal(size=n)
    names = np.array(["call", "mail", "none"])
    return pl.DataFrame({**features, "done": names[done], "y": np.round(4 * y) if whole else y, "p": p})


def write(folder: Path, files: int, rows: int, *, whole: bool = False) -> Path:
    folder.mkdir(parents=True)
    for number in range(files):
        log(rows, number, whole=whole).write_parquet(folder / f"part{number:03d}.parquet")
    return folder


def against_memory(logs: int, seed: int) -> int:
    """Return for how many logs one pass does not find what a fit in memory finds."""
    wrong, rng = 0, np.random.default_rng(seed)
    for number in range(logs):
        method, thresholds = ("ips", "snips")[number % 2], int(rng.integers(2, 9))
        learner = [
            LoggedPolicyTree(max_depth=int(rng.integers(1, 3)), method=method, thresholds=thresholds),
            LoggedRuleList(method=method, thresholds=2),
            LoggedThresholdRule(method=method, max_cuts=2, thresholds=thresholds),
        ][number % 3]
        frame = log(int(rng.integers(200, 5000)), seed + number, whole=number % 4 == 0)
        X = frame.select(f"x{i}" for i in range(int(rng.integers(2, 7))))
        learner.fit(X, frame["done"], reward=frame["y"], propensity=frame["p"].to_numpy())
        scores = learner.scores_
        seen, labels = evaluate(scores, learner.policy_, contexts=X).value, learner.predict(X)
        size = int(rng.integers(20, 2000))
        batches = [frame[start : start + size] for start in range(0, len(frame), size)]
        learner.fit_batches(batches, action="done", reward="y", propensity="p", features=X.columns)
        value, error = learner.stand_in_.value(learner.played_)
        off = max(abs(value - seen.value), abs(error - seen.standard_error)) / np.ptp(scores.table)
        if off > CLOSE or not (learner.predict(X) == labels).all():
            wrong += 1
            console.print(f"log {number}: {type(learner).__name__}, {method}: off by {off:.2g}")
    return wrong


def sums(folder: Path, backend: object, keep: Callable[[int, object], None] = lambda *_: None) -> Parts:
    files = log_files(folder)
    sample, learner = sample_of(files, COLUMNS, lambda *_: None), LoggedPolicyTree(method="ips", thresholds=9)
    layout = learner.layout(sample.source.frame, sample.source.log.actions)
    counter = counter_of(files, sample, layout, learner, PassQuestions(holdout=0.3))
    return count(counter, files, backend, [], keep, lambda *_: None)  # type: ignore[arg-type]


def same(one: Parts, other: Parts) -> bool:
    return all(a.cells.tobytes() == b.cells.tobytes() for a, b in zip(one, other, strict=True) if a and b)


def by_dask(folder: Path) -> int:
    """Return how many of two passes by Dask give other sums: one undisturbed, one whose worker is killed."""
    alone = sums(folder, Serial())
    wrong = int(not same(alone, sums(folder, Dask(workers=2))))
    killed: list[int] = []

    def kill_a_worker(number: int, _: object) -> None:
        """Kill one of the two workers once a file is counted: both are at the next ones."""
        if number == 1:
            workers = [child for child in psutil.Process().children(recursive=True) if _is_worker(child)]
            busiest = max(workers, key=lambda child: child.cpu_times().user)
            busiest.kill()
            killed.append(busiest.pid)

    wrong += not same(alone, sums(folder, Dask(workers=2), kill_a_worker))
    console.print(f"Dask: workers killed {len(killed)}, passes with other sums {wrong} of 2")
    return wrong + (not killed)


def _is_worker(child: psutil.Process) -> bool:
    return "spawn_main" in " ".join(child.cmdline())


def learn(folder: Path, out: Path, *more: str) -> list[str]:
    return [sys.executable, "-m", "milpcb", "learn", str(folder), *OPTIONS, *more, "--out", str(out)]


def interrupted(folder: Path, times: int, seed: int) -> int:
    """Return how often a command that was interrupted, and then run again, writes another policy than undisturbed."""
    whole, draw, wrong, kept = folder.parent / "whole", np.random.default_rng(seed), 0, 0
    began = time.monotonic()
    subprocess.run(learn(folder, whole, "--holdout", "0.3"), capture_output=True, check=True)
    took = time.monotonic() - began
    policy = json.loads((whole / "policy.json").read_text())
    for number in range(times):
        out = folder.parent / f"out{number}"
        running = subprocess.Popen(
            learn(folder, out, "--holdout", "0.3"), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
        )
        if number % 2:  # in the middle of the pass
            _await(out / "counted.json", running)
            time.sleep(float(draw.uniform(0.0, 0.05)) * took)
        else:
            time.sleep(float(draw.uniform(0.1, 1.0)) * took)
        running.send_signal(signal.SIGINT)
        _, printed = running.communicate(timeout=600)
        kept += (out / "counted.json").exists()
        if running.returncode not in (0, 2, -signal.SIGINT) or "Traceback" in printed:
            wrong += 1
            console.print(f"interrupt {number}: code {running.returncode}: {printed[-300:]}")
        again = subprocess.run(
            learn(folder, out, "--holdout", "0.3"), capture_output=True, text=True, check=False, timeout=600
        )
        if again.returncode or json.loads((out / "policy.json").read_text()) != policy:
            wrong += 1
            console.print(f"interrupt {number}: then code {again.returncode}: {again.stderr[-300:]}")
    console.print(f"interrupts {times}, of which {kept} left sums to go on from; other policies or lines {wrong}")
    return wrong


def _await(path: Path, running: subprocess.Popen[str]) -> None:
    while not path.exists() and running.poll() is None:
        time.sleep(0.005)


def damaged(folder: Path, seed: int) -> int:
    """Return how many of several damages end otherwise than in one line that names the file."""
    draw, wrong, path = np.random.default_rng(seed), 0, folder / "part003.parquet"
    content = path.read_bytes()
    changes = [content[: len(content) // 2], b"", b"x" * 100, b"PAR1" + content[4:-8] + b"\0" * 8]
    changes += [_flipped(content, draw) for _ in range(3)]
    for number, change in enumerate(changes):
        path.write_bytes(change)
        out = folder.parent / f"damaged{number}"
        done = subprocess.run(learn(folder, out), capture_output=True, text=True, check=False, timeout=600)
        last = done.stderr.strip().splitlines()[-1] if done.stderr.strip() else ""
        if done.returncode == 0 and number >= 4:  # one byte of a number is another number
            continue
        if done.returncode != 2 or "part003.parquet" not in last or "Traceback" in done.stderr:
            wrong += 1
            console.print(f"damage {number}: code {done.returncode}: {last}")
    path.write_bytes(content)
    console.print(f"damages {len(changes)}, without a line that names the file {wrong}")
    return wrong


def _flipped(content: bytes, draw: np.random.Generator) -> bytes:
    found = bytearray(content)
    for _ in range(20):
        found[int(draw.integers(len(found)))] ^= 1 << int(draw.integers(8))
    return bytes(found)


def timed(folder: Path, rows: int) -> None:
    """Print what it takes to learn from so many rows, and from twice as many."""
    write(folder, 2 * max(1, rows // FILE), min(rows, FILE))
    for share, name in ((1, f"{rows:,}"), (2, f"{2 * rows:,}")):
        some = folder.parent / f"part{share}"
        some.mkdir()
        for path in sorted(folder.iterdir())[: share * max(1, rows // FILE)]:
            os.link(path, some / path.name)
        began = time.monotonic()
        running = subprocess.Popen(
            learn(some, folder.parent / f"timed{share}"), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        _, status, used = os.wait4(running.pid, 0)
        console.print(
            f"{name} rows x 10 columns: {used.ru_utime + used.ru_stime:.1f} s of processor, "
            f"{time.monotonic() - began:.1f} s of the clock, {used.ru_maxrss / 1e6:.2f} GB at most, exit code {status}"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description="Logs that are added up in one pass.")
    parser.add_argument("--rows", type=int, default=30_000_000)
    parser.add_argument("--interrupts", type=int, default=20)
    parser.add_argument("--logs", type=int, default=30)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell lets jobs in the background ignore it
    wrong = against_memory(given.logs, given.seed)
    console.print(f"logs {given.logs}, of which one pass finds another rule or value than memory {wrong}")
    with tempfile.TemporaryDirectory() as place:
        folder = write(Path(place) / "whole" / "logs", 8, 200_000, whole=True)
        wrong += by_dask(folder)
        wrong += interrupted(folder, given.interrupts, given.seed)
        wrong += damaged(folder, given.seed)
        if given.rows:
            timed(Path(place) / "large" / "logs", given.rows)
    sys.exit(wrong > 0)


if __name__ == "__main__":
    main()
