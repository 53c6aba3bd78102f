"""Figures in another form: as a page of Plotly's, whose marks are read off the figure, and for a paper."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from html import escape
from itertools import chain
from typing import Any

import numpy as np
import polars as pl
from matplotlib.collections import Collection, LineCollection
from matplotlib.colors import to_hex, to_rgba
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch, Rectangle

from milpcb.core.decimals import THIN
from milpcb.core.surroundings import plain
from milpcb.errors import UnknownNameError, needs
from milpcb.experiments.results.figures import draw
from milpcb.experiments.results.figures.drawing import SMALL, Drawing, texts_of
from milpcb.experiments.results.figures.line_styles import LineStyle
from milpcb.experiments.results.figures.results import Results, registered
from milpcb.experiments.results.figures.words import sentences

FEW = 20  # points of a line, each of which has its mark
NONE = ("None", "none", "", " ")  # matplotlib's words for no line and for no mark
PIXELS = 96  # per inch
NUMBER = re.compile(r"[-\u2212]?\d[\d \u202f\u2009]*(\.\d+)?%?")
SYMBOLS = {
    "o": "circle", "s": "square", "^": "triangle-up", "D": "diamond", "v": "triangle-down", "P": "cross", "X": "x",
    "<": "triangle-left", ">": "triangle-right", "p": "pentagon", "*": "star", "h": "hexagon", "d": "diamond-tall",
    "H": "hexagon2", "8": "octagon",
}  # fmt: skip  # Plotly's names of matplotlib's markers
OPTIONS = {"displaylogo": False, "responsive": True}
FONT = "sans-serif"
Trace = dict[str, Any]
WIDTH, LETTERS = 3.4, 8.0  # inches of a column of most journals, points


@plain()
def interactive_page(drawing: Drawing, styles: Mapping[str, LineStyle]) -> bytes:
    """Return a page with the figure and its caption; marks are a learner's by colour. Raises ExtraMissingError."""
    with needs("interactive", "a figure to click on"):
        from plotly.graph_objects import Figure as Page
        from plotly.io import to_html
    drawing.figure.canvas.draw()  # it places the axes
    title = drawing.figure.get_suptitle() or drawing.heading
    panels = [axes for axes in drawing.figure.axes if axes.axison]
    layout: dict[str, Any] = {
        "title": escape(title), "hovermode": "closest", "template": "none", "font": {"family": FONT},
        "height": round(PIXELS * drawing.figure.get_figheight() + 60), "annotations": [],
        "margin": {"t": 60, "r": 10}, "separators": f".{THIN}",
    }  # fmt: skip
    names = _names(styles)
    traces: list[Trace] = []
    room = np.array([axes.get_position().extents for axes in panels])
    low, high = room[:, :2].min(axis=0), room[:, 2:].max(axis=0)
    for number, axes in enumerate(panels, 1):
        ends = axes.get_position().extents
        domain = (np.clip((ends[:2] - low) / (high - low), 0, 1), np.clip((ends[2:] - low) / (high - low), 0, 1))
        layout |= _axes_of(drawing, axes, number, domain)
        if text := axes.get_title(loc="left"):
            where = {"x": float(domain[0][0]), "y": float(domain[1][1]), "xref": "paper", "yref": "paper"}
            heading = {"text": escape(text), "showarrow": False, "xanchor": "left", "yanchor": "bottom"}
            layout["annotations"].append(heading | where)
        traces += [{**trace, "xaxis": f"x{number}", "yaxis": f"y{number}"} for trace in _traces(axes, names)]
    # Each name is shown once: with its last trace, as lines come after areas.
    last = {trace["legendgroup"]: place for place, trace in enumerate(traces) if "legendgroup" in trace}
    shown = [{**trace, "showlegend": place in last.values()} for place, trace in enumerate(traces)]
    page: str = to_html(Page(shown, layout), include_plotlyjs=True, div_id="figure", config=OPTIONS)
    words = sentences("" if drawing.alt in drawing.caption else drawing.alt, drawing.caption)
    head = f'<meta name="viewport" content="width=device-width"><title>{escape(title)}</title></head>'
    page = page.replace("</head>", head, 1).replace("<html>", '<!doctype html>\n<html lang="en">', 1)
    style = f"font-family: {FONT}; max-width: 60em; margin: 1em 2em"
    return page.replace("</body>", f'<p style="{style}">{escape(words)}</p></body>').encode()


def _names(styles: Mapping[str, LineStyle]) -> dict[str, str]:
    found: dict[str, list[str]] = {}
    for name, style in styles.items():
        found.setdefault(style.colour.lower(), []).append(name)
    return {colour: ", ".join(names) for colour, names in found.items()}


def _axes_of(drawing: Drawing, axes: Any, number: int, domain: tuple[Any, Any]) -> dict[str, Any]:
    shared = drawing.figure.get_supylabel() if domain[0][0] < 0.01 else ""
    found = {}
    for place, (letter, own, label) in enumerate(
        (("x", axes.xaxis, axes.get_xlabel()), ("y", axes.yaxis, axes.get_ylabel() or shared))
    ):
        log = own.get_scale() == "log"
        ends = np.log10(own.get_view_interval()) if log else np.array(own.get_view_interval())
        ends = ends[::-1] if own.get_inverted() else ends
        axis: dict[str, Any] = {
            "domain": [float(end[place]) for end in domain], "range": ends.tolist(), "type": "log" if log else "linear",
            "title": {"text": escape(label)}, "anchor": f"{'y' if letter == 'x' else 'x'}{number}", "automargin": True,
            "zeroline": False, "gridcolor": "#ddd", "tickformat": ",", "hoverformat": ",.4~r",
        }  # fmt: skip
        texts = [tick.get_text() for tick in own.get_ticklabels()]
        if any(text and not NUMBER.fullmatch(text) for text in texts):  # names
            axis |= {"tickvals": list(map(float, own.get_ticklocs())), "ticktext": [escape(text) for text in texts]}
        found[f"{letter}axis{number}"] = axis
    return found


