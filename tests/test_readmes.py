"""The READMEs are right: paths, commands, snippets and configs are taken from their text and tried.

Conventions of the READMEs: a Python or TOML block whose first line is a comment with the name of a file is that file;
other Python blocks run, in order; a block of ``text (output)`` is what the Python block before it prints;
``toml (fragment)`` is part of a file, which is only parsed; blocks without a language are commands.
"""

import os
import re
import shlex
import subprocess
import tomllib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import tomli_w

from milpcb.experiments.study.config import read_config
from milpcb.plugins import injection, local_classes, registry

ROOT = Path(__file__).parents[1]
FOLDERS = ("milpcb", "policies", "scripts")
# The pages of the site have no programs, and links from where ./scripts/docs puts them: Sphinx checks these.
SITE = ROOT / "scripts" / "site"
PAGES = sorted(path for top in FOLDERS for path in (ROOT / top).rglob("*.md"))
READMES = [ROOT / "README.md", *(path for path in PAGES if SITE not in path.parents)]
ids = {"ids": lambda path: str(path.relative_to(ROOT))}

# What a run writes, and what a reader is to bring or would name.
NOT_HERE = re.compile(
    r"\.venv|runs/.*|(study|config|tree|answer|curves|regret|report|people|costs|policy|plays|card)\.\w+"
    r"|cells/|costs/|logs/|(best_policy|leader)_\*"
)
PATH = re.compile(r"[\w./-]+/|[\w./-]+\.(py|toml|md|png|svg|csv|parquet|json|html|txt)")
LOG = {
    "people.csv": "age,member\n" + "".join(f"{18 + t % 60},{t % 2}\n" for t in range(500)),
    "costs.csv": "call,write\n" + "".join(f"{(t % 60) / 100},0.3\n" for t in range(500)),
}


@dataclass(frozen=True)
class Block:
    """A fenced block; ``name`` is that of the file it is, if it is one."""

    language: str
    text: str

    @property
    def name(self) -> str:
        """The file's name on the first line."""
        found = re.match(r"# (\w+\.(py|toml))\n", self.text)
        return found[1] if found else ""


