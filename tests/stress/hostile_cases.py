"""Attacks on what milpcb reads: run directories, Bandit files, policy files and logs that somebody else made.

Every file is well formed on the outside, with the checksum that fits. Each case is made in a folder of its own, from
one honest run, log, policy and Bandit, which ``Base`` makes once.
"""

import hashlib
import importlib.util
import json
import marshal
import os
import shutil
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

from tests.stress.damages import STRANGE, places, put

CONFIG = """[experiment]
name = "tiny"
horizon = 20
checkpoints = 3
[environment]
name = "planted"
n_contexts = 6
n_features = 3
[policies]
name = "decision_trees"
depth = 1
[oracle]
kind = "search"
[[learners]]
name = "exp4"
[[learners]]
name = "uniform"
"""
QUIET = ("--progress", "quiet", "--backend", "serial")
QUICK = ("--draws", "0", "--resamples", "0")
LOG = "x,z,action,y,p\n" + "".join(f"{i % 7},{i % 3},{i % 2},{(i * 5) % 4},0.5\n" for i in range(60))
COLUMNS = ("--action", "action", "--reward", "y", "--propensity", "p")
PAYLOAD = """import pathlib
pathlib.Path({marker!r}).write_text("hit")
from milpcb.learners import Uniform
class X(Uniform):
    class Inner(Uniform):
        pass
"""


@dataclass(frozen=True)
class Case:
    """``make(folder)`` writes the files and returns what is called: arguments of the command line, or a function."""

    group: str
    name: str
    make: Callable[[Path], Any]


@dataclass(frozen=True)
class Base:
    """Files of honest users: a run directory, a log, a policy and a Bandit; ``outside`` is what nothing may touch."""

    home: Path
    outside: Path
    address: str

    def __getattr__(self, name: str) -> Path:
        return self.home / name


def seal(body: Any) -> bytes:
    """Return JSON with the checksum that fits; numbers that JSON does not have are written as Python writes them."""
    text = json.dumps(body).encode()
    return b'{"checksum": "' + hashlib.sha256(text).hexdigest().encode() + b'",' + text[1:]


def opened(path: Path) -> dict[str, Any]:
    body = json.loads(path.read_bytes())
    del body["checksum"]
    return dict(body)


def write_config(path: Path, text: str) -> None:
    """Write a config with the checksum of a run's own."""
    text += "[versions]\nformat = 7\nmilpcb = '0.1.0'\n"
    path.write_text(f'{text}checksum = "{hashlib.sha256(text.encode()).hexdigest()}"\n')


def replay(folder: Path, base: Base) -> Path:
    shutil.copytree(base.run, folder / "run")
    return folder / "run"


def in_run(base: Base, group: str, name: str, command: str, edit: Callable[..., Any], *given: Any) -> Case:
    """Return the attack of a command on a copy of the honest run that ``edit(base, run, *given)`` has changed."""

    def make(folder: Path) -> Any:
        edit(base, replay(folder, base), *given)
        return COMMANDS[command]

    return Case(group, f"{name}, {command}", make)


# ------------------------------------------------------------------- code

LAYOUTS = ("beside", "lib", "up", "package", "init", "deep", "bytecode", "cached")
NAMES = ("{m}:X", "{m}:X.Inner", "{m}:Nothing")
PLACES = {
    "learner": '[[learners]]\nname = "NAME"\n',
    "backend": '[run]\nbackend = "NAME"\n',
    "noise": '[[learners]]\nname = "bistro_plus"\nnoise = "NAME"\n',
    "inner learner": '[[learners]]\nname = "doubling"\noptions = { noise = "NAME" }\n',
    "mirror": '[[learners]]\nname = "doubling"\nlearner = "NAME"\n',
    "oracle": '[[learners]]\nname = "exp4"\nlabel = "b"\noracle = { kind = "NAME" }\n',
    "constraint": '[[constraints]]\nname = "NAME"\n',
}
COMMANDS = {
    "resume": ("resume", "run", *QUIET),
    "log": ("log", "run", "--learner", "uniform", "--out", "rounds.csv"),
    "learn": ("learn", "run", "--learner", "uniform", *QUICK, "--out", "found"),
    "evaluate": ("evaluate", "run", "--learner", "uniform"),
    "report": ("report", "run"),
    "plot": ("plot", "run"),
    "scheduled": ("resume", "run", "--progress", "quiet"),
}
READING = ("resume", "log", "learn", "evaluate")


