"""The parts of a page on a log: amounts in words, and sections with sentences, pictures, tables and rules."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import isnan, nan
from typing import Any

import numpy as np

from milpcb.core.decimals import fixed, number, written
from milpcb.experiments.results.figures.drawing import MEDIUM, fitted, grid
from milpcb.offline import Scores

THOUSAND = 1000


@dataclass(frozen=True)
class Unit:
    """The form in which amounts of an outcome are written, with as many digits as are reliable."""

    name: str  # of the column
    maximise: bool  # whether more is better
    binary: bool  # whether outcomes are 0 or 1
    error: float = nan  # standard error of the mean outcome, NaN where it is not known
    sign: str = ""  # what amounts are in, such as "$"

    @classmethod
    def of_scores(cls, name: str, scores: Scores, sign: str = "", error: float = nan) -> Unit:
        """Return the unit of scores of the outcome ``name``; with treatment costs these are no shares of people."""
        binary = set(np.unique(scores.log.outcome).tolist()) <= {0.0, 1.0} and not scores.charge.any()
        return cls(name, scores.maximise, binary, error, sign)

    @property
    def words(self) -> str:
        """Reference of amounts, such as "of 100 with 'bought' = 1"."""
        if self.binary:
            return f"of 100 with '{self.name}' = 1"
        return f"mean '{self.name}'{self.sign and f' in {self.sign}'}"

    def amount(self, value: float) -> str:
        """Return an amount without its unit."""
        if not self.binary:
            return number(value, self.error)
        return fixed(100 * value, 1) if isnan(self.error) else number(100 * value, 100 * self.error)

    def tick(self, value: float) -> str:
        """Return an amount for the tick of an axis, whose digits do not depend on the amount."""
        shown = float(f"{100 * value if self.binary else value:.6g}")
        return fixed(shown, 0) if abs(shown) >= THOUSAND else written(shown).replace("-", "\u2212")

    def value(self, value: float) -> str:
        """Return a value without its unit: a share of people is kept between 0 and 100."""
        return self.amount(self.inside(value))

    def inside(self, value: float) -> float:
        """Return a value clipped to the range of the outcome, where that is known: intervals stay valid."""
        return min(1.0, max(0.0, value)) if self.binary else value

    def ends(self, lower: float, upper: float) -> str:
        """Return the ends of an interval of a value."""
        return f"{self.value(lower)} to {self.value(upper)}"

    def gain(self, value: float) -> str:
        """Return in words by how much a value is better; below 0 it is worse."""
        return f"{self.amount(value)} of 100" if self.binary else f"{self.amount(value)}{self.sign and f' {self.sign}'}"

    def interval(self, estimate: Any) -> str:
        """Return the ends of an interval of a difference, ``lower`` and ``upper``."""
        return f"{self.amount(estimate.lower)} to {self.amount(estimate.upper)}"


NARROW = 5.4  # inches, which can be read on a phone
LABELS = {"x": 4.2, "y": 3.0}  # inches that the label of an axis may take
SHOWN = 12  # rows of a table; the others are folded away


@dataclass(frozen=True)
class PageTable:
    """A table: its label, a heading for each column, and its rows."""

    label: str
    headings: Sequence[str]
    rows: Sequence[Sequence[str]]
    words: tuple[int, ...] = (0,)  # numbers of the columns that hold words
    kind: str = ""  # "cards" where each row becomes a card on a phone
    most: int = SHOWN  # rows that are shown before the others are folded away


@dataclass(frozen=True)
class PageText:
    """A rule, or other text that is shown unchanged; ``caption`` is above it where several are compared."""

    label: str
    text: str
    caption: str = ""


@dataclass(frozen=True)
class PageSection:
    """A section of a page, or a folded part of one; its fields are shown in this order."""

    heading: str  # "" for none
    words: Sequence[str] = ()  # sentences
    # makes what milpcb.experiments.results.report.picture returns; None for none
    picture: Callable[[], Mapping[str, Any]] | None = None
    bars: Mapping[str, Any] | None = None  # values with their intervals, see milpcb.logs.page.bars; None for none
    tables: Sequence[PageTable] = ()
    texts: Sequence[PageText] = ()
    notes: Sequence[str] = ()  # sentences in small print
    folds: Sequence[PageSection] = ()  # parts that are folded away, and whether they are ``open`` at first
    open: bool = False

    @property
    def empty(self) -> bool:
        """Whether there is nothing to show."""
        return not any((self.words, self.picture, self.bars, self.tables, self.texts, self.notes, self.folds))


def panel() -> tuple[Any, Any]:
    """Return a figure of one panel, and its axes."""
    figure, (axes,) = grid(1, 1, 3.4, "")
    figure.set_figwidth(NARROW)
    return figure, axes


def labelled(axis: Any, label: str, tick: Callable[[float], str]) -> None:
    """Write the label of an axis, and its ticks by ``tick``."""
    axis.set_label_text(fitted(label, LABELS[axis.axis_name], MEDIUM), fontsize=MEDIUM, parse_math=False)
    axis.set_major_formatter(lambda value, _: tick(value))


def rule_text(policy: Any) -> str:
    """Return a rule as it prints, a leaf of a tree or list being its action alone."""
    text = str(policy)
    return re.sub(r"(?m)^(\s*)play ", r"\1", text) if text.startswith(("if ", "play ")) else text
