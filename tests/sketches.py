"""Sketches: what is written in place of a picture where a test is about something else.

Nearly all the time of a small study is that of its pictures, and of these that of placing letters. A sketch is well
formed, of the picture's size, and has its words, numbers along axes apart: as an SVG in the comments that matplotlib
writes beside every text. What pictures show is tested in tests/experiments/results/figures, and where they are drawn
by real commands.
"""

import base64
from html import escape
from typing import Any

from matplotlib.figure import Figure

from milpcb.experiments.results.figures.drawing import texts_of

PIXEL = base64.b64decode("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAAC0lEQVR4nGP4DwQACfsD/fteaysAAAAASUVORK5CYII=")


SAVE = Figure.savefig


def sketch(figure: Figure, file: Any, *, format: str, **more: Any) -> None:  # noqa: A002 - as matplotlib has it
    """Write a sketch where ``figure.savefig`` would write the picture, but for pages in PDF."""
    if format == "pdf":
        SAVE(figure, file, format=format, **more)
        return
    if format == "png":
        file.write(PIXEL)
        return
    width, height = (f"{72 * inches:g}pt" for inches in figure.get_size_inches())
    words = [escape(text.get_text()).replace("--", "- -") for text in texts_of(figure) if text.get_text()]
    file.write(
        "\n".join(
            [
                '<?xml version="1.0" encoding="utf-8" standalone="no"?>',
                f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" version="1.1">',
                *(f"<!-- {text} -->" for text in words),
                "</svg>\n",
            ]
        ).encode()
    )
