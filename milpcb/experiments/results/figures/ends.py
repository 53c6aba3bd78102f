"""The names of regret curves at their right ends, with the certificates of whole runs as numbers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from milpcb.core.decimals import number
from milpcb.experiments.results.columns import confident_in, percent_of
from milpcb.experiments.results.figures.drawing import BESIDE, LINE, SMALL, apart, fitted, name_room
from milpcb.experiments.results.figures.looks import Look
from milpcb.experiments.results.figures.results import Panel, curve

CERTIFICATE = "certificate"
MOST_NAMED = 8  # lines that are named at their ends


def certificate_texts(panel: Panel) -> dict[str, str]:
    """Return the certificates of each learner's whole run as text, where it has any."""
    texts = {}
    for learner in panel.learners:
        mean, sure = _at_end(panel, learner)
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


def _at_end(panel: Panel, learner: str) -> tuple[float, float]:
    """Return the mean certificate of the whole run, and the mean of those with confidence; or NaN."""
    mean = float(curve(panel.frame, learner, "certificate")[1][:, -1].mean())
    column = confident_in(panel.frame.columns)
    return mean, float(curve(panel.frame, learner, column)[1][:, -1].mean()) if column else np.nan


def _sure_name(panel: Panel) -> str:
    return f"{percent_of(str(confident_in(panel.frame.columns)))}\u202f% {CERTIFICATE}"
