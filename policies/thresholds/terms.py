"""The leaf totals of threshold rules: (feature, bin, action); a piece of a rule is a run of bins of one feature.

The program has a column for each piece, the sum of its bins, so noise on its columns is not noise on these terms.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

import numpy as np

from milpcb.types import Floats, Ints
from policies.derivations import Derivations
from policies.names import Names
from policies.recursion import RecursionTerms
from policies.thresholds.fold import ThresholdFold
from policies.thresholds.pieces import Pieces
from policies.thresholds.rule import ThresholdRule


class ThresholdTerms(RecursionTerms):
    """The bins between the cut points, a feature after the other, from low to high, each with every action."""

    def __init__(
        self, cuts: dict[int, Floats], binary: dict[int, bool], n_actions: int, max_cuts: int, names: Names
    ) -> None:
        self.n_actions = n_actions
        self.recursion = fold = ThresholdFold(cuts, binary, n_actions, max_cuts, names)
        self._cuts, self._binary, self._max_cuts, self._names = cuts, binary, max_cuts, names
        sizes = np.array([len(points) + 1 for points in cuts.values()])
        self._first = np.cumsum([0, *sizes[:-1]])
        self._real = np.arange(fold.width) < sizes[:, None]
        self.n_features = 1 + max(cuts)
        self.n_touched = len(cuts)
        self.n_terms = int(sizes.sum()) * n_actions

    def places(self, contexts: Floats) -> list[Ints]:
        """Return the bin of each feature."""
        return list(((self._first + self._own(contexts)) * self.n_actions)[:, :, None] + np.arange(self.n_actions))

    def adder(self, contexts: Floats) -> Callable[[Floats], Floats]:
        """Return a function of costs at these ``contexts``: a product of matrices."""
        member = (self._own(contexts).T[:, None, :] == np.arange(self._real.shape[1])[:, None])[self._real].astype(
            float
        )
        return lambda costs: (member @ costs).ravel()

    def derivations(self) -> Derivations:
        """Return all rules, in pieces."""
        return Derivations.whole(self._pieces.rules)

    def policy(self, parts: list[int]) -> ThresholdRule:
        """Return the rule of these pieces, from low to high."""
        numbers, actions = zip(
            *(divmod(part, self.n_actions) for part in parts if part < self._pieces.nothing), strict=True
        )
        feature = list(self._cuts)[self._pieces.feature[numbers[0]]]
        cuts = tuple(float(self._cuts[feature][self._pieces.stop[number] - 1]) for number in numbers[:-1])
        return ThresholdRule(feature, cuts, actions, self._names, self._binary[feature])

    def parts(self, totals: Floats) -> Floats:
        """Return the totals of the pieces, each with every action."""
        pieces, below = self._pieces, np.pad(self.tables(totals).cumsum(axis=1), ((0, 0), (1, 0), (0, 0)))
        return np.asarray(below[pieces.feature, pieces.stop] - below[pieces.feature, pieces.start]).ravel()

    def actions(self, place: Ints) -> Ints:
        """Return the actions of the pieces that hold the bins of ``place``."""
        pieces, bins = self._pieces, self.own(place)[self._pieces.feature]
        holds = (pieces.start <= bins) & (bins < pieces.stop)
        return np.where(holds[:, None], np.arange(self.n_actions), -1).ravel()

    @cached_property
    def _pieces(self) -> Pieces:
        """The pieces of the rules: listed for side rows alone, as there may be many."""
        return Pieces([len(points) for points in self._cuts.values()], self._max_cuts, self.n_actions)

    def _own(self, contexts: Floats) -> Ints:
        """Return the bin (n, features) of each of ``contexts`` in each feature."""
        return np.column_stack([np.searchsorted(points, contexts[:, f]) for f, points in self._cuts.items()])

    def tables(self, totals: Floats) -> Floats:
        """Return the totals (features, bins, K), padded with zeros."""
        table = np.zeros((*self._real.shape, self.n_actions))
        table[self._real] = totals.reshape(-1, self.n_actions)
        return table

    def own(self, place: Ints) -> Ints:
        """Return the bins (features,) of a place."""
        return np.asarray(place[:, 0] // self.n_actions - self._first)
