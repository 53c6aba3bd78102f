"""A figure as a value, and the one function that draws it: panels, axes, a legend."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import polars as pl
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from milpcb.core.decimals import percent, spaced
from milpcb.core.surroundings import plain
from milpcb.experiments.results.figures.drawing import (
    GREY,
    LINE,
    MEDIUM,
    NAME,
    SMALL,
    Drawing,
    finish,
    fitted,
    grid,
    name_room,
    scale_axis,
    shade,
    width,
)
from milpcb.experiments.results.figures.line_styles import COLOURS
from milpcb.experiments.results.figures.results import WIDE, Panel, Results
from milpcb.types import Floats

COLUMNS = {1: 1, 2: 2, 3: 3, 4: 2}  # columns for so many panels of curves; 3 columns from 5 panels on
HEIGHTS = {1: 5.0, 2: 3.6, 3: 2.7}  # inches of such a panel, by the number of columns
BESIDE = 1.9  # inches of a wide figure that a name beside the axes may take
HANDLE = 0.75  # inches of a legend's handle and the space around it

Entry = tuple[Any, str]  # of a legend: a handle, and words whose first line is a name


@dataclass(frozen=True)
class Plot:
    """A figure of panels that have the same axes.

    ``draw`` draws the marks of a panel on axes, and scales these; it returns the inches that it takes beside them, if
    any. With names of ``rows``, a panel has a row for each. ``lines`` are the curves in the order of the legend, each
    with the text below its name; ``marks`` are the further entries of the legend.
    """

    results: Results  # for title, width and styles
    panels: Sequence[Any]  # each with a name
    draw: Callable[[Any, Any], float | None]
    below: str
    beside: str = ""
    rows: Sequence[str] = ()
    lines: Mapping[str, str] = field(default_factory=dict)
    marks: Sequence[Entry] = ()


def drawn(plot: Plot, name: str = "", heading: str = "", alt: str = "", caption: str = "") -> Drawing:
    """Draw a figure; the words are those of ``Drawing``."""
    n, narrow = len(plot.panels), plot.results.width < WIDE
    figure, every = _grid(plot, n, narrow=narrow)
    room = (figure.get_figwidth() - name_room(figure)) / every[0].get_gridspec().ncols - 0.3
    for axes, panel in zip(every, plot.panels, strict=True):
        beside = plot.draw(axes, panel) or 0.0
        axes.set_title(fitted(panel.name, room - beside, MEDIUM, lines=2), fontsize=MEDIUM, loc="left")
    _label_outside(figure, every, plot.below, plot.beside)
    styles = plot.results.styles
    lines = [(Line2D([], [], **styles[each].line()), with_text(each, text)) for each, text in plot.lines.items()]
    if entries := [*lines, *plot.marks]:
        legend(figure, entries, below=n > 1 or bool(plot.rows))
    return Drawing(name, heading, finish(figure), alt, caption)


def _grid(plot: Plot, n: int, *, narrow: bool) -> tuple[Figure, list[Any]]:
    title, width = plot.results.title, plot.results.width
    if not plot.rows:
        columns = 1 if narrow else COLUMNS.get(n, 3)
        return grid(n, columns, 3.1 if narrow else HEIGHTS[columns], title, width)
    columns = 1 if narrow else min(n, 2)
    figure, every = grid(n, columns, 0.24 * len(plot.rows) + 0.8, title, width)
    figure.set_figheight(figure.get_figheight() + 0.5)  # title
    names = [fitted(row, name_room(figure), SMALL) for row in plot.rows]
    for i, axes in enumerate(every):
        axes.set_ylim(len(names) - 0.5, -0.5)  # the first row is at the top
        axes.set_yticks(range(len(names)), names if i % columns == 0 else [""] * len(names))
        axes.spines["left"].set_visible(False)
        axes.tick_params(axis="y", length=0)
    return figure, every


def _label_outside(figure: Figure, every: Sequence[Any], below: str, beside: str) -> None:
    scales = {"log": " (log scale)"}
    (short_below, _, _), (short_beside, _, _) = below.partition(" against "), beside.partition(" against ")
    for axes in every[-every[0].get_gridspec().ncols :]:
        room, scale = min(5.0, figure.get_figwidth() - 1.5), scales.get(axes.get_xscale(), "")
        text = below + scale if width(below + scale, MEDIUM) <= room else short_below + scale
        axes.set_xlabel(fitted(text, room, MEDIUM), fontsize=MEDIUM)
    scale = scales.get(every[0].get_yscale(), "")
    if len(every) == 1 and figure.get_figwidth() >= WIDE:
        every[0].set_ylabel(beside + scale, fontsize=MEDIUM)
    elif beside:
        figure.supylabel(short_beside + scale, fontsize=MEDIUM)  # a grid may be low


def legend(figure: Figure, entries: Sequence[Entry], *, below: bool) -> None:
    """Put one legend below all axes, or to their right; the figure grows by its room."""
    handles = [entry[0] for entry in entries]
    style = {"frameon": False, "fontsize": SMALL}
    room = figure.get_figwidth()
    if below or room < WIDE:
        labels = [fitted(entry[1].split("\n")[0], min(NAME, room - HANDLE), SMALL) for entry in entries]
        columns = min(len(entries), max(1, int(room // (max(width(label, SMALL) for label in labels) + HANDLE))))
        figure.set_figheight(figure.get_figheight() + 1.4 * LINE * -(-len(entries) // columns) + 0.1)
        figure.legend(handles, labels, loc="outside lower center", ncols=columns, **style)
    else:
        texts = [text.split("\n") for _, text in entries]
        labels = ["\n".join([fitted(name, BESIDE, SMALL, lines=2), *more]) for name, *more in texts]
        lines = sum(label.count("\n") + 1 for label in labels)
        figure.set_figheight(max(figure.get_figheight(), LINE * (lines + 0.7 * len(labels)) + 0.4))
        figure.legend(handles, labels, loc="outside right upper", labelspacing=0.7, **style)


def with_text(name: str, text: str) -> str:
    """Return a name with the lines of a text below it, where there are any."""
    return f"{name}\n{text}" if text else name


@plain()
def power_figure(rows: Floats, power: float) -> Figure:
    """Return the share of trials that could end by a row, with a 95 % band; ``rows`` (trials,) sorted, inf if never."""
    ended = rows[np.isfinite(rows)]
    share = np.arange(1, len(ended) + 1) / len(rows)
    reach = 1.96 * np.sqrt(share * (1 - share) / len(rows))

    def draw(axes: Any, _: Panel) -> None:
        shade(axes, ended, np.maximum(share - reach, 0.0), np.minimum(share + reach, 1.0), COLOURS[0])
        axes.step(ended, share, where="post", color=COLOURS[0])
        axes.axhline(power, color=GREY, linewidth=1, linestyle="--")
        if share[-1] >= power:
            needed = float(ended[int(np.searchsorted(share, power - 1e-9))])
            axes.axvline(needed, color=COLOURS[1], linewidth=1.2)
            beside = {"xytext": (4, 0), "textcoords": "offset points", "color": COLOURS[1], "fontsize": SMALL}
            axes.annotate(f"{spaced(needed, '.0f')} rows", (needed, 0.02), **beside)
        axes.set_ylim(0, 1)
        axes.yaxis.set_major_formatter(lambda value, _: percent(value, 0))
        scale_axis(axes.xaxis)

    without_curves = pl.DataFrame(schema={"learner": pl.String})
    results = Results(without_curves, "Rows of a trial, and how likely it is to have ended")
    return drawn(Plot(results, [Panel("", pl.DataFrame())], draw, "rows", "share of trials that could end")).figure
