"""Final regret, a row per learner: every seed, the mean, and the guarantee as a tick mark."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.lines import Line2D

from milpcb.experiments.results.figures.drawing import (
    GREY,
    LEAST,
    Drawing,
    finish,
    label_outside,
    legend,
    name_panel,
    row_grid,
    scale_axis,
    wants_log,
)
from milpcb.experiments.results.figures.results import Panel, Results, guarantee, longest, most_rounds, regrets
from milpcb.experiments.results.figures.words import at_their_longest, count, number, sentences

FAR = 4.0  # a guarantee so many times above all regrets is left off a linear axis


def finals(results: Results) -> list[Drawing]:
    """Draw the regret at T by learner, the least mean at the top."""
    panels = results.panels(longest(results.finals))
    order = by_place(results, panels)
    figure, every = row_grid(order, len(panels), results.title)
    log = all(wants_log(panel.frame["regret"].to_numpy(), least=LEAST) for panel in panels)
    for axes, panel in zip(every, panels, strict=True):
        _draw_panel(axes, panel, results, order, log=log)
        name_panel(axes, panel.name)
    label_outside(figure, every, "regret at the horizon", "")
    legend(figure, _entries(), below=True)
    caption = sentences(_spread(panels), "Small points are single seeds.", at_their_longest(results))
    alt = f"Final regret of {count(len(order), 'learner')} in {count(len(panels), 'panel')}: points, means, guarantees."
    return [Drawing("finals", "Regret at the horizon", finish(figure), alt, caption)]


def by_place(results: Results, panels: list[Panel]) -> list[str]:
    """Return the learners by their mean place over the panels, the same order for all panels."""
    found: dict[str, list[int]] = {learner: [] for learner in results.looks}
    for panel in panels:
        means = {learner: regrets(panel.frame, learner).mean() for learner in panel.learners}
        for place, learner in enumerate(sorted(means, key=lambda name: means[name])):
            found[learner].append(place)
    return sorted(found, key=lambda learner: np.mean(found[learner]))


def _spread(panels: list[Panel]) -> str:
    """Return a sentence on who is at the top, and on whether its seeds overlap with those of the next."""
    if len(panels) > 1 or len(panels[0].learners) < 2:
        return "Learners are in the order of their mean place over the panels, the least regret at the top."
    values = {learner: regrets(panels[0].frame, learner) for learner in panels[0].learners}
    if max(map(len, values.values())) < 2:
        return "Learners are in the order of their regret, the least at the top. One seed: no spread is known."
    best, second = sorted(values, key=lambda learner: values[learner].mean())[:2]
    apart = values[best].max() < values[second].min()
    ranges = f"{number(values[best].max())} at most, {number(values[second].min())} at least"
    which = (
        f"every seed of it is below every seed of {second}" if apart else f"its seeds overlap with those of {second}"
    )
    return f"The least regret is that of {best}; {which} ({ranges})."


def _draw_panel(axes: Any, panel: Panel, results: Results, order: list[str], *, log: bool) -> None:
    every = panel.frame["regret"].to_numpy()
    for learner in panel.learners:
        row, look, values = order.index(learner), results.looks[learner], regrets(panel.frame, learner)
        if len(values) > 1:
            axes.plot(values, np.full(len(values), row), "o", color=look.colour, markersize=3, alpha=0.45)
        axes.plot(values.mean(), row, **look.points())
        promised = guarantee(panel.frame, learner)
        if promised < most_rounds(panel.frame) and (promised > 0 if log else promised <= FAR * every.max()):
            axes.plot(promised, row, "|", color=look.colour, markersize=10, markeredgewidth=2)
    if log:
        scale_axis(axes.xaxis, every, log=True)
    else:
        axes.set_xlim(left=min(0.0, axes.get_xlim()[0]))
        scale_axis(axes.xaxis, every, log=False)


def _entries() -> list[tuple[Any, str]]:
    def mark(marker: str, size: float) -> Line2D:
        return Line2D([], [], linestyle="", color=GREY, marker=marker, markersize=size, markeredgewidth=1.5)

    return [
        (mark(".", 5), "one seed"),
        (mark("o", 7), "mean"),
        (mark("|", 10), "guarantee"),
    ]
