"""The JSON schema that editors read: every study of the clone fits it, and what is refused as a config does not."""

import json
import tomllib
from pathlib import Path

import jsonschema
import pytest
from click.testing import CliRunner

from milpcb.cli import cli
from milpcb.experiments.study.schema import schema
from milpcb.plugins import registry

ROOT = Path(__file__).parents[3]
PLACES = ROOT / "scripts" / "reproduce" / "pages.toml"  # what everything.py compares: no study
STUDIES = sorted({*ROOT.glob("scripts/experiments/*.toml"), *ROOT.glob("scripts/reproduce/*.toml")} - {PLACES})
SMALL = """
[experiment]
name = "small"
horizon = 100
[environment]
name = "planted"
[policies]
name = "decision_trees"
depth = 1
[oracle]
kind = "search"
[[learners]]
name = "exp4"
"""


@pytest.fixture(scope="module")
def validator():
    """Return what checks a config against the schema, which is checked itself."""
    found = schema()
    jsonschema.Draft202012Validator.check_schema(found)
    return jsonschema.Draft202012Validator(found)


@pytest.mark.parametrize("path", STUDIES, ids=lambda path: path.stem)
def test_every_study_fits(validator, path):
    """The configs that are shipped are right by the schema too."""
    assert list(validator.iter_errors(tomllib.loads(path.read_text(encoding="utf-8")))) == []


WRONG = {
    "a key of another learner": ('name = "exp4"', 'name = "exp4"\nepsilon = 0.1'),
    "a misspelt key": ("depth = 1", "dept = 1"),
    "an unknown name": ('name = "planted"', 'name = "plantd"'),
    "a number as a string": ("depth = 1", 'depth = "1"'),
    "no rounds": ("horizon = 100", "horizon = 0"),
    "no learner": ('[[learners]]\nname = "exp4"\n', ""),
    "an option that this kind of oracle has not": ('kind = "search"', 'kind = "search"\nsolver = "highs"'),
    "a section that is none": ("[oracle]", "[orakle]"),
}


@pytest.mark.parametrize("what", WRONG)
def test_what_is_wrong_is_marked(validator, what):
    """Each of these fits before it is changed, and not after."""
    before, after = WRONG[what]
    assert validator.is_valid(tomllib.loads(SMALL))
    assert not validator.is_valid(tomllib.loads(SMALL.replace(before, after)))


def test_a_class_beside_the_config_takes_anything(validator):
    """The arguments of its constructor are not known here."""
    own = SMALL.replace('name = "exp4"', 'name = "mine:Learner"\nanything = [1, 2]')
    assert validator.is_valid(tomllib.loads(own))


def test_every_registered_name_is_there():
    """Adding a part to the registry adds it to the schema."""
    text = json.dumps(schema())
    for kind in ("environment", "policies", "learner", "constraint", "oracle", "solver"):
        assert [name for name in registry.entries(kind) if f'"{name}"' not in text] == []


def test_shells_complete():
    """Completion of bash, zsh and fish comes with click, as the page says."""
    for shell in ("bash", "zsh", "fish"):
        done = CliRunner().invoke(cli, [], prog_name="milpcb", env={"_MILPCB_COMPLETE": f"{shell}_source"})
        assert "_MILPCB_COMPLETE" in done.output


def test_the_command_prints_it():
    """``milpcb schema`` prints JSON and nothing else."""
    done = CliRunner().invoke(cli, ["schema"])
    assert json.loads(done.output) == schema()
