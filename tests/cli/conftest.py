"""Fixtures of the tests of the command line: ways to call it, and the form of a mistake."""

import io
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

import pytest

from milpcb import cli
from milpcb.commands import console
from milpcb.core import kernels
from tests.learned import Learning
from tests.sketches import sketch

Ended = subprocess.CompletedProcess[str]
CONTEXTS = "age,insured\n20,0\n30,1\n70,0\n80,1\n"
COSTS = "wait,treat\n0,1\n0,1\n1,0\n1,0\n"
CONFIG = """\
[experiment]
name = "tiny"
horizon = 30
[environment]
name = "planted"
n_contexts = 6
n_features = 3
[policies]
name = "decision_trees"
depth = 1
[oracle]
kind = "milp"
solver = "highs"
[[learners]]
name = "bistro_plus"
queries = "profile"
[[learners]]
name = "uniform"
"""

HELD = """\
from pathlib import Path
from time import sleep
from milpcb.learners import BistroPlus
class Held(BistroPlus):
    def _act(self, row):
        while self.played == 300 and Path("hold").exists():
            sleep(0.01)
        return super()._act(row)
"""


@pytest.fixture(scope="session")
def held() -> str:
    """Return a module with a learner, Held: BISTRO+ that waits at round 300 while there is a file ``hold``.

    A test that does something in the middle of a study waits for a checkpoint, and the study for the test: neither
    depends on how fast the other is.
    """
    return HELD


@pytest.fixture(scope="session")
def config() -> str:
    """Return the text of a config of two learners that ends in no time."""
    return CONFIG.replace('kind = "milp"\nsolver = "highs"', 'kind = "search"')


# A step that takes two seconds, as any does on a busy machine, writes how far it is.
STEP = re.compile(r"^(?!milpcb: )[^\n]+: (?:done in )?\d[^\n]* (?:s|so far|left)\n", re.MULTILINE)


def without_notice(text: str) -> str:
    """Return what standard error holds but the lines that something is being compiled, or takes its time."""
    return STEP.sub("", text.replace(f"{kernels.LINE}\n", ""))


@pytest.fixture(scope="session")
def start(forks: Any) -> Callable[..., Any]:
    """Return ``start(folder, *arguments, how=..., **options)``: the command line as the shell would start it."""

    def started(folder: Path, *arguments: str, how: Callable[..., Any] = subprocess.Popen, **options: Any) -> Any:
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, **options}
        return how([sys.executable, "-m", "milpcb", *arguments], cwd=folder, env=forks.environment(), **pipes)

    return started


def inside(folder: Path, arguments: tuple[str, ...]) -> Ended:
    """Run the command line in this process, with sketches for pictures."""
    out, err, code, before = io.StringIO(), io.StringIO(), 0, signal.getsignal(signal.SIGTERM)
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(out), redirect_stderr(err):
        patch.chdir(folder)
        patch.setenv("COLUMNS", "200")
        for each in (console.out, console.err):  # of the width when they were made
            patch.setattr(each, "width", 200)
        patch.setenv("PYTHONSAFEPATH", "1")  # so that it is as before afterwards: the command line sets it
        patch.setattr(sys, "argv", ["milpcb", *arguments])
        patch.setattr("matplotlib.figure.Figure.savefig", sketch)
        patch.setattr("milpcb.experiments.run.runner.cores", lambda: 1)
        try:
            cli.main()
        except SystemExit as stop:
            code = int(str(stop.code))
        finally:
            signal.signal(signal.SIGTERM, before)
    return subprocess.CompletedProcess(["milpcb", *arguments], code, out.getvalue(), err.getvalue())


@pytest.fixture(scope="session")
def milpcb_() -> Callable[..., Ended]:
    """Return ``milpcb_(folder, *arguments)``: run the command line in a folder to its end, in this process."""

    def run(folder: Path, *arguments: str) -> Ended:
        ended = inside(folder, arguments)
        ended.stderr = without_notice(ended.stderr)
        return ended

    return run


@pytest.fixture(scope="session")
def process(start: Callable[..., Any], forks: Any) -> Callable[..., Ended]:
    """Return ``process(folder, *arguments, limits=..., **options)``: run the command line as a process of its own.

    For what is left behind in a process, such as classes of a folder. Pictures are sketches, unless there are options
    for subprocess.run, or other PYTHON... variables: then it is an interpreter of its own, which draws.
    """

    def run(folder: Path, *arguments: str, limits: dict[str, int] | None = None, **options: Any) -> Ended:
        if options or not forks.fits():
            assert not limits, "only forks are given limits"
            ended: Ended = start(folder, *arguments, how=subprocess.run, check=False, timeout=600, **options)
        else:
            ended = forks.run(folder, arguments, limits or {}, sketches=True)
        ended.stderr = without_notice(ended.stderr)  # whether machine code is on disk already is nobody's matter here
        return ended

    return run


@pytest.fixture(scope="module")
def learnt(tmp_path_factory: pytest.TempPathFactory) -> Learning:
    """Return ``learnt(log, *options)``: what ``milpcb learn`` prints and writes."""
    return Learning(tmp_path_factory.mktemp("learnt"))


@pytest.fixture(scope="session")
def write() -> Callable[[Path, dict[str, str | bytes]], None]:
    """Return ``write(folder, files)``: write files, as text or bytes, given by name."""

    def written(folder: Path, files: dict[str, str | bytes]) -> None:
        for name, content in files.items():
            target = folder / name
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content if isinstance(content, bytes) else content.encode())

    return written


@pytest.fixture(scope="session")
def assert_one_line() -> Callable[..., None]:
    """Return a check: exit code 2, nothing of a traceback, and one line on stderr with all the fragments."""

    def check(done: Ended, *fragments: str) -> None:
        assert done.returncode == 2, done
        assert "Traceback" not in done.stdout + done.stderr, done.stderr
        line = without_notice(done.stderr)
        assert line.endswith("\n"), done.stderr
        assert line.count("\n") == 1, done.stderr
        assert line.startswith("milpcb: "), done.stderr
        for fragment in fragments:
            assert fragment in line, (fragment, done.stderr)

    return check


@pytest.fixture(scope="session")
def untimed() -> Callable[[Path], list[tuple[str, ...]]]:
    """Return ``untimed(directory)``: the cells of curves.csv without the columns seconds and oracle_seconds."""

    def rows(directory: Path) -> list[tuple[str, ...]]:
        lines = [line.split(",") for line in (directory / "curves.csv").read_text().splitlines()]
        return [(*line[:-3], line[-1]) for line in lines]

    return rows
