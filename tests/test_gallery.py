"""The gallery: every program runs as it is, and prints what its text is about."""

import runpy
import sys
from pathlib import Path

import matplotlib as mpl
import pytest

GALLERY = Path(__file__).parents[1] / "scripts/gallery"
SEEN = {
    "01_trial": "target",
    "02_budget": "calls 20%",
    "03_service": "would have cost on them.",
    "04_mirror": "",
    "05_own_class": "milp: 22.50",
    "06_solvers": "pulp:PULP_CBC_CMD",
    "07_clinic_score": "proved optimal: True",
    "08_arguing": "without age",
    "09_near_best": "without age     0.0722, needed",
    "10_rule_in_force": "with 95 % confidence regret is at most",
}


def test_every_program_is_here():
    """Each with what it shows."""
    assert sorted(path.stem for path in GALLERY.glob("*.py")) == sorted(SEEN)


@pytest.mark.parametrize("name", SEEN)
@pytest.mark.filterwarnings("ignore:FigureCanvasAgg is non-interactive")
def test_programs_run_and_print(name, capsys, monkeypatch):
    """A program ends without an error, and prints what its text is about."""
    mpl.use("agg")
    monkeypatch.setattr(sys, "argv", [name])
    names = runpy.run_path(str(GALLERY / f"{name}.py"))
    assert SEEN[name] in capsys.readouterr().out
    if name == "04_mirror":
        assert "image/svg+xml" in names["plays"]._repr_html_()
