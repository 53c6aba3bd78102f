"""A policy on paper."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from matplotlib.figure import Figure

from milpcb.experiments.results.figures.drawing import render


def draw_policy(policy: Any, leaves: Sequence[Any] | None = None) -> dict[str, bytes]:
    """Return the pictures of a policy: its own figure or drawing where it has one, else its rules as a card.

    ``leaves``, what ``policy.leaves(...)`` returned, adds shares and mean costs to a figure of the policy's own.
    """
    if hasattr(policy, "figure"):
        return render(policy.figure(leaves))
    figure = Figure(figsize=(7, 4), layout="constrained")
    axes = figure.add_subplot()
    if hasattr(policy, "draw"):
        policy.draw(axes)
    else:
        card = {"facecolor": "0.97", "edgecolor": "0.3", "boxstyle": "round,pad=0.8"}
        place: dict[str, Any] = {
            "ha": "center",
            "va": "center",
            "family": "monospace",
            "fontsize": 10,
            "parse_math": False,
        }
        axes.text(0.5, 0.5, str(policy), bbox=card, **place)
        axes.set_axis_off()
    return render(figure)
