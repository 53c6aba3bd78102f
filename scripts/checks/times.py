"""Estimates of time: every "... left" that a long command prints is compared with what then happens.

    python scripts/checks/times.py [--commands 20] [--first 0]

A command is ``milpcb learn`` on a drawn log (rows, columns, actions, depth, propensities, limits and further questions
are drawn), or ``milpcb run`` on a drawn study. Commands of less than five seconds are drawn again, and so do not count.
An estimate is of the step that it stands in, or of the play of the cells. It is right within a factor of two, or two
seconds: times are printed in whole ones, and a step ends at one. All times are of the processor, so that other
programs change nothing. Prints each estimate that is wrong, and how many were right; ends with 1 where one is wrong.
"""

import argparse
import io
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from threading import Event
from time import process_time

import numpy as np
import polars as pl

from milpcb.rng import child

LONG = 5.0  # seconds of a command that counts
FACTOR, SLACK = 2.0, 2.0
UNITS = {"d": 86400, "h": 3600, "min": 60, "s": 1}
_LEFT = re.compile(r"^(.*?)[:(,] ?(?:[^:(]*, )?((?:\d+ (?:d|h|min|s) ?)+)(?:of play )?left\)?$")
_PLAYED = re.compile(r"^(\d+)/\1 ")  # the last cell
_DONE = re.compile(r"^(.*): done in ")
LEARNERS = ("exp4", "ftpl", "epsilon_greedy")

Line = tuple[float, str]  # seconds since the command began, and what was written


def command(number: int, folder: Path) -> list[str]:
    """Return the arguments of a drawn command, whose files are in ``folder``."""
    rng = child(number, "times")
    return _study(rng, folder) if rng.random() < 0.25 else _log(rng, folder)


def _log(rng: np.random.Generator, folder: Path) -> list[str]:
    n, d, K = int(rng.integers(500, 5_000)), int(rng.integers(2, 7)), int(rng.integers(2, 4))
    X = np.where(rng.random(d) < 0.5, rng.integers(0, 12, (n, d)), rng.normal(size=(n, d)).round(2))
    action = rng.integers(0, K, n)
    effect = rng.choice([0.0, 0.1, 0.6]) * np.where(X[:, 0] > np.median(X[:, 0]), 1.0, -1.0)
    y = X[:, -1] / 5 + (action == 1) * effect + rng.normal(size=n)
    names = [f"x{i}" for i in range(d)]
    frame = pl.DataFrame(dict(zip(names, X.T, strict=True)))
    second = (rng.random(n) < 0.2 + 0.1 * (action == 1)).astype(int)
    frame.with_columns(a=pl.Series([f"a{k}" for k in action]), y=y, z=second).write_csv(folder / "log.csv")
    asked = ["learn", str(folder / "log.csv"), "--action", "a", "--reward", "y", "--out", str(folder / "out")]
    asked += ["--features", ",".join(names), "--depth", str(rng.integers(1, 3 + (d < 5)))]
    asked += ["--draws", str(rng.choice([100, 400])), "--resamples", str(rng.choice([20, 60]))]
    asked += ["--randomised"] * int(rng.random() < 0.5)
    asked += [["--method", "ips"], ["--method", "snips"], [], []][int(rng.integers(0, 4))]
    more = [["--at-most", "a1=0.3"], ["--what-if", "without x0", "--what-if", "leaves 2"], ["--front", "z less"]]
    more += [["--budget", "a1"], ["--holdout", "0.3"], ["--no-worse", "z at most a0"], [], []]
    return asked + more[int(rng.integers(0, len(more)))]


def _study(rng: np.random.Generator, folder: Path) -> list[str]:
    learners = rng.permutation(LEARNERS)[: rng.integers(1, 4)].tolist()
    sections = [
        f'[experiment]\nname = "drawn"\nhorizon = {rng.integers(5_000, 40_000)}',
        f"seeds = {list(range(int(rng.integers(4, 16))))}",
        f'[environment]\nname = "planted"\nn_features = {rng.integers(4, 13)}',
        f'[policies]\nname = "decision_trees"\ndepth = {rng.integers(1, 3)}',
        '[oracle]\nkind = "search"\n[run]\nbackend = "serial"',
        *(f'[[learners]]\nname = "{name}"' for name in learners),
    ]
    (folder / "study.toml").write_text("\n".join(sections))
    return ["run", str(folder / "study.toml"), "--out", str(folder / "out")]


