"""Figures of final regret against a number: the horizon T, or one that the config varies (K, depth, L, ...)."""

import json
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
import polars as pl
from matplotlib.lines import Line2D

from milpcb.core.decimals import THIN, spaced
from milpcb.experiments.results.curves import ROUNDING
from milpcb.experiments.results.figures.drawing import GREY, LEAST, Drawing, scale_axis, tick_at, wants_log
from milpcb.experiments.results.figures.line_styles import LineStyle
from milpcb.experiments.results.figures.plots import Plot, drawn
from milpcb.experiments.results.figures.results import LAST, Panel, Results, entries, panels_of, registered, spread
from milpcb.experiments.results.figures.words import band, sentences, verdict
from milpcb.types import Floats

GUIDE: dict[str, Any] = {"color": "0.55", "linewidth": 0.9}
DOTS: dict[str, Any] = {"linewidth": 1.2, "linestyle": (0, (1, 2))}
RANDOM: dict[str, Any] = {"color": "0.55", "linewidth": 1.2, "zorder": 0.5}
HIGH = 4.0  # a guarantee so many times above all regrets is not drawn
SHARE, REGRET = f"regret, {THIN}% of that of choosing at random", "regret at the horizon"
COLUMNS = {"environment": "environment", "policies": "policies", "learners": "learner"}  # section: column of its label


def horizons(results: Results) -> list[Drawing]:
    """Draw regret against T with local slopes; nothing for a study of one horizon."""
    if len(results.horizons) < 2:
        return []
    panels = results.panels
    caption = sentences(
        "On logarithmic axes regret of order T^p is a line of slope p; slopes are of means, between neighbouring T.",
        "A thin grey line through a learner's last point has the slope of its guarantee.",
        "Dotted lines are guarantees below T.",
        band(results, of_longest=False),
    )
    alt = f"Regret by horizons on logarithmic axes. {verdict(results)}"
    lines = {name: _slopes_text(panels[0], name) if len(panels) == 1 else "" for name in results.styles}
    marks = [(Line2D([], [], **GUIDE), "slope of the guarantee"), (Line2D([], [], color=GREY, **DOTS), "guarantee")]
    draw, beside = partial(_draw_horizons, results=results), "regret after T rounds"
    plot = Plot(results, panels, draw, "horizon T", beside, lines=lines, marks=marks)
    return [drawn(plot, "horizons", "Regret against the horizon", alt, caption)]


def local_slopes(panel: Panel, learner: str) -> list[float]:
    """Return the slopes of log mean regret between neighbouring horizons; NaN where a mean is not positive."""
    return _slopes({horizon: float(values.mean()) for horizon, values in panel.regrets(learner).items()})


def theorem(panel: Panel, learner: str) -> float:
    """Return the exponent of T in a learner's guarantee, from the longest two horizons; NaN without a guarantee."""
    return (_slopes(_guarantees(panel, learner)) or [np.nan])[-1]


def against(results: Results) -> list[Drawing]:
    """Draw one figure for every number that the study varies."""
    return [against_key(results, key) for key in varied(results.settings)]


def against_key(results: Results, key: str) -> Drawing:
    """Draw regret against a dotted key, one of those ``varied``, such as ``environment.n_actions``."""
    section, _, name = key.partition(".")
    lines = _lines(results.settings, section, name)
    frame, random = _shares(_placed(results, section, lines), results.randoms)
    panels = _by_number(results, frame)
    shown = replace(results, frame=frame)
    log = not random and all(wants_log(panel.frame["regret"].to_numpy(), least=LEAST) for panel in panels)
    values = frame["regret"].to_numpy()

    def draw(axes: Any, panel: Panel) -> None:
        for learner in panel.learners:
            _draw_runs(axes, shown.styles[learner], panel.regrets(learner, "x"), -np.inf, linewidth=4, alpha=0.4)
        numbers = panel.frame["x"].to_numpy()
        scale_axis(axes.xaxis, log=wants_log(numbers, 4.0))
        tick_at(axes.xaxis, numbers)
        scale_axis(axes.yaxis, log=log)
        if random:
            axes.axhline(100.0, **RANDOM)
            axes.set_ylim(min(0.0, values.min()), 1.05 * max(100.0, values.max()))

    caption = sentences(f"Only {key} differs along a line.", band(results, of_longest=False))
    marks = [(Line2D([], [], **RANDOM), "choosing at random")] if random else []
    below, beside = f"{name.replace('_', ' ')} ({section})", SHARE if random else REGRET
    plot = Plot(shown, panels, draw, below, beside, lines=dict.fromkeys(shown.styles, ""), marks=marks)
    heading = f"Regret against {key}"
    return drawn(plot, f"against_{key.replace('.', '_')}", heading, f"{heading}. {verdict(results)}", caption)


def varied(settings: Mapping[str, Any]) -> list[str]:
    """Return the dotted keys whose number differs between entries of a section that are equal in everything else."""
    found = []
    for section in COLUMNS:
        names = dict.fromkeys(name for entry in entries(settings, section) for name in entry)
        found += [f"{section}.{name}" for name in names if _lines(settings, section, name)]
    return found


