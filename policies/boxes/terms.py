"""The leaf totals of box rules: (box, side, action), and one for each constant.

The program picks a box with both of its actions, the sum of two terms, so noise on its columns is not noise on these
terms.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import permutations

import numpy as np

from milpcb.protocols import SideConstraint, Terms
from milpcb.types import Floats, Ints
from policies.boxes.fold import by_action, rest
from policies.boxes.geometry import BoxList
from policies.boxes.rule import BoxRule
from policies.derivations import Derivations, ListedTerms
from policies.names import Names


class BoxTerms(ListedTerms):
    """The K constants, then for every other box the actions inside and those outside."""

    def __init__(self, boxes: BoxList, n_actions: int, names: Names) -> None:
        self._boxes, self.n_actions, self._names = boxes, n_actions, names
        self.n_features = len(boxes.cuts)
        self.n_touched = len(boxes)
        self.n_terms = (2 * len(boxes) - 1) * n_actions

    def places(self, contexts: Floats) -> list[Ints]:
        """Return the constants, and of every other box the side that a context is on."""
        outside = ~self._boxes.holding(contexts)[:, 1:]
        sides = np.pad(1 + 2 * np.arange(outside.shape[1]) + outside, ((0, 0), (1, 0)))
        return list((sides * self.n_actions)[:, :, None] + np.arange(self.n_actions))

    def adder(self, contexts: Floats) -> Callable[[Floats], Floats]:
        """Return a function of costs at these ``contexts``; outside of a box are all, less those inside."""
        by_box = self._boxes.totals_of(contexts)

        def add_up(costs: Floats) -> Floats:
            inside, outside = by_box(costs)
            both = np.stack([inside, outside], axis=1)[:, :, 1:]  # (K, 2, B)
            return np.concatenate([inside[:, 0], both.transpose(2, 1, 0).ravel()])

        return add_up

    def profile(self, totals: Floats, place: Ints) -> Floats:
        """Return (K,): the least total of the rules by the action at ``place``."""
        return self._by_action(totals, place, np.minimum)

    def log_weights(self, totals: Floats, place: Ints, rate: float) -> Floats:
        """Return (K,): log of the summed exp(-rate * total) of the rules by the action at ``place``."""
        return self._by_action(-rate * totals, place, np.logaddexp)

    def minimise(self, totals: Floats) -> tuple[float, BoxRule]:
        """Return the least total and a rule that attains it, the first box, then the first action inside, in a tie."""
        constants, inside, outside = self._tables(totals)
        ways = np.concatenate([constants, (inside + rest(outside, np.minimum)).T.ravel()])
        least = int(ways.argmin())
        if least < self.n_actions:
            return float(ways[least]), BoxRule((), least, least, self._names)
        b, action = divmod(least - self.n_actions, self.n_actions)
        others = outside[:, b].copy()
        others[action] = np.inf
        return float(ways[least]), BoxRule(self._boxes.intervals(b + 1), action, int(others.argmin()), self._names)

    def under(self, rows: Sequence[SideConstraint]) -> Terms:
        """Return the terms with the recursion over the rules alone that keep ``rows``."""
        from policies.weighted_folds import KeptTerms  # the compiler takes its time: only for those who have rows

        return KeptTerms(self, rows)

    def derivations(self) -> Derivations:
        """Return the constants, then each box with each pair of different actions."""
        K, outside = self.n_actions, 2 * np.arange(1, len(self._boxes))
        constants = np.column_stack([np.arange(K), np.full(K, self.n_terms)])
        pairs = np.array(list(permutations(range(K), 2)))
        sides = np.column_stack([outside - 1, outside])[:, None, :] * K + pairs
        return Derivations.whole(np.concatenate([constants, sides.reshape(-1, 2)]))

    def policy(self, parts: list[int]) -> BoxRule:
        """Return the rule of two sides, or of one constant."""
        side, inside = divmod(parts[0], self.n_actions)
        if side == 0:
            return BoxRule((), inside, inside, self._names)
        return BoxRule(self._boxes.intervals((side + 1) // 2), inside, parts[1] % self.n_actions, self._names)

    def _by_action(self, totals: Floats, place: Ints, add: np.ufunc) -> Floats:
        constants, inside, outside = self._tables(totals)
        held = place[1:, 0] // self.n_actions % 2 == 1
        return by_action(constants, np.where(held, inside, outside), np.where(held, outside, inside), add)

    def _tables(self, totals: Floats) -> tuple[Floats, Floats, Floats]:
        """Return the totals of the constants (K,), and those inside and outside of every other box (K, B)."""
        table = totals.reshape(-1, self.n_actions)
        return table[0], table[1::2].T, table[2::2].T
