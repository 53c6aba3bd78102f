"""Attacks by hidden settings: files, links and pipes in the current folder that libraries look for by themselves.

Each case is a folder with the settings of every library that milpcb starts, and a command that is called there, in a
process of its own, as libraries look for most of them when they are imported. Code would write a marker, a server would
be the socket that counts who connects, and pictures are compared with those of an honest folder.
"""

import contextlib
import os
import pickle
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from tests.stress.hostile_cases import COLUMNS, CONFIG, LOG, Base, Case, replay

SECONDS, PAUSE = 180, 0.5  # after which a process is taken to wait for ever; between two looks at what it has done
EVIL = "evil_settings"
GROUPS = (*("milpcb.policy", "milpcb.command", "milpcb.learner", "milpcb.figure"), "pydantic", "narwhals.plugins",
          "dask.sizeof", "distributed.comm.backends", "pandas_plotting_backends", "joblib.backends")  # fmt: skip
# Modules that Python, or milpcb, looks for, and would find in the current folder if that stood first.
SHADOWS = ("multiprocessing", "sitecustomize", "usercustomize", "polars", "matplotlib", "highspy", "yaml", "dask")
QUICK = ("--draws", "0", "--resamples", "0")

# Commands, and whether they are called in a run directory.
COMMANDS: dict[str, tuple[tuple[str, ...], bool]] = {
    "plot": (("plot", "."), True),
    "resume": (("resume", ".", "--progress", "quiet"), True),
    "log": (("log", ".", "--learner", "uniform", "--out", "rounds.csv"), True),
    "report": (("report", "."), True),
    "learn": (("learn", "log.csv", *COLUMNS, *QUICK, "--depth", "1", "--out", "found"), False),
    "certify": (("certify", "log.csv", "--depth", "1"), False),
    "evaluate": (("evaluate", "log.csv", *COLUMNS, "policy.json"), False),
    "run": (("run", "tiny.toml", "--out", "run", "--progress", "quiet"), False),
    "dask": (("run", "tiny.toml", "--out", "run", "--progress", "quiet", "--backend", "dask"), False),
    "solvers": (("solvers",), False),
}
SOLVERS = ("gurobi", "copt", "xpress", "cplex", "scip", "highs", "pulp:PULP_CBC_CMD", "pulp:GUROBI", "pulp:COPT")
PICTURES = {"plot": "regret.svg", "learn": "found/policy.svg", "run": "run/regret.svg", "dask": "run/regret.svg"}

# Actions of a service in the folder that it was started in, which is on the path of imports.
SERVICE = """
import sys
sys.path.append("")
import milpcb
bandit = milpcb.Bandit.load("bandit.json")
bandit.learn(bandit.act([1, 0]), cost=0.5)
bandit.save("bandit.json")
"""
SOLVE = """
import milpcb
from policies import DecisionTrees
oracle = milpcb.open_oracle(DecisionTrees(2, depth=1), [[0.0], [1.0]], kind="milp", solver={solver!r})
print(oracle.value([[0, 1], [1, 0]]))
"""
CAUGHT = """
import milpcb
try:
    exec({program!r})
except milpcb.errors.MilpcbError as error:
    sys.exit(f"milpcb: {{error}}")
"""
COMMAND = "import sys; from milpcb.__main__ import main; sys.argv[1:] = {words!r}; main()"
# Before milpcb is imported: its own module without any effect, as what it closes is read while others are imported.
OPENED = """
import sys
from importlib.metadata import entry_points
from importlib.util import find_spec, module_from_spec, spec_from_file_location
from contextlib import contextmanager
from pathlib import Path
file = Path(find_spec("milpcb").submodule_search_locations[0]) / "core/surroundings.py"
spec = spec_from_file_location("milpcb.core.surroundings", file)
module = sys.modules["milpcb.core.surroundings"] = module_from_spec(spec)
spec.loader.exec_module(module)
@contextmanager
def nothing(*_):
    yield
module.CHILD.clear()
module.unseen = module.plain = nothing
module.leave = module.close = lambda *_: None
module.entry_points, module.settings_here = entry_points, lambda _: []
module.is_own = lambda folder: folder.mkdir(parents=True, exist_ok=True) or True
"""


class _Payload:
    """Unpickled, it writes the marker."""

    def __init__(self, marker: str) -> None:
        self.marker = marker

    def __reduce__(self) -> tuple[Any, ...]:
        return exec, (f"import pathlib; pathlib.Path({self.marker!r}).write_text('hit')",)