def _guarantees(panel: Panel, learner: str) -> dict[int, float]:
    own = panel.of(learner).group_by("horizon").agg(pl.col("guarantee").max()).sort("horizon")
    return dict(own.iter_rows())


def _slopes(means: Mapping[int, float]) -> list[float]:
    return [
        float(np.log(above / below) / np.log(later / sooner))
        if min(above, below) >= LEAST and np.isfinite(above + below)
        else np.nan
        for (sooner, below), (later, above) in pairwise(sorted(means.items()))
    ]


def _slopes_text(panel: Panel, learner: str) -> str:
    found, promised = local_slopes(panel, learner), theorem(panel, learner)
    if not found:
        return ""
    slopes = ", ".join(f"{slope:.2f}" if np.isfinite(slope) else "none" for slope in found)
    return f"slopes {slopes}" + (f"\nguarantee {promised:.2f}" if np.isfinite(promised) else "")


def _draw_runs(axes: Any, style: LineStyle, runs: Mapping[float, Floats], least: float, **bar: Any) -> None:
    for x, values in runs.items():
        low, high = (float(end[0]) for end in spread(values[:, None]))
        axes.plot([x, x], [max(low, least), high], color=style.colour, **bar)
    axes.plot(list(runs), [float(values.mean()) for values in runs.values()], **style.line(), linewidth=1.3)


def _draw_horizons(axes: Any, panel: Panel, results: Results) -> None:
    for learner in panel.learners:
        runs, slope = panel.regrets(learner), theorem(panel, learner)
        shown = {float(T): values for T, values in runs.items() if values.mean() >= LEAST}
        _draw_runs(axes, results.styles[learner], shown, LEAST, linewidth=1.4)
        if len(shown) > 1 and np.isfinite(slope):
            ends = np.array([min(shown), max(shown)])
            axes.plot(ends, runs[int(ends[1])].mean() * (ends / ends[1]) ** slope, zorder=0.5, **GUIDE)
    scale_axis(axes.xaxis, log=True)
    tick_at(axes.xaxis, np.array(results.horizons, float))
    scale_axis(axes.yaxis, log=True)
    highest = HIGH * float(panel.frame.filter(LAST)["regret"].to_numpy().max())
    for learner in panel.learners:  # guarantees below T and near the regrets
        kept = {T: value for T, value in _guarantees(panel, learner).items() if value < T and value <= highest}
        axes.plot(list(kept), list(kept.values()), color=results.styles[learner].colour, **DOTS)


def _lines(settings: Mapping[str, Any], section: str, name: str) -> list[dict[str, float]]:
    groups: dict[str, dict[str, float]] = {}
    for entry in entries(settings, section):
        value = entry.get(name)
        if isinstance(value, int | float) and not isinstance(value, bool):
            rest = {key: entry[key] for key in entry if key not in {name, "label"}}
            groups.setdefault(json.dumps(rest, sort_keys=True, default=str), {})[entry["label"]] = float(value)
    return [group for group in groups.values() if len(set(group.values())) > 1]


def _placed(results: Results, section: str, lines: list[dict[str, float]]) -> pl.DataFrame:
    column = COLUMNS[section]
    values = {label: value for line in lines for label, value in line.items()}
    called = registered(results.settings, section)
    of_lines = [called[next(iter(line))] for line in lines]
    names = {
        label: f"{name} ({i})" if of_lines.count(name) > 1 else name
        for i, (line, name) in enumerate(zip(lines, of_lines, strict=True), 1)
        for label in line
    }
    rows = results.finals.filter(pl.col(column).is_in(list(values)))
    x = pl.col(column).replace_strict(values, return_dtype=pl.Float64).alias("x")
    return rows.with_columns(x).with_columns(pl.col(column).replace_strict(names, return_dtype=pl.String))


def _shares(frame: pl.DataFrame, random: list[str]) -> tuple[pl.DataFrame, bool]:
    """Return final rows with regret in per cents of that of uniform play beside it, where all rows have that."""
    beside, is_random = ["environment", "policies", "horizon", "x"], pl.col("learner").is_in(random)
    own = frame.filter(is_random).group_by(beside).agg(random=pl.col("regret").mean())
    joined = frame.join(own, on=beside, how="left", maintain_order="left")
    if joined.filter(~is_random).is_empty() or not (joined["random"].fill_null(0.0) > ROUNDING).all():
        return frame, False
    shares = joined.with_columns(regret=100 * pl.col("regret") / pl.col("random")).drop("random")
    return shares.filter(~is_random), True


def _by_number(results: Results, frame: pl.DataFrame) -> list[Panel]:
    if len(results.horizons) != 2:
        last = pl.col("horizon").max().over("learner", "environment", "policies", "oracle")
        return list(panels_of(frame.filter(pl.col("horizon") == last)))
    return [
        Panel(", ".join(filter(None, [panel.name, f"T = {spaced(horizon)}"])), panel.frame)
        for horizon in results.horizons
        for panel in panels_of(frame.filter(pl.col("horizon") == horizon))
    ]
