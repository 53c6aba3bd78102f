"""One scoring rule with integer weights: it prints as the score and the range of each action."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Self

import numpy as np

from milpcb.core.decimals import written
from milpcb.errors import InputError
from milpcb.types import Floats
from policies.exports import Decision, Reaches, Term, chain_of
from policies.linear.card import ScoreCard, card_of
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
        """Return the chain of cuts that the score may reach, from the largest down."""
        terms = tuple(Term(self.weights[i], i, self.steps[i]) for i in self._used)
        if not terms:
            return self.leaf_actions[0]
        reached = [Reaches(terms, cut) for cut in reversed(self.cuts)]
        return chain_of(reached, range(len(self.cuts), -1, -1))

    def card(self, labels: Mapping[str, str] = MappingProxyType({}), whole: Collection[str] = ()) -> ScoreCard:
        """Return the rule as a score card, which people add up on paper: ``print`` it, or write ``card.html()``.

        Parameters
        ----------
        labels : what the card calls columns and actions, by their names; those that are not named keep their own
        whole : columns that hold whole numbers only, so that the card has "30 or more" for a cut at 29.5

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
