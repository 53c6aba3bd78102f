"""The table of scripts/reproduce/everything.py: each number of pages.toml is on its page and in its study."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import tomli_w

from milpcb.experiments.study.config import read_config
from milpcb.plugins import registry

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def everything(script):
    """Return scripts/reproduce/everything.py."""
    return script("reproduce/everything.py")


@pytest.fixture(scope="module")
def named(everything):
    """Return pages.toml."""
    return tomllib.loads(everything.PAGES.read_text(encoding="utf-8"))


def test_every_number_has_its_place_in_a_study(everything, named):
    """Its learner, environment, policies and horizon are those of the study's config."""
    claims = list(everything.claims(named))
    assert len(claims) > 200
    for study in {claim.study for claim in claims}:
        config = read_config(ROOT / study)
        known = {
            "learner": {learner.label for learner in config.learners},
            "environment": {part.label for part in config.environments},
            "policies": {part.label for part in config.policies},
            "horizon": set(config.experiment.horizon),
        }
        for claim in (claim for claim in claims if claim.study == study):
            assert all(value in known[key] for key, value in claim.about.items()), claim
            assert claim.value in ("regret", "certificate", "bound", "guarantee")


def test_all_that_is_named_is_there(everything, named):
    """Headings and rows of the tables, without which nothing would be compared; pictures, their studies and figures."""
    for table in named["table"]:
        header, *rows = everything.table_after((ROOT / table["page"]).read_text(encoding="utf-8"), table["after"])
        assert set(table["columns"]) <= set(header)
        assert set(table.get("rows", {})) <= {row[0] for row in rows}
    for picture in named["picture"]:
        assert (ROOT / picture["file"]).is_file()
        assert (ROOT / picture["study"]).is_file()
        assert picture["figure"] in registry.entries("figure")


def test_workers_find_the_classes_of_a_study(everything, named, tmp_path):
    """A study that names a class beside its config is played by processes, for its first policy class."""
    studies = {part[key] for part in (*named["picture"], *named["table"]) for key in ("study", "beside") if key in part}
    own = [
        path
        for path in map(ROOT.joinpath, sorted(studies))
        if re.search('^name = ".+:', path.read_text(), re.MULTILINE)
    ]
    assert own
    for study in own:
        config, out = everything.quick_config(study, tmp_path), str(tmp_path / study.stem)
        tables = tomllib.loads(config.read_text(encoding="utf-8"))
        tables["policies"] = tables["policies"][:1]
        config.write_text(tomli_w.dumps(tables), encoding="utf-8")
        play = [sys.executable, "-m", "milpcb.cli", "run", str(config), "--out", out, "--backend", "processes"]
        done = subprocess.run(play, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr


def test_cells_are_read(everything):
    """Spaces stand between thousands, slashes between numbers; words are no number."""
    assert everything.numbers("338 / -30 / - / 1 205") == [338.0, -30.0, None, 1205.0]
    assert everything.numbers("16 312, for one law") == [16312.0]
    assert everything.numbers("none") == [None]
