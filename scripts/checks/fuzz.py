"""Put mutated configs, tables, command lines and plug-ins through the real command line, and count what must not happen.

    python scripts/checks/fuzz.py [--cases 1000] [--seed 0]

Every case is one call of ``milpcb`` in a folder of its own, in a process forked from one that has imported the program; of
each kind of case a few are real processes, started as the shell would. Counted are tracebacks, calls that take more than a
minute, exit codes other than 0 and 2, errors that nobody foresaw, and files outside the run directory that were made,
changed or removed. Exit code 1 if there is any. The same seed makes the same cases.
"""

from __future__ import annotations

import argparse
import hashlib
import io
import os
import random
import re
import resource
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from multiprocessing import get_context
from pathlib import Path

import polars as pl

SECONDS = 60.0  # a call that takes longer hangs
SHARE_OF_PROCESSES = 0.02  # real ones, a second each
MEMORY = 3 * 2**30  # bytes that a call may take, so that a mutated size cannot use up the machine

CONFIG = """\
[experiment]
name = "tiny"
horizon = 20
seeds = [0, 1]
checkpoints = 5
[environment]
name = "planted"
n_contexts = 6
n_features = 3
cost_right = 0.25
[policies]
name = "decision_trees"
depth = 1
thresholds = 2
[oracle]
kind = "milp"
solver = "highs"
time_limit = 5.0
[[learners]]
name = "bistro_plus"
label = "ours"
noise = "half"
queries = "profile"
scale = 6
[[learners]]
name = "uniform"
max_horizon = 50
[[learners]]
name = "exp4"
oracle = { kind = "search" }
contexts = "pool"
[[constraints]]
name = "share_at_most"
action = 1
share = 0.9
[run]
backend = "serial"
checkpoint_seconds = 5.0
"""
FREE = CONFIG[: CONFIG.index("[[constraints]]")] + CONFIG[CONFIG.index("[run]") :]
REPLAY = """\
[experiment]
name = "log"
horizon = 4
[environment]
name = "replay"
contexts = "x.csv"
costs = "c.csv"
[policies]
name = "threshold_rules"
[oracle]
kind = "search"
[[learners]]
name = "exp4"
[run]
backend = "serial"
"""
CONTEXTS = "age,insured\n20,0\n30,1\n70,0\n80,1\n"
COSTS = "wait,treat\n0,1\n0,1\n1,0\n1,0\n"
VALUES = (
    *(
        "0",
        "-1",
        "1",
        "2",
        "7",
        "40",
        "1e308",
        "-0.0",
        "nan",
        "-inf",
        "inf",
        "true",
        "{}",
        "[]",
        "[[]]",
        '""',
        '"a"',
        "0.5",
    ),
    *(
        str(2**63),
        str(2**63 - 1),
        str(-(2**63)),
        "9" * 30,
        "9" * 5000,
        "0x10",
        "1_000",
        "1979-05-27",
        "[0, 0]",
        '["a", 1]',
    ),
    *(
        '"\\u0000"',
        '"\\u001b[31m"',
        '"\u202e"',
        '"\\ud800"',
        '"' + "x" * 100_000 + '"',
        "[" * 3000,
        "{a = " * 50,
        '"=cmd()"',
    ),
    *(
        '"planted"',
        '"exp4"',
        '"search"',
        '"enumeration"',
        '"audited"',
        '":"',
        '"click:edit"',
        '"os:system"',
        '"mine:Evil"',
    ),
    *(
        '".."',
        '"."',
        '"../../up"',
        '"/"',
        '"a/b"',
        '"x\\ny"',
        '"pulp:PULP_CBC_CMD"',
        '"highs:fast"',
        '"scipy"',
        '"rule_lists"',
    ),
    *(
        '"linear_rules"',
        '"box_rules"',
        '"monotone_rules"',
        '"finite_class"',
        '"replay"',
        '"supervised"',
        '"doubling"',
        '"hedge"',
    ),
)
# Numbers that say how much work is asked for are mutated to small ones only: a long study is no mistake.
WORK = ("horizon", "n_contexts", "n_features", "n_actions", "draws", "depth", "max_cuts", "max_rules", "every", "seeds")
SMALL = (
    "0",
    "-1",
    "1",
    "2",
    "3",
    "5",
    "2.5",
    "true",
    "nan",
    '"a"',
    "[]",
    "[1, 2]",
    "[2, 2]",
    "{}",
    str(2**63),
    "9" * 5000,
)
PLUGINS = {
    "syntax error": "class Evil(:\n",
    "exit at import": "import sys\nsys.exit(3)\n",
    "error at import": "1 / 0\n",
    "endless recursion at import": "def f(): return f()\nf()\n",
    "no such name": "class Good: pass\n",
    "function": "def Evil(): return 1\n",
    "number": "Evil = 3\n",
    "class without a promise": "class Evil: pass\n",
    "constructor that fails": "from {base} import {name}\nclass Evil({name}):\n    def __init__(self): raise KeyError('x')\n{body}",
    "constructor without types": "from {base} import {name}\nclass Evil({name}):\n    def __init__(self, a, b=2): pass\n{body}",
    "constructor of anything": "from {base} import {name}\nclass Evil({name}):\n    def __init__(self, *a, **k): pass\n{body}",
    "constructor with a type that is not there": (
        "from {base} import {name}\nclass Evil({name}):\n    def __init__(self, a: 'Nowhere' = 1): pass\n{body}"
    ),
    "unfinished class": "from {base} import {name}\nclass Evil({name}): pass\n",
    "methods that fail": "from {base} import {name}\nclass Evil({name}):\n    def __init__(self): self.n_actions = 3\n{body}",
    "methods that return nonsense": (
        "from {base} import {name}\nclass Evil({name}):\n    def __init__(self): self.n_actions = 3\n{nonsense}"
    ),
    "not UTF-8": "# caf\udce9\n",
    "zero byte": "a = 1\x00\n",
    "file written at import": "open('written_at_import.txt', 'w')\nclass Evil: pass\n",
}
BASES = {
    "policies": ("milpcb.protocols", "PolicyClass"),
    "environment": ("milpcb.protocols", "Environment"),
    "learners": ("milpcb.protocols", "Learner"),
}
METHODS = (
    *("on", "formulate", "search", "policies", "draw", "log_size", "open", "act", "learn", "_act", "_learn", "state"),
    *("restore", "estimates", "guarantee"),
)


