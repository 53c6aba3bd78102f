"""One scoring rule with integer weights: it prints as the score and the range of each action, and as a score card.

On a score card findings have points, which people add up on paper, and each sum has its action.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from math import ceil
from types import MappingProxyType
from typing import Any, Self

import numpy as np

from milpcb.core.decimals import written
from milpcb.data.columns import Number, Reached
from milpcb.errors import InputError, UnknownNameError
from milpcb.types import Floats
from policies.exports.decisions import Decision, Reaches, Term, chain_of
from policies.linear import printed
from policies.linear.printed import TITLE
from policies.names import Names
from policies.scores import ScoreRule, weighted_sum

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

    @classmethod
    def _from_plain(cls, data: dict[str, Any], names: Names) -> Self:
        rule = super()._from_plain(data, names)
        if len(rule.steps) != len(rule.weights):
            raise ValueError("its steps are not one entry for each weight")
        return rule

    @property
    def _bounds(self) -> tuple[int, ...]:
        return self.cuts

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
        labels : what the card calls columns and actions, by their names; those that are not named keep their own
        whole : columns that hold integers only, so that the card has "30 or more" for a cut at 29.5

        Raises
        ------
        InputError (a rule without any feature, numbers that are not whole), UnknownNameError

        """
        if not self._used:
            raise InputError(f"the rule is a constant, '{self}': there is nothing to add up")
        return card_of(self, labels, [whole] if isinstance(whole, str) else whole)

    def _points(self, contexts: Floats) -> Floats:
        return points_of(super()._points(contexts), self.steps)

    @property
    def _used(self) -> list[int]:
        return [i for i, weight in enumerate(self.weights) if weight and self.steps[i] != ()]

    @property
    def _formula(self) -> list[str]:
        score = weighted_sum((self.weights[i], points_text(self.names, self.steps, i)) for i in self._used)
        return [score, *points_lines(self.names, self.steps, self._used)]


def points_text(names: Names, steps: Steps, i: int) -> str:
    """Return what a weight multiplies: a feature, or the points of one."""
    return names.feature(i) if steps[i] is None else f"points({names.feature(i)})"


def points_lines(names: Names, steps: Steps, used: Sequence[int]) -> list[str]:
    """Return a line for each of the features that have points: what they have them for."""
    lines = []
    for i in used:
        if cuts := steps[i]:
            each = "each of " if len(cuts) > 1 else ""
            at = ", ".join(map(written, cuts))
            lines.append(f"{points_text(names, steps, i)} = 1 point for {each}{names.feature(i)} >= {at}")
    return lines


def points_of(contexts: Floats, steps: Steps) -> Floats:
    """Return (m, d): integer columns as they are, for others the number of cut points at or below the value."""
    points = contexts.copy()
    for i, cuts in enumerate(steps):
        if cuts is not None:
            points[:, i] = np.searchsorted(cuts, contexts[:, i], side="right")
    return points


@dataclass(frozen=True)
class Finding:
    """A column of the card: ``lines``, each a finding with its points, of which at most one holds.

    Where ``each`` is not None, the value itself, an integer, counts so many points for each 1.
    """

    heading: str
    lines: tuple[tuple[str, int], ...] = ()
    each: int | None = None


@dataclass(frozen=True)
class ScoreCard:
    """Printed lines: findings with their points, and which sums lead to which action, from the greatest down."""

    findings: tuple[Finding, ...]
    outcomes: tuple[tuple[str, str], ...]

    def __str__(self) -> str:
        rows = [*self.rows, ("Sum", "")]
        width = max(len(text) for text, _ in rows)
        card = [f"{text:<{width}}  {points:>6}  ____" for text, points in rows]
        return "\n".join([*card, "", *(f"{where}: {action}" for where, action in self.outcomes)])

    def html(self, title: str = TITLE, note: str = "") -> str:
        """Return the card as a page of its own, to be printed on A4; ``note`` stands below it in small letters."""
        return printed.html(self.rows, self.outcomes, title, note)

    def pdf(self, title: str = TITLE, note: str = "") -> bytes:
        """Return the same as a PDF, on as few sheets of A4 as it takes; raises ExtraMissingError without matplotlib."""
        return printed.pdf(self.rows, self.outcomes, title, note)

    @property
    def rows(self) -> list[tuple[str, str]]:
        """The lines of the findings as they are printed, each with its points."""
        return [row for finding in self.findings for row in _rows(finding)]


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
        words, other = rule.names.test(i, ">", 0.5), "not so"
        if isinstance(column, Reached):
            below, words = _ranges([ceil(column.cut) if whole else column.cut], whole)
            other = f"{below} or missing"
        yes, no = (weight * (value if steps is None else sum(cut <= value for cut in steps)) for value in (1, 0))
        lines = [(f"{heading}: {words}", yes), (f"{heading}: {other}", no)]
        return Finding(heading, tuple(line for line in lines if line[1]))
    if steps is None and rule.names.field(i).kind == "boolean":
        return Finding(heading, ((f"{heading}: yes", weight),))
    if steps is None and rule.names.field(i).values == (0, 1):
        return Finding(heading, ((f"{heading}: 1", weight),))
    if steps is None:
        return Finding(heading, each=weight)
    ends = tuple(map(ceil, steps)) if whole else steps
    if len(set(ends)) < len(ends):
        raise InputError(f"column '{column.name}' is not one of integers: the rule distinguishes parts of one")
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
    if finding.each is not None:
        yield f"{finding.heading}: the number itself", f"\u00d7 {finding.each}"
    for text, points in finding.lines:
        yield text, str(points)
