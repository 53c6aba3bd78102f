"""The metadata of the package: one version everywhere, authors, keywords, changes, and how to cite it."""

import re
import tomllib
from importlib.metadata import version
from pathlib import Path

import milpcb
from milpcb.bandit import saved
from milpcb.commands.machine import versions
from milpcb.estimators import base
from milpcb.experiments.study import cells
from policies import documents

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def test_the_version_has_one_source() -> None:
    """The attribute, the command line, the installed package and the newest changes name the version of pyproject."""
    assert milpcb.__version__ == version("milpcb") == PROJECT["version"]
    assert f"milpcb, version {milpcb.__version__}" in versions()
    changes = (ROOT / "milpcb/CHANGES.md").read_text()
    assert re.findall(r"^## (\S+)", changes, re.MULTILINE)[0] == milpcb.__version__


def test_the_changes_name_the_formats_of_today() -> None:
    """Of run directories, policies, bandits and estimators, as the code writes them."""
    kinds = {"Run directories": cells, "policies": documents, "bandits": saved, "estimators": base}
    formats = ", ".join(f"{name} {kind.FORMAT}" for name, kind in kinds.items())
    assert f"**Formats.** {formats}." in (ROOT / "milpcb/CHANGES.md").read_text()


def test_the_first_page_shows_how_to_cite() -> None:
    """It leads to an entry for a bibliography, with the authors, the version and the licence of the metadata."""
    assert "(.github/CITATION.cff)" in (ROOT / "README.md").read_text()
    entry = (ROOT / ".github/CITATION.cff").read_text()
    for line in (f"  - name: {PROJECT['authors'][0]['name']}", f"version: {PROJECT['version']}"):
        assert f"\n{line}\n" in entry
    assert f"\nlicense: {PROJECT['license']}\n" in entry


def test_contributing_names_files_that_are_there() -> None:
    """Every path and command in the page for contributors exists."""
    page = (ROOT / ".github/CONTRIBUTING.md").read_text()
    named = re.findall(r"`((?:milpcb|policies|tests|scripts)/[\w./]+)`", page)
    assert len(named) >= 5
    assert [name for name in named if not (ROOT / name).exists()] == []
    assert all((ROOT / script).is_file() for script in re.findall(r"^\./(scripts/\w+)", page, re.MULTILINE))
