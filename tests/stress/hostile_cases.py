"""Attacks on what milpcb reads: run directories, Bandit files, policy files and logs that somebody else made.

Every file is well formed on the outside, with the checksum that fits. Each case is made in a folder of its own, from
one honest run, log, policy and Bandit, which ``Base`` makes once.
"""

import copy
import hashlib
import importlib.util
import json
import marshal
import os
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

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
    kept: str = ""  # a file in the folder that is the user's own: what is called must leave it as it was made


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
    """Return what a sealed file holds."""
    body = json.loads(path.read_bytes())
    del body["checksum"]
    return dict(body)


def write_config(path: Path, text: str) -> None:
    """Write a config with the checksum of a run's own."""
    text += "[versions]\nformat = 7\nmilpcb = '0.1.0'\n"
    path.write_text(f'{text}checksum = "{hashlib.sha256(text.encode()).hexdigest()}"\n')


def replay(folder: Path, base: Base) -> Path:
    """Copy the honest run."""
    shutil.copytree(base.run, folder / "run")
    return folder / "run"


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
    "learn": ("learn", "run", "--learner", "uniform", "--draws", "0", "--resamples", "0", "--out", "found"),
    "evaluate": ("evaluate", "run", "--learner", "uniform"),
    "report": ("report", "run"),
    "plot": ("plot", "run"),
}


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
    if layout in {"package", "init"}:
        (place / "__init__.py").write_text(source)
        return (f"pkg{number}" if layout == "package" else f"pkg{number}.nothing"), more
    if layout == "deep":
        (place / f"{module}.py").write_text(source)
        return f"pkg{number}.{module}", more
    file = place / f"{module}.py"
    file.write_text(source)
    if layout == "bytecode":
        code = importlib.util.MAGIC_NUMBER + b"\0" * 12 + marshal.dumps(compile(source, str(file), "exec"))
        file.unlink()
        file.with_suffix(".pyc").write_bytes(code)
    return module, more


def code_cases(base: Base) -> Iterator[Case]:
    """Yield directories whose config names code, wherever a name may stand."""
    number = 0
    for layout in LAYOUTS:
        for name in NAMES:
            for place, text in PLACES.items():
                command = list(COMMANDS)[number % 4]
                number += 1

                def make(folder: Path, layout=layout, name=name, text=text, command=command, number=number) -> Any:
                    run = replay(folder, base)
                    module, more = lay_out(run, layout, number, base)
                    written = text.replace("NAME", name.format(m=module))
                    if more:
                        written = written + more if "[run]" in written else f"{written}[run]\n{more}"
                    write_config(run / "config.toml", CONFIG + written)
                    return COMMANDS[command]

                yield Case("code", f"{layout}, {name}, {place}, {command}", make)


def asking_cases(base: Base) -> Iterator[Case]:
    """Yield directories that ask for a scheduler, or for files of the user's."""
    for scheme in ("tcp", "tls", "ws", "inproc"):
        for command in ("resume", "log", "learn", "evaluate"):

            def make(folder: Path, scheme=scheme, command=command) -> Any:
                run = replay(folder, base)
                (run / "cells").rename(run / "gone")
                (run / "cells").mkdir()
                text = f'[run]\nbackend = "dask"\nscheduler = "{scheme}://{base.address}"\n'
                write_config(run / "config.toml", CONFIG + text)
                return tuple(word for word in COMMANDS[command] if word not in {"--backend", "serial"})

            yield Case("scheduler", f"{scheme}, {command}", make)
    for place in ("secret.csv", "../../outside/secret.csv", "/etc/passwd", "/dev/zero", "pipe", "link.csv", "\\x00"):
        for command in ("resume", "log", "learn", "evaluate"):

            def make_file(folder: Path, place=place, command=command) -> Any:
                run = replay(folder, base)
                os.mkfifo(folder / "pipe")
                (folder / "link.csv").symlink_to(base.outside / "secret.csv")
                start, stop = CONFIG.index('name = "planted"'), CONFIG.index("[policies]")
                files = f'name = "replay"\ncontexts = "{place}"\ncosts = "{place}"\n'
                write_config(run / "config.toml", CONFIG[:start] + files + CONFIG[stop:])
                return COMMANDS[command]

            yield Case("files", f"{place}, {command}", make_file)


# ------------------------------------------------------------------- forged files of a run


STRANGE: list[Any] = [
    None, True, -1, 2**80, 1e308, float("nan"), float("inf"), "x", "", "../../x", "/etc/passwd", "a\nb", "\x1b]0;x\x07",
    "<script>alert(1)</script>", "$\\frac{", [], {}, [[]], {"a": 1}, [None], "9" * 3000,
]  # fmt: skip


