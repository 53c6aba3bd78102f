"""The leaf totals of rule lists: (cell, action).

A rule that ends the list for a cell plays an action there, and so does the default. The program has a column for each
way to a cell, so noise on its columns is not noise on these terms.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from milpcb.types import Bools, Floats, Ints
from policies.derivations import Derivations
from policies.literals import Test, outcomes
from policies.names import Names
from policies.recursion import RecursionTerms
from policies.rule_lists.fold import ListFold, Step
from policies.rule_lists.geometry import Cells, clauses
from policies.rule_lists.rule import RuleList


class RuleListTerms(RecursionTerms):
    """The cells of levels 1 to D, or the one of level 0 where there are no literals, each with every action.

    ``turned`` (p,) marks the literals of which outcome 1 means that they do not hold.
    """

    def __init__(self, cells: Cells, tests: Sequence[Test], turned: Bools, n_actions: int, names: Names) -> None:
        self.n_actions = n_actions
        self._cells, self._tests, self._turned, self._names = cells, list(tests), turned, names
        self.recursion = ListFold(cells, n_actions, self._rule_list)
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

    def adder(self, contexts: Floats) -> Callable[[Floats], Floats]:
        """Return a function of costs at these ``contexts``: by what holds there, then less that, what does not."""
        by_cell = self._cells.totals_of(outcomes(contexts, self._tests) ^ self._turned)
        first = len(self._skipped)
        return lambda costs: np.concatenate(by_cell(costs)[first:], axis=1).T.ravel()

    def derivations(self) -> Derivations:
        """Return as heads the ways to the cells before the last test, as tails that test with its two actions."""
        cells, K = self._cells, self.n_actions
        if cells.depth == 0:
            return Derivations.whole(np.arange(K)[:, None])
        heads, at = np.zeros((1, 0), dtype=np.int64), np.zeros(1, dtype=np.int64)
        for level in range(cells.depth - 1):
            ends = self._term(level + 1, cells.fired[level][:, at])[..., None] + np.arange(K)  # (S, heads, p - l, K)
            on = np.broadcast_to(cells.on[level][:, at, :, None], ends.shape)
            before = np.broadcast_to(heads[None, :, None, None, :], (*ends.shape, level))
            heads = np.concatenate([before, ends[..., None]], axis=-1).reshape(-1, level + 1)
            at = on.ravel()
        fired, on = (self._term(cells.depth, into[-1][0])[:, :, None, None] for into in (cells.fired, cells.on))
        each = np.arange(K)
        tails = np.stack(np.broadcast_arrays(fired + each[:, None], on + each), axis=-1)
        return Derivations(heads, tails.reshape(-1, 2), at, np.repeat(np.arange(len(tails)), tails[0].size // 2))

    def policy(self, parts: list[int]) -> RuleList:
        """Return the list that ends in these cells, in their order."""
        if self._cells.depth == 0:
            return RuleList((), parts[0], self._names)
        cell, steps = 0, []
        for level, part in enumerate(parts[:-1]):
            ended = part // self.n_actions - int(self._first[level])
            s, i = np.argwhere(self._cells.fired[level][:, cell] == ended)[0].tolist()
            steps.append((int(self._cells.literal[level][cell, i]), s, part % self.n_actions))
            cell = int(self._cells.on[level][s, cell, i])
        return self._rule_list(steps, parts[-1] % self.n_actions)

    def _term(self, level: int, cells: Ints) -> Ints:
        """Return the number of the term of ``cells`` of a level, from 1 up, with action 0."""
        return np.asarray((self._first[level - 1] + cells) * self.n_actions)

    def _rule_list(self, steps: list[Step], default: int) -> RuleList:
        return RuleList(clauses(steps, self._tests, self._turned), default, self._names)

    def tables(self, totals: Floats) -> list[Floats]:
        """Return the totals (K, n_l) of the cells of each level."""
        return [
            *self._skipped,
            *np.split(np.ascontiguousarray(totals.reshape(-1, self.n_actions).T), self._first[1:], axis=1),
        ]

    def own(self, place: Ints) -> list[Ints]:
        """Return the cells of each level that hold the context of a place."""
        levels = np.split(place[:, 0] // self.n_actions, self._at_level)
        skipped = [np.zeros(1, dtype=np.int64) for _ in self._skipped]
        return [*skipped, *(level - first for level, first in zip(levels, self._first, strict=True))]
