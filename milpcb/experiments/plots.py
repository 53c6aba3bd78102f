"""Pictures, drawn from curves.csv alone: regret curves with bands over seeds, guarantees, log-log on request."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import EngFormatter

from milpcb.experiments.curves import Row
from milpcb.types import Floats, Ints

# Okabe & Ito's colours, each with its own dash, so that curves are told apart in greyscale too.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
DASHES = ("-", (0, (5, 1.5)), (0, (1.5, 1.2)), (0, (6, 1.5, 1.5, 1.5)), (0, (3, 1)), (0, (8, 2)), "-")
FORMATS = ("png", "svg")


def curve(rows: Sequence[Row], learner: str) -> tuple[Ints, Floats]:
    """Return rounds (n,) and regret (seeds, n) of a learner, at the rounds that all its seeds have."""
    by_seed: dict[tuple[int, int], dict[int, float]] = {}
    for row in rows:
        if row.learner == learner:
            by_seed.setdefault((row.seed, row.horizon), {})[row.round] = row.regret
    rounds = sorted(set.intersection(*(set(points) for points in by_seed.values())))
    return np.array(rounds), np.array([[points[r] for r in rounds] for points in by_seed.values()])


def regret_figure(rows: Sequence[Row], title: str, *, loglog: bool = False) -> Figure:
    """Return the figure: mean regret per learner, band from the least to the largest seed, guarantee at T."""
    figure = Figure(figsize=(8, 5), layout="constrained")
    axes = figure.add_subplot()
    learners = list(dict.fromkeys(row.learner for row in rows))
    for i, learner in enumerate(learners):
        _draw_learner(axes, rows, learner, COLOURS[i % len(COLOURS)], DASHES[i % len(DASHES)], loglog=loglog)
    seeds = len({row.seed for row in rows})
    axes.set_xlabel("round")
    axes.set_ylabel("regret against the best policy in hindsight")
    axes.set_title(f"{title} ({seeds} seed{'s' if seeds > 1 else ''})", parse_math=False)
    axes.grid(visible=True, which="major", color="0.9")
    axes.spines[["top", "right"]].set_visible(False)
    if loglog:
        axes.set_xscale("log")
        axes.set_yscale("log")
    else:
        axes.set_xlim(left=0)
        axes.set_ylim(bottom=min(0.0, axes.get_ylim()[0]))
        axes.xaxis.set_major_formatter(EngFormatter(sep=""))
        axes.yaxis.set_major_formatter(EngFormatter(sep=""))
    for text in axes.legend(frameon=False, loc="best").get_texts():
        text.set_parse_math(False)  # names are names: a dollar sign starts no formula
    return figure


def render(figure: Figure) -> dict[str, bytes]:
    """Return the figure as png and svg bytes; the same figure gives the same bytes."""
    pictures = {}
    with mpl.rc_context({"svg.hashsalt": "milpcb"}):
        for suffix in FORMATS:
            buffer = io.BytesIO()
            metadata = {"Date": None} if suffix == "svg" else None
            figure.savefig(buffer, format=suffix, dpi=150, metadata=metadata)
            pictures[suffix] = buffer.getvalue()
    return pictures


def draw_policy(policy: Any) -> dict[str, bytes]:
    """Return the pictures of a policy: its own drawing where it has one, else its rules as a card."""
    figure = Figure(figsize=(7, 4), layout="constrained")
    axes = figure.add_subplot()
    if hasattr(policy, "draw"):
        policy.draw(axes)
    else:
        card = {"facecolor": "0.97", "edgecolor": "0.3", "boxstyle": "round,pad=0.8"}
        axes.text(
            0.5,
            0.5,
            str(policy),
            ha="center",
            va="center",
            family="monospace",
            fontsize=10,
            bbox=card,
            parse_math=False,
        )
        axes.set_axis_off()
    return render(figure)


def _draw_learner(axes: Any, rows: Sequence[Row], learner: str, colour: str, dash: Any, *, loglog: bool) -> None:
    rounds, regret = curve(rows, learner)
    mean = regret.mean(axis=0)
    shown = mean > 0 if loglog else np.ones(len(rounds), bool)
    axes.plot(rounds[shown], mean[shown], color=colour, linestyle=dash, label=learner)
    if len(regret) > 1:
        low, high = regret.min(axis=0), regret.max(axis=0)
        shown = shown & (low > 0) if loglog else shown
        axes.fill_between(rounds[shown], low[shown], high[shown], color=colour, alpha=0.2, linewidth=0)
    for guarantee in sorted({row.guarantee for row in rows if row.learner == learner and np.isfinite(row.guarantee)}):
        axes.axhline(guarantee, color=colour, linewidth=1, linestyle=(0, (1, 2)))
        label = f"guarantee of {learner}: {guarantee:,.0f}"
        corner = {"xycoords": ("axes fraction", "data"), "ha": "right", "va": "bottom", "parse_math": False}
        axes.annotate(label, (1.0, guarantee), fontsize=8, color=colour, **corner)