@dataclass
class Case:
    """One call: what lies in its folder, and the arguments; ``what`` says how it was made."""

    what: str
    arguments: list[str]
    files: dict[str, bytes] = field(default_factory=dict)


@dataclass
class Ended:
    """How a call ended; code None means that it was stopped."""

    code: int | None
    output: str
    seconds: float


# --------------------------------------------------------------------------- cases


def cases(seed: int, count: int) -> list[Case]:
    """Return ``count`` cases, a fifth of them of each kind but configs, which are two fifths."""
    rng = random.Random(seed)  # noqa: S311 - cases, no secrets
    makers: list[Callable[[random.Random], Case]] = [config, config, table, command_line, plugin]
    return [makers[i % len(makers)](rng) for i in range(count)]


def config(rng: random.Random) -> Case:
    """Return a run, dry run or bound of a config with one to three mutations."""
    text, names = rng.choice([CONFIG, FREE, FREE, REPLAY]), []
    for _ in range(rng.choice([1, 1, 2, 3])):
        mutate = rng.choice([wrong_value, wrong_value, wrong_value, wrong_key, move_lines, wrong_token])
        text = mutate(rng, text)
        names.append(mutate.__name__)
    content = text.encode("utf-8", "surrogatepass")
    if rng.random() < 0.15:
        content = flip(rng, content)
        names.append("flip")
    if rng.random() < 0.05:
        content = rng.choice(
            [b"\xef\xbb\xbf" + content, content.decode("utf-8", "replace").encode("utf-16"), b"", content * 2]
        )
        names.append("encoding")
    command = rng.choice(["run", "run", "run", "dry", "bound"])
    arguments = {
        "run": ["run", "a.toml", "--out", "out", "--progress", rng.choice(["quiet", "plain", "json"])],
        "dry": ["run", "a.toml", "--out", "out", "--dry-run"],
        "bound": ["bound", "a.toml", "--draws", "2"],
    }[command]
    files = {"a.toml": content, "x.csv": CONTEXTS.encode(), "c.csv": COSTS.encode()}
    return Case(f"config: {', '.join(names)}", arguments, files)


def wrong_value(rng: random.Random, text: str) -> str:
    """Replace the value of one key."""
    lines = text.splitlines()
    keyed = [i for i, line in enumerate(lines) if "=" in line]
    if not keyed:
        return text
    i = rng.choice(keyed)
    key = lines[i].partition("=")[0].strip()
    lines[i] = f"{key} = {rng.choice(SMALL if key in WORK else VALUES)}"
    return "\n".join(lines) + "\n"