def settings(base: Base) -> dict[str, str]:
    """Return the text of every hidden file, by its path in the folder; all of them name what the attacker wants."""
    marker, port = str(base.outside / "marker"), base.address.partition(":")[2]
    code = f"import pathlib\npathlib.Path({marker!r}).write_text('hit')\ndef init(*_): pass\nX = init\n"
    points = "".join(f"[{group}]\nevil = {EVIL}:X\n" for group in GROUPS) + f"[numba_extensions]\ninit = {EVIL}:init\n"
    dask = f"distributed:\n  worker:\n    preload: [{EVIL}]\n  scheduler:\n    preload: [{EVIL}]\n"
    return {
        ".numba_config.yaml": "cache_dir: cc\n",
        "matplotlibrc": "lines.linewidth: 0\nfont.size: 30\npatch.facecolor: red\n",
        "gurobi.env": f"LogFile {base.outside / 'bashrc'}\n",
        "client.ini": f"Host = 127.0.0.1\nPort = {port}\nWaitTime = 1\n",
        "license.dat": f"VERSION = 8.0\nSERVER = {base.address}\n",
        "xpcalllog.cfg": f"logfile={base.outside / 'bashrc'}\n",
        **dict.fromkeys(
            ("scip.set", "cplex.par", "highs.opt", "HiGHS_options.txt", "cbc.par", "glpk.cfg"), "time = 0\n"
        ),
        **dict.fromkeys(
            (".pulp.cfg", "pulp.cfg", ".coba", ".duckdbrc", ".polarsrc", "setup.cfg", ".env"), "[x]\ny = 1\n"
        ),
        **dict.fromkeys(("dask.yaml", ".dask.yaml", "~/.config/dask/dask.yaml", ".config/dask/dask.yaml"), dask),
        f"{EVIL}-1.dist-info/METADATA": f"Metadata-Version: 2.1\nName: {EVIL}\nVersion: 1\n",
        f"{EVIL}-1.dist-info/entry_points.txt": points,
        **{f"{name}.py": code for name in (EVIL, *SHADOWS)},
    }


def lay(folder: Path, kind: str, base: Base) -> None:
    """Write all hidden files as files, as links to files of elsewhere, or as pipes; code is files, or links."""
    kept = folder.parent / "linked"
    for name, text in settings(base).items():
        place = folder / name
        place.parent.mkdir(parents=True, exist_ok=True)
        if kind == "pipe" and place.suffix != ".py":
            os.mkfifo(place)
        elif kind == "link":
            aim = kept / name
            aim.parent.mkdir(parents=True, exist_ok=True)
            aim.write_text(text)
            place.symlink_to(aim)
        else:
            place.write_text(text)


def forge(folder: Path, base: Base) -> None:
    """Write code as machine code into the folder that the settings of numba name, under the names it would have."""
    from numba.core.dispatcher import Dispatcher

    from milpcb.core.kernels import _checksum

    content = pickle.dumps(_Payload(str(base.outside / "marker")))
    ours = [vars(module) for name, module in sys.modules.items() if name.startswith(("milpcb.", "policies."))]
    for kernel in [value for names in ours for value in names.values() if isinstance(value, Dispatcher)]:
        if kernel.stats.cache_path:
            place = folder / "cc" / Path(kernel.stats.cache_path).name
            place.mkdir(parents=True, exist_ok=True)
            name = f"{kernel._cache._impl.filename_base}.nbi"
            (place / name).write_bytes(_checksum(content) + content)


def run(program: str, folder: Path, marker: Path, *, opened: bool) -> list[str]:
    """Run a program of Python in a folder, which is not on the path of imports; return what is wrong with its end.

    It need not end once hostile code has written the marker.
    """
    whole = "import sys; del sys.path[0]\n" + (OPENED if opened else "") + CAUGHT.format(program=program)
    surroundings = {name: value for name, value in os.environ.items() if name != "PYTHONSAFEPATH"}
    child = subprocess.Popen(
        [sys.executable, "-c", whole], cwd=folder, env=surroundings, text=True, start_new_session=True,
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    for _ in range(int(SECONDS / PAUSE)):
        with contextlib.suppress(subprocess.TimeoutExpired):
            out, err = child.communicate(timeout=PAUSE)
            break
        if marker.exists():
            break
    if child.returncode is None:
        os.killpg(child.pid, 9)
        child.communicate()
        return ["hung"]
    found = ["a traceback"] if "Traceback" in out + err else []
    found += ["an unexpected error"] if "unexpected error" in err else []
    return found + ([] if child.returncode in {0, 1, 2} else [f"exit code {child.returncode}"])


def settings_cases(base: Base, *, opened: bool = False) -> Iterator[Case]:
    """Yield folders with hidden settings, and every command that is called there; ``opened``: nothing is closed."""
    for kind in ("file", "link", "pipe"):
        yield Case("settings", f"Bandit.load, {kind}", _maker(base, kind, SERVICE, opened=opened))
        for name, (words, within) in COMMANDS.items():
            program = COMMAND.format(words=list(words))
            yield Case("settings", f"{name}, {kind}", _maker(base, kind, program, name, within=within, opened=opened))
        for solver in SOLVERS:
            program = SOLVE.format(solver=solver)
            yield Case("settings", f"solver {solver}, {kind}", _maker(base, kind, program, opened=opened))


def _maker(
    base: Base, kind: str, program: str, name: str = "", *, within: bool = False, opened: bool = False
) -> Callable[[Path], Any]:
    def make(folder: Path) -> Any:
        place = replay(folder, base) if within else folder
        if name == "resume":
            shutil.rmtree(place / "cells")
            (place / "cells").mkdir()
        for file, text in {"log.csv": LOG, "tiny.toml": CONFIG}.items():
            (folder / file).write_text(text)
        for file in ("policy.json", "bandit.json"):
            shutil.copy(base.home / file, folder / file)
        if picture := PICTURES.get(name):
            (place / picture).unlink(missing_ok=True)
        lay(place, kind, base)
        forge(place, base)

        def called(_folder: Path) -> list[str]:
            found = run(program, place, base.outside / "marker", opened=opened)
            honest = base.run if within else base.home
            if picture and not found and (place / picture).read_bytes() != (honest / picture).read_bytes():
                found.append("changed a picture")
            return found

        return called

    return make
