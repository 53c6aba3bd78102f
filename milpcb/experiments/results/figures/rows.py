"""Figures with a row for each learner: regret at the end, time per round, and queries where a rule is in force."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from milpcb.core.decimals import THIN, number
from milpcb.experiments.results.figures import words
from milpcb.experiments.results.figures.drawing import GREY, SMALL, Drawing, scale_axis, width
from milpcb.experiments.results.figures.looks import Look
from milpcb.experiments.results.figures.plots import Entry, Plot, drawn
from milpcb.experiments.results.figures.results import MANY_SEEDS, Final, Panel, Results
from milpcb.types import Floats

ABOVE, VOID = "above T", "A guarantee above T, the largest regret there can be, is void."
GAP = 0.12  # inches between the numbers of two columns
REST = 0.35  # opacity of what the oracle did not take
BAR = 0.62  # of a row
SPREAD = "0.2"


def finals(results: Results) -> list[Drawing]:
    """Draw the regret at T by learner, the least mean at the top, on one scale for all panels."""
    panels = results.final_panels
    order = _by_place(results, panels)
    tables = {panel.name: panel.finals for panel in panels}
    rows = [row for table in tables.values() for row in table.values()]
    low, high = min(0.0, *(row.ends[0] for row in rows)), max(0.0, *(row.ends[1] for row in rows))
    high = max(high, low + 1.0)

    def draw(axes: Any, panel: Panel) -> float:
        _draw_rows(axes, tables[panel.name], results.looks, order)
        axes.set_xlim(low - 0.03 * (high - low), high + 0.03 * (high - low))
        scale_axis(axes.xaxis, np.array([low, high]), log=False)
        return _write_numbers(axes, tables[panel.name], order)

    order_words = "" if len(panels) == 1 else "Learners are in the order of their mean place over the panels."
    numbers = "At the right of each row: its mean regret and, in grey, its guarantee, which is known before the start."
    above = VOID if any(_promise(row) == ABOVE for row in rows) else ""
    caption = words.sentences(numbers, above, words.void_words(results), words.band(results), order_words)
    marks: list[Entry] = [(Line2D([], [], linestyle="", color=GREY, marker="o", markersize=6), "mean")]
    if results.seeds > 1:
        reach = "range of the seeds" if results.seeds < MANY_SEEDS else f"95{THIN}% interval of the mean"
        marks.append((Line2D([], [], color=GREY, linewidth=2.2), reach))
    plot = Plot(results, panels, draw, f"regret against {results.against}", rows=order, marks=marks)
    return [drawn(plot, "finals", "Regret at the end", words.verdict(results), caption)]


def _by_place(results: Results, panels: list[Panel]) -> list[str]:
    found: dict[str, list[int]] = {learner: [] for learner in results.looks}
    for panel in panels:
        for place, learner in enumerate(sorted(panel.learners, key=lambda name: panel.finals[name].regret)):
            found[learner].append(place)
    return sorted(found, key=lambda learner: np.mean(found[learner]))


def _promise(row: Final) -> str:
    if row.guarantee < row.horizon:
        return number(row.guarantee)
    return ABOVE if np.isfinite(row.guarantee) else ""


def _draw_rows(axes: Any, table: Mapping[str, Final], looks: Mapping[str, Look], order: list[str]) -> None:
    axes.axvline(0.0, color="0.6", linewidth=0.8, zorder=0.5)
    for learner, row in table.items():
        place, look = order.index(learner), looks[learner]
        if row.ends[1] > row.ends[0]:
            axes.plot(row.ends, [place, place], color=look.colour, linewidth=2.2)
        axes.plot(row.regret, place, **look.points())


def _write_numbers(axes: Any, table: Mapping[str, Final], order: list[str]) -> float:
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
    panels = results.final_panels
    every = pl.concat([per_round(panel.frame) for panel in panels]).sort("whole")
    marks: list[Entry] = [(Patch(facecolor=GREY), "in the oracle"), (Patch(facecolor=GREY, alpha=REST), "the rest")]
    if results.seeds > 1:
        marks.append((Line2D([], [], color=SPREAD), "from the fastest seed to the slowest"))
    slow = every.row(-1, named=True)
    ends = f"The slowest is {words.legible(slow['learner'])}: {number(slow['whole'])} \u00b5s per round."
    caption = words.sentences(ends, "Means over the seeds; the time of the environment is not counted.")
    limits = (0, 1.03 * every["high"].to_numpy().max())
    plot = _row_plot(results, panels, per_round, _draw_time, "microseconds per round", limits, marks)
    return [drawn(plot, "times", "Time per round", ends, caption)]


def queries(results: Results) -> list[Drawing]:
    """Draw the queries and the rule changes of whole runs on a logarithmic scale; only where a rule is in force."""
    panels = results.final_panels
    every = pl.concat([_in_all(panel.frame) for panel in panels])
    ruled = every.filter(pl.col("changes").is_finite()).sort("changes")
    if ruled.is_empty():
        return []
    shown = np.concatenate([every["whole"].to_numpy(), ruled["changes"].to_numpy()])
    positive = shown[shown > 0]
    limits = (0.8 * max(1.0, positive.min(initial=np.inf)), 1.25 * max(1.0, shown.max()))
    dot: dict[str, Any] = {"linestyle": "", "marker": "o", "color": GREY}
    least = ruled.row(0, named=True)
    ends = f"The rule of {words.legible(least['learner'])} changes {number(least['changes'])} times."
    marks = [(Line2D([], [], **dot), "queries"), (Line2D([], [], fillstyle="none", **dot), "rule changes")]
    plot = _row_plot(results, panels, _in_all, _draw_queries, "number in all rounds", limits, marks, log_of=positive)
    return [drawn(plot, "queries", "Queries and rule changes", ends, words.sentences(ends, "Means over seeds."))]


def per_round(frame: pl.DataFrame) -> pl.DataFrame:
    """Return learner, whole, oracle (means over seeds), low, high (of seeds): microseconds per round, fastest first."""
    seconds, oracle = (1e6 / pl.col("round") * pl.col(name) for name in ("seconds", "oracle_seconds"))
    columns = {"whole": seconds.mean(), "oracle": oracle.mean(), "low": seconds.min(), "high": seconds.max()}
    return frame.group_by("learner", maintain_order=True).agg(**columns).sort("whole")


def _in_all(frame: pl.DataFrame) -> pl.DataFrame:
    columns = {"whole": pl.col("oracle_calls").mean(), "changes": pl.col("rule_changes").mean()}
    return frame.group_by("learner", maintain_order=True).agg(**columns)


def _row_plot(
    results: Results,
    panels: list[Panel],
    means: Callable[[pl.DataFrame], pl.DataFrame],
    draw_row: Callable[[Any, int, dict[str, Any], Look], None],
    below: str,
    limits: tuple[float, float],
    marks: Sequence[Entry],
    log_of: Floats | None = None,
) -> Plot:
    every = pl.concat([means(panel.frame) for panel in panels])
    order = every.group_by("learner").agg(pl.col("whole").mean()).sort("whole", "learner")["learner"].to_list()

    def draw(axes: Any, panel: Panel) -> None:
        for row in means(panel.frame).iter_rows(named=True):
            draw_row(axes, order.index(row["learner"]), row, results.looks[row["learner"]])
        axes.set_xlim(*limits)
        scale_axis(axes.xaxis, every["whole"].to_numpy() if log_of is None else log_of, log=log_of is not None)

    return Plot(results, panels, draw, below, rows=order, marks=marks)


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
