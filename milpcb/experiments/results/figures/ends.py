"""What stands to the right of regret curves: the certificates of whole runs as marks, and the names of the lines."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.lines import Line2D

from milpcb.core.decimals import number
from milpcb.experiments.results.confident import column_in, percent_of
from milpcb.experiments.results.figures.drawing import BESIDE, GREY, LEAST, LINE, SMALL, apart, name_room
from milpcb.experiments.results.figures.fitting import fitted
from milpcb.experiments.results.figures.looks import Look
from milpcb.experiments.results.figures.results import Panel, curve

ROOM = 0.1  # of the width of the curves, for the marks
CERTIFICATE = "certificate"
MOST_NAMED = 8  # lines that are named at their ends


@dataclass(frozen=True)
class Mark:
    """A mark as matplotlib takes it, and what captions call it."""

    words: str
    style: Mapping[str, Any]

    def handle(self) -> Line2D:
        """Return what a legend shows."""
        return Line2D([], [], linestyle="", color=GREY, **self.style)


MEAN = Mark("bars are mean certificates", {"marker": "_", "markersize": 11, "markeredgewidth": 2})
SURE = Mark("diamonds are means of", {"marker": "d", "markersize": 6, "markerfacecolor": "white"})


def draw_marks(axes: Any, panel: Panel, looks: Mapping[str, Look], far: float, *, loglog: bool) -> dict[str, Mark]:
    """Draw the certificates of the whole run to the right of the curves, and make room; return what is drawn, by name.

    Those above ``far`` are left out on a linear axis, and those that no logarithmic axis shows on that.
    """
    lowest, highest = (LEAST, np.inf) if loglog else (-np.inf, far)
    begin, room = float(axes.dataLim.x1), 4 * ROOM if loglog else ROOM
    certificates = {learner: _at_end(panel, learner) for learner in panel.learners}
    means, sures = [], []
    for i, (learner, (mean, doubt, sure)) in enumerate(certificates.items(), start=1):
        x, colour = begin * (1 + room * i / (len(certificates) + 1)), looks[learner].colour
        if lowest <= mean <= highest:
            axes.plot([x, x], [max(mean - doubt, lowest), mean + doubt], color=colour, linewidth=1, scaley=False)
            axes.plot(x, mean, color=colour, **MEAN.style, scaley=False)
            means.append(mean)
        if lowest <= sure <= highest:
            axes.plot(x, sure, color=colour, **SURE.style, scaley=False)
            sures.append(sure)
    if means or sures:
        low, high = axes.get_ylim()
        axes.set_ylim(min(low, *means, *sures), max(high, max(*means, *sures, low) * (1.2 if loglog else 1.04)))
        end = begin * (1 + room)
        axes.axvspan(begin, end, color="0.96", zorder=0, linewidth=0)
        axes.set_xlim(right=end)
    return ({CERTIFICATE: MEAN} if means else {}) | ({_sure_name(panel): SURE} if sures else {})


def certificate_texts(panel: Panel) -> dict[str, str]:
    """Return the certificates of each learner's whole run as text, where it has any."""
    texts = {}
    for learner in panel.learners:
        mean, _, sure = _at_end(panel, learner)
        lines = [f"{CERTIFICATE} {number(mean)}"] if np.isfinite(mean) else []
        lines += [f"{_sure_name(panel)} {number(sure)}"] if np.isfinite(sure) else []
        if lines:
            texts[learner] = "\n".join(lines)
    return texts


def can_be_named(axes: Any, panel: Panel, texts: Mapping[str, str]) -> bool:
    """Return whether there is room to the right of the axes for the names of all lines."""
    return len(panel.learners) <= MOST_NAMED and _tallest(panel, texts) * len(panel.learners) <= _room(axes)


def name_lines(axes: Any, panel: Panel, looks: Mapping[str, Look], texts: Mapping[str, str]) -> None:
    """Write name, end and text of each line to the right of the axes, near its end."""
    names = {learner: _words(axes, panel, learner, texts.get(learner, "")) for learner in panel.learners}
    gap = _tallest(panel, texts) / _room(axes)
    ends = [curve(panel.frame, learner)[1][:, -1].mean() for learner in names]
    to_axes = axes.transData + axes.transAxes.inverted()
    heights = [float(np.clip(to_axes.transform((1, end))[1], 0, 1)) for end in ends]
    heights = apart(heights, gap)
    if max(heights) > 1:
        heights = [-height for height in apart([-min(height, 1.0) for height in heights], gap)]
    for (learner, name), height in zip(names.items(), heights, strict=True):
        axes.plot(1.025, height, transform=axes.transAxes, clip_on=False, linestyle="", **looks[learner].points())
        beside = {"xycoords": "axes fraction", "textcoords": "offset points", "va": "center", "fontsize": SMALL}
        axes.annotate(name, (1.025, height), (9, 0), linespacing=1.15, **beside)


def _room(axes: Any) -> float:
    """Return about how many inches high the axes are, without title and labels."""
    return float(axes.figure.get_figheight() / axes.get_gridspec().nrows - 1.0)


def _tallest(panel: Panel, texts: Mapping[str, str]) -> float:
    """Return how many inches of height a name with its text takes."""
    return LINE * (1.4 + max(len(texts.get(learner, "").splitlines()) for learner in panel.learners))


def _words(axes: Any, panel: Panel, learner: str, text: str) -> str:
    regret = curve(panel.frame, learner)[1][:, -1].mean()
    room = name_room(axes.figure, BESIDE - 0.5)
    return "\n".join([f"{fitted(learner, room, SMALL)}: {number(regret)}", *text.splitlines()])


def _at_end(panel: Panel, learner: str) -> tuple[float, float, float]:
    """Return the mean certificate of the whole run, two standard errors of it, and the mean with confidence; or NaN."""
    mean = float(curve(panel.frame, learner, "certificate")[1][:, -1].mean())
    errors = np.nan_to_num(curve(panel.frame, learner, "certificate_error")[1][:, -1])
    column = column_in(panel.frame.columns)
    sure = float(curve(panel.frame, learner, column)[1][:, -1].mean()) if column else np.nan
    return mean, float(2 * np.sqrt((errors**2).sum()) / len(errors)), sure


def _sure_name(panel: Panel) -> str:
    return f"{percent_of(str(column_in(panel.frame.columns)))}\u202f% {CERTIFICATE}"