def _traces(axes: Any, names: Mapping[str, str]) -> Iterator[Trace]:
    for artist in axes.collections:
        colours = artist.get_facecolor()
        if not isinstance(artist, LineCollection) and len(colours) and artist.get_transform() == axes.transData:
            yield from (_area(path.vertices, colours[0], names) | {"hoverinfo": "skip"} for path in artist.get_paths())
    for patch in axes.patches:
        if isinstance(patch, Rectangle) and patch.get_fill():
            corners = axes.transData.inverted().transform(patch.get_window_extent().corners())[[0, 1, 3, 2]]
            hover = {"hoveron": "fills", "hoverinfo": "name+text", "text": f"{patch.get_width():.4g}"}
            yield _area(corners, patch.get_facecolor(), names) | hover
    for line in axes.lines:
        yield _line(axes, line, names)


def _line(axes: Any, line: Any, names: Mapping[str, str]) -> Trace:
    points, colour = np.asarray(line.get_xydata(), float), to_hex(line.get_color())
    if line.get_transform() != axes.transData:  # it is across the panel
        points = axes.transData.inverted().transform(line.get_transform().transform(points))
    marker, style = str(line.get_marker()), line.get_linestyle()
    marked, joined = marker not in NONE and len(points) <= FEW, style not in NONE and len(points) > 1
    dash = "solid" if style == "-" else "dot"
    return {
        "type": "scatter", "x": points[:, 0].tolist(), "y": points[:, 1].tolist(), **_named(colour, names),
        "mode": "+".join(["lines"] * joined + ["markers"] * marked) or "none",
        "line": {"color": colour, "width": line.get_linewidth() * PIXELS / 72, "dash": dash},
        "marker": {"color": colour, "size": 9, "symbol": SYMBOLS.get(marker, "line-ns-open")},
    }  # fmt: skip


def _area(corners: Any, colour: Any, names: Mapping[str, str]) -> Trace:
    red, green, blue, alpha = to_rgba(colour)
    fill = f"rgba({round(255 * red)},{round(255 * green)},{round(255 * blue)},{alpha:.2f})"
    x, y = (np.asarray(corners, float)[:, place].tolist() for place in (0, 1))
    style = {"mode": "lines", "line": {"width": 0}, "fill": "toself", "fillcolor": fill}
    return {"type": "scatter", "x": x, "y": y, **style, **_named(to_hex(colour, keep_alpha=False), names)}


def _named(colour: str, names: Mapping[str, str]) -> Trace:
    name = names.get(colour.lower())
    if name is None:
        return {"hoverinfo": "skip"}
    return {"name": escape(name), "legendgroup": name, "hoverlabel": {"namelength": -1}}


def only(results: Results, learners: Sequence[str]) -> Results:
    """Return the results of these learners, by names of figures or of the config; all where none is named."""
    known = results.frame["learner"].unique(maintain_order=True).to_list()
    in_config, wanted = registered(results.settings, "learners"), list[str]()
    for name in learners:
        found = [label for label in known if name == label or (name not in known and in_config.get(label) == name)]
        if not found:
            raise UnknownNameError("learner of the study", name, known)
        wanted += found
    return replace(results, frame=results.frame.filter(pl.col("learner").is_in(wanted))) if learners else results


def draw_for(
    results: Results,
    names: Sequence[str],
    width: float = WIDTH,
    letters: float = LETTERS,
    xlabel: str | None = None,
    ylabel: str | None = None,
) -> Iterator[Drawing]:
    """Yield figures for print: ``width`` in inches, ``letters`` of points at least, labels of axes where given."""
    scale = letters / SMALL
    for drawing in draw(replace(results, title="", width=width / scale), names):
        figure = drawing.figure
        for title in figure.texts:
            if title.get_text() == figure.get_suptitle():
                title.set(visible=False, in_layout=False)
        for axes in figure.axes:
            axes.set(xlabel=xlabel if xlabel is not None and axes.get_xlabel() else axes.get_xlabel())
            axes.set(ylabel=ylabel if ylabel is not None and axes.get_ylabel() else axes.get_ylabel())
        if ylabel is not None and figure.get_supylabel():
            figure.supylabel(ylabel, fontsize=SMALL)
        _scale(figure, scale)
        yield replace(drawing, caption=sentences(f"{drawing.heading}.", drawing.caption))


def _scale(figure: Figure, factor: float) -> None:
    for text in texts_of(figure):
        text.set_fontsize(float(text.get_fontsize()) * factor)
    for axes in figure.axes:
        axes.tick_params(which="both", labelsize=SMALL * factor)
    for artist in chain.from_iterable(axes.get_children() for axes in figure.axes):
        if isinstance(artist, (Line2D, Patch)):
            artist.set_linewidth(artist.get_linewidth() * factor)
        if isinstance(artist, Line2D):
            artist.set_markersize(artist.get_markersize() * factor)
        if isinstance(artist, Collection):
            artist.set_linewidth([float(width) * factor for width in artist.get_linewidth()])
    figure.set_size_inches(*(float(inches) * factor for inches in figure.get_size_inches()))
