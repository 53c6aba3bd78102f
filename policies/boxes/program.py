"""Box rules: one action inside an axis-parallel box over one or two features, another outside; a pick of one box.

Policy class
    A box is the set of contexts with lower < x[f] <= upper for one feature f, or for each of two; lower and upper are
    cut points or infinite. Any action inside, any outside. Boxes that hold the same contexts, or the contexts that the
    other leaves out, make the same rules and are one; the box of all contexts makes the K constants. With B other
    boxes N = K + B K (K - 1): every rule is another labeling.
Variables
    x[b] in {0, 1}: box b is picked, b = 0 being all contexts. Each side takes its cheapest action.
    Constrained encodings: w[a] in {0, 1}: constant a; v[b, n] in {0, 1}: box b with the n-th of the K (K - 1) ordered
    pairs of different actions (inside, outside).
Constraints
    sum x = 1, constrained sum w + sum v = 1: a simplex, every vertex is 0/1. An interval as a path from bin to bin
    would have to remember the action outside: K^2 nodes a bin, more columns than intervals for the usual few cuts.
Cost map
    H[s, t, a], the total of costs[., a] over the contexts below the cuts s and t at once, is linear in the costs. The
    box (l, u] x (l', u'] has the inside total I = H[u, u'] - H[l, u'] - H[u, l'] + H[l, l'], the outside total O is the
    rest. x[b] costs min_a I[b, a] + min_a O[b, a]; w[a] the total of costs[., a]; v[b, (a, c)] costs I[b, a] + O[b, c].
Size
    B + 1 columns and 1 row (constrained: N columns). q cuts a feature make at most q (q + 1) / 2 boxes of each feature
    and (q (q + 3) / 2)^2 of each pair: B = 60 for 10 features of 3 cuts, with pairs 3 705. No big-M.
"""

from __future__ import annotations

from itertools import permutations

import numpy as np

from milpcb.protocols import Objective
from milpcb.types import Floats
from policies.boxes.geometry import Boxes
from policies.boxes.rule import BoxRule
from policies.names import Names
from policies.one_hot import OneHotEncoding


class BoxEncoding(OneHotEncoding):
    """The simplex over the boxes and its cost map."""

    def __init__(self, boxes: Boxes, n_actions: int, names: Names, *, constrained: bool) -> None:
        self._boxes, self._n_actions, self._names = boxes, n_actions, names
        # The actions of the columns of a constrained encoding, after the constants.
        self._different = list(permutations(range(n_actions), 2)) if constrained else []
        if constrained:
            super().__init__(w=(n_actions,), v=(len(boxes) - 1, len(self._different)))
        else:
            super().__init__(x=(len(boxes),))

    def objective(self, costs: Floats) -> Objective:
        """Return the cost of each box with its cheapest actions, or with each pair of actions."""
        inside, outside = self._boxes.totals(costs)
        if not self._different:
            return Objective(inside.min(axis=0) + outside.min(axis=0))
        pairs = np.array([inside[a, 1:] + outside[c, 1:] for a, c in self._different])
        return Objective(np.concatenate([inside[:, 0], pairs.T.ravel()]))

    def policy(self, number: int, costs: Floats) -> BoxRule:
        """Return the rule of the box that is picked."""
        if not self._different:
            inside, outside = (int(totals[:, number].argmin()) for totals in self._boxes.totals(costs))
            return BoxRule(self._boxes.intervals(number), inside, outside, self._names)
        if number < self._n_actions:
            return BoxRule((), number, number, self._names)
        b, n = divmod(number - self._n_actions, len(self._different))
        return BoxRule(self._boxes.intervals(b + 1), *self._different[n], self._names)
