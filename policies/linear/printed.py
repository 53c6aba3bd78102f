"""A score card as it is printed: a page for a browser, and sheets of A4 as a PDF."""

import io
import warnings
from collections.abc import Sequence
from html import escape
from textwrap import wrap
from typing import Any

from milpcb.core.extras import needs
from milpcb.core.surroundings import plain
from milpcb.core.text import escaped
from milpcb.errors import InputError

TITLE, TASK = "Score card", "Write the points of each finding that holds into its box, and add them up."
STYLE = """
@page { size: A4; margin: 18mm }
body { font: 12pt/1.35 sans-serif; color: #000; background: #fff; max-width: 174mm; margin: 18mm auto }
h1 { font-size: 16pt; margin: 0 0 4mm } p { margin: 2mm 0 }
table { border-collapse: collapse; width: 100%; margin: 0 0 6mm }
td, th { border: 0.3mm solid #000; padding: 1.5mm 2.5mm; overflow-wrap: anywhere }
th { text-align: left } td.points, th.points { text-align: right; width: 22mm } td.box { width: 22mm }
tr { break-inside: avoid } thead { display: table-header-group } .note { font-size: 9pt; white-space: pre-line }
@media print { body { margin: 0; max-width: none } }
"""
Lines = Sequence[tuple[str, str]]
WIDTH, HEIGHT, MARGIN = 210.0, 297.0, 18.0  # mm
COLUMNS, TWO = (130.0, 152.0, 174.0), (87.0, 174.0)  # mm from the left margin: where cells end
LETTER, LINE, PAD = 2.35, 5.2, 3.0  # mm that a letter of 11 points takes, a line of them, and the air of a row
SIZES = {"title": 16.0, "text": 11.0, "note": 8.0}  # points
NOTE = 98  # letters of a line of the note


def html(rows: Lines, outcomes: Lines, title: str, note: str) -> str:
    """Return the page; ``rows`` are findings and their points, ``outcomes`` sums and their actions."""
    findings = "\n".join(
        f'<tr><td>{escape(text)}</td><td class="points">{escape(points)}</td><td class="box"></td></tr>'
        for text, points in rows
    )
    ends = "\n".join(f"<tr><td>{escape(where)}</td><td>{escape(to)}</td></tr>" for where, to in outcomes)
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>'
        f"<style>{STYLE}</style></head><body>\n<h1>{escape(title)}</h1>\n<p>{TASK}</p>\n"
        '<table id="findings"><thead><tr><th>Finding</th><th class="points">Points</th><th>Box</th></tr></thead>\n'
        f'<tbody>\n{findings}\n<tr><th>Sum</th><td class="points"></td><td class="box"></td></tr></tbody></table>\n'
        f'<table id="actions"><tbody><tr><th>Sum</th><th>Action</th></tr>\n{ends}\n</tbody></table>\n'
        f'<p class="note">{escape(note)}</p></body></html>\n'
    )


def pdf(rows: Lines, outcomes: Lines, title: str, note: str) -> bytes:
    """Return the same as a PDF: letters are text, the same card is the same bytes, no row is cut between sheets.

    Raises InputError where the font lacks a letter, as of a script that is not Latin, Greek or Cyrillic.
    """
    with needs("studies", "a score card as a PDF"):
        from matplotlib import rc_context
        from matplotlib.backends.backend_pdf import PdfPages
    file = io.BytesIO()
    with plain(), rc_context({"pdf.fonttype": 42, "font.size": SIZES["text"]}):
        sheets = _Sheets()
        sheets.write([title], "title")
        sheets.write([TASK])
        for cells in [("Finding", "Points", "Box"), *((*row, "") for row in rows), ("Sum", "", "")]:
            sheets.row(cells, COLUMNS, bold=cells[1:] in (("Points", "Box"), ("", "")))
        sheets.down += LINE
        for number, pair in enumerate([("Sum", "Action"), *outcomes]):
            sheets.row(pair, TWO, bold=number == 0)
        sheets.down += LINE
        sheets.write([part for line in note.split("\n") for part in wrap(line, NOTE)], "note")
        with (
            warnings.catch_warnings(),
            PdfPages(file, metadata={"CreationDate": None, "Title": escaped(title)}) as pages,
        ):
            warnings.filterwarnings("error", message="Glyph .* missing from font")
            try:
                for figure in sheets.figures:
                    pages.savefig(figure)
            except UserWarning as error:
                raise InputError(f"the PDF has no such letter: {error}; print html() with a browser") from error
    return file.getvalue()


class _Sheets:
    """Sheets of A4 that are filled from above; ``down`` is how far down the last one is taken, in mm."""

    def __init__(self) -> None:
        self.figures: list[Any] = []
        self.down = MARGIN
        self._turn()

    def write(self, lines: Sequence[str], size: str = "text") -> None:
        """Write lines of text across a sheet."""
        for line in lines:
            height = LINE * SIZES[size] / SIZES["text"]
            self._room(height)
            self._text(0.0, line, fontsize=SIZES[size], fontweight="bold" if size == "title" else "normal")
            self.down += height + (PAD if size != "note" else 0)

    def row(self, cells: Sequence[str], ends: Sequence[float], *, bold: bool) -> None:
        """Write one row of a table; cells end at ``ends``, and text that is too long goes on below."""
        from matplotlib.patches import Rectangle

        starts = (0.0, *ends[:-1])
        broken = [
            wrap(cell, int((end - start - PAD) / LETTER)) for cell, start, end in zip(cells, starts, ends, strict=True)
        ]
        height = LINE * max(1, *map(len, broken)) + PAD
        self._room(height)
        for lines, start, end in zip(broken, starts, ends, strict=True):
            place = (MARGIN + start) / WIDTH, 1 - (self.down + height) / HEIGHT
            box = Rectangle(place, (end - start) / WIDTH, height / HEIGHT, transform=self._figure.transFigure)
            box.set(fill=False, linewidth=0.8)
            self._figure.add_artist(box)
            top = self.down
            for number, line in enumerate(lines):
                self.down = top + PAD / 2 + number * LINE
                self._text(start + PAD / 2, line, fontweight="bold" if bold else "normal")
            self.down = top
        self.down += height

    @property
    def _figure(self) -> Any:
        return self.figures[-1]

    def _text(self, start: float, text: str, **style: Any) -> None:
        place = (MARGIN + start) / WIDTH, 1 - (self.down + 0.6) / HEIGHT
        self._figure.text(*place, escaped(text), va="top", parse_math=False, **style)

    def _room(self, height: float) -> None:
        if self.down + height > HEIGHT - MARGIN:
            self._turn()

    def _turn(self) -> None:
        from matplotlib.figure import Figure

        self.figures.append(Figure(figsize=(WIDTH / 25.4, HEIGHT / 25.4)))
        self.down = MARGIN
