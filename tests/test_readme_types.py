"""Programs of the READMEs pass a user's type checker: ``mypy --strict`` on every Python program and file of them."""

import importlib.util
import subprocess
import sys
from importlib.resources import files
from pathlib import Path

import pytest
from filelock import FileLock

from milpcb.types import ReadablePolicy
from policies.rule import Rule
from tests.test_readmes import READMES, ROOT, blocks

UNTYPED = ("causaldata", "pandas", "sklearn")  # packages that READMEs import and that bring no types


MISTAKES = {
    "wrong_text": "DecisionTrees(2, thresholds=[['a']])",
    "wrong_method": "open_oracle(DecisionTrees(2), [[0.0]]).minimise([[0, 1]]).policy.to_excel()",
    "wrong_argument": "DecisionTrees(2, deepth=3)",
}


def write_programs(folder: Path) -> int:
    """Write every Python block of every README as a file; return how many there are."""
    written = 0
    for readme in READMES:
        page = [] if readme.stem == "README" else [readme.stem]
        place = "_".join([*readme.parent.relative_to(ROOT).parts, *page]) or "first_page"
        for number, block in enumerate(blocks(readme)):
            if block.language == "python":
                target = folder / (block.name or f"{place}_{number}.py")
                assert not target.exists(), target.name  # two READMEs call their files differently
                target.write_text(block.text)
                written += 1
    return written


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Return what ``mypy --strict`` finds in all programs and in the mistakes, with milpcb as it is installed."""
    folder = tmp_path_factory.mktemp("programs")
    assert write_programs(folder) > 20
    for name, line in MISTAKES.items():
        imports = "from milpcb import open_oracle\nfrom milpcb.policies import DecisionTrees\n"
        (folder / f"{name}.py").write_text(f"{imports}{line}\n")
    sections = [f"[mypy-{package}.*]\nignore_missing_imports = True\n" for package in UNTYPED]
    # Of our own packages only the signatures are read, as of those that are installed.
    sections += [f"[mypy-{package}.*]\nignore_errors = True\n" for package in ("milpcb", "policies")]
    (folder / "mypy.ini").write_text("[mypy]\n" + "".join(sections))
    cache = str(ROOT / ".mypy_cache/readmes")
    Path(cache).mkdir(parents=True, exist_ok=True)
    command = [sys.executable, "-m", "mypy", "--strict", "--config-file", "mypy.ini", "--cache-dir", cache, "."]
    with FileLock(ROOT / ".mypy_cache/readmes.lock"):  # two processes of tests at a time break mypy's cache
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 1, done.stdout + done.stderr  # the mistakes
    return [line for line in done.stdout.splitlines() if ": error: " in line]


def test_every_program_of_every_readme_passes_strict_types(found: list[str]) -> None:
    """``mypy --strict`` accepts all Python programs and files that READMEs show, with our packages as installed."""
    assert [line for line in found if not line.startswith(tuple(MISTAKES))] == []


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_is_still_found(name: str, found: list[str]) -> None:
    """The types that let the READMEs pass refuse what is wrong."""
    assert [line for line in found if line.startswith(f"{name}.py:3: error")]


def test_a_readable_policy_is_what_every_rule_is() -> None:
    """The type of an oracle's policy lists public methods of the rules of ours."""
    listed = {name for name in vars(ReadablePolicy) if not name.startswith("_")}
    public = {name for name in dir(Rule) if not name.startswith("_")}
    assert listed <= public


def test_stubs_of_the_second_name_are_complete() -> None:
    """Type checkers find every folder of ``policies`` under ``milpcb.policies``; both packages are marked as typed."""
    assert all(files(package).joinpath("py.typed").is_file() for package in ("milpcb", "policies"))
    stubs = {path.stem for path in (ROOT / "milpcb/policies").glob("*.pyi")} - {"__init__"}
    folders = {path.parent.name for path in (ROOT / "policies").glob("*/__init__.py")}
    assert folders <= stubs
    assert all(importlib.util.find_spec(f"policies.{name}") for name in stubs)
    for name in stubs:
        assert (ROOT / f"milpcb/policies/{name}.pyi").read_text() == f"from policies.{name} import *\n"
