"""The cases: mutated configs, tables, command lines and plug-ins, each drawn from a seed; see fuzz.py."""

import io
import random
import re
from collections.abc import Callable
from dataclasses import dataclass, field

import polars as pl

from tests.stress.damages import flipped
from tests.stress.fuzz_values import BASES, CELLS, COMMANDS, CONFIG, CONTENTS, CONTEXTS, COSTS, FREE, GIVEN, METHODS

from tests.stress.fuzz_values import OPTIONS, PATHS, PLUGINS, REPLAY, SMALL, VALUES, WORK, words  # isort: skip


@dataclass
class Case:
    """One call: what lies in its folder, and the arguments; ``what`` says how it was made."""

    what: str
    arguments: list[str]
    files: dict[str, bytes] = field(default_factory=dict)


def cases(seed: int, count: int) -> list[Case]:
    """Return ``count`` cases, a fifth of them of each kind but configs, which are two fifths."""
    rng = random.Random(seed)  # noqa: S311 - cases, no secrets
    makers: list[Callable[[random.Random], Case]] = [config, config, table, command_line, plugin]
    return [makers[i % len(makers)](rng) for i in range(count)]


CALLS = (
    *(("run", "a.toml", "--out", "out", "--progress", how) for how in ("quiet", "live")),
    ("run", "a.toml", "--out", "out", "--dry-run"),
    ("bound", "a.toml", "--draws", "2"),
)
TABLES = {"x.csv": CONTEXTS.encode(), "c.csv": COSTS.encode()}


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
        utf16 = content.decode("utf-8", "replace").encode("utf-16")
        content = rng.choice([b"\xef\xbb\xbf" + content, utf16, b"", content * 2])
        names.append("encoding")
    return Case(f"config: {', '.join(names)}", [*rng.choice(CALLS)], {"a.toml": content, **TABLES})


def wrong_value(rng: random.Random, text: str) -> str:
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
    keys = ["solver = 3", "gap = 1", "audit = 0.5", 'name = ".."', "label = 3", "weights = [1]", "model_config = 1"]
    if not lines or rng.random() < 0.5:
        return "\n".join([*lines[:i], rng.choice([*keys, '"" = 1']), *lines[i:]]) + "\n"
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
    changed = flipped(content, rng, rng.choice([1, 1, 2, 8]))
    return changed[: rng.randrange(len(changed) + 1)] if rng.random() < 0.3 else changed


def table(rng: random.Random) -> Case:
    """Return a call of solve, or a run of replay, on tables of which one is wrong."""
    maker, one = rng.choice([wrong_csv, wrong_csv, wrong_parquet]), rng.choice(["x", "c"])
    wrong = f"{one}{'.csv' if maker is wrong_csv else '.parquet'}"
    files = TABLES | {wrong: maker(rng, TABLES[f"{one}.csv"])}
    names = [wrong if name == one else f"{name}.csv" for name in "xc"]
    if rng.random() < 0.3:
        text = REPLAY.replace("x.csv", names[0]).replace("c.csv", names[1])
        arguments = ["run", "a.toml", "--out", "out"]
        return Case(f"replay of a table: {maker.__name__}", arguments, {**files, "a.toml": text.encode()})
    more = ("", "--kind search", "--depth 1", "--policies threshold_rules --kind search")
    return Case(f"solve of a table: {maker.__name__}", ["solve", *names, *words(rng.choice(more))], files)


def wrong_csv(rng: random.Random, content: bytes) -> bytes:
    text, cell = content.decode(), rng.choice(CELLS)
    lines = [line.split(",") for line in text.splitlines()]
    row, column, kind = rng.randrange(len(lines)), rng.randrange(2), rng.randrange(9)
    if kind <= 2:
        lines[row][column] = cell
    elif kind == 3:
        lines[row] = lines[row] + [cell] if rng.random() < 0.5 else lines[row][:1]
    elif kind == 4:
        lines[0] = [cell, rng.choice([cell, "x" * 100_000, "\x1b]0;title\x07", "a\u202eb", "a"])]
    else:
        changed = {
            5: lambda: flip(rng, content),
            6: lambda: rng.choice([*CONTENTS, text.encode("utf-16")]),
            7: lambda: text.replace("\n", rng.choice(["\r", "\r\n", "\n\n", "\x0b", "\u2028"])).encode(),
            8: lambda: text.replace(",", rng.choice([";", "\t", ",,", "", " "])).encode(),
        }
        return changed[kind]()
    return "\n".join(map(",".join, lines)).encode()


def wrong_parquet(rng: random.Random, content: bytes) -> bytes:
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
    command = rng.choice(COMMANDS)
    wanted = {"solve": 2, "list": 1, "solvers": 0}.get(command, 1)
    arguments = [command, *(rng.choice(PATHS) for _ in range(wanted))]
    if command == "list" and rng.random() < 0.5:
        arguments[1:] = [rng.choice(["learner", "planted", "milp", "parity", "x" * 1000, "figures"])]
    if command in {"run", "bound"} and rng.random() < 0.5:
        arguments[1] = "a.toml"
    if command == "solve" and rng.random() < 0.5:
        arguments[1:] = ["x.csv", "c.csv"]
    for _ in range(rng.choice([0, 1, 1, 2, 3])):
        arguments += [rng.choice(OPTIONS), *([rng.choice([*GIVEN, *PATHS])] if rng.random() < 0.8 else [])]
    arguments = [argument for argument in arguments if argument not in {"/", ".."} or command not in {"report", "plot"}]
    return Case("command line", arguments, {"a.toml": FREE.encode(), **TABLES, "file": b"", "held/mine": b"1"})


def plugin(rng: random.Random) -> Case:
    """Return a run with a class of the config's own folder that is not what it must be."""
    section, what = rng.choice(list(BASES)), rng.choice(list(PLUGINS))
    base, name, old = BASES[section]
    body = "".join(f"    def {method}(self, *a, **k): raise OSError('from the plug-in')\n" for method in METHODS)
    answers = [f"    def {method}(self, *a, **k): return {rng.choice(['None', '3', '[]', '{}', 'self'])}\n"
               for method in METHODS]  # fmt: skip
    extra = "    feature_names = action_names = ()\n"
    source = PLUGINS[what].replace("{base}", base).replace("{name}", name)
    source = source.replace("{body}", extra + body).replace("{nonsense}", extra + "".join(answers))
    named = rng.choice(words("mine.:Evil mine:Evil.x :Evil mine: mine:a:b ..mine:Evil")) if rng.random() < 0.2 else ""
    text = FREE.replace(old, f'name = "{named or "mine:Evil"}"')
    files = {"a.toml": text.encode(), "mine.py": source.encode("utf-8", "surrogateescape")}
    if rng.random() < 0.2:
        files |= dict.fromkeys(("policies.py", "cplex.py", "numba.py"), b"raise SystemExit('hidden')\n")
    return Case(f"plug-in for {section}: {what}", [*rng.choice(CALLS)], files)
