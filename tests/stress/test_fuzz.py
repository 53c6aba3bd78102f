"""Put mutated configs, tables, command lines and plug-ins through the real command line and count what must not happen.

Every case is one call of ``milpcb`` in a folder of its own, in a process forked from one that has imported the program;
of each kind of case a few are real processes, started as the shell would. Counted are tracebacks, calls that take more
than ten minutes, exit codes other than 0 and 2, errors that nobody foresaw, and files outside the run directory that
were made, changed or removed. The same numbers make the same cases.
"""

import hashlib
import os
import random
import resource
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path

import pytest

from milpcb.plugins import registry
from tests.stress.fuzz_cases import Case, cases

SECONDS = 600.0  # a call that takes longer hangs, however loaded the machine is
SHARE_OF_PROCESSES = 0.02  # real ones, a second each
MEMORY = 3 * 2**30  # bytes that a call may take, so that a mutated size cannot use up the machine


@dataclass
class Ended:
    """How a call ended; code None means that it was stopped."""

    code: int | None
    output: str
    seconds: float


def call_forked(case: Case, folder: Path) -> Ended:
    """Run the command line in a copy of this process, which has imported it."""
    capture = folder.parents[1] / "printed"
    start = time.monotonic()
    sys.stdout.flush()
    child = os.fork()
    if child == 0:
        _be_the_command_line(case, folder, capture)
    deadline = start + SECONDS
    code: int | None = None
    while time.monotonic() < deadline:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            code = os.waitstatus_to_exitcode(status)
            break
        time.sleep(0.005)
    else:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    return Ended(code, capture.read_text(encoding="utf-8", errors="replace"), time.monotonic() - start)


def _be_the_command_line(case: Case, folder: Path, capture: Path) -> None:
    """Never return: end as the command line does."""
    code = 0
    try:
        out = os.open(capture, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(out, 1)
        os.dup2(out, 2)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.chdir(folder)
        resource.setrlimit(resource.RLIMIT_AS, (_own_memory() + MEMORY, resource.RLIM_INFINITY))
        sys.argv = ["milpcb", *case.arguments]
        from milpcb import cli

        cli.main()
    except SystemExit as stop:
        code = stop.code if isinstance(stop.code, int) else 0 if stop.code is None else 1
    except BaseException:  # noqa: BLE001 - whatever it is, it is a finding
        traceback.print_exc()
        code = 1
    finally:
        try:
            sys.stdout.flush()
            sys.stderr.flush()
        finally:
            os._exit(code)


def _own_memory() -> int:
    return (
        int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        if Path("/proc/self/statm").exists()
        else 0
    )


def call_process(case: Case, folder: Path) -> Ended:
    """Run the command line as the shell would."""
    start = time.monotonic()
    arguments = [os.fsencode(argument.replace("\x00", "")) for argument in case.arguments]
    command = [sys.executable, "-m", "milpcb.cli", *arguments]
    try:
        done = subprocess.run(
            command, cwd=folder, capture_output=True, timeout=SECONDS, stdin=subprocess.DEVNULL, check=False
        )
    except subprocess.TimeoutExpired:
        return Ended(None, "", time.monotonic() - start)
    return Ended(done.returncode, (done.stdout + done.stderr).decode(errors="replace"), time.monotonic() - start)


def judge(ended: Ended, before: dict[str, str], after: dict[str, str], case: Case) -> list[str]:
    """Return what happened that must not."""
    found = []
    if "Traceback (most recent call last)" in ended.output:
        found.append("traceback")
    if "unexpected error" in ended.output and "mine.py" not in ended.output:
        found.append("unforeseen error")
    if ended.code is None:
        found.append("hang")
    elif ended.code not in {0, 2}:
        found.append(f"exit code {ended.code}")
    if "\x1b" in ended.output:
        found.append("escape on the terminal")
    written = {"in/written_at_import.txt"}  # by the plug-in itself
    if any(before.get(name) != after.get(name) for name in {*before, *after} - written if not _expected(name, case)):
        found.append("file touched")
    return found


def _expected(name: str, case: Case) -> bool:
    """Tell whether a file is one that the call was asked to write: in its run directory, or where --out says."""
    parts = Path(name).parts
    targets = [after for option, after in zip(case.arguments, case.arguments[1:], strict=False) if option == "--out"]
    places = [Path("in", target).parts for target in targets if target not in {"", "."}]
    named = any(parts[: len(place)] == place for place in places)
    return (
        named
        or parts[1:2] in {("out",), ("runs",)}
        or any(Path("in", target).parts[: len(parts)] == parts for target in targets)
    )


def snapshot(root: Path) -> dict[str, str]:
    """Return the hash of every file below a folder, by path."""
    return {
        str(path.relative_to(root)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(root.rglob("*"))
        if path.is_file()
    }


def run_case(case: Case, *, forked: bool) -> tuple[Ended, list[str]]:
    """Run a case in a folder of its own, among files that are none of its business."""
    with tempfile.TemporaryDirectory() as top:
        root = Path(top) / "home"
        folder = root / "in"
        (folder / "empty").mkdir(parents=True)
        (root / "up").mkdir()
        for name in ("letter.txt", "up/notes.txt", "in/.hidden", "in/diary.txt"):
            (root / name).write_text("mine")
        for name, content in case.files.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes(content)
        os.mkfifo(folder / "fifo")
        before = snapshot(root)
        ended = (call_forked if forked else call_process)(case, folder)
        return ended, judge(ended, before, snapshot(root), case)


@pytest.fixture(scope="module")
def loaded() -> None:
    """Import what is registered: the processes that are forked from this one have it then."""
    kinds = "learner", "environment", "policies", "oracle", "relaxation", "constraint", "command", "figure", "backend"
    for kind in kinds:
        for name in registry.names(kind):
            registry.load(kind, name)


@pytest.mark.cases(30)
@pytest.mark.usefixtures("loaded")
@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_nothing_happens_that_must_not(numbers: range) -> None:
    """No traceback, no hang, no other exit code, no foreign file touched."""
    # Made in another process: the reader of Parquet has threads, which a forked copy of this one would wait for.
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as maker:
        made = maker.submit(cases, numbers.start, len(numbers)).result()
    dice, bad = random.Random(numbers.start), []  # noqa: S311 - as above
    for case in made:
        ended, found = run_case(case, forked=dice.random() >= SHARE_OF_PROCESSES)
        bad += [(case.what, case.arguments, found, ended.code, ended.output[-400:])] if found else []
    assert bad == []
