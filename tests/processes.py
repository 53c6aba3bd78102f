"""Programs in processes of their own that share the second of their imports, as forks; and waiting for processes."""

import contextlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

Ended = subprocess.CompletedProcess[str]

DRIVER = """
import json, os, sys, tempfile
prelude, *programs = json.load(sys.stdin)
exec(prelude, {})
for program in programs:
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as error:
        process = os.fork()
        if not process:
            os.dup2(out.fileno(), 1)
            os.dup2(error.fileno(), 2)
            exec(program, {"__name__": "__main__"})
            break
        code = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
        texts = [os.pread(file.fileno(), 1 << 24, 0).decode() for file in (out, error)]
        print(json.dumps([code, *texts]), flush=True)
"""


def one_by_one(prelude: str, *programs: str, **variables: str) -> list[Ended]:
    """Return how programs end that each go on, in a process of its own, from where a new interpreter is after another.

    That is the ``prelude``, imports above all; it starts no thread. Environment variables may be given by their names.
    """
    done = subprocess.run(
        [sys.executable, "-c", DRIVER],
        env=os.environ | variables,
        input=json.dumps([prelude, *programs]),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    ended = [json.loads(line) for line in done.stdout.splitlines()]
    return [Ended(program, *end) for program, end in zip(programs, ended, strict=True)]


def until(condition: Callable[[], object], seconds: float = 600.0) -> None:
    """Wait until the condition holds."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.01)


def alive(pid: int) -> bool:
    """Return whether a process is there and is no zombie."""
    with contextlib.suppress(OSError):
        os.kill(pid, 0)
        return sys.platform != "linux" or "\nState:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    return False