def lines_of(arguments: list[str]) -> tuple[list[Line], float, int]:
    """Return the lines that a command writes, each with its time, how long it took, and its exit code."""
    played = subprocess.run(
        [sys.executable, __file__, "--play", *arguments], capture_output=True, text=True, check=False
    )
    lines = [line.split(" ", 1) for line in played.stderr.splitlines()]
    found = [(float(time), words) for time, words in lines]
    return found, found[-1][0], played.returncode


class Stamped(io.TextIOWrapper):
    """Standard error, with the seconds before each line; what goes to standard output does so too."""

    begins = True

    def write(self, text: str) -> int:
        """Write the lines of a text."""
        for line in text.splitlines(keepends=True):
            super().write(f"{process_time():.2f} {line}" if self.begins else line)
            self.begins = line.endswith("\n")
        return len(text)


class Patient(Event):
    """An event that is waited for by the same clock."""

    def wait(self, timeout: float | None = None) -> bool:
        """Return whether it came within so many seconds."""
        end = process_time() + (timeout or 0.0)
        while not super().wait(0.02):
            if process_time() >= end:
                return False
        return True


def play(arguments: list[str]) -> int:
    """Run a command whose clocks are those of this process; write each line with its time."""
    sys.stdout = sys.stderr = Stamped(sys.stderr.buffer, write_through=True)
    from milpcb.cli import main
    from milpcb.commands import console as steps
    from milpcb.experiments.run import progress

    steps.monotonic = progress.monotonic = process_time
    steps.Event = Patient
    sys.argv = ["milpcb", *arguments]
    try:
        main()
    except SystemExit as end:
        sys.stderr.write("end\n")
        return int(end.code or 0)
    sys.stderr.write("end\n")
    return 0


def estimates(lines: list[Line], total: float) -> Iterator[tuple[str, float, float]]:
    """Yield each line with an estimate, the seconds that it names, and those that it took."""
    ends = [(time, known[1]) for time, line in lines if (known := _DONE.match(line))]
    played = next((time for time, line in lines if _PLAYED.match(line)), total)
    for time, line in lines:
        known = _LEFT.match(line)
        if known:
            over = played if "of play" in line else total
            end = next((end for end, what in ends if end > time and line.startswith(what)), over)
            yield line, seconds(known[2]), end - time


def seconds(words: str) -> float:
    parts = words.split()
    return float(sum(int(number) * UNITS[unit] for number, unit in zip(parts[::2], parts[1::2], strict=True)))


def is_right(expected: float, took: float) -> bool:
    """Return whether an estimate is within a factor, or within what a whole second hides."""
    return abs(expected - took) <= SLACK or took / FACTOR <= expected <= took * FACTOR


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--commands", type=int, default=20, help="commands of more than five seconds")
    parser.add_argument("--play", nargs=argparse.REMAINDER, help=argparse.SUPPRESS)
    parser.add_argument("--first", type=int, default=0, help="number of the first")
    given = parser.parse_args()
    if given.play:
        return play(given.play)
    right = wrong = counted = 0
    number = given.first
    while counted < given.commands:
        with tempfile.TemporaryDirectory() as folder:
            arguments = command(number, Path(folder))
            lines, took, code = lines_of(arguments)
        if code:
            raise SystemExit(f"command {number} failed: {' '.join(arguments)}\n" + "\n".join(line for _, line in lines))
        number += 1
        if took < LONG:
            continue
        counted += 1
        found = list(estimates(lines, took))
        bad = [each for each in found if not is_right(*each[1:])]
        right, wrong = right + len(found) - len(bad), wrong + len(bad)
        print(
            f"{number - 1}: {took:.0f} s, {len(found)} estimates: {' '.join(arguments).replace(folder, '')}", flush=True
        )
        for line, expected, then in bad:
            print(f"    {then:.1f} s, estimated as {expected:.0f}: {line}", flush=True)
    print(f"{counted} commands: {right} estimates right, {wrong} wrong")
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
