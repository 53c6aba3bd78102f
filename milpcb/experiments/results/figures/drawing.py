"""Common parts of all figures: titles, grids of panels, axes, names of lines, legends, and the bytes of a picture.

Every figure has one of two widths, so that text of so many points is equally large wherever a page shows it at a
given width: 9 points of a figure of 9 inches are 12.5 of 900 pixels, of which a capital letter takes 9.
"""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from textwrap import wrap
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties
from matplotlib.lines import Line2D
from matplotlib.text import Text
from matplotlib.textpath import text_to_path
from matplotlib.ticker import FixedLocator, FuncFormatter, MaxNLocator, NullFormatter, NullLocator

from milpcb.core.decimals import number, spaced
from milpcb.core.surroundings import plain
from milpcb.core.text import escaped
from milpcb.experiments.results.figures.looks import Look
from milpcb.experiments.results.figures.results import WIDE, Panel, curve
from milpcb.experiments.results.figures.words import legible
from milpcb.types import Floats

LETTER = 0.45  # of the font's size: how wide a narrow letter is, about; where letters are wider, fewer are tried
FEWEST = 6  # letters of a line, however narrow
FORMATS = ("png", "svg")
SMALL, MEDIUM, LARGE = 9, 10, 12  # points: ticks and legends; labels and names of panels; the title
LINE = 0.17  # inches that a line of small text takes
COLUMNS = {1: 1, 2: 2, 3: 3, 4: 2}  # columns for so many panels of curves; 3 columns from 5 panels on
NAME, BESIDE = 2.2, 1.9  # inches of a wide figure that a name in front of a row, or beside the axes, may take
SHORT_NAME = 1.35  # inches that either may take of a narrow figure
HANDLE = 0.75  # inches of a legend's handle and the space around it
GREY = "0.45"
CORNERS = 60  # of an edge of a band, about
LEAST = 0.1  # costs; less regret is hardly any, or rounding, and would stretch a logarithmic axis over nothing
MOST_NAMED = 8  # lines that are named at their ends


@dataclass(frozen=True)
class Drawing:
    """A figure, the name of its file, what it is, what it shows to those who cannot see it, and what to see in it."""

    name: str
    heading: str
    figure: Figure
    alt: str
    caption: str


def fitted(name: str, inches: float, size: float, lines: int = 1, weight: str = "normal") -> str:
    """Return a legible name in about so many lines, broken at spaces and underscores where there are any.

    No line is wider than so many inches at this size in points; the middle of a longer name is left out.
    """
    letters = max(FEWEST, int(72 * inches / (LETTER * size)))
    while True:
        broken = _break(legible(name, lines * letters), letters)
        if letters <= FEWEST or all(width(line, size, weight) <= inches for line in broken):
            return "\n".join(broken)
        letters -= 1


def width(text: str, size: float, weight: str = "normal") -> float:
    """Return the width of a line of text in inches, at a size in points."""
    font = FontProperties(size=size, weight=weight)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing from font")
        return float(text_to_path.get_text_width_height_descent(text, font, False)[0]) / 72


def _break(text: str, letters: int) -> list[str]:
    if len(text) <= letters:
        return [text]
    return [line.replace("_ ", "_") for line in wrap(text.replace("_", "_ "), letters)] or [text]


def curve_grid(n: int, title: str, width: float = WIDE) -> tuple[Figure, list[Any]]:
    """Return a figure of n panels for curves, and their axes row by row: the fewer, the larger."""
    if width < WIDE:
        return grid(n, 1, 3.1, title, width)
    columns = COLUMNS.get(n, 3)
    return grid(n, columns, {1: 5.0, 2: 3.6}.get(columns, 2.7), title)


