"""One scoring rule with integer weights: it prints as the score and the range of each action, and as a score card.

On a score card findings have points, which people add up on paper, and each sum has its action.
"""

from __future__ import annotations

import io
import warnings
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from itertools import pairwise
from math import ceil
from textwrap import wrap
from types import MappingProxyType
from typing import Any, NamedTuple, cast

import numpy as np

from milpcb.core.decimals import written
from milpcb.core.surroundings import plain
from milpcb.core.text import escaped
from milpcb.data.columns import Number, Reached
from milpcb.errors import InputError, UnknownNameError, needs
from milpcb.types import Floats
from policies.exports.decisions import Decision, Reaches, Term, chain_of
from policies.names import Names
from policies.rule import ScoreRule

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
# The cut points that turn a column into points, or None for a column of integers, which is taken as it is.
Steps = tuple[tuple[float, ...] | None, ...]


@dataclass(frozen=True, repr=False)
class LinearRule(ScoreRule):
    """Play the number of integer ``cuts`` at or below the score, the sum of ``weights`` times points.

    The points of a feature are the number of its ``steps`` at or below the value, or the value itself where they are
    None. Scores of integers are exact; where such a feature is given others, a score within rounding of a cut may
    fall on the other side of it.
    """

    weights: tuple[int, ...]
    cuts: tuple[int, ...]
    steps: Steps
    names: Names = field(default=Names(), compare=False)

    def __post_init__(self) -> None:
        if len(self.steps) != len(self.weights):
            raise ValueError("its steps are not one entry for each weight")

    def decision(self) -> Decision:
        terms = tuple(Term(self.weights[i], i, self.steps[i]) for i in self._used)
        if not terms:
            return self.leaf_actions[0]
        reached = [Reaches(terms, cut) for cut in reversed(self.cuts)]
        return chain_of(reached, range(len(self.cuts), -1, -1))

    def card(self, labels: Mapping[str, str] = MappingProxyType({}), whole: Collection[str] = ()) -> ScoreCard:
        """Return the rule as a score card, which people add up on paper: ``print`` it, or write its html() or pdf().

        Parameters
        ----------
        labels : names of columns and actions on the card, by their names in the rule; others keep their own
        whole : columns that hold integers only, so that the card has "30 or more" for a cut at 29.5

        Raises
        ------
        InputError (a rule without any feature, numbers that are not whole), UnknownNameError

        """
        if not self._used:
            raise InputError(f"the rule is a constant, '{self}': there is nothing to add up")
        whole = [whole] if isinstance(whole, str) else whole
        columns = [self.names.column(i).name for i in self._used]
        actions = [self.names.action(action) for action in range(len(self.cuts) + 1)]
        for name in labels:
            if name not in {*columns, *actions}:
                raise UnknownNameError("column or action of the card", name, [*columns, *actions])
        for name in whole:
            if name not in columns:
                raise UnknownNameError("column of the card", name, columns)
        places = zip(self._used, columns, strict=True)
        rows = [row for i, column in places for row in _findings(self, i, labels, column in whole)]
        return ScoreCard(rows, [(where, labels.get(actions[a], actions[a])) for a, where in _sums(self.cuts)])

    def _points(self, contexts: Floats) -> Floats:
        return points_of(super()._points(contexts), self.steps)

    @property
    def _used(self) -> list[int]:
        return [i for i in super()._used if self.steps[i] != ()]

    @property
    def _formula(self) -> list[str]:
        return [*super()._formula, *points_lines(self.names, self.steps, self._used)]

    def _factor(self, i: int) -> str:
        return points_in_words(self.names, self.steps, i)


def points_of(contexts: Floats, steps: Steps) -> Floats:
    """Return (m, d): integer columns as they are, for others the number of cut points at or below the value."""
    points = contexts.copy()
    for i, cuts in enumerate(steps):
        if cuts is not None:
            points[:, i] = np.searchsorted(cuts, contexts[:, i], side="right")
    return points


def points_in_words(names: Names, steps: Steps, i: int) -> str:
    """Return the name of the points of feature ``i``."""
    return names.feature(i) if steps[i] is None else f"points({names.feature(i)})"


