"""Put mutated configs, tables, command lines and plug-ins through the real command line and count what must not happen.

Every case is one call of ``milpcb`` in a folder of its own, in a process forked from one that has imported the program.
Counted are tracebacks, calls that hang, exit codes other than 0 and 2, errors that nobody foresaw, and files outside
the run directory that were made, changed or removed. The same numbers make the same cases.
"""

import hashlib
import os
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Ended
from tests.stress.fuzz_cases import Case, cases
from tests.stress.hostile import complaints

LIMITS = {"RLIMIT_AS": 6 * 2**30}  # so that a mutated size cannot use up the machine


def judge(ended: Ended, before: dict[str, str], after: dict[str, str], case: Case) -> list[str]:
    """Return what happened that must not; a call that hangs is ended by a signal, and plug-ins may fail unforeseen."""
    found = complaints(ended.returncode, ended.stdout, ended.stderr)
    if "mine.py" in ended.stdout + ended.stderr:
        found = [each for each in found if not each.startswith(("an unexpected error", "no line"))]
    written = {"in/written_at_import.txt"}  # by the plug-in itself
    if any(before.get(name) != after.get(name) for name in {*before, *after} - written if not _expected(name, case)):
        found.append("file touched")
    return found


def _expected(name: str, case: Case) -> bool:
    """Return whether a file is one that the call was asked to write: in its run directory, or where --out says."""
    parts = Path(name).parts
    targets = [after for option, after in zip(case.arguments, case.arguments[1:], strict=False) if option == "--out"]
    places = [Path("in", target).parts for target in targets]
    within = any(parts[: len(place)] == place for place in places if len(place) > 1)
    return within or parts[1:2] in {("out",), ("runs",)} or any(place[: len(parts)] == parts for place in places)


def snapshot(root: Path) -> dict[str, str]:
    """Return the hash of every file below a folder, by path."""
    files = (path for path in sorted(root.rglob("*")) if path.is_file())
    return {str(path.relative_to(root)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def run_case(case: Case, root: Path, forks: Any) -> tuple[Ended, list[str]]:
    """Run a case in a folder of its own, among files that are none of its business."""
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
    ended = forks.run(folder, case.arguments, LIMITS)
    return ended, judge(ended, before, snapshot(root), case)


@pytest.mark.cases(30)
def test_nothing_happens_that_must_not(numbers: range, tmp_path: Path, forks: Any) -> None:
    """No traceback, no hang, no other exit code, no foreign file touched."""
    bad = []
    for number, case in enumerate(cases(numbers.start, len(numbers))):
        ended, found = run_case(case, tmp_path / str(number), forks)
        bad += [(case.what, case.arguments, found, ended.returncode, ended.stdout, ended.stderr)] if found else []
    assert bad == []