def places(data: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the path of every value of plain data, of lists the first."""
    if path:
        yield path
    items = data.items() if isinstance(data, dict) else enumerate(data[:1]) if isinstance(data, list) else ()
    for key, value in items:
        yield from places(value, (*path, key))


def put(data: Any, path: tuple[Any, ...], value: Any) -> Any:
    """Return plain data with one value replaced."""
    changed = copy.deepcopy(data)
    place = changed
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    return changed


def forged_cases(base: Base) -> Iterator[Case]:
    """Yield run directories with one value of one file replaced, sealed again."""
    index = opened(base.run / "study.json")
    drawn = index["leaders"][0]["key"]
    files = ["study.json", f"cells/{index['comparators'][0]['key']}.json", f"cells/{drawn}.json"]
    number = 0
    for file in files:
        body = opened(base.run / file)
        for path in places(body):
            for _ in range(3):
                value = STRANGE[number % len(STRANGE)]
                command = ("report", "plot", "resume", "log")[(number // 3) % 4]
                number += 1

                def make(folder: Path, file=file, body=body, path=path, value=value, command=command) -> Any:
                    run = replay(folder, base)
                    (run / file).write_bytes(seal(put(body, path, value)))
                    return COMMANDS[command]

                yield Case("forged", f"{file}, {'.'.join(map(str, path))} = {str(value)[:20]!r}, {command}", make)


def picture_cases(base: Base) -> Iterator[Case]:
    """Yield run directories whose pictures are called by paths: of a file outside, or of one whose copy lands there."""
    comparator = opened(base.run / "study.json")["comparators"][0]
    target = "../../../outside/bashrc"
    suffixes = [f"x/{target}", f"png/{target}", target, "../x", "html", "json", "/etc/x", "x\n", f"x/{target}"]
    for number, suffix in enumerate(suffixes):

        def make(folder: Path, suffix=suffix, number=number) -> Any:
            run = replay(folder, base)
            (run / f"cells/{comparator['key']}.x").mkdir()
            (run / f"{comparator['file']}.x").mkdir()
            source = Path(os.path.normpath(run / "cells" / f"{comparator['key']}.{suffix}"))
            content = (base.outside / "bashrc").read_bytes()
            if number > 2 and "\n" not in suffix and source.is_relative_to(folder) and not source.exists():
                source.parent.mkdir(parents=True, exist_ok=True)
                content = b"new"
                source.write_bytes(content)
            record = opened(run / f"cells/{comparator['key']}.json")
            record["pictures"] = {suffix: hashlib.sha256(content).hexdigest()}
            (run / f"cells/{comparator['key']}.json").write_bytes(seal(record))
            return COMMANDS["resume"]

        yield Case("paths", f"picture {suffix!r}", make)


def named_cases(base: Base) -> Iterator[Case]:
    """Yield run directories whose files of policies are called by paths."""
    for file in ("../../outside/secret", "/etc/hostname", "best_policy_/../../../outside/secret", "leader_x/../../x"):
        for where in ("comparators", "leaders"):
            for command in ("report", "resume"):

                def name_file(folder: Path, file=file, where=where, command=command) -> Any:
                    run = replay(folder, base)
                    body = opened(run / "study.json")
                    body[where][0]["file"] = file
                    body["written"] = [f"{file}.txt", "../../outside/bashrc"]
                    (run / "study.json").write_bytes(seal(body))
                    return COMMANDS[command]

                yield Case("paths", f"{where} {file}, {command}", name_file)


def link_cases(base: Base) -> Iterator[Case]:
    """Yield run directories in which a file or folder is a link, a pipe or a folder."""
    index = opened(base.run / "study.json")
    comparator = index["comparators"][0]
    leader = index["leaders"][0]
    linked = [f"{comparator['file']}.txt", f"{leader['file']}.svg", "config.toml", "study.json", "curves.csv",
              "report.html", "regret.png", ".milpcb.lock", f"cells/{leader['key']}.json", f"logs/{leader['key']}.log",
              "cells", "costs", "logs"]  # fmt: skip
    for file in linked:
        for how in ("link", "hard link", "pipe", "folder"):
            for command in ("report", "resume"):

                def make_link(folder: Path, file=file, how=how, command=command) -> Any:
                    run = replay(folder, base)
                    place = run / file
                    shutil.rmtree(place, ignore_errors=True)
                    place.unlink(missing_ok=True)
                    place.parent.mkdir(exist_ok=True)
                    if how == "link":
                        place.symlink_to(base.outside / ("folder" if "." not in file else "secret.csv"))
                    elif how == "hard link":
                        place.hardlink_to(base.outside / "secret.csv")
                    elif how == "pipe":
                        os.mkfifo(place)
                    else:
                        place.mkdir()
                    return COMMANDS[command]

                yield Case("paths", f"{file} is a {how}, {command}", make_link)


def learned_cases(base: Base) -> Iterator[Case]:
    """Yield folders for ``milpcb learn --out`` with an index that calls the user's own file one of a run, or links."""
    kinds: dict[str, Callable[[str, str], Any]] = {
        "list": lambda file, _: [file, "../../outside/bashrc"],
        "digest": lambda file, _: {file: ["0" * 64]},
        "digest of outside": lambda file, other: {file: [other], "../../outside/bashrc": [other]},
        "nothing": lambda *_: {},
        "strange": lambda file, _: {file: None},
    }
    for file in ("policy.txt", "policy.json", "policy.py", "policy.sql", "policy.svg", "policy.png", "report.html"):
        for what, index in kinds.items():
            for how in ("file", "link", "hard link"):

                def make(folder: Path, file=file, index=index, how=how) -> Any:
                    aim = base.outside / "secret.txt"
                    shutil.copytree(base.found, folder / "found")
                    place = folder / "found" / file
                    place.unlink(missing_ok=True)
                    if how == "file":
                        place.write_text("mine")
                    elif how == "link":
                        place.symlink_to(aim)
                    else:
                        place.hardlink_to(aim)
                    other = hashlib.sha256(aim.read_bytes()).hexdigest()
                    (folder / "found/learned.json").write_bytes(seal({"written": index(file, other)}))
                    (folder / "log.csv").write_text(LOG)
                    return ("learn", "log.csv", *COLUMNS, "--draws", "0", "--resamples", "0", "--depth", "1",
                            "--out", "found")  # fmt: skip

                kept = f"found/{file}" if how == "file" else ""
                yield Case("learned", f"{file} is a {how}, its index has {what}", make, kept)


# ------------------------------------------------------------------- logs, policies, Bandits


def log_cases(_base: Base) -> Iterator[Case]:
    """Yield logs that are none; what is compressed, wide or of odd rows is in tests/test_tables.py and tests/logs."""
    contents: dict[str, Callable[[], bytes]] = {
        "zip": lambda: b"PK\3\4" + b"0" * 99,
        "numbers": lambda: b"x,action,y,p\n1e999,1,nan,inf\n",
        "controls": lambda: b"x\x1b[2J,action,y,p\n1,\x07,1,1\n",
        "one cell": lambda: LOG.encode() + b'"' + b"1" * 10**7 + b'",1,1,1,0.5\n',
    }
    commands = {
        "learn": ("learn", "LOG", *COLUMNS, "--draws", "0", "--resamples", "0", "--out", "found"),
        "evaluate": ("evaluate", "LOG", *COLUMNS), "certify": ("certify", "LOG", "--depth", "1"),
        "solve": ("solve", "LOG", "LOG", "--depth", "1"),
    }  # fmt: skip
    for what, content in contents.items():
        for command, words in commands.items():
            for suffix in (".csv", ".parquet"):

                def make(folder: Path, content=content, words=words, suffix=suffix) -> Any:
                    (folder / f"log{suffix}").write_bytes(content())
                    return tuple(word.replace("LOG", f"log{suffix}") for word in words)

                yield Case("logs", f"{what}, {suffix}, {command}", make)


def policy_cases(base: Base) -> Iterator[Case]:
    """Yield policy files with one value replaced, or with a string that no policy is written as."""
    for file in ("policy.json", "rule.json"):
        document = json.loads((base.home / file).read_text())
        for number, path in enumerate(places(document)):
            for value in (STRANGE[number % len(STRANGE)], "evil:X", [[[[0]]]]):

                def make(folder: Path, document=document, path=path, value=value) -> Any:
                    (folder / "log.csv").write_text(LOG)
                    (folder / "p.json").write_text(json.dumps(put(document, path, value)))
                    return ("evaluate", "log.csv", *COLUMNS, "p.json")

                yield Case("policies", f"{file}, {'.'.join(map(str, path))} = {str(value)[:20]!r}", make)
    for what, text in {"deep": "[" * 10**5, "huge": '{"a": ' + "9" * 10**5 + "}", "empty": "", "list": "[]"}.items():

        def make_text(folder: Path, text=text) -> Any:
            (folder / "log.csv").write_text(LOG)
            (folder / "p.json").write_text(text)
            return ("evaluate", "log.csv", *COLUMNS, "p.json")

        yield Case("policies", what, make_text)


def bandit_cases(base: Base) -> Iterator[Case]:
    """Yield Bandit files that name code, or with one value replaced, sealed again."""
    whole = json.loads((base.home / "bandit.json").read_bytes())
    whole.pop("checksum", None)
    for number, path in enumerate(places(whole)):
        for name in (STRANGE[number % len(STRANGE)], f"evil{number}:X", f"pulp:evil{number}:X"):

            def make(folder: Path, path=path, name=name, number=number) -> Any:
                (folder / f"evil{number}.py").write_text(PAYLOAD.format(marker=str(base.outside / "marker")))
                (folder / "bandit.json").write_bytes(seal(put(whole, path, name)))
                return load_bandit

            yield Case("bandits", f"{'.'.join(map(str, path))} = {str(name)[:20]!r}", make)


def load_bandit(folder: Path) -> None:
    """Load a Bandit file from a folder that is on the path of imports, as in a service that is started there."""
    import sys

    from milpcb import Bandit

    sys.path.insert(0, str(folder))
    try:
        Bandit.load(folder / "bandit.json").policy()
    finally:
        sys.path.remove(str(folder))


def cases(base: Base) -> list[Case]:
    """Return all attacks."""
    makers = (
        code_cases,
        asking_cases,
        picture_cases,
        named_cases,
        link_cases,
        forged_cases,
        learned_cases,
        log_cases,
        policy_cases,
        bandit_cases,
    )
    return [case for maker in makers for case in maker(base)]
