"""The command line, or a program, in processes of its own, without a second of imports for each.

One process imports, and forks. Every line of its standard input is a call, as JSON: the folder, the arguments, the
environment, the limits of the system, the files that standard output and standard error go to, perhaps a program to run
instead of the command, and whether pictures may be sketches. The answer is a line with the exit code. A call has all
that is its own of a process: folder, environment, limits, streams, modules, signals, exit code. Calls that need a new
interpreter (other streams, PYTHON... variables) get one from the conftest.
"""

import atexit
import gc
import json
import os
import resource
import signal
import sys
from importlib import import_module
from pkgutil import walk_packages
from types import ModuleType
from typing import Any

PATIENCE = 600  # seconds after which a call is ended that hangs
ended: list[int] = []  # the exit code, once a call is over


LATE = (
    *("matplotlib.backends.backend_agg", "matplotlib.backends.backend_svg", "matplotlib.figure", "polars"),
    *("highspy", "jinja2", "networkx", "numpy.testing", "pulp", "rich.progress", "rich.table", "scipy.optimize"),
)  # what our modules import when they need it


def leave() -> None:
    """End a call that is over without taking apart all that was imported, which takes longer than most calls.

    What the call itself leaves open is collected, so that Python warns of it. An output that cannot be written is
    left to Python too.
    """
    if ended:
        gc.collect()
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(ended[0])


def prepare() -> None:
    """Import what commands import, and load the machine code of a small search; start no thread.

    What is there then lives as long as the process: no collection in a call goes through it, and copies it.
    """
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
    gc.collect()
    gc.freeze()


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
    for what, limit in call["limits"].items():
        resource.setrlimit(getattr(resource, what), (limit, limit))
    sys.argv[1:] = call["arguments"]
    # Where nobody asks for processes: studies of seconds, which would import all there is once more.
    import_module("milpcb.experiments.run.runner").cores = lambda: 1
    if call.get("sketches"):
        from matplotlib.figure import Figure
        from sketches import sketch  # beside this file

        Figure.savefig = sketch


def run_program(text: str) -> None:
    """Run a Python program as ``python -c`` does: as the main module, with the folder first on the path."""
    module = sys.modules["__main__"] = ModuleType("__main__")
    sys.path.insert(0, "")
    exec(compile(text, "<string>", "exec"), module.__dict__)  # noqa: S102 - what tests show to readers


def main() -> None:
    """Serve calls, one after the other, until standard input ends; in a forked process, run the command line."""
    atexit.register(leave)  # before all imports, so that it is the last to be called
    prepare()
    answers = os.fdopen(os.dup(1), "w")
    while line := sys.stdin.readline():
        process = os.fork()
        if not process:
            answers.close()
            call = json.loads(line)
            become(call)
            break
        _, status = os.waitpid(process, 0)
        print(os.waitstatus_to_exitcode(status), file=answers, flush=True)
    else:
        answers.close()
        return
    from milpcb.cli import main as command_line

    try:
        if "program" in call:
            run_program(call["program"])
        else:
            command_line()
        ended.append(0)
    except SystemExit as stop:
        if isinstance(stop.code, int):
            ended.append(stop.code)
        raise


if __name__ == "__main__":
    main()