def wrong_key(rng: random.Random, text: str) -> str:
    """Misspell a key or section, or write down a key that belongs elsewhere."""
    lines = text.splitlines()
    i = rng.randrange(len(lines)) if lines else 0
    other = [
        "solver = 3",
        "gap = 1",
        "audit = 0.5",
        'name = ".."',
        "label = 3",
        "weights = [1]",
        "model_config = 1",
        '"" = 1',
    ]
    if not lines or rng.random() < 0.5:
        return "\n".join([*lines[:i], rng.choice(other), *lines[i:]]) + "\n"
    place = rng.randrange(max(len(lines[i]), 1))
    lines[i] = lines[i][:place] + rng.choice("xyz_.[]\"'= \t\x1b\x00") + lines[i][place + 1 :]
    return "\n".join(lines) + "\n"


def move_lines(rng: random.Random, text: str) -> str:
    """Drop, repeat or exchange lines."""
    lines = text.splitlines()
    if len(lines) < 3:
        return text
    i, j = sorted(rng.sample(range(len(lines)), 2))
    changed = rng.choice(
        [
            lines[:i] + lines[i + 1 :],
            lines[:i] + lines[j:],
            [*lines[:i], lines[i], *lines[i:]],
            [*lines[:i], lines[j], *lines[i + 1 : j], lines[i], *lines[j + 1 :]],
            lines[i:] + lines[:i],
        ]
    )
    return "\n".join(changed) + "\n"


def wrong_token(rng: random.Random, text: str) -> str:
    """Exchange two words or numbers of the text, but no number that says how much work there is."""
    tokens = [token for token in re.finditer(r"[\w.]+", text) if not token.group().isdigit()]
    if len(tokens) < 2:
        return text
    one, other = sorted(rng.sample(tokens, 2), key=lambda token: token.start())
    return text[: one.start()] + other.group() + text[one.end() : other.start()] + one.group() + text[other.end() :]


def flip(rng: random.Random, content: bytes) -> bytes:
    """Change a few bits, or cut the end off."""
    changed = bytearray(content)
    for _ in range(rng.choice([1, 1, 2, 8])):
        if changed:
            changed[rng.randrange(len(changed))] ^= 1 << rng.randrange(8)
    return bytes(changed[: rng.randrange(len(changed) + 1)]) if rng.random() < 0.3 else bytes(changed)


def table(rng: random.Random) -> Case:
    """Return a call of solve, or a run of replay, on tables of which one is wrong."""
    maker = rng.choice([wrong_csv, wrong_csv, wrong_parquet])
    first = rng.random() < 0.5
    ending = ".csv" if maker is wrong_csv else ".parquet"
    files = {"x.csv": CONTEXTS.encode(), "c.csv": COSTS.encode()}
    files[f"{'x' if first else 'c'}{ending}"] = maker(rng, files["x.csv" if first else "c.csv"])
    names = [f"x{ending}" if first else "x.csv", "c.csv" if first else f"c{ending}"]
    if rng.random() < 0.3:
        text = REPLAY.replace("x.csv", names[0]).replace("c.csv", names[1])
        return Case(
            f"replay of a table: {maker.__name__}",
            ["run", "a.toml", "--out", "out"],
            {**files, "a.toml": text.encode()},
        )
    more = rng.choice(
        [[], ["--kind", "search"], ["--depth", "1"], ["--policies", "threshold_rules", "--kind", "search"]]
    )
    return Case(f"solve of a table: {maker.__name__}", ["solve", *names, *more], files)