def grid(n: int, columns: int, height: float, title: str, width: float = WIDE) -> tuple[Figure, list[Any]]:
    """Return a figure of n panels in rows of this height in inches, and their axes; axes left over are removed."""
    lines = -(-n // columns)
    figure = Figure(figsize=(width, height * lines), layout="constrained")
    write_title(figure, title)
    every = figure.subplots(lines, columns, squeeze=False).ravel().tolist()
    for axes in every[n:]:
        axes.remove()
    for axes in every[:n]:
        axes.grid(visible=True, which="major", color="0.92", linewidth=0.8)
        axes.set_axisbelow(True)
        axes.spines[["top", "right"]].set_visible(False)
        axes.tick_params(labelsize=SMALL)
    return figure, every[:n]


def write_title(figure: Figure, title: str) -> None:
    """Write the title of a figure above everything else, from the left."""
    text = fitted(title, figure.get_figwidth() - 0.3, LARGE, weight="bold")
    figure.suptitle(text, fontsize=LARGE, x=0.01, ha="left", fontweight="bold")


def name_room(figure: Figure, wide: float = NAME) -> float:
    """Return the inches of a figure that a name may take."""
    return wide if figure.get_figwidth() >= WIDE else SHORT_NAME


def row_grid(rows: Sequence[str], n: int, title: str, width: float = WIDE) -> tuple[Figure, list[Any]]:
    """Return n panels with a row per name, the first at the top; only the leftmost panels write the names."""
    columns = min(n, 2) if width >= WIDE else 1
    figure, every = grid(n, columns, 0.24 * len(rows) + 0.8, title, width)
    figure.set_figheight(figure.get_figheight() + 0.5)  # title
    names = [fitted(row, name_room(figure), SMALL) for row in rows]
    for i, axes in enumerate(every):
        axes.set_ylim(len(rows) - 0.5, -0.5)
        axes.set_yticks(range(len(rows)), names if i % columns == 0 else [""] * len(rows))
        axes.spines["left"].set_visible(False)
        axes.tick_params(axis="y", length=0)
    return figure, every


def shade(axes: Any, rounds: Floats, low: Floats, high: Floats, colour: str) -> None:
    """Draw the band between two curves (n,) with few corners, so that pictures of many rounds stay small."""
    n = len(rounds)
    drawn = np.union1d(np.arange(0, n, 1 + n // CORNERS), np.arange(n)[-1:])
    axes.fill_between(rounds[drawn], low[drawn], high[drawn], color=colour, alpha=0.15, linewidth=0)


def name_panel(axes: Any, name: str, beside: float = 0.0) -> None:
    """Write what differs between panels above one of them, ``beside`` which so many inches are taken by something."""
    room = (axes.figure.get_figwidth() - name_room(axes.figure)) / axes.get_gridspec().ncols - 0.3 - beside
    axes.set_title(fitted(name, room, MEDIUM, lines=2), fontsize=MEDIUM, loc="left")


def label_outside(figure: Figure, every: Sequence[Any], below: str, beside: str) -> None:
    """Label the lowest panel of every column, and the left side once for all, with the scale where it is no linear one.

    It comes after what is drawn, as that decides the scale.
    """
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


def scale_axis(axis: Any, values: Floats, *, log: bool) -> None:
    """Make an axis linear or logarithmic; a log axis of less than 2 decades labels 2 and 5 too.

    An axis without any finite value, on which nothing is drawn, is left as it is.
    """
    if not np.isfinite(values).all():
        return
    grid = axis.axes.get_gridspec()  # None of axes that somebody placed by hand
    several = grid is not None and grid.ncols > 1
    narrow = axis.axis_name == "x" and (several or axis.axes.figure.get_figwidth() < WIDE)
    if not log:
        axis.set_major_locator(MaxNLocator(4 if narrow else 8, steps=[1, 2, 5, 10]))
        axis.set_major_formatter(FuncFormatter(_short))
        return
    axis.axes.set(**{f"{axis.axis_name}scale": "log"})
    axis.set_major_formatter(FuncFormatter(_short))
    low, high = axis.get_view_interval()
    spread = np.log10(high / low)
    steps: tuple[int, ...] = (2, 5) if spread >= 0.7 else (2, 3, 4, 6, 8) if not narrow else (2, 4, 7)
    minor = FuncFormatter(lambda x, _: _short(x, 0) if _leading_digit(x) in steps else "")
    axis.set_minor_formatter(minor if spread < (1.5 if narrow else 2) else NullFormatter())
    axis.axes.tick_params(which="minor", labelsize=SMALL)


def scale_linear(axes: Any) -> None:
    """Make both axes of what is drawn linear."""
    scale_axis(axes.xaxis, axes.dataLim.intervalx, log=False)
    scale_axis(axes.yaxis, axes.dataLim.intervaly, log=False)


def tick_at(axis: Any, values: Floats) -> None:
    """Put the ticks at these values where they are few: those that a study has, and no others."""
    shown = np.unique(values)
    if len(shown) <= 8:
        axis.set_ticks(shown, [_short(value, 0) for value in shown.tolist()])
        axis.set_minor_locator(NullLocator())


def wants_log(values: Floats, ratio: float = 20.0, least: float = 0.0) -> bool:
    """Return whether values are all above the least that means something and spread over more than this ratio."""
    shown = values[np.isfinite(values)]
    return bool(len(shown) and shown.min() > least and shown.max() > ratio * shown.min())


def legend(figure: Figure, entries: Sequence[tuple[Any, str]], *, below: bool) -> None:
    """Put one legend outside all axes: below them, or to their right, where it is read from top to bottom.

    Entries are handles and strings, whose first line is a name. The figure grows by the room that the legend needs.
    """
    handles = [entry[0] for entry in entries]
    style = {"frameon": False, "fontsize": SMALL}
    room = figure.get_figwidth()
    if below or room < WIDE:
        labels = [fitted(entry[1].split("\n")[0], min(NAME, room - HANDLE), SMALL) for entry in entries]
        columns = min(len(entries), max(1, int(room // (max(width(label, SMALL) for label in labels) + HANDLE))))
        figure.set_figheight(figure.get_figheight() + 1.4 * LINE * -(-len(entries) // columns) + 0.1)
        figure.legend(handles, labels, loc="outside lower center", ncols=columns, **style)
    else:
        labels = [_beside(entry[1]) for entry in entries]
        lines = sum(label.count("\n") + 1 for label in labels)
        figure.set_figheight(max(figure.get_figheight(), LINE * (lines + 0.7 * len(labels)) + 0.4))
        figure.legend(handles, labels, loc="outside right upper", labelspacing=0.7, **style)


def _beside(text: str) -> str:
    name, *more = text.split("\n")
    return "\n".join([fitted(name, BESIDE, SMALL, lines=2), *more])


def line_handle(look: Look) -> Line2D:
    """Return what a legend shows for a learner."""
    return Line2D([], [], **look.line())


def can_be_named(axes: Any, panel: Panel, texts: Mapping[str, str]) -> bool:
    """Return whether there is room to the right of the axes for the names of all lines."""
    return len(panel.learners) <= MOST_NAMED and _tallest(panel, texts) * len(panel.learners) <= _room(axes)


def name_lines(axes: Any, panel: Panel, looks: Mapping[str, Look], texts: Mapping[str, str]) -> None:
    """Write name, end and text of each line to the right of the axes, near its end."""
    ends = {learner: curve(panel.frame, learner)[1][:, -1].mean() for learner in panel.learners}
    gap = _tallest(panel, texts) / _room(axes)
    to_axes = axes.transData + axes.transAxes.inverted()
    heights = apart([float(np.clip(to_axes.transform((1, end))[1], 0, 1)) for end in ends.values()], gap)
    if max(heights) > 1:
        heights = [-height for height in apart([-min(height, 1.0) for height in heights], gap)]
    room = name_room(axes.figure, BESIDE - 0.5)
    for (learner, end), height in zip(ends.items(), heights, strict=True):
        axes.plot(1.025, height, transform=axes.transAxes, clip_on=False, linestyle="", **looks[learner].points())
        name = with_text(f"{fitted(learner, room, SMALL)}: {number(end)}", texts.get(learner, ""))
        beside = {"xycoords": "axes fraction", "textcoords": "offset points", "va": "center", "fontsize": SMALL}
        axes.annotate(name, (1.025, height), (9, 0), linespacing=1.15, **beside)


def with_text(name: str, text: str) -> str:
    """Return a name with the lines of a text below it, where there are any."""
    return f"{name}\n{text}" if text else name


def apart(places: Sequence[float], gap: float) -> list[float]:
    """Return places near the wanted ones, in order and ``gap`` apart: labels that are too close are moved upwards."""
    order = sorted(range(len(places)), key=lambda i: places[i])
    found = list(places)
    for below, above in pairwise(order):
        found[above] = max(found[above], found[below] + gap)
    return found


def _room(axes: Any) -> float:  # inches that the axes are high, about, without title and labels
    return float(axes.figure.get_figheight() / axes.get_gridspec().nrows - 1.0)


def _tallest(panel: Panel, texts: Mapping[str, str]) -> float:  # inches of height of a name with its text
    return LINE * (1.4 + max(len(texts.get(learner, "").splitlines()) for learner in panel.learners))


def finish(figure: Figure) -> Figure:
    """Return the figure with all text drawn as written: a dollar sign starts no formula, no character is obeyed."""
    for text in texts_of(figure):
        text.set_parse_math(False)
        text.set_text(escaped(text.get_text(), "\n"))
    return figure


def texts_of(artist: Any) -> Iterator[Text]:
    """Yield all text of a figure but numbers along axes: asking for those would make every tick at once."""
    if isinstance(artist, Text):
        yield artist
    numbers = isinstance(artist, Axis) and not isinstance(artist.get_major_locator(), FixedLocator)
    for child in (artist.label, artist.offsetText) if numbers else artist.get_children():
        yield from texts_of(child)


def render(
    figure: Figure, formats: Sequence[str] = FORMATS, *, caption: str = "", dpi: int = 150, as_text: bool = False
) -> dict[str, bytes]:
    """Return the figure as png, svg or pdf bytes by format; the same figure, the same bytes.

    Places in an svg are rounded to a hundredth of a point. ``caption`` is kept in the file, where the format has a
    place for it; ``as_text`` keeps letters as text, which can be searched and edited, in the place of outlines.
    """
    pictures = {}
    letters = {"svg.fonttype": "none", "pdf.fonttype": 42} if as_text else {}
    with plain(), mpl.rc_context(letters), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing from font")  # of a name in a script it has not
        for suffix in formats:
            buffer = io.BytesIO()
            figure.savefig(buffer, format=suffix, dpi=dpi, metadata=_metadata(suffix, caption))
            pictures[suffix] = _PLACES.sub(_rounded, buffer.getvalue()) if suffix == "svg" else buffer.getvalue()
    return pictures


def _metadata(suffix: str, caption: str) -> dict[str, Any]:
    """Return what a file holds besides the picture: no date, which would change its bytes, and the caption."""
    if suffix == "pdf":
        return {"CreationDate": None, **({"Subject": caption} if caption else {})}
    date: dict[str, Any] = {"Date": None} if suffix == "svg" else {}
    return {**date, **({"Description": caption} if caption else {})}


_PLACES = re.compile(rb' (?:d|x|y)="[^"]*"')  # where an SVG has the places of lines and marks
_DIGITS = re.compile(rb"\d+\.\d{3,}")


def _rounded(places: re.Match[bytes]) -> bytes:
    return _DIGITS.sub(lambda number: b"%.2f" % float(number[0]), places[0])


def _short(x: float, _position: int) -> str:  # as an axis has it: 20 000, 250, 0.05
    text = spaced(x, ".0f") if abs(x) >= 1000 else np.format_float_positional(x, 6, trim="-")
    return text.replace("-", "\u2212")


def _leading_digit(x: float) -> int:
    return round(float(x / 10.0 ** np.floor(np.log10(x) + 1e-9)))
