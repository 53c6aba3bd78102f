"""``milpcb list`` and ``new``: names with sentences and options, and files to start from that work as they are."""

import importlib.util
import re
import tomllib
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from milpcb import testing
from milpcb.commands.listing import FILES, HAVE_OPTIONS, STARTERS, first_sentence, new
from milpcb.errors import InputError
from milpcb.experiments.study.config import read_config
from milpcb.plugins import injection, registry

NAMES = [(kind, name) for kind in registry.KINDS for name in registry.entries(kind)]


@pytest.mark.parametrize(("kind", "name"), NAMES, ids=lambda part: part)
def test_every_name_has_a_whole_sentence_and_its_options_descriptions(kind: str, name: str) -> None:
    """A sentence ends with a word, is a line or two, and closes its brackets; a docstring explains each option."""
    entry = registry.load(kind, name)
    sentence = first_sentence(entry)
    assert 10 < len(sentence) < 160
    assert sentence[-1].isalnum() or sentence[-1] in ")'\""
    assert sentence.count("(") == sentence.count(")")
    options = injection.options(entry, registry.KINDS[kind].supplied) if kind in HAVE_OPTIONS else ()
    assert [option for option in options if not re.search(rf"\b{option}\b.* : ", entry.__doc__)] == []


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("Phases of ``first``, 2 ``first``, ... rounds. Then more.", "Phases of first, 2 first, ... rounds"),
        ("Costs that are never i.i.d. for long, at 0.5.", "Costs that are never i.i.d. for long, at 0.5"),
        ("No full stop", "No full stop"),
    ],
)  # fmt: skip
def test_a_sentence_ends_where_a_capital_letter_follows(text: str, sentence: str) -> None:
    """Neither dots that stand for more, nor abbreviations, cut it off."""
    assert first_sentence(click.Command("name", help=text)) == sentence


# ------------------------------------------------------------------- files to start from

ROOT = Path(__file__).parents[2]
SHOWN = {
    "class": ROOT / "policies/README.md",
    "learner": ROOT / "milpcb/learners/README.md",
    "environment": ROOT / "milpcb/environments/README.md",
}


def written(kind, folder):
    """Return the files that the command writes into a folder."""
    done = CliRunner().invoke(new, [kind, str(folder)], catch_exceptions=False)
    assert done.exit_code == 0
    assert FILES[kind][1] in done.stdout
    return {path.name: path.read_text(encoding="utf-8") for path in folder.iterdir()}


def test_every_kind_has_files() -> None:
    """The folders of starters are the kinds of the command."""
    assert {path.name for path in STARTERS.iterdir()} == set(FILES)


@pytest.mark.parametrize("kind", SHOWN)
def test_files_are_those_that_the_readme_shows(kind, tmp_path):
    """Line for line, so that what is explained there, and tried by its test, is what a user has."""
    page = SHOWN[kind].read_text(encoding="utf-8")
    found = re.findall(r"^```[^\n]*\n(# (\w+\.(?:py|toml))\n.*?)^```$", page, re.DOTALL | re.MULTILINE)
    shown = {name: text for text, name in found}
    files = written(kind, tmp_path / "new")
    assert len(files) == 2
    assert files == {name: shown[name] for name in files}


@pytest.mark.parametrize("kind", ["study", "class", "learner", "environment"])
def test_studies_are_read_as_they_are(kind, tmp_path):
    """The config that the next command names is without a mistake, own classes included."""
    written(kind, tmp_path)
    assert read_config(tmp_path / FILES[kind][1].rpartition(" ")[2]).learners


def test_the_solver_passes_its_battery(tmp_path):
    """The solver answers every problem of the battery, and its package registers it under the study's name."""
    files = written("solver", tmp_path)
    spec = importlib.util.spec_from_file_location("my_solver", tmp_path / "my_solver.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert testing.run_all("solver", module.MySolver()) == []
    project = tomllib.loads(files["pyproject.toml"])["project"]
    (name, place) = next(iter(project["entry-points"]["milpcb.solver"].items()))
    assert place == "my_solver:MySolver"
    assert name == tomllib.loads(files["my_solver.toml"])["oracle"]["solver"]


@pytest.mark.parametrize("link", [False, True])
def test_nothing_is_replaced(link, tmp_path):
    """Where one of the files is there already, a link that leads nowhere included, nothing at all is written."""
    taken = tmp_path / "my_rules.py"
    taken.symlink_to(tmp_path / "nowhere") if link else taken.write_text("mine")
    with pytest.raises(InputError, match="nothing was written"):
        CliRunner().invoke(new, ["class", str(tmp_path)], catch_exceptions=False)
    assert [path.name for path in tmp_path.iterdir()] == ["my_rules.py"]
    assert link or taken.read_text() == "mine"
