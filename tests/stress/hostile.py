"""Hostile files: whatever somebody else made, no code of it runs, nothing outside is written, and one line answers.

Code would write a marker, paths lead to a folder outside whose files are compared, a scheduler is a socket that counts
who connects. Without the gate everything passes, but for attacks that would wait for ever.
"""

import contextlib
import hashlib
import importlib
import io
import json
import os
import shutil
import socket
import sys
import tempfile
import threading
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.stress.hostile_cases import COLUMNS, CONFIG, LOG, QUIET, Base, Case, cases
from tests.stress.hostile_settings import settings_cases

ENDLESS = ("pipe", "/dev/zero")  # without the gate these are waited for, or read, for ever


def call(words: tuple[str, ...]) -> tuple[int, str, str]:
    """Run the command line in this process; return its exit code and what it wrote."""
    from milpcb.cli import main

    out, err, before = io.StringIO(), io.StringIO(), sys.argv
    sys.argv, code = ["milpcb", *words], 0
    console = importlib.import_module("milpcb.commands.console")
    for name, stream in (("out", out), ("err", err)):
        getattr(console, name).file = stream
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            main()
    except SystemExit as ended:
        code = ended.code if isinstance(ended.code, int) else 1
    finally:
        sys.argv = before
    return code, out.getvalue(), err.getvalue()


def outcome(case: Case, folder: Path, base: Base, connected: list[Any]) -> list[str]:
    """Carry out one attack; return what it did that it may not."""
    from milpcb.errors import MilpcbError

    before, calls = state(base.outside), len(connected)
    folder.mkdir()
    found: list[str] = []
    what = case.make(folder)
    here = Path.cwd()
    os.chdir(folder)
    try:
        with warnings.catch_warnings(), contextlib.suppress(MilpcbError):
            warnings.simplefilter("ignore")
            if callable(what):
                found += what(folder) or []
            else:
                found += complaints(*call(what))
    except BaseException as error:  # noqa: BLE001 - an attack may end in anything
        found.append(f"raised {type(error).__name__}: {str(error)[:150]}")
    finally:
        os.chdir(here)
    if (base.outside / "marker").exists():
        found.append("ran code of a file")
        (base.outside / "marker").unlink()
    if state(base.outside) != before:
        found.append("wrote outside the directory")
        restore(base.outside)
    if len(connected) > calls:
        found.append("connected to a scheduler")
    if any(
        "TOP-SECRET" in page.read_text(errors="replace")
        for page in folder.rglob("*.html")
        if page.is_file() and not page.is_symlink() and page.stat().st_nlink == 1
    ):
        found.append("showed a file of outside on a page")
    shutil.rmtree(folder, ignore_errors=True)
    return found


def complaints(code: int, out: str, err: str) -> list[str]:
    """Return what is wrong with how a command ended."""
    found = []
    if "Traceback" in out + err:
        found.append("a traceback")
    if "unexpected error" in err:
        found.append(f"an unexpected error: {err[err.index('unexpected') :][:150]}")
    if code not in {0, 2}:
        found.append(f"exit code {code}")
    if code == 2 and not err.splitlines()[-1:][0].startswith("milpcb: "):
        found.append(f"no line: {err[:80]!r}")
    if any(sign in out + err for sign in "\x1b\x07"):
        found.append("a control character on the terminal")
    return found


def state(outside: Path) -> str:
    """Return a digest of all files outside, but for the marker."""
    parts = [f"{file.relative_to(outside)} {hashlib.sha256(file.read_bytes()).hexdigest()}"
             for file in sorted(outside.rglob("*")) if file.is_file() and file.name != "marker"]  # fmt: skip
    return "\n".join(parts)


def restore(outside: Path) -> None:
    """Write the files outside anew."""
    shutil.rmtree(outside, ignore_errors=True)
    (outside / "folder").mkdir(parents=True)
    (outside / "bashrc").write_text("mine")
    (outside / "secret.csv").write_text("TOP-SECRET\n1\n2\n")
    (outside / "secret.txt").write_text("TOP-SECRET")
    (outside / "folder/file").write_text("mine")


