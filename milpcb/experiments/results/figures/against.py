"""Final regret against a number that the config varies (K, depth, L, ...), everything else being equal."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

import polars as pl

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
from milpcb.experiments.results.figures.meaning import entries, registered
from milpcb.experiments.results.figures.results import Panel, Results, longest
from milpcb.experiments.results.figures.words import count, number, percent, sentences

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
    frame = _placed(results, section, lines)
    panels = results.panels(frame)
    figure, every = curve_grid(len(panels), results.title)
    look = looks(frame["learner"].unique(maintain_order=True).to_list(), registered(results.settings, "learners"))
    log = all(wants_log(panel.frame["regret"].to_numpy(), least=LEAST) for panel in panels)
    for axes, panel in zip(every, panels, strict=True):
        _draw_panel(axes, panel, look, log=log)
        name_panel(axes, panel.name)
    label_outside(figure, every, f"{name} ({section})", "regret at the horizon")
    legend(figure, [(line_handle(own), learner) for learner, own in look.items()], below=len(panels) > 1)
    alt = f"Regret at the horizon against {key}, a line per learner, {count(len(panels), 'panel')}."
    stem = f"against_{key.replace('.', '_')}"
    return Drawing(stem, f"Regret against {key}", finish(figure), alt, _caption(panels, key))


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
    rows = longest(results.finals).filter(pl.col(column).is_in(list(values)))
    x = pl.col(column).replace_strict(values, return_dtype=pl.Float64).alias("x")
    return rows.with_columns(x).with_columns(pl.col(column).replace_strict(names, return_dtype=pl.String))


def _line_names(settings: Mapping[str, Any], section: str, lines: list[dict[str, float]]) -> Iterator[tuple[str, str]]:
    names = {entry["label"]: str(entry.get("name", entry["label"])) for entry in entries(settings, section)}
    for i, line in enumerate(lines):
        label = names[next(iter(line))]
        same = sum(names[next(iter(other))] == label for other in lines)
        for own in line:
            yield own, f"{label} ({i + 1})" if same > 1 else label


def _means(panel: Panel) -> pl.DataFrame:
    return panel.frame.group_by("learner", "x", maintain_order=True).agg(pl.col("regret").mean()).sort("x")


def _draw_panel(axes: Any, panel: Panel, look: Mapping[str, Any], *, log: bool) -> None:
    every = panel.frame["regret"].to_numpy()
    for learner in panel.learners:
        rows = panel.frame.filter(pl.col("learner") == learner)
        axes.plot(rows["x"], rows["regret"], look[learner].marker, color=look[learner].colour, markersize=3, alpha=0.35)
        means = _means(panel).filter(pl.col("learner") == learner)
        axes.plot(means["x"], means["regret"], **look[learner].line(), linewidth=1.4)
    values = panel.frame["x"].to_numpy()
    scale_axis(axes.xaxis, values, log=wants_log(values, 4.0))
    tick_at(axes.xaxis, values)
    scale_axis(axes.yaxis, every, log=log)


def _caption(panels: list[Panel], key: str) -> str:
    words = []
    if len(panels) == 1:
        means = _means(panels[0])
        for learner in panels[0].learners:
            own = means.filter(pl.col("learner") == learner)
            first, last = own.row(0, named=True), own.row(-1, named=True)
            if len(own) > 1 and first["regret"] > 0:
                grown = percent(last["regret"] / first["regret"])
                words.append(
                    f"{learner}: {number(last['regret'])} at {last['x']:g}, {grown} of that at {first['x']:g}."
                )
    method = f"Lines are means over the seeds, small points single seeds; only {key} differs along a line."
    return sentences(*words[:4], method)
