"""The command line in processes of its own, without a second of imports for each: one process imports, and forks.

Every line of standard input is a call, as JSON: the folder, the arguments, the environment, the files that standard
output and standard error go to. The answer is a line with the exit code. A call has all that is its own of a process:
folder, environment, streams, modules, signals, exit code. What only a new interpreter has, the conftest gives it: limits
of the system, other streams, PYTHON... variables.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

PATIENCE = 600  # seconds after which a call is ended that hangs


def prepare() -> None:
    """Import what commands import."""
    import matplotlib.figure  # noqa: F401
    import polars  # noqa: F401

    import milpcb.cli
    import milpcb.learners  # noqa: F401
    import policies  # noqa: F401
    from milpcb import registry

    for command in registry.names("command"):
        registry.load("command", command)
    assert milpcb.cli.__file__


def become(call: dict[str, Any]) -> None:
    """Make of this process what a shell would have started."""
    signal.alarm(PATIENCE)
    os.chdir(call["folder"])
    os.environ.clear()
    os.environ.update(call["environment"])
    for stream, number, flags in (("stdin", 0, os.O_RDONLY), ("stdout", 1, os.O_WRONLY), ("stderr", 2, os.O_WRONLY)):
        file = os.open(call[stream], flags)
        os.dup2(file, number)
        os.close(file)
    sys.argv[1:] = call["arguments"]


def main() -> None:
    """Serve calls, one after the other, until standard input ends; in a forked process, run the command line."""
    prepare()
    answers = os.fdopen(os.dup(1), "w")
    while line := sys.stdin.readline():
        process = os.fork()
        if not process:
            answers.close()
            become(json.loads(line))
            break
        _, status = os.waitpid(process, 0)
        print(os.waitstatus_to_exitcode(status), file=answers, flush=True)
    else:
        return
    from milpcb.cli import main as command_line

    command_line()


if __name__ == "__main__":
    main()
