"""Run directories of earlier versions, whose study.json calls the best policy in hindsight by an older word."""

from __future__ import annotations

import tomllib
from typing import Any

import pytest

from milpcb.core.files import sealed, unsealed
from milpcb.experiments.results.figures.results import read_results
from milpcb.experiments.results.index import read_index
from milpcb.experiments.study.cells import build_study
from milpcb.experiments.study.config import parse_config


def in_old_words(data: Any) -> Any:
    """Return plain data of study.json with the keys of version 0.1.0 in development."""
    if isinstance(data, dict):
        return {key.replace("comparator", "yardstick"): in_old_words(value) for key, value in data.items()}
    return [in_old_words(value) for value in data] if isinstance(data, list) else data


@pytest.fixture
def old(tmp_path, tiny, play_into):
    """Return a finished run directory as an earlier version left it, and what this version had written."""
    path = play_into(tiny, tmp_path / "old").path
    index = unsealed((path / "study.json").read_bytes())
    (path / "study.json").write_bytes(sealed(in_old_words(index), indent=1))
    assert b"yardsticks" in (path / "study.json").read_bytes()
    return path, index


def test_an_old_index_is_read_by_its_new_names(old):
    """Cells, comparators and leaders are those that were written, and so are the curves."""
    path, index = old
    assert read_index(path) == index
    assert read_results(path).finals["cumulative_cost"].is_finite().all()


def test_nothing_of_an_old_directory_is_played_again(old, tiny, play_into):
    """All its records are found by the keys that they had; the index then has the new names."""
    path, index = old
    again = play_into(tiny, path)
    assert not again.tasks
    assert not again.remarks
    assert unsealed((path / "study.json").read_bytes()) == index


def test_the_key_of_a_comparator_is_made_of_the_old_word(tiny):
    """What a comparator's key is computed from has not changed, so records of earlier versions are found."""
    (comparator,) = build_study(parse_config(tomllib.loads(tiny))).comparators
    assert comparator.settings()["task"] == "yardstick"
