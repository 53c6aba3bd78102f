"""The answers of all states of trees of one depth, from one table of totals: see policies/trees/recursion.py."""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple

import numpy as np

from milpcb.types import Bools, Floats, Ints
from policies.semirings import Array, Soft
from policies.trees.leaves import BIG, TreeQuestion
from policies.trees.recursion import ask
from policies.trees.sets import layout
from policies.trees.totals import Codes, ContextCosts, Products
from policies.trees.tracing import fill_ways, insert, trace

_NO_MASSES = np.zeros(0)


class TreeState(NamedTuple):
    """The first ``size`` of the literals ``chosen`` (D + 1,), in order, and their outcomes, bit by bit; see sets.py."""

    size: int
    chosen: Ints
    outcome: int


class TreeStates:
    """Asks the recursion about trees of a depth, from the totals that ``source`` fills.

    ``least`` (C,) is what a leaf must have of each count; leaves are counted where ``most_leaves`` is given.
    """

    def __init__(
        self, source: Products | Codes, n_actions: int, depth: int, least: Floats, most_leaves: int | None
    ) -> None:
        self.source, self.n_actions, self.depth, self.least = source, n_actions, depth, least
        self._p, self.limited = len(source.flipped), most_leaves is not None
        self.start, self.where, self._room = layout(self._p, depth, n_actions, most_leaves)
        self._nowhere, self._numbers, self.empty = np.zeros(self._p, bool), np.empty(self._room), self._on_nothing()

    def answers(self, soft: Soft, given: ContextCosts, pattern: Bools | None, closed: Bools) -> tuple[Floats, int]:
        """Return the answers (leaves, K) at a context where the literals ``pattern`` hold, (leaves, 1) without one.

        ``closed`` (n, p) are the literals that no tree may test, for each of n sets of trees; also returned is the
        first n with the least answer. Costs and counts are ``given`` for each context.
        """
        everywhere = self.source.fill(*given)
        every = soft is not None or self._p < self.depth
        found, best = self._ask(soft, pattern, closed, every=every)
        return np.where(found < BIG, found + everywhere, np.inf) if self.limited else found + everywhere, best

    def tests(self, given: ContextCosts, most: int, closed: Bools) -> list[int]:
        """Return the tests of a best tree with at most so many leaves, see policies/trees/tracing.py."""
        self.fill(given, closed)
        tests = np.full((2 << self.depth) - 1, -1)
        kept = self.source
        trace(
            kept.totals, self._asked(None, every=True), closed, kept.flipped, *self._places, self._numbers, most, tests
        )
        found: list[int] = tests.tolist()
        return found

    def fill(self, given: ContextCosts, closed: Bools) -> float:
        """Leave the least totals of all states, less those of action 0; return what that costs everywhere."""
        everywhere = self.source.fill(*given)
        self._ask(None, None, closed[None], every=True)
        return everywhere

    def sides(self, height: int, state: TreeState) -> Floats:
        """Return (2, p): the least totals where each test at the root of trees of a height fails, and where it holds.

        Asked after ``fill``.
        """
        ways, flipped = np.empty((2, int(self.where[1, height - 1]), self._p)), self.source.flipped
        asked = self._asked(None, every=True)
        fill_ways(height, *state, self.source.totals, asked, *self._places, self._numbers, ways)
        fails, holds = ways.min(axis=1)
        return np.stack([np.where(flipped, holds, fails), np.where(flipped, fails, holds)])

    def side(self, state: TreeState, test: int, *, holds: bool) -> TreeState:
        """Return the state where a test has come out as well."""
        below = np.zeros(len(state.chosen) + 1, np.int64)
        size, outcome = insert(*state, test, int(holds != self.source.flipped[test]), below)
        return TreeState(int(size), below[:-1], int(outcome))

    def _ask(self, soft: Soft, pattern: Bools | None, closed: Bools, *, every: bool) -> tuple[Floats, int]:
        sides = None if pattern is None else pattern ^ self.source.flipped
        masses = _NO_MASSES if soft is None else self._masses
        asked = self._asked(sides, every=every)
        found, best = ask(soft, self.source.totals, asked, closed, *self._places, self._numbers, masses)
        return found, int(best)

    def _asked(self, sides: Bools | None, *, every: bool) -> TreeQuestion:
        at = self._nowhere if sides is None else sides
        return TreeQuestion(sides is not None, every, int(self.limited), self.n_actions, at, self.least, self.empty)

    @property
    def _places(self) -> tuple[Ints, Ints]:
        return self.start, self.where

    @cached_property
    def _masses(self) -> Array:
        return np.empty(self._room)

    def _on_nothing(self) -> Floats:
        """Return (D, leaves): how many trees of each height, by leaves, there are on no contexts."""
        empty = np.zeros((self.depth, int(self.where[1, self.depth])))
        if (self.least > 0).any() or not self.depth:
            return empty
        empty[0, 0] = self.n_actions
        for h in range(1, self.depth):
            products = np.convolve(empty[h - 1], empty[h - 1])
            if self.limited:
                empty[h, 0] = self.n_actions
                n = min(len(products), empty.shape[1] - 1)
                empty[h, 1 : n + 1] += self._p * products[:n]
            else:
                empty[h] = self._p * products[:1]
        return empty
