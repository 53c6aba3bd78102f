"""Figures of one policy: its drawing, or its rules as text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from matplotlib.figure import Figure

from milpcb.core.surroundings import plain
from milpcb.experiments.results.figures.drawing import finish, render

WIDTH, HEIGHT = 7.0, 4.0  # inches, at least
LETTER, LINE, MARGIN = 0.085, 0.2, 1.2  # inches of rules that are drawn as text


@plain()
def draw_policy(policy: Any, leaves: Sequence[Any] | None = None) -> dict[str, bytes]:
    """Return the pictures of a policy: its own figure or drawing where it has one, else its rules as a card.

    ``leaves``, what ``policy.leaves(...)`` returned, adds shares and mean costs to a figure of the policy's own.
    """
    if hasattr(policy, "figure"):
        return render(finish(policy.figure(leaves)))
    if hasattr(policy, "draw"):
        figure = Figure(figsize=(WIDTH, HEIGHT), layout="constrained")
        policy.draw(figure.add_subplot())
    else:
        figure = _card(str(policy))
    return render(finish(figure))


def _card(rules: str) -> Figure:
    """Return rules as text in a box, on a figure that is as large as they need."""
    lines = rules.split("\n")
    size = max(WIDTH, LETTER * max(map(len, lines)) + MARGIN), max(HEIGHT, LINE * len(lines) + MARGIN)
    figure = Figure(figsize=size, layout="constrained")
    axes = figure.add_subplot()
    axes.set_axis_off()
    box = {"facecolor": "0.97", "edgecolor": "0.3", "boxstyle": "round,pad=0.8"}
    axes.text(0.5, 0.5, rules, bbox=box, ha="center", va="center", family="monospace", fontsize=10)
    return figure