def lay_out(run: Path, layout: str, number: int, base: Base) -> tuple[str, str]:
    """Write hostile code; return the module's name and what [run] needs to say."""
    module, source = f"mine{number}", PAYLOAD.format(marker=str(base.outside / "marker"))
    place, more = run, ""
    if layout == "lib":
        place, more = run / "lib", 'folder = "lib"\n'
    elif layout == "up":
        place, more = run.parent / "other", 'folder = "../other"\n'
    elif layout in {"package", "init", "deep"}:
        place = run / f"pkg{number}"
    place.mkdir(exist_ok=True)
    file = place / (f"{module}.py" if layout not in {"package", "init"} else "__init__.py")
    file.write_text(source)
    if layout == "bytecode":
        code = importlib.util.MAGIC_NUMBER + b"\0" * 12 + marshal.dumps(compile(source, str(file), "exec"))
        file.unlink()
        file.with_suffix(".pyc").write_bytes(code)
    named = {"package": f"pkg{number}", "init": f"pkg{number}.nothing", "deep": f"pkg{number}.{module}"}
    return named.get(layout, module), more


def name_code(base: Base, run: Path, layout: str, name: str, text: str, number: int) -> None:
    module, more = lay_out(run, layout, number, base)
    written = text.replace("NAME", name.format(m=module))
    if more:
        written = written + more if "[run]" in written else f"{written}[run]\n{more}"
    write_config(run / "config.toml", CONFIG + written)


def code_cases(base: Base) -> Iterator[Case]:
    """Yield directories whose config names code, wherever a name may stand."""
    for number, (layout, name, place) in enumerate(product(LAYOUTS, NAMES, PLACES)):
        what, command = f"{layout}, {name}, {place}", READING[number % 4]
        yield in_run(base, "code", what, command, name_code, layout, name, PLACES[place], number)


def ask_scheduler(base: Base, run: Path, scheme: str) -> None:
    (run / "cells").rename(run / "gone")
    (run / "cells").mkdir()
    write_config(run / "config.toml", f'{CONFIG}[run]\nbackend = "dask"\nscheduler = "{scheme}://{base.address}"\n')


def ask_file(base: Base, run: Path, place: str) -> None:
    """Let the environment be a file of the user's."""
    os.mkfifo(run.parent / "pipe")
    (run.parent / "link.csv").symlink_to(base.outside / "secret.csv")
    start, stop = CONFIG.index('name = "planted"'), CONFIG.index("[policies]")
    files = f'name = "replay"\ncontexts = "{place}"\ncosts = "{place}"\n'
    write_config(run / "config.toml", CONFIG[:start] + files + CONFIG[stop:])


def asking_cases(base: Base) -> Iterator[Case]:
    """Yield directories that ask for a scheduler, or for files of the user's."""
    for scheme, command in product(("tcp", "tls", "ws", "inproc"), READING):
        yield in_run(base, "scheduler", scheme, "scheduled" if command == "resume" else command, ask_scheduler, scheme)
    files = ("secret.csv", "../../outside/secret.csv", "/etc/passwd", "/dev/zero", "pipe", "link.csv", "\\x00")
    for place, command in product(files, READING):
        yield in_run(base, "files", place, command, ask_file, place)


def forge(base: Base, file: str, content: bytes, what: Any, folder: Path) -> Any:
    """Put a file into a folder with a log, code that it may name, and a copy of the run if it is of one."""
    (folder / "log.csv").write_text(LOG)
    (folder / "evil.py").write_text(PAYLOAD.format(marker=str(base.outside / "marker")))
    if file.startswith("run/"):
        replay(folder, base)
    (folder / file).write_bytes(content)
    return what


