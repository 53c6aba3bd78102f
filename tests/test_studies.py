"""The studies of scripts/reproduce."""

from pathlib import Path

from milpcb.experiments.study.cells import build_study
from milpcb.experiments.study.config import read_config

STUDIES = Path(__file__).parents[1] / "scripts/reproduce"


def test_the_gaps_study_is_50_seeds_everywhere():
    """Eight environments of the gallery and one mirror, 13 learners, 50 seeds."""
    cells = build_study(read_config(STUDIES / "gaps.toml")).cells
    environments, learners = ({getattr(cell, part).label for cell in cells} for part in ("environment", "learner"))
    gallery = {cell.environment.label for cell in build_study(read_config(STUDIES / "gallery.toml")).cells}
    assert environments == gallery | {"mirror"}
    assert len(cells) == len(environments) * len(learners) * 50 == 9 * 13 * 50
