"""Lists of files in READMEs and package docstrings name what is there, all of it, once."""

import ast
import re
from itertools import pairwise
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
CLASSES = sorted(path.parent for path in (ROOT / "policies").glob("*/policy_class.py"))
ROOMS = [ROOT / "milpcb" / room for room in ("core", "data", "plugins")]
SCRIPTS = {"checks": "scripts/README.md", "benchmarks": "scripts/benchmarks/README.md"}


def section(page: str, heading: str) -> str:
    """Return the text of a page from a heading to the next of its level."""
    text = (ROOT / page).read_text(encoding="utf-8")
    return text.split(f"\n## {heading}\n", 1)[1].split("\n## ", 1)[0]


def first_cells(text: str) -> list[str]:
    """Return the names in code in the first cell of each row of a table."""
    rows = [line.split("|")[1] for line in text.splitlines() if line.startswith("| `")]
    return [name for row in rows for name in re.findall("`([^`]+)`", row)]


def python_files(folder: Path) -> set[str]:
    """Return the names of the Python modules in a folder."""
    return {path.stem for path in folder.glob("*.py")} - {"__init__", "__main__"}


def test_the_parts_are_the_files_of_milpcb() -> None:
    """The table "The parts" lists every module and package of milpcb once."""
    folder = ROOT / "milpcb"
    packages = {f"{path.parent.name}/" for path in folder.glob("*/__init__.py")}
    listed = first_cells(section("milpcb/README.md", "The parts"))
    parts = [name for name in listed if name.endswith((".py", "/")) and name.count("/") == name.endswith("/")]
    assert sorted(parts) == sorted(packages | {f"{name}.py" for name in python_files(folder)})


def test_the_chain_of_imports_is_the_tested_one() -> None:
    """Each part of the chain in milpcb/README is above all parts of the next link."""
    chain = re.search("```text\n(commands .*?)```", section("milpcb/README.md", "The parts"), re.DOTALL)
    assert chain
    tree = ast.parse((ROOT / "tests" / "test_imports.py").read_text(encoding="utf-8"))
    (layers,) = (node.value for node in tree.body if isinstance(node, ast.Assign) and "LAYERS" in ast.unparse(node))
    named = [(part.removeprefix("milpcb."), n) for n, parts in enumerate(ast.literal_eval(layers)) for part in parts]
    height = dict(named)
    links = [[height[part] for part in re.findall(r"\w+", link)] for link in chain[1].split("->")]
    assert len(links) > 10
    assert all(min(upper) > max(lower) for upper, lower in pairwise(links))


@pytest.mark.parametrize("folder", [*CLASSES, *ROOMS], ids=lambda folder: folder.name)
def test_reading_orders_name_every_file(folder: Path) -> None:
    """The docstring of a package of policies, or of what all parts use, lists its files in the order of reading."""
    docstring = ast.get_docstring(ast.parse((folder / "__init__.py").read_text(encoding="utf-8"))) or ""
    order = re.findall(r"\w+", docstring.partition("Read ")[2])
    assert sorted(order) == sorted(python_files(folder))


@pytest.mark.parametrize("folder", SCRIPTS)
def test_scripts_are_listed_once(folder: str) -> None:
    """The README of a folder of scripts has one line for each that can be run."""
    files = (ROOT / "scripts" / folder).glob("*.py")
    runnable = {path.name for path in files if '__name__ == "__main__"' in path.read_text(encoding="utf-8")}
    page = (ROOT / SCRIPTS[folder]).read_text(encoding="utf-8")
    commands = re.findall(rf"^python scripts/{folder}/(\w+\.py)", page, re.MULTILINE)
    listed = commands if folder == "checks" else [name for name in first_cells(page) if name.endswith(".py")]
    assert sorted(listed) == sorted(runnable)