def wrong_csv(rng: random.Random, content: bytes) -> bytes:  # noqa: PLR0911 - a return for each kind
    """Return CSV with one thing wrong."""
    text = content.decode()
    cell = rng.choice(
        [
            "",
            "x",
            "nan",
            "inf",
            "1e400",
            "9" * 5000,
            '"',
            '"1',
            "\x00",
            "\x1b[2J",
            "1;2",
            "0x1",
            "1_0",
            "=1+1",
            "\u0661",
            " 1 ",
        ]
    )
    lines = [line.split(",") for line in text.splitlines()]
    row, column = rng.randrange(len(lines)), rng.randrange(2)
    kind = rng.randrange(9)
    if kind <= 2:
        lines[row][column] = cell
        return "\n".join(map(",".join, lines)).encode()
    if kind == 3:
        lines[row] = lines[row] + [cell] if rng.random() < 0.5 else lines[row][:1]
        return "\n".join(map(",".join, lines)).encode()
    if kind == 4:
        return flip(rng, content)
    if kind == 5:
        return rng.choice(
            [
                b"",
                b"\n\n",
                b"\xef\xbb\xbf",
                text.encode("utf-16"),
                "\u00e9,b\n1,2\n".encode("latin-1"),
                b"a,a\n1,2\n3,4\n",
            ]
        )
    if kind == 6:
        lines[0] = [cell, rng.choice([cell, "x" * 100_000, "\x1b]0;title\x07", "a\u202eb", "a"])]
        return "\n".join(map(",".join, lines)).encode()
    if kind == 7:
        return text.replace("\n", rng.choice(["\r", "\r\n", "\n\n", "\x0b", "\u2028"])).encode()
    return text.replace(",", rng.choice([";", "\t", ",,", "", " "])).encode()


