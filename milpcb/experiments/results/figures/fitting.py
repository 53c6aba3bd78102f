"""Breaks and abbreviates names to the width that a figure has for them, by the widths of their letters."""

from __future__ import annotations

import warnings
from textwrap import wrap

from matplotlib.font_manager import FontProperties
from matplotlib.textpath import text_to_path

from milpcb.experiments.results.figures.words import legible

LETTER = 0.45  # of the font's size: how wide a narrow letter is, about; where letters are wider, fewer are tried
FEWEST = 6  # letters of a line, however narrow


def fitted(name: str, inches: float, size: float, lines: int = 1, weight: str = "normal") -> str:
    """Return a name in about so many lines, none wider than so many inches at this size in points.

    Control characters are escaped. Lines are broken at spaces and underscores, and where there are none, anywhere; what
    has no room is left out from the middle.
    """
    letters = max(FEWEST, int(72 * inches / (LETTER * size)))
    while True:
        broken = _break(legible(name, lines * letters), letters)
        if letters <= FEWEST or all(width(line, size, weight) <= inches for line in broken):
            return "\n".join(broken)
        letters -= 1


def width(text: str, size: float, weight: str = "normal") -> float:
    """Return the width of a line of text in inches, at a size in points."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing from font")
        return (
            float(text_to_path.get_text_width_height_descent(text, FontProperties(size=size, weight=weight), False)[0])
            / 72
        )


def _break(text: str, letters: int) -> list[str]:
    if len(text) <= letters:
        return [text]
    return [line.replace("_ ", "_") for line in wrap(text.replace("_", "_ "), letters)] or [text]
