"""One part of the contexts and the action that a rule plays there: a line of a table, a leaf of a drawing."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class LeafSummary:
    """The action of one part of a rule, and what is known of the contexts there.

    ``share`` (0..1) is the part's share of the contexts, ``mean_cost`` what the action costs there on average, None
    where no costs are known or no context is in the part; ``note`` is a further line, as a value with its interval.
    """

    action: int
    name: str
    share: float
    mean_cost: float | None = None
    note: str = ""

    def lines(self, part: int) -> list[str]:
        """Return what stands in a drawing of part number ``part``, a line each."""
        del part
        cost = [] if self.mean_cost is None else [f"mean cost {self.mean_cost:.3g}"]
        share = f"{100 * self.share:.1f} % of contexts"
        return [f"play {self.name}", share, *cost, *([self.note] if self.note else [])]

    def __str__(self) -> str:
        cost = "" if self.mean_cost is None else f", mean cost {self.mean_cost:.3g}"
        return f"{self.name} on {100 * self.share:.1f} % of contexts{cost}{self.note and f', {self.note}'}"