def value_cases(base: Base) -> Iterator[Case]:
    """Yield files of a run, of policies and of a Bandit with one value replaced, sealed again, or by names of code."""
    index = opened(base.run / "study.json")
    keys = [index["comparators"][0]["key"], index["cells"][0]["key"]]
    judged: list[Any] = [("evaluate", "log.csv", *COLUMNS, "p.json")]
    played: list[Any] = [COMMANDS[command] for command in ("report", "plot", "resume", "log")]
    run = ["run/study.json", *(f"run/cells/{key}.json" for key in keys)]
    files = [("forged", name, name, played) for name in run]
    files += [("policies", "p.json", name, judged) for name in ("policy.json", "rule.json")]
    for group, file, source, commands in [*files, ("bandits", "bandit.json", "bandit.json", [load_bandit])]:
        body = json.loads((base.home / source).read_bytes())
        body.pop("checksum", None)
        for number, path in enumerate(places(body)):
            strange = (STRANGE[(2 * number + k) % len(STRANGE)] for k in range(2))
            for value in (*strange, "evil:X", "pulp:evil:X"):
                data, command = put(body, path, value), commands[number % len(commands)]
                content = json.dumps(data).encode() if group == "policies" else seal(data)
                what = f"{source}, {'.'.join(map(str, path))} = {str(value)[:20]!r}"
                yield Case(group, what, partial(forge, base, file, content, command))
    texts = {"deep": "[" * 10**5, "huge": '{"a": ' + "9" * 10**5 + "}", "empty": "", "list": "[]"}
    for what, text in texts.items():
        yield Case("policies", what, partial(forge, base, "p.json", text.encode(), judged[0]))


def load_bandit(folder: Path) -> None:
    """Load a Bandit file from a folder that is on the path of imports, as in a service that is started there."""
    from milpcb import Bandit

    sys.path.insert(0, str(folder))
    try:
        Bandit.load(folder / "bandit.json").policy()
    finally:
        sys.path.remove(str(folder))
        sys.modules.pop("evil", None)


# ------------------------------------------------------------------- paths and links


def call_policy(_base: Base, run: Path, file: str) -> None:
    body = opened(run / "study.json")
    body["comparators"][0]["file"] = file
    body["written"] = [f"{file}.txt", "../../outside/bashrc"]
    (run / "study.json").write_bytes(seal(body))


def link(base: Base, run: Path, file: str, how: str) -> None:
    """Let a file or folder be a link, a pipe or a folder."""
    place = run / file
    shutil.rmtree(place, ignore_errors=True)
    place.unlink(missing_ok=True)
    place.parent.mkdir(exist_ok=True)
    {
        "link": lambda: place.symlink_to(base.outside / ("folder" if "." not in file else "secret.csv")),
        "hard link": lambda: place.hardlink_to(base.outside / "secret.csv"),
        "pipe": lambda: os.mkfifo(place),
        "folder": place.mkdir,
    }[how]()


def path_cases(base: Base) -> Iterator[Case]:
    """Yield run directories whose files are called by paths, or are no files."""
    files = ("../../outside/secret", "/etc/hostname", "best_policy_/../../../outside/secret")
    for file, command in product(files, ("report", "resume")):
        yield in_run(base, "paths", file, command, call_policy, file)
    index = opened(base.run / "study.json")
    file, key = index["comparators"][0]["file"], index["cells"][0]["key"]
    linked = [f"{file}.txt", f"{file}.svg", "config.toml", "study.json", "curves.csv", "report.html", "regret.png",
              ".milpcb.lock", f"cells/{key}.json", f"logs/{key}.log", "cells", "costs", "logs"]  # fmt: skip
    for file, how, command in product(linked, ("link", "hard link", "pipe", "folder"), ("report", "resume")):
        yield in_run(base, "paths", f"{file} is a {how}", command, link, file, how)


def cases(base: Base) -> list[Case]:
    makers = (code_cases, asking_cases, path_cases, value_cases)
    return [case for maker in makers for case in maker(base)]
