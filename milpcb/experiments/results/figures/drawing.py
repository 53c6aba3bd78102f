"""What the figures share: a drawing with its words, grids of panels, axes, and the bytes of a picture."""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass
from textwrap import fill
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.text import Text
from matplotlib.ticker import EngFormatter, FuncFormatter, NullFormatter, NullLocator, ScalarFormatter

from milpcb.experiments.results.figures.looks import Look
from milpcb.types import Floats

FORMATS = ("png", "svg")
NARROW = {1: 1, 2: 2, 3: 3, 4: 2, 5: 3, 6: 3}  # columns for so many panels; 4 columns from 7 panels on
GREY = "0.45"
LEAST = 0.1  # costs; less regret is hardly any, or rounding, and would stretch a logarithmic axis over nothing


@dataclass(frozen=True)
class Drawing:
    """A figure, the name of its file, what it is, what it shows to those who cannot see it, and what to see in it."""

    name: str
    heading: str
    figure: Figure
    alt: str
    caption: str


def curve_grid(n: int, title: str) -> tuple[Figure, list[Any]]:
    """Return n panels for curves: the fewer, the larger."""
    width, height = (8.5, 5.0) if n == 1 else (4.4, 3.2) if n <= 4 else (3.3, 2.7)
    return grid(n, width, height, title)


def grid(n: int, width: float, height: float, title: str) -> tuple[Figure, list[Any]]:
    """Return a figure of n panels of this size in inches, and their axes row by row; axes left over are removed."""
    columns = NARROW.get(n, 4)
    lines = -(-n // columns)
    figure = Figure(figsize=(width * columns, height * lines), layout="constrained")
    figure.suptitle(title, fontsize=11, x=0.01, ha="left", fontweight="bold")
    every = figure.subplots(lines, columns, squeeze=False).ravel().tolist()
    for axes in every[n:]:
        axes.remove()
    for axes in every[:n]:
        axes.grid(visible=True, which="major", color="0.92", linewidth=0.8)
        axes.set_axisbelow(True)
        axes.spines[["top", "right"]].set_visible(False)
        axes.tick_params(labelsize=8)
    return figure, every[:n]


def row_grid(rows: Sequence[str], n: int, title: str) -> tuple[Figure, list[Any]]:
    """Return n panels with a row per name, the first at the top; only the leftmost panels write the names."""
    columns = NARROW.get(n, 4)
    figure, every = grid(n, 8.5 if n == 1 else 3.4, 0.24 * len(rows) + 0.6, title)
    figure.set_figheight(figure.get_figheight() + 0.7)  # title and legend
    for i, axes in enumerate(every):
        axes.set_ylim(len(rows) - 0.5, -0.5)
        axes.set_yticks(range(len(rows)), rows if i % columns == 0 else [""] * len(rows))
        axes.spines["left"].set_visible(False)
        axes.tick_params(axis="y", length=0)
    return figure, every


def name_panel(axes: Any, name: str) -> None:
    """Write what differs between panels above one of them."""
    axes.set_title(fill(name, 44), fontsize=9, loc="left")


def label_outside(figure: Figure, every: Sequence[Any], below: str, beside: str) -> None:
    """Label the lowest panel of every column, and the left side once for all."""
    for axes in every[-NARROW.get(len(every), 4) :]:
        axes.set_xlabel(below, fontsize=9)
    if len(every) == 1:
        every[0].set_ylabel(beside, fontsize=9)
    elif beside:
        figure.supylabel(beside.split(" against ", maxsplit=1)[0], fontsize=9)  # short: a grid may be low


def scale_axis(axis: Any, values: Floats, *, log: bool) -> None:
    """Make an axis linear or logarithmic, with labels like 20k; a log axis of less than 2 decades labels 2 and 5 too.

    An axis without any finite value, on which nothing is drawn, is left as it is.
    """
    if not np.isfinite(values).all():
        return
    if not log:
        axis.set_major_formatter(EngFormatter(sep="") if np.abs(values).max(initial=0) >= 1000 else ScalarFormatter())
        return
    axis.axes.set(**{f"{axis.axis_name}scale": "log"})
    axis.set_major_formatter(FuncFormatter(_short))
    low, high = axis.get_view_interval()
    spread = np.log10(high / low)
    steps = range(1, 10) if spread < 0.7 else (2, 5)
    minor = FuncFormatter(lambda x, _: _short(x, 0) if _leading_digit(x) in steps else "")
    axis.set_minor_formatter(minor if spread < 2 else NullFormatter())
    axis.axes.tick_params(which="minor", labelsize=8)


def tick_at(axis: Any, values: Floats) -> None:
    """Put the ticks at these values where they are few: those that a study has, and no others."""
    shown = np.unique(values)
    if len(shown) <= 8:
        axis.set_ticks(shown, [_short(value, 0) for value in shown.tolist()])
        axis.set_minor_locator(NullLocator())


def wants_log(values: Floats, ratio: float = 20.0, least: float = 0.0) -> bool:
    """Tell whether values are all above the least that means something and spread over more than this ratio."""
    shown = values[np.isfinite(values)]
    return bool(len(shown) and shown.min() > least and shown.max() > ratio * shown.min())


def legend(figure: Figure, entries: Sequence[tuple[Any, str]], *, below: bool) -> None:
    """Put one legend outside all axes: below them, or to their right, where it is read from top to bottom."""
    handles, labels = [entry[0] for entry in entries], [entry[1] for entry in entries]
    if below:
        widest = max(map(len, labels))
        columns = max(1, min(len(entries), int(figure.get_figwidth() * 12 // (widest + 8))))
        figure.legend(handles, labels, loc="outside lower center", ncols=columns, frameon=False, fontsize=9)
    else:
        figure.legend(handles, labels, loc="outside right upper", frameon=False, fontsize=9, labelspacing=0.8)


def line_handle(look: Look) -> Line2D:
    """Return what a legend shows for a learner."""
    return Line2D([], [], **look.line())


def finish(figure: Figure) -> Figure:
    """Take every text for what it is: a dollar sign in a name starts no formula."""
    for text in figure.findobj(Text):
        text.set_parse_math(False)
    return figure


def render(figure: Figure, formats: Sequence[str] = FORMATS) -> dict[str, bytes]:
    """Return the figure as png and svg bytes; the same figure gives the same bytes."""
    pictures = {}
    with mpl.rc_context({"svg.hashsalt": "milpcb"}):
        for suffix in formats:
            buffer = io.BytesIO()
            metadata = {"Date": None} if suffix == "svg" else None
            figure.savefig(buffer, format=suffix, dpi=150, metadata=metadata)
            pictures[suffix] = buffer.getvalue()
    return pictures


def _short(x: float, _position: int) -> str:
    return EngFormatter(sep="").format_eng(x) if x >= 1000 else f"{x:g}"


def _leading_digit(x: float) -> int:
    return round(float(x / 10.0 ** np.floor(np.log10(x) + 1e-9)))
