"""Regret of every learner in every panel as a share of that of choosing at random: a table of numbers on colours."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.colors import LinearSegmentedColormap, to_hex
from matplotlib.figure import Figure
from matplotlib.patches import Patch, Rectangle

from milpcb.core.decimals import THIN, number
from milpcb.core.text import ink
from milpcb.experiments.results.curves import ROUNDING
from milpcb.experiments.results.figures.drawing import SMALL, Drawing, finish, fitted, name_room, width, write_title
from milpcb.experiments.results.figures.plots import Entry, legend
from milpcb.experiments.results.figures.results import NARROW, WIDE, Panel, Results, longest
from milpcb.experiments.results.figures.words import band, sentences, verdict

COLUMNS = {WIDE: 8, NARROW: 3}  # into so many the width is cut at most
ROW, SPACE = 0.27, 0.6  # inches of a row; rows of space before those that are set apart
MOST = 1.5  # shares of random play's regret from which on the colour stays the same
SHADES = LinearSegmentedColormap.from_list(
    "shades", [(0, "#00334F"), (1 / 6, "#0072B2"), (0.5, "#FFFFFF"), (5 / 6, "#D55E00"), (1, "#6B2F00")]
)
ABOVE = "#000000"
MINUS = "\u2212"


@dataclass(frozen=True)
class Square:
    """A learner in a panel: mean regret, as a share of random play's, above its guarantee, least of those compared."""

    regret: float
    share: float
    above: bool
    least: bool = False


Table = Mapping[str, Square]


def overview(results: Results) -> list[Drawing]:
    """Draw regret at T over that of uniform play: a row per learner, a column per panel; needs two, and "uniform"."""
    panels = [panel for panel in results.panels(results.finals) if set(results.randoms) & set(panel.learners)]
    if len(panels) < 2:
        return []
    apart = [*results.randoms, *(name for name in results.looks if name in results.comparators(informed=True))]
    tables = [squares(panel, apart) for panel in panels]
    order = sorted((name for name in results.looks if name not in apart), key=lambda name: _mean_share(name, tables))
    figure = _figure(results, panels, tables, order, list(dict.fromkeys(apart)))
    above = any(square.above for table in tables for square in table.values())
    legend(figure, _entries(above=above), below=True)
    heading = "Regret beside that of choosing at random"
    return [Drawing("overview", heading, finish(figure), verdict(results), _caption(results, above=above))]


def squares(panel: Panel, apart: Sequence[str] = ()) -> dict[str, Square]:
    """Return a square for every learner of a panel of final rows, beside the first of ``apart``, which plays randomly.

    Each is at its longest horizon, beside random play after as many rounds; the least is of those after the most.
    """
    random = next(name for name in apart if name in panel.learners)
    ends = Panel(panel.name, longest(panel.frame)).finals
    most = max(final.horizon for final in ends.values())
    rivals = [final for label, final in ends.items() if label not in apart and final.horizon == most]
    best = min(rivals, key=lambda final: final.regret, default=None)
    found = {}
    for learner, final in ends.items():
        beside = panel.regrets(random).get(final.horizon, np.zeros(0))
        paid = float(beside.mean()) if len(beside) else np.nan
        share = final.regret / paid if paid > ROUNDING else np.nan
        found[learner] = Square(final.regret, share, final.regret > final.guarantee + ROUNDING, final is best)
    return found


def _mean_share(name: str, tables: Sequence[Table]) -> float:
    shares = [table[name].share for table in tables if name in table]
    return float(np.mean([share for share in shares if np.isfinite(share)] or [np.inf]))


def _figure(
    results: Results, panels: list[Panel], tables: Sequence[Table], order: list[str], apart: list[str]
) -> Figure:
    most = COLUMNS[WIDE if results.width >= WIDE else NARROW]
    blocks = [slice(i, i + most) for i in range(0, len(panels), most)]
    columns = min(len(panels), most)
    figure = Figure(figsize=(results.width, 1.0), layout="constrained")
    names = [fitted(name, name_room(figure), SMALL) for name in [*order, *apart]]
    room = (results.width - max(width(name, SMALL) for name in names) - 0.3) / columns - 0.06
    headers = [fitted(panel.name, room, SMALL, lines=3) for panel in panels]
    lines = max(header.count("\n") + 1 for header in headers)
    figure.set_figheight(len(blocks) * (ROW * (len(names) + SPACE) + 0.16 * lines + 0.1) + 0.6)
    write_title(figure, results.title)
    places = {name: i + SPACE * (i >= len(order)) for i, name in enumerate([*order, *apart])}
    for axes, block in zip(figure.subplots(len(blocks), 1, squeeze=False).ravel(), blocks, strict=True):
        for column, table in enumerate(tables[block]):
            for learner, square in table.items():
                _draw_square(axes, column, places[learner], square, random=learner == apart[0])
        axes.set_xlim(-0.5, columns - 0.5)
        axes.set_ylim(len(names) + SPACE - 0.5, -0.5)
        axes.set_xticks(range(len(headers[block])), headers[block], fontsize=SMALL)
        axes.set_yticks(list(places.values()), names, fontsize=SMALL)
        axes.tick_params(length=0, labeltop=True, labelbottom=False)
        axes.spines[:].set_visible(False)
    axes.set_xlabel("share of the regret of choosing at random", fontsize=SMALL)
    return figure


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
        "Regret as a share of that of choosing at random, whose own is the row of numbers without colour.",
        "Bold is the least of a column. Learners are in the order of their mean share.",
        "Those that see more than others stand apart.",
        "A framed number is above its guarantee." if above else "No mean is above its guarantee.",
        band(results),
    )
