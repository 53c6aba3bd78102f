"""The gallery: every program runs as it is, ends with something to see, and is explained cell by cell."""

import runpy
import sys
from pathlib import Path

import matplotlib as mpl
import pytest

GALLERY = sorted((Path(__file__).parents[1] / "scripts" / "gallery").glob("*.py"))
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
    """Eight of them or more, each with what it shows."""
    assert len(GALLERY) >= 8
    assert [path.stem for path in GALLERY] == sorted(SEEN)


@pytest.mark.parametrize("path", GALLERY, ids=lambda path: path.stem)
@pytest.mark.filterwarnings("ignore:FigureCanvasAgg is non-interactive")
def test_programs_run_and_print(path, capsys, monkeypatch):
    """A program ends without an error, and prints what its text is about."""
    mpl.use("agg")
    monkeypatch.setattr(sys, "argv", [str(path)])
    names = runpy.run_path(str(path))
    assert SEEN[path.stem] in capsys.readouterr().out
    if path.stem == "04_mirror":
        shown = names["plays"]._repr_html_()
        assert "image/svg+xml" in shown
        assert "adaptive leader" in shown


@pytest.mark.parametrize("path", GALLERY, ids=lambda path: path.stem)
def test_programs_are_cells_with_words(path):
    """A title, and a sentence before each block of code, in lines of 120 characters."""
    text = path.read_text(encoding="utf-8")
    title, _, rest = text.removeprefix('"""\n').partition("\n===")
    assert title
    assert "\n" not in title
    cells = rest.split("\n# %%\n")[1:]
    assert len(cells) >= 2
    assert all(cell.startswith("# ") for cell in cells)
    assert max(map(len, text.splitlines())) <= 120
