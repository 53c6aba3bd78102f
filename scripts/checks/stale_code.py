"""Breaks each kernel of a copy of the packages, with its machine code kept, and asks again: no old code may answer.

    python scripts/checks/stale_code.py [--only trees semirings]

A kernel is a compiled function. Each is changed by itself: a minimum in it is made a maximum or the other way round;
where there is none, or no answer shows it, an operator is made its opposite; where none of these is seen, a statement
is left out. Which change is seen by which query of stale_cases.py is found out without the compiler, changes in order
of their lines, queries in order of the code that they compile. The query is then asked of the copy as it is, which
keeps the machine code, once more by a process that must find it all, and, with the kernel changed, by a new process
that finds all the old code. It must answer otherwise; exit code 1 if it does not, or if no query sees a kernel.
``--only`` takes the kernels with any of these letters in their file or name.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
from ast import FunctionDef
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from rich.console import Console
from rich.progress import track
from stale_cases import FURTHER, JOBS
from stale_changes import Name, changes, kernels

import milpcb
from milpcb.core.kernels import KEPT

ROOT = Path(milpcb.__file__).parents[1]
ASK = f"import sys; sys.path.append({str(Path(__file__).parent)!r}); import stale_cases; stale_cases.main()"
MOST_CHANGES = 40  # of a kernel that are tried
MOST_ALIKE = 3  # queries in which the same kernels have a part
MOST_FAILING = 3  # changes of a kernel that only make queries fail
MOST_SECONDS = 600  # of a process, which has limits of its own

Place = tuple[str, int]  # of a query: its job and its number there


class Query(NamedTuple):
    """A query: its place, what it answers without the compiler, and the kernels that have a part in it."""

    place: Place
    answer: str
    ran: frozenset[Name]


class Copy:
    """A copy of the packages, with a folder of its own for machine code."""

    def __init__(self, folder: Path) -> None:
        self.root, self._code = folder / "copy", folder / "code"
        for package in ("milpcb", "policies"):
            shutil.copytree(ROOT / package, self.root / package, ignore=shutil.ignore_patterns("__pycache__"))
        self._kept: dict[Place, str] = {}

    def interpreted(self, *words: str, given: Any = None) -> Any:
        """Return what stale_cases.py finds without the compiler."""
        done = self._process(words, given, "1")
        if done.returncode:
            raise SystemExit(done.stderr)
        return json.loads(done.stdout.splitlines()[-1])

    def is_new(self, file: str, text: bytes, place: Place) -> bool:
        """Return whether a query is answered anew when a file has another text, with the old machine code kept."""
        if place not in self._kept:
            made, _ = self._compiled(place)
            if self._compiled(place) != (made, False):
                raise SystemExit(f"{place}: machine code is not kept, or answers otherwise")
            self._kept[place] = made
        with self.changed(file, text):
            now, compiled = self._compiled(place)
        return compiled and now != self._kept[place]

    @contextmanager
    def changed(self, file: str, text: bytes) -> Iterator[None]:
        """Give a file another text for a while."""
        path = self.root / file
        before = path.read_bytes()
        path.write_bytes(text)
        try:
            yield
        finally:
            path.write_bytes(before)

    def _compiled(self, place: Place) -> tuple[str, bool]:
        """Return what a query answers, and whether there was anything to compile."""
        done = self._process(("answer", place[0], str(place[1])), None, "0")
        answer = done.stdout.splitlines()[-1] if not done.returncode else f"exit code {done.returncode}"
        return answer, KEPT in done.stderr

    def _process(self, words: tuple[str, ...], given: Any, without_compiler: str) -> subprocess.CompletedProcess[str]:
        environ = os.environ | {
            "PYTHONPATH": str(self.root),
            "NUMBA_CACHE_DIR": str(self._code),
            "NUMBA_DISABLE_JIT": without_compiler,
        }
        return subprocess.run(
            # Without Python's own bytecode: a file that changes within a second, to the same size, is none to Python.
            [sys.executable, "-P", "-B", "-W", "ignore", "-c", ASK, *words],
            input=json.dumps(given),
            cwd=self.root,
            env=environ,
            capture_output=True,
            text=True,
            check=False,
            timeout=MOST_SECONDS,
        )


def queries(copy: Copy) -> list[Query]:
    """Return all queries, but few of ``milpcb compile`` that are alike; those first whose kernels have fewest lines."""
    lines = {name: node.end_lineno - node.lineno for name, node in kernels(copy.root).items() if node.end_lineno}
    found, alike = [], Counter[frozenset[Name]]()
    for job in track(JOBS, description="queries", console=Console(stderr=True)):
        for number, (answer, ran) in enumerate(copy.interpreted("trace", job)):
            own = frozenset({(file.removeprefix(f"{copy.root}/"), name) for file, name in ran} & lines.keys())
            alike[own] += 1
            if alike[own] <= MOST_ALIKE or job == FURTHER:
                found.append(Query((job, number), answer, own))
    return sorted(found, key=lambda query: sum(map(lines.__getitem__, query.ran)))


def check(name: Name, kernel: FunctionDef, copy: Copy, asked: list[Query]) -> tuple[str, str]:
    """Return what became of a broken kernel, and by which change and query; ``asked`` are those that it has a part in.

    A change that makes queries fail is the last resort: machine code may read behind the end of an array, and go on.
    """
    text, state, fails = (copy.root / name[0]).read_bytes(), "UNSEEN", []
    given = [[*query.place, query.answer] for query in asked]
    for change in islice(changes(text, kernel), MOST_CHANGES):
        with copy.changed(name[0], change.text):
            number, failed = copy.interpreted("differs", given=given)
        if failed and number is not None:
            fails.append((change, asked[number].place))
        elif number is not None:
            if copy.is_new(name[0], change.text, asked[number].place):
                return "new", f"{change.words}; {asked[number].place}"
            state = "STALE"
    for change, place in fails[:MOST_FAILING]:
        if copy.is_new(name[0], change.text, place):
            return "new", f"{change.words}; {place}"
    return state, ""


def main() -> None:
    """Break every kernel, print what became of each, and exit."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", default=[""], help="letters of the name of a kernel or of its file")
    only = parser.parse_args().only
    states: Counter[str] = Counter()
    with TemporaryDirectory() as folder:
        copy = Copy(Path(folder))
        found = queries(copy)
        broken = [(name, node) for name, node in kernels(copy.root).items() if any(map(": ".join(name).count, only))]
        for name, node in track(broken, description="kernels", console=Console(stderr=True)):
            state, how = check(name, node, copy, [query for query in found if name in query.ran])
            states[state] += 1
            print(f"{state:6} {': '.join(name)}: {how}", flush=True)
    print(f"{len(broken)} kernels broken: {', '.join(f'{number} {state}' for state, number in states.items())}")
    raise SystemExit(0 if states.keys() <= {"new"} else 1)


if __name__ == "__main__":
    main()
