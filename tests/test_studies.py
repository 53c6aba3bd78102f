"""The studies of scripts/reproduce: what they compute, on little data."""

import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

import polars as pl
import pytest

from milpcb.experiments.study.cells import build_study
from milpcb.experiments.study.config import read_config

SCRIPTS = Path(__file__).parents[1] / "scripts"
SEEDS = 50


@pytest.fixture
def script(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """Load a script by its path."""
    path = SCRIPTS / request.param
    monkeypatch.syspath_prepend(path.parent)
    spec = spec_from_file_location(path.stem, path)
    module = module_from_spec(spec)
    monkeypatch.setitem(sys.modules, spec.name, module)
    spec.loader.exec_module(module)
    return module


gaps = pytest.mark.parametrize("script", ["reproduce/gaps.py"], indirect=True)


def curves(**over: list[float]) -> pl.DataFrame:
    """Return two rounds of each learner, whose regret at the last lies so far over a certificate of 10."""
    rows = [
        {
            "environment": "world",
            "learner": name,
            "round": at,
            "horizon": 100,
            "regret": 10.0 + each,
            "certificate": 10.0,
        }
        for name, values in over.items()
        for each in values
        for at in (99, 100)
    ]
    return pl.DataFrame(rows).with_columns(regret=pl.when(pl.col("round") == 99).then(1e6).otherwise(pl.col("regret")))


@gaps
def test_a_mean_above_two_standard_errors_fails(script):
    """1 and -1 in turn have the mean 0 with the standard error 1/7; what is added decides. The last round counts."""
    signs = [1.0, -1.0] * (SEEDS // 2)
    found = script.gaps(curves(below=[s + 0.28 for s in signs], above=[s + 0.29 for s in signs], far=[-9.0] * SEEDS))
    assert found["learner"].to_list() == ["below", "above", "far"]
    assert found["holds"].to_list() == [True, False, True]
    assert found["over"].to_list() == pytest.approx([0.28, 0.29, -9.0])
    assert found["error"].to_list() == pytest.approx([1 / 7, 1 / 7, 0.0])


@gaps
def test_the_last_line_counts_failures_and_chance(script):
    """2.28 % of normal variables lie more than two standard deviations above their mean."""
    found = script.gaps(curves(**{f"learner {n}": [float(n), float(n)] for n in range(-98, 2)}))
    assert script.count(found).startswith("1 of 100 means lie more than 2 standard errors above 0")
    assert "at most 2.3 there" in script.count(found)


def test_the_gaps_study_is_50_seeds_everywhere():
    """Eight environments of the gallery and one mirror, 13 learners, 50 seeds."""
    cells = build_study(read_config(SCRIPTS / "reproduce/gaps.toml")).cells
    environments, learners = ({getattr(cell, part).label for cell in cells} for part in ("environment", "learner"))
    gallery = {cell.environment.label for cell in build_study(read_config(SCRIPTS / "reproduce/gallery.toml")).cells}
    assert environments == gallery | {"mirror"}
    assert len(cells) == len(environments) * len(learners) * SEEDS == 9 * 13 * 50
