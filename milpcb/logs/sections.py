"""The sections of a page on a log: sentences, pictures, tables, rules, and parts that are folded away."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from milpcb.experiments.results.figures.drawing import MEDIUM, fitted, grid

NARROW = 5.4  # inches, which can be read on a phone
LABELS = {"x": 4.2, "y": 3.0}  # inches that the label of an axis may take
Row = Sequence[str]
SHOWN = 12  # rows of a table; the others are folded away


@dataclass(frozen=True)
class PageTable:
    """A table: its label, a heading for each column, and its rows.

    ``words`` are the numbers of the columns that hold words, ``kind`` is "cards" where each row becomes a card on a
    phone, ``most`` how many rows are shown before the others are folded away.
    """

    label: str
    headings: Row
    rows: Sequence[Row]
    words: tuple[int, ...] = (0,)
    kind: str = ""
    most: int = SHOWN


@dataclass(frozen=True)
class PageText:
    """A rule, or other text that is shown as it is written; ``caption`` stands above it where several are compared."""

    label: str
    text: str
    caption: str = ""


@dataclass(frozen=True)
class PageSection:
    """A section of a page, or a part of one that is folded away; in this order.

    Attributes
    ----------
    heading : "" for none
    words : sentences
    picture : makes what milpcb.experiments.results.report.picture returns; None for none
    bars : values with their intervals, see milpcb.logs.values.bars; None for none
    tables, texts : see PageTable and PageText
    notes : sentences in small print
    folds : parts that are folded away, and whether they are ``open`` at first
    missing : why there is nothing to show; "" where there is something

    """

    heading: str
    words: Sequence[str] = ()
    picture: Callable[[], Mapping[str, Any]] | None = None
    bars: Mapping[str, Any] | None = None
    tables: Sequence[PageTable] = ()
    texts: Sequence[PageText] = ()
    notes: Sequence[str] = ()
    folds: Sequence[PageSection] = ()
    open: bool = False
    missing: str = ""

    @property
    def empty(self) -> bool:
        """Whether there is nothing to show."""
        return not any((self.words, self.picture, self.bars, self.tables, self.texts, self.notes, self.folds))


def there(sections: Iterable[PageSection]) -> list[PageSection]:
    """Return the sections that have something to show."""
    return [section for section in sections if not section.empty]


def panel() -> tuple[Any, Any]:
    """Return a figure of one panel, and its axes."""
    figure, (axes,) = grid(1, 1, 3.4, "")
    figure.set_figwidth(NARROW)
    return figure, axes


def labelled(axis: Any, label: str, tick: Callable[[float], str]) -> None:
    """Write the label of an axis, and its marks as ``tick`` writes a number."""
    axis.set_label_text(fitted(label, LABELS[axis.axis_name], MEDIUM), fontsize=MEDIUM, parse_math=False)
    axis.set_major_formatter(lambda value, _: tick(value))


def rule_text(policy: Any) -> str:
    """Return a rule as it prints, a leaf of a tree or list being its action alone."""
    text = str(policy)
    return re.sub(r"(?m)^(\s*)play ", r"\1", text) if text.startswith(("if ", "play ")) else text