def wrong_parquet(rng: random.Random, content: bytes) -> bytes:
    """Return Parquet with one thing wrong."""
    frame = pl.read_csv(io.BytesIO(content))
    n = len(frame)
    strange = [
        pl.Series("s", ["a"] * n),
        pl.Series("s", [[1.0]] * n),
        pl.Series("s", [None] * n),
        pl.Series("s", [b"x"] * n),
        pl.Series("s", [2**63 - 1] * n),
        pl.Series("s", [float("nan")] * n),
        pl.Series("s", range(n)).cast(pl.Date),
        pl.Series("s", range(n)).cast(pl.Decimal(20, 2)),
        pl.Series("s", ["a"] * n).cast(pl.Categorical),
        pl.Series("s", [{"a": 1}] * n),
        pl.Series("s\x1b[31m", [1.0] * n),
    ]
    if rng.random() < 0.5:
        frame = frame.with_columns(rng.choice(strange))
    if rng.random() < 0.1:
        frame = rng.choice([frame.head(0), frame.select([])])
    buffer = io.BytesIO()
    frame.write_parquet(buffer)
    written = buffer.getvalue()
    if rng.random() < 0.6:
        written = rng.choice([flip(rng, written), written[: len(written) // 2], written[4:], b"PAR1" + written[-20:]])
    return written


def command_line(rng: random.Random) -> Case:
    """Return a command with options, names and paths that are wrong."""
    paths = [
        *(
            "a.toml",
            "x.csv",
            "c.csv",
            ".",
            "..",
            "/",
            "",
            "-",
            "nowhere",
            "out",
            "file/sub",
            "/dev/null",
            "a.toml/",
            "~",
        ),
        *("x" * 5000, "a\nb", "\x1b[31m", "\udcff", "caf\u00e9.toml", "fifo", "empty", "held", "/proc/self/mem", "=1"),
    ]
    options = [
        *(
            "--out",
            "--kind",
            "--solver",
            "--policies",
            "--time-limit",
            "--backend",
            "--workers",
            "--progress",
            "--figure",
        ),
        *(
            "--noise",
            "--draws",
            "--depth",
            "--dry-run",
            "--loglog",
            "--quick",
            "--all",
            "--help",
            "--version",
            "--",
            "-x",
            "--no",
        ),
    ]
    values = [
        *(
            "0",
            "-1",
            "1",
            "2",
            "nan",
            "1e999",
            "9" * 5000,
            str(2**63),
            "",
            "all",
            "exp4",
            "search",
            "serial",
            "quiet",
            "json",
        ),
        *(
            "os:system",
            ":",
            "mine:Evil",
            "\x1b[2J",
            "\udcff",
            "[" * 2000,
            "x" * 100_000,
            "regret",
            "half",
            "highs",
            "out",
        ),
        *("pic.png", "pic.csv", "answer.json"),
    ]
    commands = ["run", "resume", "plot", "report", "solve", "bound", "solvers", "list", "rn", "", "\x1b", "\udcff"]
    command = rng.choice(commands)
    wanted = {"solve": 2, "list": 1, "solvers": 0}.get(command, 1)
    arguments = [command, *(rng.choice(paths) for _ in range(wanted))]
    if command == "list" and rng.random() < 0.5:
        arguments[1:] = [rng.choice(["learner", "planted", "milp", "parity", "x" * 1000, "figures"])]
    if command in {"run", "bound"} and rng.random() < 0.5:
        arguments[1] = "a.toml"
    if command == "solve" and rng.random() < 0.5:
        arguments[1:] = ["x.csv", "c.csv"]
    for _ in range(rng.choice([0, 1, 1, 2, 3])):
        arguments += [rng.choice(options), *([rng.choice([*values, *paths])] if rng.random() < 0.8 else [])]
    arguments = [argument for argument in arguments if argument not in {"/", ".."} or command not in {"report", "plot"}]
    files = {
        "a.toml": FREE.encode(),
        "x.csv": CONTEXTS.encode(),
        "c.csv": COSTS.encode(),
        "file": b"",
        "held/mine": b"1",
    }
    return Case("command line", arguments, files)


def plugin(rng: random.Random) -> Case:
    """Return a run with a class of the config's own folder that is not what it must be."""
    section = rng.choice(list(BASES))
    base, name = BASES[section]
    what = rng.choice(list(PLUGINS))
    body = "".join(f"    def {method}(self, *a, **k): raise OSError('from the plug-in')\n" for method in METHODS)
    nonsense = "".join(
        f"    def {method}(self, *a, **k): return {rng.choice(['None', '3', '[]', '{}', 'self'])}\n"
        for method in METHODS
    )
    extra = "    feature_names = action_names = ()\n"
    source = PLUGINS[what].replace("{base}", base).replace("{name}", name)
    source = source.replace("{body}", extra + body).replace("{nonsense}", extra + nonsense)
    old = {
        "policies": 'name = "decision_trees"\ndepth = 1\nthresholds = 2',
        "learners": 'name = "uniform"\nmax_horizon = 50',
    }
    old |= {"environment": 'name = "planted"\nn_contexts = 6\nn_features = 3\ncost_right = 0.25'}
    text = FREE.replace(old[section], 'name = "mine:Evil"')
    if rng.random() < 0.2:
        text = text.replace(
            "mine:Evil", rng.choice(["mine.:Evil", "mine:Evil.x", ":Evil", "mine:", "mine:a:b", "..mine:Evil"])
        )
    files = {"a.toml": text.encode(), "mine.py": source.encode("utf-8", "surrogateescape")}
    if rng.random() < 0.2:
        files |= dict.fromkeys(("policies.py", "cplex.py", "numba.py"), b"raise SystemExit('hidden')\n")
    arguments = rng.choice(
        [
            ["run", "a.toml", "--out", "out"],
            ["run", "a.toml", "--out", "out", "--dry-run"],
            ["bound", "a.toml", "--draws", "2"],
        ]
    )
    return Case(f"plug-in for {section}: {what}", arguments, files)


# --------------------------------------------------------------------------- calls


def call_forked(case: Case, folder: Path) -> Ended:
    """Run the command line in a copy of this process, which has imported it."""
    capture = folder.parents[1] / "printed"
    start = time.monotonic()
    sys.stdout.flush()
    child = os.fork()
    if child == 0:
        _be_the_command_line(case, folder, capture)
    deadline = start + SECONDS
    code: int | None = None
    while time.monotonic() < deadline:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            code = os.waitstatus_to_exitcode(status)
            break
        time.sleep(0.005)
    else:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    return Ended(code, capture.read_text(encoding="utf-8", errors="replace"), time.monotonic() - start)


def _be_the_command_line(case: Case, folder: Path, capture: Path) -> None:
    """Never return: end as the command line does."""
    code = 0
    try:
        out = os.open(capture, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(out, 1)
        os.dup2(out, 2)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.chdir(folder)
        resource.setrlimit(resource.RLIMIT_AS, (_own_memory() + MEMORY, resource.RLIM_INFINITY))
        sys.argv = ["milpcb", *case.arguments]
        from milpcb import cli

        cli.main()
    except SystemExit as stop:
        code = stop.code if isinstance(stop.code, int) else 0 if stop.code is None else 1
    except BaseException:  # noqa: BLE001 - whatever it is, it is a finding
        traceback.print_exc()
        code = 1
    finally:
        try:
            sys.stdout.flush()
            sys.stderr.flush()
        finally:
            os._exit(code)


def _own_memory() -> int:
    return (
        int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        if Path("/proc/self/statm").exists()
        else 0
    )


def call_process(case: Case, folder: Path) -> Ended:
    """Run the command line as the shell would."""
    start = time.monotonic()
    arguments = [os.fsencode(argument.replace("\x00", "")) for argument in case.arguments]
    command = [sys.executable, "-m", "milpcb.cli", *arguments]
    try:
        done = subprocess.run(
            command, cwd=folder, capture_output=True, timeout=SECONDS, stdin=subprocess.DEVNULL, check=False
        )
    except subprocess.TimeoutExpired:
        return Ended(None, "", time.monotonic() - start)
    return Ended(done.returncode, (done.stdout + done.stderr).decode(errors="replace"), time.monotonic() - start)


def judge(ended: Ended, before: dict[str, str], after: dict[str, str], case: Case) -> list[str]:
    """Return what happened that must not."""
    found = []
    if "Traceback (most recent call last)" in ended.output:
        found.append("traceback")
    if "unexpected error" in ended.output and "mine.py" not in ended.output:
        found.append("unforeseen error")
    if ended.code is None:
        found.append("hang")
    elif ended.code not in {0, 2}:
        found.append(f"exit code {ended.code}")
    if "\x1b" in ended.output:
        found.append("escape on the terminal")
    written = {"in/written_at_import.txt"}  # by the plug-in itself
    if any(before.get(name) != after.get(name) for name in {*before, *after} - written if not _expected(name, case)):
        found.append("file touched")
    return found


def _expected(name: str, case: Case) -> bool:
    """Tell whether a file is one that the call was asked to write: in its run directory, or where --out says."""
    parts = Path(name).parts
    targets = [after for option, after in zip(case.arguments, case.arguments[1:], strict=False) if option == "--out"]
    places = [Path("in", target).parts for target in targets if target not in {"", "."}]
    named = any(parts[: len(place)] == place for place in places)
    return (
        named
        or parts[1:2] in {("out",), ("runs",)}
        or any(Path("in", target).parts[: len(parts)] == parts for target in targets)
    )


def snapshot(root: Path) -> dict[str, str]:
    """Return the hash of every file below a folder, by path."""
    return {
        str(path.relative_to(root)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(root.rglob("*"))
        if path.is_file()
    }


def run_case(case: Case, *, forked: bool) -> tuple[Ended, list[str]]:
    """Run a case in a folder of its own, among files that are none of its business."""
    with tempfile.TemporaryDirectory() as top:
        root = Path(top) / "home"
        folder = root / "in"
        (folder / "empty").mkdir(parents=True)
        (root / "up").mkdir()
        for name in ("letter.txt", "up/notes.txt", "in/.hidden", "in/diary.txt"):
            (root / name).write_text("mine")
        for name, content in case.files.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes(content)
        os.mkfifo(folder / "fifo")
        before = snapshot(root)
        ended = (call_forked if forked else call_process)(case, folder)
        return ended, judge(ended, before, snapshot(root), case)


def run_all(seed: int, count: int, *, show: bool = False) -> Counter[str]:
    """Run the cases and return how often each thing happened that must not."""
    from milpcb import cli, registry  # noqa: F401 - the copies have it then

    rng, bad = random.Random(seed + 1), Counter[str]()  # noqa: S311 - as above
    for kind in (
        "learner",
        "environment",
        "policies",
        "oracle",
        "relaxation",
        "constraint",
        "command",
        "figure",
        "backend",
    ):
        for name in registry.names(kind):
            registry.load(kind, name)
    # Made in another process: the reader of Parquet has threads, which a forked copy of this one would wait for.
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as maker:
        made = maker.submit(cases, seed, count).result()
    for number, case in enumerate(made):
        ended, found = run_case(case, forked=rng.random() >= SHARE_OF_PROCESSES)
        bad.update(found)
        if found or show:
            told = " ".join(ended.output.split())[-400:]
            arguments = [argument if len(argument) < 60 else argument[:60] + "..." for argument in case.arguments]
            print(
                f"case {number} ({case.what}) {arguments}: {found} {ended.code} {ended.seconds:.1f} s: {told!a}",
                flush=True,
            )
    return bad


def main() -> None:
    """Run the cases and say what was found."""
    parser = argparse.ArgumentParser(description="Put mutated input through the command line of milpcb.")
    parser.add_argument("--cases", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--show", action="store_true", help="a line for every case")
    options = parser.parse_args()
    start = time.monotonic()
    bad = run_all(options.seed, options.cases, show=options.show)
    counts = ", ".join(f"{what}: {count}" for what, count in sorted(bad.items())) or "nothing that must not happen"
    print(f"{options.cases} cases in {time.monotonic() - start:.0f} s; {counts}")
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()
