"""Values with their intervals as bars of a page: where each begins and ends, as shares of the width there is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from milpcb.logs.unit import Unit
from milpcb.logs.worth import ASIDE, RULE, Worth

MARGIN = 0.04  # of the width, left free at either side


def bars(unit: Unit, lines: Sequence[Worth], level: float) -> dict[str, Any]:
    """Return what a page draws of the first three values: of the rule, of treating all alike, and of what was done."""
    alike, dashed = lines[1].name.removesuffix(ASIDE), lines[1].value
    lines = [line for line in lines if line.value == line.value]
    every = [unit.inside(x) for line in lines for x in (line.value, *(line.interval or ()))] + [unit.inside(dashed)]
    low, high = min(every), max(every)
    free = MARGIN * (high - low) or 1.0
    low, high = low - free, high + free

    def place(value: float) -> str:
        return f"{100 * (unit.inside(value) - low) / (high - low):.2f}"

    drawn = []
    for line in lines:
        left, right = line.interval or (line.value, line.value)
        ends = unit.ends(left, right) if line.interval else "no interval"
        drawn.append(
            {
                "name": line.name,
                "own": line.name.startswith(RULE),
                "value": unit.value(line.value),
                "ends": ends,
                "how": line.how,
                "left": place(left),
                "width": f"{float(place(right)) - float(place(left)):.2f}",
                "dot": place(line.value),
            }
        )
    better = "Farther right" if unit.maximise else "Farther left"
    caption = f"Bars: {level:.0%} intervals. Dashed: {alike}. {better} is better."
    return {"lines": drawn, "dashed": place(dashed), "unit": unit.words, "caption": caption}
