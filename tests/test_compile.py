"""Machine code that is made ahead: what ``milpcb compile`` asks for, what it keeps, and how little there is of it."""

import json
import subprocess
import sys

import pytest
from click.testing import CliRunner

from milpcb.commands import machine
from milpcb.commands.machine import compile_code

# Files with compiled functions, and how often each of these is compiled: minima and soft minima, whatever the layout of
# the tables. Those of trees have a test of their own.
MOST = 2
FILES = (
    *("milpcb.contexts.kernels", "policies.linear.search_branching", "policies.linear.template"),
    *("policies.monotone.search", "policies.paths.kernels"),
)


COUNTED = """
import importlib, json, sys
from pathlib import Path
from numba.core.dispatcher import Dispatcher
from milpcb.commands import machine
for job in machine.JOBS:
    assert machine.ask(job) == job
    if "tree" not in job:
        machine.ask(job, "F")
files = [importlib.import_module(name) for name in sys.argv[1:]]
kernels = {f"{file.__name__}.{name}": kernel for file in files for name, kernel in vars(file).items()
           if isinstance(kernel, Dispatcher) and kernel.py_func.__module__ == file.__name__}
folders = {Path(kernel._cache.cache_path) for kernel in kernels.values()}
texts = [code.name for folder in folders for code in folder.glob("*.nbc") if b"cpython7unicode" in code.read_bytes()]
print(json.dumps([{name: max(len(kernel.signatures), len(kernel.inner().signatures))
                   for name, kernel in kernels.items() if "._" not in name}, texts]))
"""


def test_every_kernel_is_asked_for_and_compiled_for_few_types() -> None:
    """The jobs call every function that Python calls, and none is compiled anew for another layout in memory.

    None has anything to do with texts, which numba takes seconds to compile: see milpcb.core.kernels.copy.
    """
    command = [sys.executable, "-c", COUNTED, *FILES]  # a process of its own: other tests compile more
    called, texts = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    inner = {"milpcb.contexts.kernels.ones", "milpcb.contexts.kernels.binomial"}  # called by kernels alone
    assert len(called) > 10
    assert {name for name, count in called.items() if count == 0} <= inner
    assert {name: count for name, count in called.items() if count > MOST} == {}
    assert texts == []


def test_the_command_asks_for_everything(monkeypatch: pytest.MonkeyPatch) -> None:
    """A line for each job as it is done, by processes of its own, and one with the folder."""
    monkeypatch.setattr(machine, "JOBS", ("monotone rules", machine.DRAWS))  # the others are asked for above
    done = CliRunner().invoke(compile_code, ["--workers", "2"], catch_exceptions=False)
    *lines, last = done.stdout.splitlines()
    assert sorted(lines) == sorted(f"compiled: {job}" for job in machine.JOBS)
    assert last == f"machine code is in {machine.folder()}"