@cache
def blocks(readme: Path) -> list[Block]:
    """Return the fenced blocks of a README."""
    found = re.findall(r"^```([^\n]*)\n(.*?)^```$", readme.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
    return [Block(language.strip(), text) for language, text in found]


@cache
def inline(readme: Path) -> list[str]:
    """Return what stands between backticks outside of fenced blocks."""
    prose = re.sub(r"^```.*?^```$", "", readme.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
    return [" ".join(code.split()) for code in re.findall(r"`([^`]+)`", prose)]


def commands(readme: Path) -> Iterator[list[str]]:
    """Yield every command named in a README, as its words."""
    lines = [line for block in blocks(readme) if not block.language for line in block.text.splitlines()]
    starts = ("milpcb ", "./scripts/", "python ", "pip ")
    for line in [*lines, *(code for code in inline(readme) if code.startswith(starts))]:
        words = shlex.split(line, comments=True)
        if words:
            yield words


def write_files(readme: Path, folder: Path) -> None:
    """Write the files that a README shows, and the tables that its configs read."""
    files = {block.name: block.text for block in blocks(readme) if block.name}
    for name, text in (LOG | files).items():
        (folder / name).write_text(text, encoding="utf-8")


@pytest.fixture
def run(forks: Any) -> Callable[..., str]:
    """Return ``run(folder, *arguments, program=...)``: what the command, or a program, prints in a folder."""

    def printed(folder: Path, *arguments: str, **more: Any) -> str:
        environment = {**os.environ, "PYTHONPATH": f"{folder}{os.pathsep}{ROOT}", "MPLBACKEND": "agg"}
        done = forks.run(folder, arguments, {}, environment=environment, **more)
        assert done.returncode == 0, done.stdout + done.stderr
        return str(done.stdout)

    return printed


@cache
def named_tests() -> set[str]:
    """Return the names of all tests."""
    sources = (path.read_text(encoding="utf-8") for path in (ROOT / "tests").rglob("*.py"))
    return {name for source in sources for name in re.findall(r"def (test_\w+)\(", source)}


@pytest.mark.parametrize("readme", READMES, **ids)
def test_a_page_is_in_order(readme):
    """Lines and the first page are short, blocks closed and of kinds tried below; links, paths and tests are there."""
    text = readme.read_text(encoding="utf-8")
    assert [line for line in text.splitlines() if len(line) > 120] == []
    assert readme.parent != ROOT or len(text.splitlines()) <= 200
    assert text.count("\n```") == 2 * len(blocks(readme))
    languages = {block.language for block in blocks(readme)}
    assert languages <= {"", "python", "toml", "toml (fragment)", "text", "text (output)"}
    assert all(block.name for block in blocks(readme) if block.language == "toml")
    fragments = [tomllib.loads(block.text) for block in blocks(readme) if block.language == "toml (fragment)"]
    groups = {group for table in fragments for group in table.get("project", {}).get("entry-points", {})}
    assert groups <= {f"milpcb.{kind}" for kind in registry.KINDS}
    links = re.findall(r"\]\(([^)#\s]+)\)", text)
    missing = [link for link in links if "://" not in link and not (readme.parent / link).exists()]
    shown = {block.name for block in blocks(readme)}
    for code in inline(readme):
        if PATH.fullmatch(code) and code not in shown and not NOT_HERE.fullmatch(code):
            beside = readme.parent.rglob(code) if not code.startswith(("/", ".")) else iter(())
            if not (ROOT / code).exists() and next(beside, None) is None:
                missing.append(code)
    assert missing == []
    assert {code for code in inline(readme) if re.fullmatch(r"test_\w+", code)} <= named_tests()


def check_milpcb(words: list[str], shown: set[str]) -> None:
    """Parse a command of milpcb with its own parser, without running it; its files and names must be there."""
    name, *arguments = words
    if name.startswith("-"):
        assert name in {"--version", "--help"}, words
        return
    command = registry.load("command", name)
    # In prose the name of a command may stand alone.
    given = command.make_context(f"milpcb {name}", list(arguments), resilient_parsing=not arguments)
    for value in given.params.values():
        if isinstance(value, Path) and value.suffix == ".toml" and not value.name.isupper():
            assert (ROOT / value).exists() or value.name in shown | {"CONFIG.toml", "study.toml"}, words
    if name == "solve" and arguments:
        own = injection.options(registry.load("policies", given.params["name"]), {})
        assert all(word[2:].replace("-", "_") in own for word in given.args if word.startswith("--")), words
        registry.target("oracle", given.params["kind"])
    for figure in given.params.get("figures", ()):
        registry.target("figure", figure)
    if name == "list" and arguments and not arguments[0].isupper():
        known = {*registry.KINDS, *(each for kind in registry.KINDS for each in registry.entries(kind))}
        assert arguments[0] in known, words


def check_script(words: list[str], run: Callable[..., str]) -> None:
    """A script is there, and its --help names the options."""
    script = words[1] if words[0] == "python" else words[0]
    options = [word for word in words if word.startswith("-")]
    assert (ROOT / script).is_file(), words
    if options and words[0] == "python":
        start = f"import runpy, sys; sys.argv[:] = [{script!r}, '--help']; sys.path[0] = {str(Path(script).parent)!r}"
        shown = run(ROOT, program=f"{start}; runpy.run_path({script!r}, run_name='__main__')")
    elif options:
        shown = subprocess.run([ROOT / script, "--help"], capture_output=True, text=True, check=True).stdout
    assert all(re.search(rf"(?<![\w-]){option}\b", shown) for option in options), words


@pytest.mark.parametrize("readme", READMES, **ids)
def test_every_command_is_one(readme, run):
    """Commands of milpcb are parsed by its own parser, scripts exist and know their options, extras are declared."""
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    shown = {block.name for block in blocks(readme)}
    for words in commands(readme):
        if words[0] == "milpcb":
            check_milpcb(words[1:], shown)
        elif words[:2] == ["pip", "install"]:
            assert {extra for word in words for extra in re.findall(r"\[(\w+)\]", word)} <= set(extras), words
        else:
            check_script(words, run)


@pytest.mark.parametrize("readme", READMES, **ids)
def test_every_snippet_runs_and_prints_what_is_shown(readme, tmp_path, run):
    """Python blocks run one after the other, each as a program of its own, and print the block that follows them."""
    write_files(readme, tmp_path)
    printed = ""
    for block in blocks(readme):
        if block.language == "python" and not block.name:
            printed = run(tmp_path, program=block.text)
        elif block.language == "text (output)":
            assert printed == block.text


CONFIGS = [(readme, block) for readme in READMES for block in blocks(readme) if block.language == "toml"]


@pytest.mark.parametrize(("readme", "block"), CONFIGS, ids=[block.name for _, block in CONFIGS])
def test_every_config_runs(readme, block, tmp_path, monkeypatch, run):
    """A config is read without complaint, and a short version of it is played to its end."""
    monkeypatch.chdir(tmp_path)
    write_files(readme, tmp_path)
    try:
        read_config(Path(block.name))
    finally:
        local_classes.look_in(None)
    tables = tomllib.loads(block.text)
    tables["experiment"] |= {"horizon": 100, "seeds": [0], "checkpoints": 5}
    Path("short.toml").write_text(tomli_w.dumps(tables))
    run(tmp_path, "run", "short.toml", "--out", "out", "--progress", "quiet", sketches=True)
    assert (tmp_path / "out/curves.csv").is_file()


@pytest.mark.parametrize(
    ("page", "kinds"),
    [
        ("policies", ["policies"]),
        ("milpcb/oracles", ["oracle", "solver"]),
        ("milpcb/environments", ["environment"]),
        ("milpcb/learners", ["learner", "relaxation"]),
        ("scripts", ["figure", "backend"]),
    ],
)
def test_every_name_is_explained(page, kinds):
    """Each built-in name of a kind stands in the README of its folder."""
    text = (ROOT / page / "README.md").read_text(encoding="utf-8")
    assert not [name for kind in kinds for name in registry.BUILTIN[kind] if not re.search(rf"\b{name}\b", text)]
