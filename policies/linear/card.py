"""A scoring rule as a score card: findings with points that people add up on paper, and the action of each sum."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from itertools import pairwise
from math import ceil
from typing import TYPE_CHECKING

from milpcb.core.decimals import written
from milpcb.data.columns import Number
from milpcb.errors import InputError, UnknownNameError

if TYPE_CHECKING:
    from policies.linear.rule import LinearRule

STYLE = """
@page { size: A4; margin: 18mm }
body { font: 12pt/1.35 sans-serif; color: #000; background: #fff; max-width: 174mm; margin: 18mm auto }
h1 { font-size: 16pt; margin: 0 0 4mm } p { margin: 2mm 0 }
table { border-collapse: collapse; width: 100%; margin: 0 0 6mm }
td, th { border: 0.3mm solid #000; padding: 1.5mm 2.5mm }
th { text-align: left } td.points, th.points { text-align: right; width: 22mm } td.box { width: 22mm }
tr { break-inside: avoid } thead { display: table-header-group } .note { font-size: 9pt }
@media print { body { margin: 0; max-width: none } }
"""


@dataclass(frozen=True)
class Finding:
    """A column of the card: ``lines``, each a finding with its points, of which at most one holds.

    Where ``each`` is not None, the value itself, a whole number, counts so many points for each 1.
    """

    heading: str
    lines: tuple[tuple[str, int], ...] = ()
    each: int | None = None


@dataclass(frozen=True)
class ScoreCard:
    """What is printed: findings with their points, and which sums lead to which action, from the greatest down."""

    findings: tuple[Finding, ...]
    outcomes: tuple[tuple[str, str], ...]

    def __str__(self) -> str:
        rows = [row for finding in self.findings for row in _rows(finding)] + [("Sum", "")]
        width = max(len(text) for text, _ in rows)
        card = [f"{text:<{width}}  {points:>6}  ____" for text, points in rows]
        return "\n".join([*card, "", *(f"{where}: {action}" for where, action in self.outcomes)])

    def html(self, title: str = "Score card", note: str = "") -> str:
        """Return the card as a page of its own, to be printed on A4; ``note`` stands below it in small letters."""
        rows = "\n".join(
            f'<tr><td>{escape(text)}</td><td class="points">{escape(points)}</td><td class="box"></td></tr>'
            for finding in self.findings
            for text, points in _rows(finding)
        )
        ends = "\n".join(f"<tr><td>{escape(where)}</td><td>{escape(to)}</td></tr>" for where, to in self.outcomes)
        return (
            f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>'
            f"<style>{STYLE}</style></head><body>\n<h1>{escape(title)}</h1>\n"
            "<p>Write the points of each finding that holds into its box, and add them up.</p>\n"
            '<table id="findings"><thead><tr><th>Finding</th><th class="points">Points</th><th>Box</th></tr></thead>\n'
            f'<tbody>\n{rows}\n<tr><th>Sum</th><td class="points"></td><td class="box"></td></tr></tbody></table>\n'
            f'<table id="actions"><tbody><tr><th>Sum</th><th>Action</th></tr>\n{ends}\n</tbody></table>\n'
            f'<p class="note">{escape(note)}</p></body></html>\n'
        )


def card_of(rule: LinearRule, labels: Mapping[str, str], whole: Collection[str]) -> ScoreCard:
    """Return the card of a rule; ``labels`` and ``whole`` as in LinearRule.card."""
    used = rule._used  # noqa: SLF001 - a part of the same class, in a file of its own
    columns = [rule.names.column(i).name for i in used]
    actions = [rule.names.action(action) for action in range(len(rule.cuts) + 1)]
    for name in labels:
        if name not in {*columns, *actions}:
            raise UnknownNameError("column or action of the card", name, [*columns, *actions])
    for name in whole:
        if name not in columns:
            raise UnknownNameError("column of the card", name, columns)
    findings = tuple(_finding(rule, i, labels, rule.names.column(i).name in whole) for i in used)
    outcomes = tuple((where, labels.get(actions[a], actions[a])) for a, where in _sums(rule.cuts))
    return ScoreCard(findings, outcomes)


def _finding(rule: LinearRule, i: int, labels: Mapping[str, str], whole: bool) -> Finding:
    column, weight, steps = rule.names.column(i), rule.weights[i], rule.steps[i]
    heading = labels.get(column.name, column.name)
    if not isinstance(column, Number):  # a condition, which is 1 where it holds
        words = rule.names.test(i, ">", 0.5)
        yes, no = (weight * (value if steps is None else sum(cut <= value for cut in steps)) for value in (1, 0))
        lines = [(f"{heading}: {words}", yes), (f"{heading}: not so", no)]
        return Finding(heading, tuple(line for line in lines if line[1]))
    if steps is None and rule.names.field(i).kind == "boolean":
        return Finding(heading, ((f"{heading}: yes", weight),))
    if steps is None:
        return Finding(heading, each=weight)
    ends = tuple(map(ceil, steps)) if whole else steps
    if len(set(ends)) < len(ends):
        raise InputError(f"column '{column.name}' is not one of whole numbers: the rule distinguishes parts of one")
    at = None if column.missing is None else sum(cut <= column.missing for cut in steps)
    texts = [f"{heading}: {text}{' or missing' if k == at else ''}" for k, text in enumerate(_ranges(ends, whole))]
    return Finding(heading, tuple((text, weight * points) for points, text in enumerate(texts)))


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
    """Yield each action that some sum leads to, with these sums in words, the greatest first."""
    yield len(cuts), f"{cuts[-1]} or more"
    for action in range(len(cuts) - 1, 0, -1):
        low, high = cuts[action - 1], cuts[action] - 1
        if low <= high:
            yield action, f"{low} to {high}" if low < high else f"{low}"
    yield 0, f"{cuts[0] - 1} or less"


def _rows(finding: Finding) -> Iterator[tuple[str, str]]:
    """Yield each line as it is printed, with its points."""
    if finding.each is not None:
        yield f"{finding.heading}: the number itself", f"\u00d7 {finding.each}"
    for text, points in finding.lines:
        yield text, str(points)
