"""Final regret against a number that the config varies (K, depth, L, ...), everything else being equal.

Where the study has uniform play, regret is a share of its regret: 100 % is to choose at random.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

import polars as pl
from matplotlib.lines import Line2D

from milpcb.core.decimals import THIN, number
from milpcb.errors import InputError
from milpcb.experiments.results.figures.drawing import (
    LEAST,
    Drawing,
    curve_grid,
    finish,
    label_outside,
    legend,
    line_handle,
    name_panel,
    scale_axis,
    tick_at,
    wants_log,
)
from milpcb.experiments.results.figures.looks import looks
from milpcb.experiments.results.figures.meaning import entries, randoms, registered
from milpcb.experiments.results.figures.results import Panel, Results, longest, spread
from milpcb.experiments.results.figures.words import band, legible, sentences, with_separators
from milpcb.experiments.results.slopes import ROUNDING

SHARE, REGRET = f"regret, {THIN}% of that of choosing at random", "regret at the horizon"
RANDOM: dict[str, Any] = {"color": "0.55", "linewidth": 1.2, "zorder": 0.5}
KEYS = {  # what numbers that are often varied are called
    "n_actions": "number of actions K",
    "n_contexts": "number of contexts",
    "n_features": "number of features",
    "depth": "depth of the trees",
}
COLUMNS = {"environment": "environment", "policies": "policies", "learners": "learner"}  # section: column of its label


def against(results: Results) -> list[Drawing]:
    """Draw one figure for every number that the study varies."""
    return [against_key(results, key) for key in varied(results.settings)]


def against_key(results: Results, key: str) -> Drawing:
    """Draw regret against a dotted key such as ``environment.n_actions``; raises InputError where nothing varies it."""
    section, _, name = key.partition(".")
    lines = _lines(results.settings, section, name) if section in COLUMNS else []
    if not lines:
        known = ", ".join(varied(results.settings)) or "no number"
        raise InputError(f"the config does not vary '{key}' with everything else equal; it varies {known}")
    frame, random = _shares(_placed(results, section, lines), randoms(results.frame, results.settings))
    panels = _panels(results, frame)
    figure, every = curve_grid(len(panels), results.title, results.width)
    look = looks(frame["learner"].unique(maintain_order=True).to_list(), registered(results.settings, "learners"))
    log = not random and all(wants_log(panel.frame["regret"].to_numpy(), least=LEAST) for panel in panels)
    for axes, panel in zip(every, panels, strict=True):
        _draw_panel(axes, panel, look, log=log)
        if random:
            axes.axhline(100.0, **RANDOM)
            axes.set_ylim(
                min(0.0, frame["regret"].to_numpy().min()), 1.05 * max(100.0, frame["regret"].to_numpy().max())
            )
        name_panel(axes, panel.name)
    label_outside(figure, every, KEYS.get(name, f"{name.replace('_', ' ')} ({section})"), SHARE if random else REGRET)
    guide: list[tuple[Any, str]] = [(Line2D([], [], **RANDOM), "choosing at random")] if random else []
    legend(figure, [*((line_handle(own), learner) for learner, own in look.items()), *guide], below=len(panels) > 1)
    stem = f"against_{key.replace('.', '_')}"
    finding = _finding(panels, "%" if random else "")
    caption = sentences(finding, f"Only {key} differs along a line.", band(results))
    return Drawing(stem, f"Regret against {KEYS.get(name, key)}", finish(figure), finding, caption)


def varied(settings: Mapping[str, Any]) -> list[str]:
    """Return the dotted keys whose number differs between entries of a section that are equal in everything else."""
    found = []
    for section in COLUMNS:
        names = dict.fromkeys(name for entry in entries(settings, section) for name in entry)
        found += [f"{section}.{name}" for name in names if _lines(settings, section, name)]
    return found


def _lines(settings: Mapping[str, Any], section: str, name: str) -> list[dict[str, float]]:
    """Return the lines of a figure: for each, the number of every label on it."""
    groups: dict[str, dict[str, float]] = {}
    for entry in entries(settings, section):
        value = entry.get(name)
        if isinstance(value, int | float) and not isinstance(value, bool):
            rest = {key: entry[key] for key in entry if key not in {name, "label"}}
            groups.setdefault(json.dumps(rest, sort_keys=True, default=str), {})[entry["label"]] = float(value)
    return [group for group in groups.values() if len(set(group.values())) > 1]


def _placed(results: Results, section: str, lines: list[dict[str, float]]) -> pl.DataFrame:
    """Return the final rows on these lines with their number ``x``; the labels of a line become one."""
    column = COLUMNS[section]
    values = {label: value for line in lines for label, value in line.items()}
    names = dict(_line_names(results.settings, section, lines))
    rows = results.finals.filter(pl.col(column).is_in(list(values)))
    x = pl.col(column).replace_strict(values, return_dtype=pl.Float64).alias("x")
    return rows.with_columns(x).with_columns(pl.col(column).replace_strict(names, return_dtype=pl.String))


def _line_names(settings: Mapping[str, Any], section: str, lines: list[dict[str, float]]) -> Iterator[tuple[str, str]]:
    names = {entry["label"]: str(entry.get("name", entry["label"])) for entry in entries(settings, section)}
    for i, line in enumerate(lines):
        label = names[next(iter(line))]
        same = sum(names[next(iter(other))] == label for other in lines)
        for own in line:
            yield own, f"{label} ({i + 1})" if same > 1 else label


def _shares(frame: pl.DataFrame, random: list[str]) -> tuple[pl.DataFrame, bool]:
    """Return final rows with regret in per cents of that of uniform play beside it, where all rows have that."""
    beside = ["environment", "policies", "horizon", "x"]
    own = frame.filter(pl.col("learner").is_in(random)).group_by(beside).agg(random=pl.col("regret").mean())
    joined = frame.join(own, on=beside, how="left", maintain_order="left")
    if (
        joined.filter(~pl.col("learner").is_in(random)).is_empty()
        or not (joined["random"].fill_null(0.0) > ROUNDING).all()
    ):
        return frame, False
    shares = joined.with_columns(regret=100 * pl.col("regret") / pl.col("random")).drop("random")
    return shares.filter(~pl.col("learner").is_in(random)), True


def _panels(results: Results, frame: pl.DataFrame) -> list[Panel]:
    """Return a panel for each horizon, where there are two, else for the longest alone."""
    if len(results.horizons) != 2:
        return results.panels(longest(frame))
    return [
        Panel(", ".join(filter(None, [panel.name, f"T = {with_separators(horizon)}"])), panel.frame)
        for horizon in results.horizons
        for panel in results.panels(frame.filter(pl.col("horizon") == horizon))
    ]


def _means(panel: Panel) -> pl.DataFrame:
    return panel.frame.group_by("learner", "x", maintain_order=True).agg(pl.col("regret").mean()).sort("x")


def _draw_panel(axes: Any, panel: Panel, look: Mapping[str, Any], *, log: bool) -> None:
    every = panel.frame["regret"].to_numpy()
    for learner in panel.learners:
        for (x,), own in panel.frame.filter(pl.col("learner") == learner).group_by("x", maintain_order=True):
            low, high = (end[0] for end in spread(own["regret"].to_numpy()[:, None]))
            axes.plot([x, x], [low, high], color=look[learner].colour, linewidth=4, alpha=0.4)
        means = _means(panel).filter(pl.col("learner") == learner)
        axes.plot(means["x"], means["regret"], **look[learner].line(), linewidth=1.4)
    values = panel.frame["x"].to_numpy()
    scale_axis(axes.xaxis, values, log=wants_log(values, 4.0))
    tick_at(axes.xaxis, values)
    scale_axis(axes.yaxis, every, log=log)


def _finding(panels: list[Panel], unit: str) -> str:
    found = []
    for panel in panels[:2]:
        means = _means(panel)
        for learner in panel.learners:
            own = means.filter(pl.col("learner") == learner)
            first, last = own.row(0, named=True), own.row(-1, named=True)
            where = f"{legible(panel.name)}: " * (len(panels) > 1)
            begin, end = (f"{_amount(row['regret'], unit)} at {row['x']:g}" for row in (first, last))
            found.append(f"{where}{legible(learner)} from {begin} to {end}")
    return f"Regret: {'; '.join(found)}."


def _amount(value: float, unit: str) -> str:
    return f"{number(value, 2.0)}{THIN}%" if unit else number(value)
