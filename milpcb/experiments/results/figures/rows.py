"""Figures with a row for each learner: regret at the end, time per round, and queries where a rule is in force."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from milpcb.core.decimals import THIN, number
from milpcb.experiments.results.figures import words
from milpcb.experiments.results.figures.drawing import GREY, SMALL, Drawing, scale_axis, width
from milpcb.experiments.results.figures.line_styles import LineStyle
from milpcb.experiments.results.figures.plots import Entry, Plot, drawn
from milpcb.experiments.results.figures.results import MANY_SEEDS, Final, Panel, Results
from milpcb.types import Floats

ABOVE, VOID = "above T", "A guarantee above T, the largest possible regret, is vacuous."
GAP = 0.12  # inches between the numbers of two columns
REST = 0.35  # opacity of what the oracle did not take
BAR = 0.62  # of a row
SPREAD = "0.2"


def finals(results: Results) -> list[Drawing]:
    """Draw the regret at T by learner, the least mean at the top, on one scale for all panels."""
    panels = results.panels
    rows = [row for panel in panels for row in panel.finals.values()]
    low, high = min(0.0, *(row.ends[0] for row in rows)), max(0.0, *(row.ends[1] for row in rows))
    high = max(high, low + 1.0)
    order_words = "" if len(panels) == 1 else "Learners are in the order of their mean place over the panels."
    numbers = "At the right of each row: its mean regret and, in grey, its guarantee, which is known before the start."
    above = VOID if any(_promise(row) == ABOVE for row in rows) else ""
    caption = words.sentences(numbers, above, words.void_words(results), words.band(results), order_words)
    marks: list[Entry] = [(Line2D([], [], linestyle="", color=GREY, marker="o", markersize=6), "mean")]
    if results.seeds > 1:
        reach = "range of the seeds" if results.seeds < MANY_SEEDS else f"95{THIN}% interval of the mean"
        marks.append((Line2D([], [], color=GREY, linewidth=2.2), reach))
    limits = (low - 0.03 * (high - low), high + 0.03 * (high - low))
    below = f"regret against {results.against}"
    plot = _row_plot(results, _by_place(results), _draw_regret, below, limits, marks, beside=_write_numbers)
    return [drawn(plot, "finals", "Regret at the end", words.verdict(results), caption)]


def _by_place(results: Results) -> dict[str, float]:
    found: dict[str, list[int]] = {learner: [] for learner in results.styles}
    for panel in results.panels:
        for place, learner in enumerate(sorted(panel.learners, key=lambda name: panel.finals[name].regret)):
            found[learner].append(place)
    return {learner: float(np.mean(places)) for learner, places in found.items()}


def _promise(row: Final) -> str:
    if row.guarantee < row.horizon:
        return number(row.guarantee)
    return ABOVE if np.isfinite(row.guarantee) else ""


def _draw_regret(axes: Any, place: int, row: Final, style: LineStyle) -> None:
    if row.ends[1] > row.ends[0]:
        axes.plot(row.ends, [place, place], color=style.colour, linewidth=2.2)
    axes.plot(row.regret, place, **style.points())


def _write_numbers(axes: Any, table: Mapping[str, Final], order: list[str]) -> float:
    axes.axvline(0.0, color="0.6", linewidth=0.8, zorder=0.5)
    right = 0.0
    for heading, colour, text_of in (
        ("regret", "black", lambda row: number(row.regret)),
        ("guarantee", GREY, _promise),
    ):
        texts = {name: text_of(row) for name, row in table.items()}
        if not any(texts.values()):
            continue
        right += max(width(text, SMALL) for text in (heading, *texts.values())) + GAP
        style: dict[str, Any] = {"textcoords": "offset points", "ha": "right", "fontsize": SMALL, "color": colour}
        for learner, text in texts.items():
            place = (1.0, order.index(learner))
            axes.annotate(text, place, (72 * right, 0), xycoords=("axes fraction", "data"), va="center", **style)
        axes.annotate(heading, (1.0, 1.0), (72 * right, 3), xycoords="axes fraction", va="bottom", **style)
    return right


def times(results: Results) -> list[Drawing]:
    """Draw the microseconds per round by learner, the fastest at the top, on one linear scale for all panels."""
    every = [row for panel in results.panels for row in panel.finals.values()]
    marks: list[Entry] = [(Patch(facecolor=GREY), "in the oracle"), (Patch(facecolor=GREY, alpha=REST), "the rest")]
    if results.seeds > 1:
        marks.append((Line2D([], [], color=SPREAD), "from the fastest seed to the slowest"))
    slow = max(every, key=lambda row: per_round(row).mean())
    ends = f"The slowest is {words.legible(slow.learner)}: {number(per_round(slow).mean())} \u00b5s per round."
    caption = words.sentences(ends, "Means over the seeds; the time of the environment is not counted.")
    limits = (0.0, 1.03 * max(per_round(row).max() for row in every))
    order = _means(results, lambda row: per_round(row).mean())
    plot = _row_plot(results, order, _draw_time, "microseconds per round", limits, marks)
    return [drawn(plot, "times", "Time per round", ends, caption)]


def queries(results: Results) -> list[Drawing]:
    """Draw the queries and the rule changes of whole runs on a logarithmic scale; only where a rule is in force."""
    every = [row for panel in results.panels for row in panel.finals.values()]
    ruled = [row for row in every if np.isfinite(row.mean("rule_changes"))]
    if not ruled:
        return []
    counts = [*(row.mean("oracle_calls") for row in every), *(row.mean("rule_changes") for row in ruled)]
    limits = (0.8 * max(1.0, min(filter(None, counts), default=1.0)), 1.25 * max(1.0, *counts))
    dot: dict[str, Any] = {"linestyle": "", "marker": "o", "color": GREY}
    least = min(ruled, key=lambda row: row.mean("rule_changes"))
    ends = f"The rule of {words.legible(least.learner)} changes {number(least.mean('rule_changes'))} times."
    marks = [(Line2D([], [], **dot), "queries"), (Line2D([], [], fillstyle="none", **dot), "rule changes")]
    order = _means(results, lambda row: row.mean("oracle_calls"))
    plot = _row_plot(results, order, _draw_queries, "number in all rounds", limits, marks, log=True)
    return [drawn(plot, "queries", "Queries and rule changes", ends, words.sentences(ends, "Means over seeds."))]


def per_round(row: Final, column: str = "seconds") -> Floats:
    """Return the microseconds per round (seeds,) of a learner, or those in its oracle: ``oracle_seconds``."""
    return 1e6 * row.columns[column] / row.horizon


def _means(results: Results, number_of: Callable[[Final], float]) -> dict[str, float]:
    found = {name: [panel.finals[name] for panel in results.panels if name in panel.finals] for name in results.styles}
    return {name: float(np.mean([number_of(row) for row in rows])) for name, rows in sorted(found.items())}


def _row_plot(
    results: Results,
    rank: Mapping[str, float],
    draw_row: Callable[[Any, int, Final, LineStyle], None],
    below: str,
    limits: tuple[float, float],
    marks: Sequence[Entry],
    *,
    beside: Callable[[Any, Mapping[str, Final], list[str]], float] = lambda *_: 0.0,
    log: bool = False,
) -> Plot:
    order = sorted(rank, key=lambda name: rank[name])

    def draw(axes: Any, panel: Panel) -> float:
        for learner, row in panel.finals.items():
            draw_row(axes, order.index(learner), row, results.styles[learner])
        axes.set_xlim(*limits)
        scale_axis(axes.xaxis, log=log)
        return beside(axes, panel.finals, order)

    return Plot(results, results.panels, draw, below, rows=order, marks=marks)


def _draw_time(axes: Any, place: int, row: Final, style: LineStyle) -> None:
    whole, oracle = per_round(row), per_round(row, "oracle_seconds").mean()
    mean = whole.mean()
    axes.barh(place, oracle, BAR, color=style.colour, zorder=2)
    axes.barh(place, mean - oracle, BAR, left=oracle, color=style.colour, alpha=REST, zorder=2)
    axes.barh(place, mean, BAR, fill=False, edgecolor=style.colour, linewidth=1, zorder=3)
    if whole.max() > whole.min():
        axes.plot([whole.min(), whole.max()], [place, place], color=SPREAD, linewidth=1.4, zorder=4)
    beside: dict[str, Any] = {"textcoords": "offset points", "va": "center", "fontsize": SMALL}
    axes.annotate(number(mean), (1.0, place), (6, 0), xycoords=("axes fraction", "data"), **beside)


def _draw_queries(axes: Any, place: int, row: Final, style: LineStyle) -> None:
    for column, fill in (("oracle_calls", "full"), ("rule_changes", "none")):
        if row.mean(column) > 0:
            axes.plot(row.mean(column), place, marker="o", color=style.colour, fillstyle=fill)
