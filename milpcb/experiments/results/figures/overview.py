"""Regret of every learner in every panel as a share of that of choosing at random: a table of numbers on colours."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from matplotlib.colors import LinearSegmentedColormap, to_hex
from matplotlib.patches import Patch, Rectangle

from milpcb.core.decimals import THIN, number
from milpcb.core.text import ink
from milpcb.experiments.results.curves import ROUNDING
from milpcb.experiments.results.figures.drawing import SMALL, Drawing, fitted, width
from milpcb.experiments.results.figures.plots import Entry, Plot, drawn
from milpcb.experiments.results.figures.results import WIDE, Panel, Results
from milpcb.experiments.results.figures.words import band, sentences, verdict

ACROSS, FEW_ACROSS = 8, 3  # columns of a wide figure, at most, and of a narrow one
MOST = 1.5  # shares of random play's regret from which on the colour stays the same
SHADES = LinearSegmentedColormap.from_list(
    "shades", [(0, "#00334F"), (1 / 6, "#0072B2"), (0.5, "#FFFFFF"), (5 / 6, "#D55E00"), (1, "#6B2F00")]
)
ABOVE = "#000000"
MINUS = "\u2212"


@dataclass(frozen=True)
class Square:
    """A learner in a panel: mean regret as a share of random play's, whether above its guarantee, whether the least."""

    regret: float
    share: float
    above: bool
    least: bool = False


Table = Mapping[str, Square]


class Block(NamedTuple):
    """A block of columns of the table: panels, with a table each."""

    panels: Sequence[Panel]
    tables: Sequence[Table]
    name: str = ""


def overview(results: Results) -> list[Drawing]:
    """Draw regret at T over that of uniform play: a row per learner, a column per panel; needs two, and "uniform"."""
    panels = [panel for panel in results.panels if set(results.randoms) & set(panel.learners)]
    if len(panels) < 2:
        return []
    apart = [*results.randoms, *(name for name in results.styles if name in results.comparators(informed=True))]
    tables = [squares(panel, apart) for panel in panels]
    order = sorted((name for name in results.styles if name not in apart), key=lambda name: _mean_share(name, tables))
    rows = [*order, "", *dict.fromkeys(apart)]
    wide = results.width >= WIDE
    size = min(len(panels), ACROSS if wide else FEW_ACROSS)
    size = ACROSS // 2 if wide and len(panels) > ACROSS else size  # two blocks beside each other
    blocks = [Block(panels[i : i + size], tables[i : i + size]) for i in range(0, len(panels), size)]

    def draw(axes: Any, block: Block) -> None:
        for column, table in enumerate(block.tables):
            for learner, square in table.items():
                _draw_square(axes, column, rows.index(learner), square, random=learner == apart[0])
        names = max(width(label.get_text(), SMALL) for label in axes.get_yticklabels())
        room = (results.width - names - 0.3) / axes.get_gridspec().ncols / size - 0.06
        headers = [fitted(panel.name, room, SMALL, lines=3) for panel in block.panels]
        axes.set_xlim(-0.5, size - 0.5)
        axes.set_xticks(range(len(headers)), headers, fontsize=SMALL)
        axes.tick_params(length=0, labeltop=True, labelbottom=False)
        axes.spines[:].set_visible(False)
        axes.grid(visible=False)

    above = any(square.above for table in tables for square in table.values())
    below, heading = "share of the regret of choosing at random", "Regret as a share of that of random choice"
    plot = Plot(results, blocks, draw, below, rows=rows, marks=_entries(above=above))
    return [drawn(plot, "overview", heading, verdict(results), _caption(results, above=above))]


def squares(panel: Panel, apart: Sequence[str] = ()) -> dict[str, Square]:
    """Return a square for every learner of a panel of final rows, beside the first of ``apart``, which plays randomly.

    Each learner is at its longest horizon T, beside random play after T rounds; the least is among the largest T.
    """
    random = next(name for name in apart if name in panel.learners)
    most = max(final.horizon for final in panel.finals.values())
    rivals = [final for label, final in panel.finals.items() if label not in apart and final.horizon == most]
    best = min(rivals, key=lambda final: final.regret, default=None)
    found = {}
    for learner, final in panel.finals.items():
        beside = panel.regrets(random).get(final.horizon, np.zeros(0))
        paid = float(beside.mean()) if len(beside) else np.nan
        share = final.regret / paid if paid > ROUNDING else np.nan
        found[learner] = Square(final.regret, share, final.regret > final.guarantee + ROUNDING, final is best)
    return found


def _mean_share(name: str, tables: Sequence[Table]) -> float:
    shares = [table[name].share for table in tables if name in table]
    return float(np.mean([share for share in shares if np.isfinite(share)] or [np.inf]))


def _draw_square(axes: Any, column: int, row: float, square: Square, *, random: bool) -> None:
    shade = to_hex(SHADES(0.5 + float(np.clip(np.nan_to_num(square.share), -MOST, MOST)) / (2 * MOST)))
    colour = "#FFFFFF" if random else shade
    edge = {"edgecolor": ABOVE, "linewidth": 2, "zorder": 2} if square.above else {"edgecolor": "white"}
    axes.add_patch(Rectangle((column - 0.47, row - 0.46), 0.94, 0.92, facecolor=colour, **edge))
    text = number(square.regret) if random else share_text(square.share)
    style = {"fontsize": SMALL, "ha": "center", "va": "center", "zorder": 3}
    axes.text(column, row, text, color=ink(colour), fontweight="bold" if square.least else "normal", **style)


def share_text(share: float) -> str:
    """Return a share as per cents, whole ones from 10 on: 34 %, 2.5 %, -120 %."""
    if not np.isfinite(share):
        return "none"
    size = abs(100 * share)
    digits = f"{size:.0f}" if size >= 9.95 or size == 0 else f"{size:.1f}"
    return f"{MINUS * (share < 0 and float(digits) > 0)}{digits}{THIN}%"


def _entries(*, above: bool) -> list[Entry]:
    steps = {-1.0: "below 0: better than the best policy", 0.0: "as the best policy", 1.0: "as choosing at random"}
    shades: list[Entry] = [
        (Patch(facecolor=SHADES(0.5 + share / (2 * MOST)), edgecolor="0.5"), text) for share, text in steps.items()
    ]
    frame = Patch(facecolor="white", edgecolor=ABOVE, linewidth=2)
    return [*shades, (frame, "above its guarantee")] if above else shades


def _caption(results: Results, *, above: bool) -> str:
    return sentences(
        "Regret as a share of that of random choice, whose regret is the row of numbers without colour.",
        "Bold is the least of a column. Learners are in the order of their mean share.",
        "Learners that see more than others stand apart.",
        "A framed number is above its guarantee." if above else "No mean is above its guarantee.",
        band(results),
    )
