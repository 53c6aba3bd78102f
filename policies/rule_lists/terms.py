"""The terms of rule lists: (cell, action).

A rule that ends the list for a cell plays an action there, and so does the default. The program has a column for each
way to a cell, so noise on its columns is not noise on these terms.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from milpcb.protocols.tables import Terms
from milpcb.types import Bools, Floats, Ints
from policies.literals import Test, outcomes
from policies.names import Names
from policies.rule_lists.fold import ListFold
from policies.rule_lists.geometry import Cells, clauses
from policies.rule_lists.rule import RuleList


class RuleListTerms(Terms):
    """The cells of levels 1 to D, or the one of level 0 where there are no literals, each with every action.

    ``turned`` (p,) marks the literals of which outcome 1 means that they do not hold.
    """

    def __init__(self, cells: Cells, tests: Sequence[Test], turned: Bools, n_actions: int, names: Names) -> None:
        self.n_actions = n_actions
        self._cells, self._tests, self._turned, self._names = cells, list(tests), turned, names
        self._fold = ListFold(cells, n_actions)
        first = min(1, cells.depth)
        self._skipped = [np.zeros((n_actions, 1))] * first  # the empty cell ends no list that has a test
        sizes, combinations = cells.sizes[first:], [len(chosen) for chosen in cells.chosen[first:]]
        self._first = np.cumsum([0, *sizes[:-1]])  # the number of a level's first cell
        self._at_level = np.cumsum(combinations)[:-1]  # where its cells begin in a place
        self.n_features = 1 + max((feature for feature, *_ in self._tests), default=0)
        self.n_touched = sum(combinations)
        self.n_terms = sum(sizes) * n_actions

    def places(self, contexts: Floats) -> list[Ints]:
        """Return the cells that hold each context, one for each set of literals."""
        own = self._cells.own(outcomes(contexts, self._tests) ^ self._turned)[len(self._skipped) :]
        cells = np.concatenate([first + level for first, level in zip(self._first, own, strict=True)], axis=1)
        return list((cells * self.n_actions)[:, :, None] + np.arange(self.n_actions))

    def profile(self, totals: Floats, place: Ints) -> Floats:
        """Return (K,): the least total of the lists by the action at ``place``."""
        return self._fold.profile(self._tables(totals), self._own(place))

    def minimise(self, totals: Floats) -> tuple[float, RuleList]:
        """Return the least total and a list that attains it."""
        found = self._fold.minimise(self._tables(totals))
        return found.total, RuleList(clauses(found.steps, self._tests, self._turned), found.default, self._names)

    def log_weights(self, totals: Floats, place: Ints, rate: float) -> Floats:
        """Return (K,): log of the summed exp(-rate * total) of the derivations by the action at ``place``."""
        return self._fold.log_weights(self._tables(-rate * totals), self._own(place))

    def _tables(self, totals: Floats) -> list[Floats]:
        return [
            *self._skipped,
            *np.split(np.ascontiguousarray(totals.reshape(-1, self.n_actions).T), self._first[1:], axis=1),
        ]

    def _own(self, place: Ints) -> list[Ints]:
        levels = np.split(place[:, 0] // self.n_actions, self._at_level)
        skipped = [np.zeros(1, dtype=np.int64) for _ in self._skipped]
        return [*skipped, *(level - first for level, first in zip(levels, self._first, strict=True))]
