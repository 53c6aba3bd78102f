"""The command line in processes of its own, without a second of imports for each: one process imports, and forks.

Every line of standard input is a call, as JSON: the folder, the arguments, the environment, the files that standard
output and standard error go to. The answer is a line with the exit code. A call has all that is its own of a process:
folder, environment, streams, modules, signals, exit code. Calls that need a new interpreter (limits of the system,
other streams, PYTHON... variables) get one from the conftest.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from importlib import import_module
from pkgutil import walk_packages
from typing import Any

PATIENCE = 600  # seconds after which a call is ended that hangs


LATE = (
    *("matplotlib.backends.backend_agg", "matplotlib.backends.backend_svg", "matplotlib.figure", "polars"),
    *("highspy", "jinja2", "networkx", "numpy.testing", "pulp", "rich.progress", "rich.table", "scipy.optimize"),
)  # what our modules import when they need it


def prepare() -> None:
    """Import what commands import, and load the machine code of a small search; start no thread."""
    import milpcb
    import policies

    for package in (milpcb, policies):
        for module in walk_packages(package.__path__, f"{package.__name__}."):
            if not module.name.endswith("__main__"):
                import_module(module.name)
    for name in LATE:
        import_module(name)
    contexts = [[0.0, 1.0], [1.0, 0.0]]
    oracle = milpcb.open_oracle(policies.DecisionTrees(2, depth=1), contexts, kind="search")
    oracle.minimise([[0.0, 1.0], [1.0, 0.0]])


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