def points_lines(names: Names, steps: Steps, features: Sequence[int]) -> Iterator[str]:
    """Yield how the points of those ``features`` that have steps come about, a line each."""
    for i in features:
        if cuts := steps[i]:
            each, at = "each of " if len(cuts) > 1 else "", ", ".join(map(written, cuts))
            yield f"{points_in_words(names, steps, i)} = 1 point for {each}{names.feature(i)} >= {at}"


Lines = Sequence[tuple[str, str]]


@dataclass(frozen=True)
class ScoreCard:
    """Printed lines: findings with their points, and sums with their actions, from the greatest sum down."""

    rows: Lines
    outcomes: Lines

    def __str__(self) -> str:
        rows = [*self.rows, ("Sum", "")]
        width = max(len(text) for text, _ in rows)
        card = [f"{text:<{width}}  {points:>6}  ____" for text, points in rows]
        return "\n".join([*card, "", *(f"{where}: {action}" for where, action in self.outcomes)])

    def html(self, title: str = TITLE, note: str = "") -> str:
        """Return the card as a page of its own, to be printed on A4; ``note`` stands below it in small letters."""
        findings = "\n".join(
            f'<tr><td>{escape(text)}</td><td class="points">{escape(points)}</td><td class="box"></td></tr>'
            for text, points in self.rows
        )
        ends = "\n".join(f"<tr><td>{escape(where)}</td><td>{escape(to)}</td></tr>" for where, to in self.outcomes)
        return (
            f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>'
            f"<style>{STYLE}</style></head><body>\n<h1>{escape(title)}</h1>\n<p>{TASK}</p>\n"
            '<table id="findings"><thead><tr><th>Finding</th><th class="points">Points</th><th>Box</th></tr></thead>\n'
            f'<tbody>\n{findings}\n<tr><th>Sum</th><td class="points"></td><td class="box"></td></tr></tbody></table>\n'
            f'<table id="actions"><tbody><tr><th>Sum</th><th>Action</th></tr>\n{ends}\n</tbody></table>\n'
            f'<p class="note">{escape(note)}</p></body></html>\n'
        )

    def pdf(self, title: str = TITLE, note: str = "") -> bytes:
        """Return the card as a PDF: letters are text, the same card is the same bytes, no row is cut between sheets.

        Raises InputError where the font lacks a letter, as of a script that is not Latin, Greek or Cyrillic, and
        ExtraMissingError without matplotlib.
        """
        with needs("studies", "a score card as a PDF"):
            from matplotlib import rc_context
            from matplotlib.backends.backend_pdf import PdfPages
        texts = [_Row([title], ONE, bold=True, boxed=False, points=16.0), _Row([TASK], ONE, boxed=False)]
        head, foot = (_Row(cells, COLUMNS, bold=True) for cells in (("Finding", "Points", "Box"), ("Sum", "", "")))
        findings = [head, *(_Row((*row, ""), COLUMNS) for row in self.rows), foot]
        ends = [_Row(("Sum", "Action"), TWO, bold=True), *(_Row(pair, TWO) for pair in self.outcomes)]
        air = _Row([""], ONE, boxed=False)
        notes = [_Row([line], ONE, boxed=False, points=8.0) for line in note.split("\n")]
        file = io.BytesIO()
        with plain(), rc_context({"pdf.fonttype": 42}), warnings.catch_warnings():
            warnings.filterwarnings("error", message="Glyph .* missing from font")
            with PdfPages(file, metadata={"CreationDate": None, "Title": escaped(title)}) as pages:
                try:
                    for sheet in _sheets([*texts, *findings, air, *ends, air, *notes]):
                        pages.savefig(sheet)
                except UserWarning as error:
                    raise InputError(f"the PDF has no such letter: {error}; print html() with a browser") from error
        return file.getvalue()


