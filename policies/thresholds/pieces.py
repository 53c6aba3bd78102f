"""The pieces of threshold rules, and all rules as lists of pieces."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations, product
from math import comb

import numpy as np

from milpcb.types import Ints


class Pieces:
    """The pieces of the rules with at most ``max_cuts`` of the ``n_cuts`` (features,) cuts that each feature has.

    Piece n holds the bins ``start[n] <= bin < stop[n]`` of the feature with the position ``feature[n]``. ``rules``
    (N, max_cuts + 1) are the derivations: some cuts of a feature, and any action for each piece between them, which is
    the number n * K + action. Rules of fewer pieces are filled up with ``nothing``, n_pieces * K.
    """

    def __init__(self, n_cuts: Sequence[int], max_cuts: int, n_actions: int) -> None:
        ways = [_ways(f, q, c) for f, q in enumerate(n_cuts) for c in range(min(q, max_cuts) + 1)]
        every = np.concatenate([pieces.reshape(-1, 3) for pieces in ways])
        found, number = np.unique(every, axis=0, return_inverse=True)
        self.feature, self.start, self.stop = found.T
        self.nothing = len(found) * n_actions
        ends = np.cumsum([pieces.size // 3 for pieces in ways])[:-1]
        self.rules = np.concatenate(
            [
                self._with_actions(numbers.reshape(pieces.shape[:2]), max_cuts + 1, n_actions)
                for pieces, numbers in zip(ways, np.split(number.ravel(), ends), strict=True)
            ]
        )

    def _with_actions(self, pieces: Ints, most: int, n_actions: int) -> Ints:
        """Return (rules, most): each row of ``pieces`` (ways, c) with all actions."""
        actions = np.array(list(product(range(n_actions), repeat=pieces.shape[1])))
        rules = (pieces[:, None, :] * n_actions + actions).reshape(-1, pieces.shape[1])
        return np.pad(rules, ((0, 0), (0, most - rules.shape[1])), constant_values=self.nothing)


def n_rules(n_cuts: Sequence[int], max_cuts: int, n_actions: int) -> int:
    """Return the number N of derivations."""
    return sum(comb(q, c) * n_actions ** (c + 1) for q in n_cuts for c in range(min(q, max_cuts) + 1))


def _ways(feature: int, n_cuts: int, used: int) -> Ints:
    """Return (ways, used + 1, 3): feature, start and stop of each piece, for all ways to use so many of the cuts."""
    cuts = np.array(list(combinations(range(1, n_cuts + 1), used)), dtype=np.int64).reshape(comb(n_cuts, used), used)
    starts = np.pad(cuts, ((0, 0), (1, 0)))
    stops = np.pad(cuts, ((0, 0), (0, 1)), constant_values=n_cuts + 1)
    return np.stack([np.full_like(starts, feature), starts, stops], axis=2)
