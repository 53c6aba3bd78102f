"""Figures with a row for each learner: regret at the end, time per round, and queries where a rule is in force."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from milpcb.core.decimals import THIN, number
from milpcb.experiments.results import confident_in, percent_of
from milpcb.experiments.results.figures.drawing import (
    GREY,
    SMALL,
    Drawing,
    finish,
    label_outside,
    legend,
    name_panel,
    row_grid,
    scale_axis,
    width,
)
from milpcb.experiments.results.figures.looks import Look
from milpcb.experiments.results.figures.results import (
    MANY_SEEDS,
    Final,
    Panel,
    Results,
    against_what,
    finals_of,
    longest,
    regrets,
)
from milpcb.experiments.results.figures.words import (
    against_guarantees,
    at_their_longest,
    band,
    legible,
    percent,
    sentences,
    verdict,
    void_words,
)
from milpcb.types import Floats

FAR = 1.3  # a certificate so many times above all regrets is not drawn
TICK: dict[str, Any] = {"marker": "|", "markersize": 10, "markeredgewidth": 2}
DIAMOND: dict[str, Any] = {"marker": "d", "markersize": 6, "markerfacecolor": "white"}
ABOVE, VOID = "above T", "A guarantee above T, the largest regret there can be, is void."
SPOKEN = 24  # so many regrets are written into the alternative text
GAP = 0.12  # inches between the numbers of two columns
REST = 0.35  # opacity of what the oracle did not take
BAR = 0.62  # of a row
SPREAD = "0.2"
Panels = list[tuple[Panel, pl.DataFrame]]  # each with the means of its learners


def finals(results: Results) -> list[Drawing]:
    """Draw the regret at T by learner, the least mean at the top, on one scale for all panels."""
    panels = results.panels(longest(results.finals))
    order = _by_place(results, panels)
    figure, every = row_grid(order, len(panels), results.title, results.width)
    tables = [finals_of(panel) for panel in panels]
    rows = [row for table in tables for row in table.values()]
    low, high = _range(rows)
    for axes, panel, table in zip(every, panels, tables, strict=True):
        _draw_rows(axes, table, results.looks, order, high)
        axes.set_xlim(low - 0.03 * (high - low), high + 0.03 * (high - low))
        scale_axis(axes.xaxis, np.array([low, high]), log=False)
        name_panel(axes, panel.name, _write_numbers(axes, table, order))
    label_outside(figure, every, f"regret against {against_what(results.settings)}", "")
    legend(figure, _end_entries(results, rows, high), below=True)
    order_words = "" if len(panels) == 1 else "Learners are in the order of their mean place over the panels."
    numbers = "At the right of each row: its mean regret and, in grey, its guarantee, which is known before the start."
    above = VOID if any(_promise(row) == ABOVE for row in rows) else ""
    guarantees = sentences(above, against_guarantees(results), void_words(results.frame, results.settings))
    caption = sentences(numbers, guarantees, band(results), order_words, at_their_longest(results))
    few = len(panels) * len(order) <= SPOKEN
    ends = [_in_words(panel, table, order) for panel, table in zip(panels, tables, strict=True) if few]
    return [Drawing("finals", "Regret at the end", finish(figure), sentences(verdict(results), *ends), caption)]


def _by_place(results: Results, panels: list[Panel]) -> list[str]:
    """Return the learners by their mean place over the panels, the same order for all panels."""
    found: dict[str, list[int]] = {learner: [] for learner in results.looks}
    for panel in panels:
        means = {learner: regrets(panel.frame, learner).mean() for learner in panel.learners}
        for place, learner in enumerate(sorted(means, key=lambda name: means[name])):
            found[learner].append(place)
    return sorted(found, key=lambda learner: np.mean(found[learner]))


def _range(rows: Sequence[Final]) -> tuple[float, float]:
    """Return the ends of the axis of all panels: 0, all regrets, and the certificates that are near."""
    high = max(0.0, *(row.ends[1] for row in rows))
    near = [mark for row in rows for mark in (row.mean("certificate"), row.sure) if mark <= FAR * high]
    low = min(0.0, *(row.ends[0] for row in rows), *near)
    return low, max(high, *near, low + 1.0)


def _promise(row: Final) -> str:
    if row.guarantee < row.horizon:
        return number(row.guarantee)
    return ABOVE if np.isfinite(row.guarantee) else ""


def _draw_rows(axes: Any, table: Mapping[str, Final], looks: Mapping[str, Look], order: list[str], high: float) -> None:
    axes.axvline(0.0, color="0.6", linewidth=0.8, zorder=0.5)
    for learner, row in table.items():
        place, look = order.index(learner), looks[learner]
        if row.ends[1] > row.ends[0]:
            axes.plot(row.ends, [place, place], color=look.colour, linewidth=2.2)
        axes.plot(row.regret, place, **look.points())
        for mark, style in ((row.mean("certificate"), TICK), (row.sure, DIAMOND)):
            if mark <= high:
                axes.plot(mark, place, color=look.colour, **style, zorder=1.5)


def _write_numbers(axes: Any, table: Mapping[str, Final], order: list[str]) -> float:
    """Write regret and guarantee in two columns to the right of the axes; return how many inches they take."""
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


def _end_entries(results: Results, rows: Sequence[Final], high: float) -> list[tuple[Any, str]]:
    marks: dict[str, Any] = {"linestyle": "", "color": GREY}
    entries: list[tuple[Any, str]] = [(Line2D([], [], **marks, marker="o", markersize=6), "mean")]
    if any(row.ends[1] > row.ends[0] for row in rows):
        reach = "range of the seeds" if results.seeds < MANY_SEEDS else f"95{THIN}% interval of the mean"
        entries.append((Line2D([], [], color=GREY, linewidth=2.2), reach))
    if any(row.mean("certificate") <= high for row in rows):
        entries.append((Line2D([], [], **marks, **TICK), "certificate"))
    if any(row.sure <= high for row in rows):
        sure = percent_of(str(confident_in(results.frame.columns)))
        entries.append((Line2D([], [], **marks, **DIAMOND), f"{sure}{THIN}% certificate"))
    return entries


def _in_words(panel: Panel, table: Mapping[str, Final], order: list[str]) -> str:
    numbers = ", ".join(f"{legible(name)} {number(table[name].regret)}" for name in order if name in table)
    return f"{legible(panel.name) or 'Regret'}: {numbers}."


def times(results: Results) -> list[Drawing]:
    """Draw the microseconds per round by learner, the fastest at the top, on one linear scale for all panels."""
    panels = [(panel, per_round(panel.frame)) for panel in results.panels(longest(results.finals))]
    every = pl.concat([frame for _, frame in panels]).sort("whole")
    limits = (0, 1.03 * every["high"].to_numpy().max())
    figure = _rows(results, panels, _draw_time, every["whole"].to_numpy(), limits, "microseconds per round", log=False)
    entries: list[tuple[Any, str]] = [
        (Patch(facecolor=GREY), "in the oracle"),
        (Patch(facecolor=GREY, alpha=REST), "the rest"),
    ]
    if results.seeds > 1:
        entries.append((Line2D([], [], color=SPREAD), "from the fastest seed to the slowest"))
    legend(figure, entries, below=True)
    slow, fast = every.row(-1, named=True), every.row(0, named=True)
    share = f", {percent(slow['oracle'] / slow['whole'])} of it in the oracle" if slow["oracle"] > 0 else ""
    most = f"The slowest is {legible(slow['learner'])}: {number(slow['whole'])} \u00b5s per round{share}."
    least = f"The fastest is {legible(fast['learner'])}: {number(fast['whole'])} \u00b5s." if len(every) > 1 else ""
    ends = sentences(most, least)
    caption = sentences(ends, "Means over the seeds; the time of the environment is not counted.")
    return [Drawing("times", "Time per round", finish(figure), ends, caption)]


def queries(results: Results) -> list[Drawing]:
    """Draw the queries and the rule changes of whole runs on a logarithmic scale; only where a rule is in force."""
    panels = [(panel, _in_all(panel.frame)) for panel in results.panels(longest(results.finals))]
    every = pl.concat([frame for _, frame in panels])
    ruled = every.filter(pl.col("changes").is_finite()).sort("changes")
    if ruled.is_empty():
        return []
    shown = np.concatenate([every["whole"].to_numpy(), ruled["changes"].to_numpy()])
    positive = shown[shown > 0]
    limits = (0.8 * max(1.0, positive.min(initial=np.inf)), 1.25 * max(1.0, shown.max()))
    figure = _rows(results, panels, _draw_queries, positive, limits, "number in all rounds", log=True)
    marks: dict[str, Any] = {"linestyle": "", "marker": "o", "color": GREY}
    entries = [(Line2D([], [], **marks), "queries"), (Line2D([], [], fillstyle="none", **marks), "rule changes")]
    legend(figure, entries, below=True)
    least = ruled.row(0, named=True)
    numbers = f"{number(least['changes'])} times, with {number(least['whole'])} queries"
    ends = f"The rule of {legible(least['learner'])} changes {numbers}."
    return [Drawing("queries", "Queries and rule changes", finish(figure), ends, sentences(ends, "Means over seeds."))]


def per_round(frame: pl.DataFrame) -> pl.DataFrame:
    """Return learner, whole, oracle, low, high: microseconds per round, fastest first.

    The first two are means over the seeds, the others the times of the fastest and of the slowest of them.
    """
    seconds, oracle = (1e6 / pl.col("round") * pl.col(name) for name in ("seconds", "oracle_seconds"))
    columns = {"whole": seconds.mean(), "oracle": oracle.mean(), "low": seconds.min(), "high": seconds.max()}
    return frame.group_by("learner", maintain_order=True).agg(**columns).sort("whole")


def _in_all(frame: pl.DataFrame) -> pl.DataFrame:
    columns = {"whole": pl.col("oracle_calls").mean(), "changes": pl.col("rule_changes").mean()}
    return frame.group_by("learner", maintain_order=True).agg(**columns)


def _rows(
    results: Results,
    panels: Panels,
    draw: Callable[[Any, int, dict[str, Any], Look], None],
    values: Floats,
    limits: tuple[float, float],
    below: str,
    *,
    log: bool,
) -> Figure:
    """Return a figure with a row for each learner, by the mean of ``whole``; all panels have one scale."""
    every = pl.concat([frame for _, frame in panels])
    order = every.group_by("learner").agg(pl.col("whole").mean()).sort("whole", "learner")["learner"].to_list()
    figure, grid = row_grid(order, len(panels), results.title, results.width)
    for axes, (panel, frame) in zip(grid, panels, strict=True):
        for row in frame.iter_rows(named=True):
            draw(axes, order.index(row["learner"]), row, results.looks[row["learner"]])
        axes.set_xlim(*limits)
        scale_axis(axes.xaxis, values, log=log)
        name_panel(axes, panel.name)
    label_outside(figure, grid, below, "")
    return figure


def _draw_time(axes: Any, place: int, row: dict[str, Any], look: Look) -> None:
    axes.barh(place, row["oracle"], BAR, color=look.colour, zorder=2)
    axes.barh(place, row["whole"] - row["oracle"], BAR, left=row["oracle"], color=look.colour, alpha=REST, zorder=2)
    axes.barh(place, row["whole"], BAR, fill=False, edgecolor=look.colour, linewidth=1, zorder=3)
    if row["high"] > row["low"]:
        axes.plot([row["low"], row["high"]], [place, place], color=SPREAD, linewidth=1.4, zorder=4)
    style: dict[str, Any] = {"textcoords": "offset points", "va": "center", "fontsize": SMALL}
    axes.annotate(number(row["whole"]), (1.0, place), (6, 0), xycoords=("axes fraction", "data"), **style)


def _draw_queries(axes: Any, place: int, row: dict[str, Any], look: Look) -> None:
    for count, style in ((row["whole"], "full"), (row["changes"], "none")):
        if count > 0:
            axes.plot(count, place, marker="o", color=look.colour, fillstyle=style)
