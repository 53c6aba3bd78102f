"""A short, seeded run of scripts/checks/intervals.py: double robustness, intervals, and what the script prints."""

from __future__ import annotations

import importlib.util
import re
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "scripts/checks/intervals.py"


@pytest.fixture(scope="module")
def script():
    """Return the script as a module."""
    spec = importlib.util.spec_from_file_location("interval_checks", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # its dataclass looks itself up
    sys.path.insert(0, str(SCRIPT.parent))  # as where a script is run
    spec.loader.exec_module(module)
    yield module
    sys.path.remove(str(SCRIPT.parent))
    del sys.modules[spec.name]


def test_dr_survives_either_wrong_model(script):
    """Values are near the truth if one model is right or propensities are known, and far if all is wrong."""
    rows = {row.name: row for row in script.values(12)}
    error = {name: abs(float(re.search("mean error (.*)", row.more)[1])) for name, row in rows.items()}
    lost = next(name for name in rows if "no method survives" in name)
    assert error.pop(lost) > 0.1
    assert max(error.values()) < 0.05
    kept = [row.share for name, row in rows.items() if not any(word in name for word in script.UNPROMISED)]
    assert len(kept) == 7
    assert min(kept) >= 0.85


def test_intervals_of_every_kind_cover(script):
    """Of 10 intervals of a kind at 95 % nearly all cover; Bernstein's always do."""
    rows = list(script.intervals(10))
    assert len(rows) == 3 * 3 * 4
    assert min(row.share for row in rows) >= 0.8
    assert all(row.share == 1 for row in rows if row.name.startswith("bernstein"))


def test_a_figure_out_of_range_is_marked(script):
    """The script ends with 1 where a line is marked."""
    assert "OUT OF RANGE" in str(script.Row("covers", 0.9, 0.93, 1.0))
    assert "OUT OF RANGE" not in str(script.Row("covers", 0.95, 0.93, 1.0))


def test_true_gains_are_those_of_the_design(script):
    """Over all contexts; a policy that treats nobody gains nothing where nothing helps."""

    class Nobody:
        """Treats nobody."""

        def predict(self, contexts):
            """Return 0 for everybody."""
            return [0] * len(contexts)

    assert script.true_gain(script.DESIGNS["no effect"], Nobody()) == 0
    assert script.true_gain(script.DESIGNS["the same effect for all"], Nobody()) == pytest.approx(-0.3)
    assert script.true_gain(script.DESIGNS["harm to a quarter"], Nobody()) == pytest.approx(-0.125)
