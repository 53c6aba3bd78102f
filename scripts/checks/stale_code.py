"""Breaks each kernel of a copy of the packages, with its machine code kept, and asks again: no old code may answer.

    python scripts/checks/stale_code.py [--only trees]

A kernel is a compiled function. Those that take a minimum or a maximum are changed one at a time: the first ``min`` (or
``lower``) becomes ``max``, or else the first ``max`` becomes ``min``. First all queries of ``milpcb compile`` are made
with the copy as it is, and their machine code is kept. Without the compiler it is then found out which of them a change
makes answer otherwise; the first of these is asked once more, compiled, in a new process that finds all the old
machine code. It must answer otherwise too; exit code 1 if it does not. ``--only`` takes the files with these letters in
their names.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from rich.console import Console
from rich.progress import track
from rich.table import Table

import milpcb

ROOT = Path(milpcb.__file__).parents[1]
SWAPS = {"min": "max", "lower": "max"}, {"max": "min"}
# Asks a query of ``milpcb compile`` in a copy, and writes its answers, and which of our functions ran without compiler.
ASK = """
import json, sys
import numpy as np
from milpcb.contexts import draws
from milpcb.oracles import base, compiling

answers, ran = [], set()
for name in ("value", "profile", "minimise", "action_weights", "near_best"):
    def asked(self, *args, _own=getattr(base.Oracle, name), **options):
        found = _own(self, *args, **options)
        answers.append(repr(getattr(found, "listed", getattr(found, "total_cost", found))))
        return found
    setattr(base.Oracle, name, asked)
if sys.argv[2] == "trace":
    sys.setprofile(lambda frame, event, _: ran.add((frame.f_code.co_filename, frame.f_code.co_name)))
try:
    compiling.ask(sys.argv[1])
except Exception as error:  # a broken kernel may lead anywhere
    answers.append(repr(error))
sys.setprofile(None)
print(json.dumps([answers, sorted(ran)]))
"""


class Kernel(NamedTuple):
    """A kernel of a file, and the text of the file in which it is broken."""

    file: str
    name: str
    broken: str


def kernels(root: Path, only: str) -> Iterator[Kernel]:
    """Yield the kernels that take a minimum or a maximum."""
    for path in sorted(file for package in ("milpcb", "policies") for file in (root / package).rglob("*.py")):
        file, text = path.relative_to(root).as_posix(), path.read_text(encoding="utf-8")
        if "@compiled(" not in text or only not in file:
            continue
        for function in ast.parse(text).body:
            if isinstance(function, ast.FunctionDef) and "compiled(" in "".join(
                map(ast.unparse, function.decorator_list)
            ):
                broken = _broken(text, function)
                if broken:
                    yield Kernel(file, function.name, broken)


def _broken(text: str, function: ast.FunctionDef) -> str:
    """Return the text with the first minimum of a function made a maximum, or the other way round; nothing if none."""
    calls = [node.func for node in ast.walk(function) if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)]
    for swap in SWAPS:
        found = min((call for call in calls if call.id in swap), key=lambda call: call.lineno, default=None)
        if found:
            lines = text.splitlines(keepends=True)
            line = lines[found.lineno - 1]
            lines[found.lineno - 1] = line[: found.col_offset] + swap[found.id] + line[found.end_col_offset :]
            return "".join(lines)
    return ""


def ask(copy: Path, code: Path, job: str, *, interpreted: bool) -> tuple[list[str], set[tuple[str, str]]]:
    """Return the answers of a query in a process of its own, and the functions that ran if it is ``interpreted``."""
    environ = os.environ | {
        "PYTHONPATH": str(copy),
        "NUMBA_CACHE_DIR": str(code),
        "NUMBA_DISABLE_JIT": "01"[interpreted],
    }
    command = [sys.executable, "-P", "-B", "-W", "ignore", "-c", ASK, job, "trace" if interpreted else "answers"]
    done = subprocess.run(command, cwd=copy, env=environ, capture_output=True, text=True, check=False, timeout=600)
    if done.returncode:
        return [f"exit code {done.returncode}"], set()
    answers, ran = json.loads(done.stdout)
    return answers, {(Path(file).relative_to(copy).as_posix(), name) for file, name in ran if str(copy) in file}


def check(kernel: Kernel, copy: Path, code: Path, known: dict[str, Any]) -> tuple[str, str]:
    """Return what became of a broken kernel, and the query that was asked."""
    path = copy / kernel.file
    text = path.read_text(encoding="utf-8")
    path.write_text(kernel.broken, encoding="utf-8")
    try:
        for job, (compiled, interpreted, ran) in known.items():
            if (kernel.file, kernel.name) not in ran or ask(copy, code, job, interpreted=True)[0] == interpreted:
                continue
            return ("new" if ask(copy, code, job, interpreted=False)[0] != compiled else "STALE"), job
    except subprocess.TimeoutExpired:
        return "no end", ""
    finally:
        path.write_text(text, encoding="utf-8")
    return "no query sees it", ""


def main() -> None:
    """Break every kernel, print what became of each, and exit."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="letters of the names of files")
    only = parser.parse_args().only
    from milpcb.oracles.compiling import SEARCHES

    console = Console(stderr=True)
    with TemporaryDirectory() as folder:
        copy, code = Path(folder) / "copy", Path(folder) / "code"
        for package in ("milpcb", "policies"):
            shutil.copytree(ROOT / package, copy / package, ignore=shutil.ignore_patterns("__pycache__"))
        known = {}
        for job in track(SEARCHES, description="machine code that is kept", console=console):
            compiled, _ = ask(copy, code, job, interpreted=False)
            known[job] = compiled, *ask(copy, code, job, interpreted=True)
        table = Table("kernel", "after the change", "asked", title="each kernel broken, with machine code kept")
        results = []
        for kernel in track(list(kernels(copy, only)), description="kernels", console=console):
            results.append(check(kernel, copy, code, known))
            table.add_row(f"{kernel.file}: {kernel.name}", *results[-1])
    Console(width=140).print(table)
    stale = sum(state == "STALE" for state, _ in results)
    Console().print(f"{len(results)} kernels broken, {stale} of them answered by old machine code")
    raise SystemExit(1 if stale else 0)


if __name__ == "__main__":
    main()
