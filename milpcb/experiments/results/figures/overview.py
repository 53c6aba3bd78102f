"""Regret of every learner in every panel as a table of numbers on colours: small enough to be read at a glance."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure
from matplotlib.patches import Patch, Rectangle

from milpcb.experiments.results.figures.drawing import (
    NAME,
    SMALL,
    WIDTH,
    Drawing,
    finish,
    legend,
    short,
    write_title,
)
from milpcb.experiments.results.figures.finals import by_place
from milpcb.experiments.results.figures.fitting import fitted, width
from milpcb.experiments.results.figures.results import Panel, Results, guarantee, longest, regrets
from milpcb.experiments.results.figures.words import at_their_longest, count, sentences
from milpcb.experiments.results.slopes import ROUNDING

MOST = 8  # columns beside each other; further panels go into a table below
FEWEST = 4  # columns that the width is cut into, at least
ROW = 0.27  # inches
SHADES = LinearSegmentedColormap.from_list("shades", ["#FFFFFF", "#8FC1E3", "#0072B2", "#00334F"])
DARK = 0.62  # shares of the shades from which on text is white
ABOVE = "#D55E00"


@dataclass(frozen=True)
class Square:
    """A learner in a panel: its mean regret, its share (0 to 1) of the largest there, whether above its guarantee."""

    regret: float
    share: float
    above: bool


def overview(results: Results) -> list[Drawing]:
    """Draw the mean regret at T: a row per learner, a column per panel; nothing for a study of one panel."""
    panels = results.panels(longest(results.finals))
    if len(panels) < 2:
        return []
    order = by_place(results, panels)
    blocks = [panels[i : i + MOST] for i in range(0, len(panels), MOST)]
    columns = max(len(blocks[0]), FEWEST)
    room = _room(order, columns)
    lines = max(_header(panel.name, room).count("\n") + 1 for panel in panels)
    height = len(blocks) * (ROW * len(order) + 0.16 * lines + 0.1) + 0.4
    figure = Figure(figsize=(WIDTH, height), layout="constrained")
    write_title(figure, results.title)
    for axes, block in zip(figure.subplots(len(blocks), 1, squeeze=False).ravel(), blocks, strict=True):
        _draw_block(axes, block, order, room)
        axes.set_xlim(-0.5, columns - 0.5)
    above = any(square.above for panel in panels for square in squares(panel).values())
    legend(figure, _entries(above=above), below=True)
    alt = f"Table of the mean regret of {count(len(order), 'learner')} in {count(len(panels), 'panel')}."
    return [
        Drawing("overview", "Regret at the horizon at a glance", finish(figure), alt, _caption(results, above=above))
    ]


def squares(panel: Panel) -> dict[str, Square]:
    """Return a square for every learner of a panel of final rows."""
    means = {learner: float(regrets(panel.frame, learner).mean()) for learner in panel.learners}
    most = max(means.values())
    return {
        learner: Square(
            mean,
            float(np.clip(mean / most, 0, 1)) if most > 0 else 0.0,
            mean > guarantee(panel.frame, learner) + ROUNDING,
        )
        for learner, mean in means.items()
    }


def _draw_block(axes: Any, panels: Sequence[Panel], order: Sequence[str], room: float) -> None:
    for column, panel in enumerate(panels):
        for learner, square in squares(panel).items():
            _draw_square(axes, column, order.index(learner), square)
    axes.set_ylim(len(order) - 0.5, -0.5)
    axes.set_xticks(range(len(panels)), [_header(panel.name, room) for panel in panels], fontsize=SMALL)
    axes.set_yticks(range(len(order)), [fitted(learner, NAME, SMALL) for learner in order], fontsize=SMALL)
    axes.tick_params(length=0, labeltop=True, labelbottom=False)
    axes.spines[:].set_visible(False)


def _draw_square(axes: Any, column: int, row: int, square: Square) -> None:
    edge = {"edgecolor": ABOVE, "linewidth": 2.5, "zorder": 2} if square.above else {"edgecolor": "white"}
    axes.add_patch(Rectangle((column - 0.47, row - 0.46), 0.94, 0.92, facecolor=SHADES(square.share), **edge))
    colour = "white" if square.share > DARK else "black"
    axes.text(column, row, brief(square.regret), color=colour, fontsize=SMALL, ha="center", va="center", zorder=3)


def brief(value: float) -> str:
    """Return a regret in at most 3 digits, thousands as k: 12.0k, 843, 2.1."""
    if not np.isfinite(value):
        return "none"
    size = abs(value)
    if size < 0.05:
        return "0"
    digits = f"{size:.1f}" if size < 9.95 else f"{size:.0f}" if size < 999.5 else ""
    if not digits:
        rounded = float(f"{size:.3g}")
        digits = f"{rounded / 1000:.1f}k" if rounded < 1e5 else short(rounded)
    return f"\u2212{digits}" if value < 0 else digits


def _room(order: Sequence[str], columns: int) -> float:
    """Return how many inches a column has for its name, beside the names of the learners."""
    beside = max(width(fitted(learner, NAME, SMALL), SMALL) for learner in order)
    return (WIDTH - beside - 0.3) / columns - 0.06


def _header(name: str, room: float) -> str:
    return fitted(name, room, SMALL, lines=3)


def _entries(*, above: bool) -> list[tuple[Any, str]]:
    steps = [(0.0, "no regret"), (0.5, "half of the largest of its column"), (1.0, "the largest of its column")]
    shades: list[tuple[Any, str]] = [(Patch(facecolor=SHADES(share), edgecolor="0.7"), text) for share, text in steps]
    frame = Patch(facecolor="white", edgecolor=ABOVE, linewidth=2)
    return [*shades, (frame, "above its guarantee")] if above else shades


def _caption(results: Results, *, above: bool) -> str:
    means = f"Means over {count(results.seeds, 'seed')}; the darker, the more regret within a column."
    order = "Learners are in the order of their mean place over the columns, the least regret at the top."
    frames = "A framed number is above its guarantee." if above else "No mean is above its guarantee."
    return sentences(means, order, frames, at_their_longest(results))