def prepare(place: Path) -> None:
    """Make what honest users have, below a folder: a run, a policy of a log, a rule, a Bandit."""
    import milpcb
    from policies import DecisionTrees

    (place / "home").mkdir()
    here = Path.cwd()
    os.chdir(place / "home")
    try:
        Path("tiny.toml").write_text(CONFIG)
        Path("log.csv").write_text(LOG)
        for words in (
            ("run", "tiny.toml", "--out", "run", *QUIET),
            ("report", "run"),
            ("learn", "log.csv", *COLUMNS, "--draws", "0", "--resamples", "0", "--depth", "1", "--out", "found"),
        ):
            code, _, err = call(words)
            if code:
                raise SystemExit(f"an honest command failed: {words}: {err}")
        shutil.copy("found/policy.json", "policy.json")
        Path("rule.json").write_text(json.dumps(json.loads(Path("policy.json").read_text())["policy"]))
        names = {"feature_names": ["a", "b"], "action_names": ["x", "y"]}
        bandit = milpcb.Bandit(DecisionTrees(n_actions=2, depth=1, thresholds=[[1.5], [0.5]], **names), seed=0)
        for i in range(6):
            decision = bandit.act([i % 3, i % 2])
            if i < 5:
                bandit.learn(decision, cost=0.5)
        bandit.save("bandit.json")
    finally:
        os.chdir(here)


@contextlib.contextmanager
def listening() -> Iterator[tuple[str, list[Any]]]:
    """Yield the address of a socket that takes connections, and the list of those that came."""
    came: list[Any] = []
    with socket.create_server(("127.0.0.1", 0)) as server:

        def accept() -> None:
            with contextlib.suppress(OSError):
                while True:
                    came.append(server.accept()[0])
                    came[-1].close()

        threading.Thread(target=accept, daemon=True).start()
        yield f"127.0.0.1:{server.getsockname()[1]}", came


def take_the_gate_out() -> None:
    """Let everything pass: names, paths, links, schemas, sizes, what a config asks for."""
    from milpcb.core import gate
    from milpcb.data import tables
    from milpcb.experiments.results import schemas, store
    from milpcb.experiments.study import fingerprints
    from milpcb.plugins import local_classes, registry

    for name in ("run", "resume", "log", "learn", "evaluate", "report", "plot", "certify", "solve"):
        registry.load("command", name)
    for module in ("milpcb.experiments.run.runner", "milpcb.logs.folder",
                   "milpcb.experiments.results.report", "milpcb.bandit"):  # fmt: skip
        importlib.import_module(module)

    @contextlib.contextmanager
    def no_limit(_what: str) -> Iterator[None]:
        yield

    @contextlib.contextmanager
    def on_path() -> Iterator[None]:
        folder = [str(folder) for folder in local_classes.folders()]
        sys.path[:] = [*sys.path, *folder]
        try:
            yield
        finally:
            sys.path[:] = sys.path[: len(sys.path) - len(folder)]

    def file_of(directory: Path, what: str, key: str) -> Path:
        folder, suffix = store._PLACES.get(what, ("cells", what))
        return directory / folder / f"{key}.{suffix}"

    instead = {
        gate.registered_only: no_limit,
        gate.check_registered: lambda *_: None,
        gate.plain_name: lambda text: text,
        gate.inside: lambda root, *parts: root.joinpath(*parts),
        gate.read_bytes: lambda path, **_: Path(path).read_bytes(),
        gate.read_json: lambda text, **_: json.loads(text),
        local_classes.check: lambda *_: None,
        local_classes.open_folder: on_path,
        fingerprints.foreign_parts: lambda _: [],
        schemas.checked: lambda _, data: data or {}["nothing"],
        store.file_of: file_of,
        tables.check_table: lambda _: None,
    }
    for module in [module for name, module in sys.modules.items() if name.partition(".")[0] in {"milpcb", "policies"}]:
        for name, value in list(vars(module).items()):
            if callable(value) and getattr(value, "__hash__", None) and value in instead:
                setattr(module, name, instead[value])


def attack(place: Path, most: int, only: str = "", *, gate: bool = True) -> dict[str, list[str]]:
    """Try so many attacks, evenly spread, of all groups or of one; return what each did that it may not.

    Without the gate the first that runs code of a file is the last.
    """
    if not gate:
        take_the_gate_out()
    found: dict[str, list[str]] = {}
    with tempfile.TemporaryDirectory(prefix="hostile-") as name, listening() as (address, connected):
        base = Base(place / "home", Path(name).resolve() / "outside", address)
        restore(base.outside)
        every = [*cases(base), *settings_cases(base, opened=not gate)]
        every = [case for case in every if gate or not any(word in case.name for word in ENDLESS)]
        every = [case for case in every if not only or case.group == only]
        for number, case in enumerate(every[:: -(-len(every) // most)]):
            harms = outcome(case, base.outside.parent / f"case{number}", base, connected)
            found[f"{number}, {case.group}: {case.name}"] = harms
            if not gate and "ran code of a file" in harms:
                break
    return found
