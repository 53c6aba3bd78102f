"""Common parts of all figures: titles, names that fit, grids of panels, axes, and the bytes of a picture."""

import io
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from textwrap import wrap
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties
from matplotlib.text import Text
from matplotlib.textpath import text_to_path
from matplotlib.ticker import FixedLocator, FuncFormatter, MaxNLocator, NullFormatter, NullLocator

from milpcb.core.decimals import spaced
from milpcb.core.surroundings import plain
from milpcb.core.text import escaped
from milpcb.experiments.results.figures.results import WIDE
from milpcb.experiments.results.figures.words import legible
from milpcb.types import Floats

LETTER = 0.45  # of the font's size: how wide a narrow letter is, about; where letters are wider, fewer are tried
FEWEST = 6  # letters of a line, however narrow
FORMATS = ("png", "svg")
METADATA = {"png": ("", "Description"), "svg": ("Date", "Description"), "pdf": ("CreationDate", "Subject")}  # of words
# Points: ticks and legends; labels and names of panels; the title. Every figure has one of two widths, so that text is
# equally large wherever a page shows it: 9 points of 9 inches are 12.5 of 900 pixels, of which a capital takes 9.
SMALL, MEDIUM, LARGE = 9, 10, 12
LINE = 0.17  # inches that a line of small text takes
NAME, SHORT_NAME = 2.2, 1.35  # inches that a name in front of a row may take of a wide figure, and of a narrow one
GREY = "0.45"
CORNERS = 60  # of an edge of a band, about
CARD = (7.0, 4.0)  # inches, at least, of a policy that is drawn by itself or as the text of its rules
LEAST = 0.1  # costs; less regret is hardly any, or rounding, and would stretch a logarithmic axis over nothing


@dataclass(frozen=True)
class Drawing:
    """A figure, its file name, its heading, a description for those who cannot see it, and its caption."""

    name: str
    heading: str
    figure: Figure
    alt: str
    caption: str


def fitted(name: str, inches: float, size: float, lines: int = 1, weight: str = "normal") -> str:
    """Return a legible name in about so many lines, none wider than so many inches at a size in points."""
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


def grid(n: int, columns: int, height: float, title: str, width: float = WIDE) -> tuple[Figure, list[Any]]:
    """Return a figure of n panels in rows of this height in inches, and their axes; axes left over are removed."""
    lines = -(-n // columns)
    figure = Figure(figsize=(width, height * lines), layout="constrained")
    text = fitted(title, width - 0.3, LARGE, weight="bold")
    figure.suptitle(text, fontsize=LARGE, x=0.01, ha="left", fontweight="bold")
    every = figure.subplots(lines, columns, squeeze=False).ravel().tolist()
    for axes in every[n:]:
        axes.remove()
    for axes in every[:n]:
        axes.grid(visible=True, which="major", color="0.92", linewidth=0.8)
        axes.set_axisbelow(True)
        axes.spines[["top", "right"]].set_visible(False)
        axes.tick_params(labelsize=SMALL)
    return figure, every[:n]


def name_room(figure: Figure) -> float:
    """Return the inches of a figure that a name in front of a row may take."""
    return NAME if figure.get_figwidth() >= WIDE else SHORT_NAME


def shade(axes: Any, rounds: Floats, low: Floats, high: Floats, colour: str) -> None:
    """Draw the band between two curves (n,) with few corners, so that pictures of many rounds stay small."""
    n = len(rounds)
    drawn = np.union1d(np.arange(0, n, 1 + n // CORNERS), np.arange(n)[-1:])
    axes.fill_between(rounds[drawn], low[drawn], high[drawn], color=colour, alpha=0.15, linewidth=0)


def scale_axis(axis: Any, *, log: bool = False) -> None:
    """Make an axis linear or logarithmic; a log axis of less than 2 decades labels 2 and 5 too."""
    if not np.isfinite(axis.get_data_interval()).all():
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


def tick_at(axis: Any, values: Floats) -> None:
    """Put the ticks at these values, and nowhere else, where they are few."""
    shown = np.unique(values)
    if len(shown) <= 8:
        axis.set_ticks(shown, [_short(value, 0) for value in shown.tolist()])
        axis.set_minor_locator(NullLocator())


def wants_log(values: Floats, ratio: float = 20.0, least: float = 0.0) -> bool:
    """Return whether values are all above ``least``, the smallest meaningful one, and spread beyond this ratio."""
    shown = values[np.isfinite(values)]
    return bool(len(shown) and shown.min() > least and shown.max() > ratio * shown.min())


def finish(figure: Figure) -> Figure:
    """Return the figure with all text drawn as written: a dollar sign starts no formula, no character is obeyed."""
    for text in texts_of(figure):
        text.set_parse_math(False)
        text.set_text(escaped(text.get_text(), "\n"))
    return figure


def texts_of(artist: Any) -> Iterator[Text]:
    """Yield all text of a figure except numbers along axes: reading those would make every tick at once."""
    if isinstance(artist, Text):
        yield artist
    numbers = isinstance(artist, Axis) and not isinstance(artist.get_major_locator(), FixedLocator)
    for child in (artist.label, artist.offsetText) if numbers else artist.get_children():
        yield from texts_of(child)


def render(
    figure: Figure, formats: Sequence[str] = FORMATS, *, caption: str = "", dpi: int = 150, as_text: bool = False
) -> dict[str, bytes]:
    """Return the figure as png, svg or pdf bytes by format; the same figure, the same bytes.

    ``caption`` is kept in the file; ``as_text`` keeps letters as text in the place of outlines.
    """
    pictures = {}
    letters = {"svg.fonttype": "none", "pdf.fonttype": 42} if as_text else {}
    with plain(), mpl.rc_context(letters), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing from font")  # of a name in a script it has not
        for suffix in formats:
            buffer = io.BytesIO()
            date, words = METADATA[suffix]
            metadata: dict[str, Any] = {date: None} if date else {}
            metadata |= {words: caption} if caption else {}
            figure.savefig(buffer, format=suffix, dpi=dpi, metadata=metadata)
            pictures[suffix] = buffer.getvalue()
    return pictures


def _short(x: float, _position: int) -> str:  # as an axis has it: 20 000, 250, 0.05
    text = spaced(x, ".0f") if abs(x) >= 1000 else np.format_float_positional(x, 6, trim="-")
    return text.replace("-", "\u2212")


def _leading_digit(x: float) -> int:
    return round(float(x / 10.0 ** np.floor(np.log10(x) + 1e-9)))


@plain()
def draw_policy(policy: Any, leaves: Sequence[Any] | None = None, formats: Sequence[str] = FORMATS) -> dict[str, bytes]:
    """Return the pictures of a policy: its own figure, with facts of ``policy.leaves(...)``, or a card of its rules."""
    if hasattr(policy, "figure"):
        return render(finish(policy.figure(leaves)), formats)
    if hasattr(policy, "draw"):
        figure = Figure(figsize=CARD, layout="constrained")
        policy.draw(figure.add_subplot())
    else:
        lines = str(policy).split("\n")
        size = max(CARD[0], 0.085 * max(map(len, lines)) + 1.2), max(CARD[1], 0.2 * len(lines) + 1.2)
        figure = Figure(figsize=size, layout="constrained")
        axes = figure.add_subplot()
        axes.set_axis_off()
        box = {"facecolor": "0.97", "edgecolor": "0.3", "boxstyle": "round,pad=0.8"}
        axes.text(0.5, 0.5, str(policy), bbox=box, ha="center", va="center", family="monospace", fontsize=10)
    return render(finish(figure), formats)
