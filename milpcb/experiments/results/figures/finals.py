"""Regret and certificate at the end, a row per learner: mean, spread, certificate, and the numbers beside them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from matplotlib.lines import Line2D

from milpcb.core.decimals import THIN, number
from milpcb.experiments.results.confident import column_in, percent_of
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
from milpcb.experiments.results.figures.meaning import against_what, void_words
from milpcb.experiments.results.figures.results import (
    MANY_SEEDS,
    Panel,
    Results,
    guarantee,
    longest,
    most_rounds,
    regrets,
    spread,
)
from milpcb.experiments.results.figures.words import (
    against_guarantees,
    at_their_longest,
    band,
    legible,
    sentences,
    verdict,
)

FAR = 1.3  # a certificate so many times above all regrets is not drawn
TICK: dict[str, Any] = {"marker": "|", "markersize": 10, "markeredgewidth": 2}
DIAMOND: dict[str, Any] = {"marker": "d", "markersize": 6, "markerfacecolor": "white"}
ABOVE, VOID = "above T", "A guarantee above T, the largest regret there can be, is void."
SPOKEN = 24  # so many regrets are written into the alternative text
GAP = 0.12  # inches between the numbers of two columns


@dataclass(frozen=True)
class Row:
    """The mean regret of a learner in a panel, the ends of its spread, its mean certificates, its guarantee as text.

    ``sure`` is the certificate with confidence; NaN where the study has none.
    """

    mean: float
    low: float
    high: float
    certificate: float
    sure: float
    guarantee: str

    def texts(self) -> tuple[str, str]:
        """Return the regret, and the guarantee where there is one, as they stand beside the row."""
        return number(self.mean), self.guarantee


def finals(results: Results) -> list[Drawing]:
    """Draw the regret at T by learner, the least mean at the top, on one scale for all panels."""
    panels = results.panels(longest(results.finals))
    order = by_place(results, panels)
    figure, every = row_grid(order, len(panels), results.title, results.width)
    tables = [rows(panel) for panel in panels]
    low, high = _range(tables)
    for axes, panel, table in zip(every, panels, tables, strict=True):
        _draw_rows(axes, table, results.looks, order, high)
        axes.set_xlim(low - 0.03 * (high - low), high + 0.03 * (high - low))
        scale_axis(axes.xaxis, np.array([low, high]), log=False)
        name_panel(axes, panel.name, _write_numbers(axes, table, order))
    label_outside(figure, every, f"regret against {against_what(results.settings)}", "")
    legend(figure, _entries(results, tables, high), below=True)
    order_words = "" if len(panels) == 1 else "Learners are in the order of their mean place over the panels."
    numbers = "Right of each row: its mean regret, and in grey its guarantee, known before the start."
    above = any(row.guarantee == ABOVE for table in tables for row in table.values())
    guarantees = sentences(
        VOID if above else "", against_guarantees(results), void_words(results.frame, results.settings)
    )
    caption = sentences(numbers, guarantees, band(results), order_words, at_their_longest(results))
    few = len(panels) * len(order) <= SPOKEN
    ends = [_in_words(panel, table, order) for panel, table in zip(panels, tables, strict=True) if few]
    return [Drawing("finals", "Regret at the end", finish(figure), sentences(verdict(results), *ends), caption)]


def rows(panel: Panel) -> dict[str, Row]:
    """Return the row of every learner of a panel of final rows."""
    found = {}
    for learner in panel.learners:
        values = regrets(panel.frame, learner)
        low, high = (float(end[0]) for end in spread(values[:, None]))
        own = panel.frame.filter(pl.col("learner") == learner)
        certificate, sure = (
            float(own[column].cast(pl.Float64).to_numpy().mean()) if column else np.nan
            for column in ("certificate", column_in(own.columns))
        )
        promised = guarantee(panel.frame, learner)
        text = number(promised) if promised < most_rounds(own) else ABOVE if np.isfinite(promised) else ""
        found[learner] = Row(float(values.mean()), low, high, certificate, sure, text)
    return found


def by_place(results: Results, panels: list[Panel]) -> list[str]:
    """Return the learners by their mean place over the panels, the same order for all panels."""
    found: dict[str, list[int]] = {learner: [] for learner in results.looks}
    for panel in panels:
        means = {learner: regrets(panel.frame, learner).mean() for learner in panel.learners}
        for place, learner in enumerate(sorted(means, key=lambda name: means[name])):
            found[learner].append(place)
    return sorted(found, key=lambda learner: np.mean(found[learner]))


def _range(tables: Sequence[Mapping[str, Row]]) -> tuple[float, float]:
    """Return the ends of the axis of all panels: 0, all regrets, and the certificates that are near."""
    every = [row for table in tables for row in table.values()]
    high = max(0.0, *(row.high for row in every))
    near = [mark for row in every for mark in (row.certificate, row.sure) if mark <= FAR * high]
    low = min(0.0, *(row.low for row in every), *near)
    return low, max(high, *near, low + 1.0)


def _draw_rows(axes: Any, table: Mapping[str, Row], looks: Mapping[str, Look], order: list[str], high: float) -> None:
    axes.axvline(0.0, color="0.6", linewidth=0.8, zorder=0.5)
    for learner, row in table.items():
        place, look = order.index(learner), looks[learner]
        if row.high > row.low:
            axes.plot([row.low, row.high], [place, place], color=look.colour, linewidth=2.2)
        axes.plot(row.mean, place, **look.points())
        for mark, style in ((row.certificate, TICK), (row.sure, DIAMOND)):
            if mark <= high:
                axes.plot(mark, place, color=look.colour, **style, zorder=1.5)


def _write_numbers(axes: Any, table: Mapping[str, Row], order: list[str]) -> float:
    """Write regret and guarantee in two columns to the right of the axes; return how many inches they take."""
    right = 0.0
    for column, (heading, colour) in enumerate((("regret", "black"), ("guarantee", GREY))):
        texts = {learner: row.texts()[column] for learner, row in table.items()}
        if not any(texts.values()):
            continue
        right += max(width(text, SMALL) for text in (heading, *texts.values())) + GAP
        style: dict[str, Any] = {"textcoords": "offset points", "ha": "right", "fontsize": SMALL, "color": colour}
        for learner, text in texts.items():
            place = (1.0, order.index(learner))
            axes.annotate(text, place, (72 * right, 0), xycoords=("axes fraction", "data"), va="center", **style)
        axes.annotate(heading, (1.0, 1.0), (72 * right, 3), xycoords="axes fraction", va="bottom", **style)
    return right


def _entries(results: Results, tables: Sequence[Mapping[str, Row]], high: float) -> list[tuple[Any, str]]:
    every = [row for table in tables for row in table.values()]
    entries: list[tuple[Any, str]] = [(Line2D([], [], linestyle="", color=GREY, marker="o", markersize=6), "mean")]
    if any(row.high > row.low for row in every):
        reach = "range of the seeds" if results.seeds < MANY_SEEDS else f"95{THIN}% interval of the mean"
        entries.append((Line2D([], [], color=GREY, linewidth=2.2), reach))
    if any(row.certificate <= high for row in every):
        entries.append((Line2D([], [], linestyle="", color=GREY, **TICK), "certificate"))
    if any(row.sure <= high for row in every):
        sure = percent_of(str(column_in(results.frame.columns)))
        entries.append((Line2D([], [], linestyle="", color=GREY, **DIAMOND), f"{sure}{THIN}% certificate"))
    return entries


def _in_words(panel: Panel, table: Mapping[str, Row], order: list[str]) -> str:
    numbers = ", ".join(f"{legible(name)} {number(table[name].mean)}" for name in order if name in table)
    return f"{legible(panel.name) or 'Regret'}: {numbers}."
