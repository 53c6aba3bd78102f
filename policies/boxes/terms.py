"""The leaf totals of box rules, (box, side, action) and one for each constant, and the recursion in any semiring.

With (+) for "or" and (x) for "and", the sum over all rules that play a at a context is
    C[a] (+) (+)_b Own[b, a] (x) (+)_{c != a} Other[b, c],
Own being the side of box b that holds the context, Other its other side, C the constants. Read in (min, +) of totals,
it is the profile; read in (log-sum-exp, +) of -rate * totals, it is the log of the sum of exp(-rate * total). Each
labeling of the class has exactly one derivation.

The program picks a box with both of its actions, the sum of two terms, so noise on its columns is not noise on these
terms.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import permutations

import numpy as np

from milpcb.types import Bools, Floats, Ints
from policies.boxes.geometry import BoxList
from policies.boxes.rule import BoxRule
from policies.derivations import Derivations, FoldedTerms
from policies.names import Names


class BoxTerms(FoldedTerms):
    """The K constants, then for every other box the actions inside and those outside."""

    def __init__(self, boxes: BoxList, n_actions: int, names: Names) -> None:
        self._boxes, self.n_actions, self._names = boxes, n_actions, names
        self.n_features = len(boxes.cuts)
        self.n_touched = len(boxes)
        self.n_terms = (2 * len(boxes) - 1) * n_actions
        every = np.arange(n_actions)
        self._others = np.array([np.delete(every, a) for a in every])

    def places(self, contexts: Floats) -> list[Ints]:
        """Return the constants, and of every other box the side that a context is on."""
        outside = ~self._boxes.holding(contexts)[:, 1:]
        sides = np.pad(1 + 2 * np.arange(outside.shape[1]) + outside, ((0, 0), (1, 0)))
        return list((sides * self.n_actions)[:, :, None] + np.arange(self.n_actions))

    def adder(self, contexts: Floats) -> Callable[[Floats], Floats]:
        """Return a function of costs at these ``contexts``; outside of a box are all, less those inside."""
        by_box = self._boxes.totals_of(contexts)

        def add_up(costs: Floats) -> Floats:
            totals = np.empty((2 * len(self._boxes), self.n_actions))
            totals[::2], totals[1::2] = (side.T for side in by_box(costs))
            totals[1] = totals[0]  # outside of all contexts is nothing: what is left begins with the constants
            return totals[1:].ravel()

        return add_up

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

    def value(self, totals: Floats) -> float:
        """Return the least total."""
        return self._least(totals)[0]

    def minimise(self, totals: Floats) -> tuple[float, BoxRule]:
        """Return the least total and a rule that attains it, the first box, then the first action inside, in a tie."""
        total, box, inside, outside = self._least(totals)
        return total, BoxRule(self._boxes.intervals(box), inside, outside, self._names)

    def _by_action(self, totals: Floats, place: Ints, add: np.ufunc) -> Floats:
        held: Bools = place[1:, 0] // self.n_actions % 2 == 1  # whether a box holds the context, but for the first
        constants, inside, outside = self._sides(totals)
        here, other = np.where(held, inside, outside), np.where(held, outside, inside)
        return np.asarray(add.reduce(np.column_stack([constants, here + self._rest(other, add)]), axis=1))

    def _least(self, totals: Floats) -> tuple[float, int, int, int]:
        """Return the least total, the number of its box, 0 for a constant, and the actions inside and outside."""
        constants, inside, outside = self._sides(totals)
        action = int(constants.argmin())
        bounds = inside.min(axis=0) + outside.min(axis=0)  # both sides may play the same here
        if constants[action] <= bounds.min(initial=np.inf):
            return float(constants[action]), 0, action, action
        box = int(bounds.argmin())
        first, second = int(inside[:, box].argmin()), int(outside[:, box].argmin())
        if first != second:
            return float(bounds[box]), box + 1, first, second
        ways = (inside + self._rest(outside, np.minimum)).T
        box, first = divmod(int(ways.argmin()), len(constants))
        if constants[action] <= ways[box, first]:
            return float(constants[action]), 0, action, action
        others = outside[:, box].copy()
        others[first] = np.inf
        return float(ways[box, first]), box + 1, first, int(others.argmin())

    def _sides(self, totals: Floats) -> tuple[Floats, Floats, Floats]:
        """Return the totals of the constants (K,), and those inside and outside of every other box (K, B)."""
        table = np.ascontiguousarray(totals.reshape(-1, self.n_actions).T)
        return table[:, 0], table[:, 1::2], table[:, 2::2]

    def _rest(self, side: Floats, add: np.ufunc) -> Floats:
        """Return (K, B): for each action the sum over the other actions on a ``side`` (K, B) of all boxes."""
        return np.array([add.reduce(side[others], axis=0) for others in self._others])
