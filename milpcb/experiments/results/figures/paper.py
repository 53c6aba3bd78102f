"""Figures for a paper: as wide as a column, letters of a given size that stay text, no title, as png, svg or pdf."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain

import polars as pl
from matplotlib.collections import Collection
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from milpcb.errors import UnknownNameError
from milpcb.experiments.results.figures import draw
from milpcb.experiments.results.figures.drawing import SMALL, Drawing, texts_of
from milpcb.experiments.results.figures.results import Results
from milpcb.experiments.results.figures.words import sentences

WIDTH, LETTERS = 3.4, 8.0  # inches of a column of most journals, points


@dataclass(frozen=True)
class PaperForm:
    """The form of figures for print: width in inches, size of the smallest letters in points, labels of the axes.

    A label that is None stays as it is drawn.
    """

    width: float = WIDTH
    letters: float = LETTERS
    xlabel: str | None = None
    ylabel: str | None = None


def only(results: Results, learners: Sequence[str]) -> Results:
    """Return the results of these learners alone, in the order of the study; all where none is named.

    Raises UnknownNameError for a learner that the study has not.
    """
    known = results.frame["learner"].unique(maintain_order=True).to_list()
    for name in learners:
        if name not in known:
            raise UnknownNameError("learner of the study", name, known)
    return replace(results, frame=results.frame.filter(pl.col("learner").is_in(learners))) if learners else results


def draw_for(paper: PaperForm, results: Results, names: Sequence[str]) -> Iterator[Drawing]:
    """Yield the figures of these names as the paper wants them; the number of seeds goes from title to caption.

    Raises as ``draw`` does.
    """
    scale = paper.letters / SMALL
    for drawing in draw(replace(results, title="", width=paper.width / scale), names):
        for title in drawing.figure.texts:
            if title.get_text() == drawing.figure.get_suptitle():
                title.set(visible=False, in_layout=False)
        _label(drawing.figure, paper)
        _scale(drawing.figure, scale)
        yield replace(drawing, caption=sentences(f"{drawing.heading}.", drawing.caption))


def _label(figure: Figure, paper: PaperForm) -> None:
    for axes in figure.axes:
        if paper.xlabel is not None and axes.get_xlabel():
            axes.set_xlabel(paper.xlabel)
        if paper.ylabel is not None and axes.get_ylabel():
            axes.set_ylabel(paper.ylabel)
    if paper.ylabel is not None and figure.get_supylabel():
        figure.supylabel(paper.ylabel, fontsize=SMALL)


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