def _findings(rule: LinearRule, i: int, labels: Mapping[str, str], whole: bool) -> list[tuple[str, str]]:
    column, weight, steps = rule.names.column(i), rule.weights[i], rule.steps[i]
    heading = labels.get(column.name, column.name)
    if not isinstance(column, Number):  # a condition, which is 1 where it holds
        words, other = column.test(">", 0.5), "not so"
        if isinstance(column, Reached):
            below, words = _ranges([ceil(column.cut) if whole else column.cut], whole)
            other = f"{below} or missing"
        yes, no = (weight * (value if steps is None else sum(cut <= value for cut in steps)) for value in (1, 0))
        return [(f"{heading}: {text}", str(points)) for text, points in ((words, yes), (other, no)) if points]
    if steps is None and rule.names.field(i).kind == "boolean":
        return [(f"{heading}: yes", str(weight))]
    if steps is None and rule.names.field(i).values == (0, 1):
        return [(f"{heading}: 1", str(weight))]
    if steps is None:
        return [(f"{heading}: the number itself", f"\u00d7 {weight}")]
    ends = tuple(map(ceil, steps)) if whole else steps
    if len(set(ends)) < len(ends):
        raise InputError(f"column '{column.name}' is not one of integers: the rule distinguishes parts of one")
    at = None if column.missing is None else sum(cut <= column.missing for cut in steps)
    texts = enumerate(_ranges(ends, whole))
    return [(f"{heading}: {text}{' or missing' if k == at else ''}", str(weight * k)) for k, text in texts]


def _ranges(ends: Sequence[float], whole: bool) -> Iterator[str]:
    """Yield the ranges between these ends in words, from the lowest; a number at an end is in the range above it."""
    yield f"{written(ends[0] - 1)} or less" if whole else f"below {written(ends[0])}"
    for low, high in pairwise(ends):
        if whole:
            yield written(low) if low == high - 1 else f"{written(low)} to {written(high - 1)}"
        else:
            yield f"{written(low)} to below {written(high)}"
    yield f"{written(ends[-1])} or more"


def _sums(cuts: Sequence[int]) -> Iterator[tuple[int, str]]:
    yield len(cuts), f"{cuts[-1]} or more"
    for action in range(len(cuts) - 1, 0, -1):
        low, high = cuts[action - 1], cuts[action] - 1
        if low <= high:
            yield action, f"{low} to {high}" if low < high else f"{low}"
    yield 0, f"{cuts[0] - 1} or less"


WIDTH, HEIGHT, MARGIN = 210.0, 297.0, 18.0  # mm
COLUMNS, TWO, ONE = (130.0, 152.0, 174.0), (87.0, 174.0), (182.0,)  # mm from the left margin: where cells end
LETTER, LINE, PAD = 2.35, 5.2, 3.0  # mm that a letter of 11 points takes, a line of them, and the air of a row
SPACING = LINE / 11.0 * 72.0 / 25.4  # of lines, as a multiple of the size of letters


class _Row(NamedTuple):
    cells: Sequence[str]
    ends: Sequence[float]
    bold: bool = False
    boxed: bool = True
    points: float = 11.0


def _sheets(rows: Sequence[_Row]) -> list[Any]:
    from matplotlib.figure import Figure
    from matplotlib.patches import Rectangle

    figures, axes, down = list[Any](), cast("Any", None), HEIGHT
    for row in rows:
        starts, share = (0.0, *row.ends[:-1]), row.points / 11.0
        cells = list(zip(row.cells, starts, row.ends, strict=True))
        broken = [wrap(escaped(cell), int((end - start - PAD) / (LETTER * share))) for cell, start, end in cells]
        height = LINE * share * max(1, *map(len, broken)) + (PAD if row.points > 8.0 else 0.0)
        if down + height > HEIGHT - MARGIN:
            figures.append(Figure(figsize=(WIDTH / 25.4, HEIGHT / 25.4)))
            axes, down = figures[-1].add_axes((0, 0, 1, 1), xlim=(0, WIDTH), ylim=(HEIGHT, 0)), MARGIN
            axes.axis("off")
        style: dict[str, Any] = {"fontsize": row.points, "fontweight": "bold" if row.bold else "normal", "va": "top"}
        for lines, (_, start, end) in zip(broken, cells, strict=True):
            left = MARGIN + start + PAD / 2 * row.boxed
            axes.text(left, down + PAD / 2, "\n".join(lines), parse_math=False, linespacing=SPACING, **style)
            if row.boxed:
                axes.add_patch(Rectangle((MARGIN + start, down), end - start, height, fill=False, linewidth=0.8))
        down += height
    return figures
