"""Decision trees under side constraints: the recursion over the leaves, for the trees alone that keep them.

A tree is a test at its root and an *option*, a subtree, on each side of it. What an option weighs in a side constraint
never changes, so options are listed and put in order of weight once, when an oracle is opened.

One row, lower <= weight <= upper: what may go with an option is then a run of neighbours on the other side, and the
heavier the option, the further down the run. So one pass over the two sides of each root adds up all trees that keep
the row, in both semirings: p roots, 2 n steps each, with n = p K^2 options of a side at depth 2, and p (p K^2)^2 at
depth 3. Bounds of the row that are missing make the run longer, not slower.

Several rows: for each option of one side, those of the other are gone through from the cheapest on until one keeps all
rows, or until no tree of this root can be better than one that is known: at most p n^2 pairs, all compared or ruled out
by their cost. In (log-sum-exp, +) all pairs count but those below e^-60 of the sum.

Every answer is that of the complete list. What would be too long a list is refused when the oracle is opened.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from milpcb.errors import InfeasibleError, InputError
from milpcb.protocols.tables import RestrictedTerms, TermRow, Terms
from milpcb.types import Floats, Ints, Policy
from policies.trees.options import Leaves, subtrees, too_many
from policies.trees.rule import DecisionTree
from policies.trees.side_kernels import Soft, one_row, several_rows


@dataclass(frozen=True)
class Trees:
    """The ``terms`` of trees over p literals; ``grown`` makes a tree of the leaves (2^depth,) of a derivation."""

    terms: Terms
    p: int
    depth: int
    grown: Callable[[Ints], DecisionTree]


def trees_under(trees: Trees, rows: Sequence[TermRow]) -> Terms:
    """Return the terms with the recursion over the trees that keep ``rows``; raises InputError where too many."""
    if reason := too_many(trees.p, trees.terms.n_actions, trees.depth, pairs=len(rows) > 1):
        raise InputError(reason)
    if trees.depth == 0:
        return LeavesUnder(trees.terms, rows)
    if len(rows) == 1:
        return TreesUnderOneRow(trees, rows[0])
    return TreesUnderRows(trees, rows)


class LeavesUnder(RestrictedTerms):
    """The terms of trees of one leaf, where no literal divides the contexts: the actions that keep the rows."""

    def __init__(self, terms: Terms, rows: Sequence[TermRow]) -> None:
        super().__init__(terms)
        self._kept = np.array([(row.lower <= row.totals) & (row.totals <= row.upper) for row in rows]).all(axis=0)

    def profile(self, totals: Floats, place: Ints) -> Floats:
        """Return (K,): the total of each action that keeps the rows."""
        del place
        return np.where(self._kept, totals, np.inf)

    def log_weights(self, totals: Floats, place: Ints, rate: float) -> Floats:
        """Return (K,): -rate * total of each action that keeps the rows."""
        return -self.profile(rate * totals, place)

    def minimise(self, totals: Floats) -> tuple[float, Policy]:
        """Return the least total and the leaf that attains it."""
        value, leaf = self.terms.minimise(np.where(self._kept, totals, np.inf))
        return _attained(value), leaf


class TreesUnder(RestrictedTerms):
    """The terms of trees with the recursion over ``options`` (2 p, L, n), the leaves of each option of each side."""

    def __init__(self, trees: Trees, options: Leaves) -> None:
        super().__init__(trees.terms)
        self._trees, self._options = trees, options
        self._size = self.n_terms // len(options)
        self._answers = np.empty(self.n_actions)
        self._chosen = np.empty((self.n_actions, 4), dtype=np.int64)
        self._anywhere = self.places(np.zeros((1, self.n_features)))[0]

    def profile(self, totals: Floats, place: Ints) -> Floats:
        """Return (K,): the least total of the trees that keep the rows by the action at ``place``."""
        self._answer(None, totals, place)
        return self._answers.copy()

    def log_weights(self, totals: Floats, place: Ints, rate: float) -> Floats:
        """Return (K,): log of the summed exp(-rate * total) of the derivations by the action at ``place``."""
        self._answer(1.0, rate * totals, place)
        return -self._answers

    def minimise(self, totals: Floats) -> tuple[float, DecisionTree]:
        """Return the least total and a tree that keeps the rows and attains it.

        Of equals that with the lowest-numbered root wins, below it the lightest.
        """
        self._answer(None, totals, self._anywhere)
        a = int(self._answers.argmin())
        value = _attained(float(self._answers[a]))
        root, option, first, stop = self._chosen[a]
        near = self._near(self._anywhere)[root]
        mine = near * self._size + self._options[near, :, option]
        others = (near ^ 1) * self._size + self._options[near ^ 1, :, first:stop]
        other = others[:, totals[others].sum(axis=0).argmin()]
        sides = (other, mine) if near % 2 else (mine, other)
        return value, self._trees.grown(np.concatenate(sides))

    def _near(self, place: Ints) -> Ints:
        """Return the numbers 2 f + s (p,) of the sides that a context comes to, one of each root."""
        return np.asarray(place[:: len(place) // self._trees.p, 0] // self._size)

    @abstractmethod
    def _answer(self, soft: Soft, totals: Floats, place: Ints) -> None:
        """Fill the answers, and where ``soft`` is None the choices behind them; see policies/trees/side_kernels.py."""


class TreesUnderOneRow(TreesUnder):
    """The recursion under one row, by a pass over the two sides of each root."""

    def __init__(self, trees: Trees, row: TermRow) -> None:
        leaves = subtrees(trees.p, trees.terms.n_actions, trees.depth - 1)
        weights = np.array([totals[leaves].sum(axis=0) for totals in row.totals.reshape(2 * trees.p, -1)])
        order = np.argsort(weights, axis=1, kind="stable")
        weights = np.take_along_axis(weights, order, axis=1)
        others = weights[np.arange(len(weights)) ^ 1]
        begin = [np.searchsorted(b, row.lower - a, "left") for a, b in zip(weights, others, strict=True)]
        end = [np.searchsorted(b, row.upper - a, "right") for a, b in zip(weights, others, strict=True)]
        super().__init__(trees, np.array([leaves[:, lightest_first] for lightest_first in order]))
        self._begin, self._end = np.array(begin, np.int32), np.maximum(begin, end).astype(np.int32)
        self._room = np.empty((4, leaves.shape[1]))
        self._played = np.empty(leaves.shape[1] + self._size, dtype=np.int32)

    def _answer(self, soft: Soft, totals: Floats, place: Ints) -> None:
        windows = self._options, self._begin, self._end
        one_row(soft, totals, place, *windows, self._room, self._played, self._answers, self._chosen)


class TreesUnderRows(TreesUnder):
    """The recursion under several rows, by pairs of options in order of cost."""

    def __init__(self, trees: Trees, rows: Sequence[TermRow]) -> None:
        leaves = subtrees(trees.p, trees.terms.n_actions, trees.depth - 1)
        super().__init__(trees, np.broadcast_to(leaves, (2 * trees.p, *leaves.shape)))
        weights = [row.totals.reshape(2 * trees.p, -1)[:, leaves].sum(axis=1) for row in rows]
        self._weights = np.ascontiguousarray(np.stack(weights, axis=2))
        self._lower, self._upper = np.array([row.lower for row in rows]), np.array([row.upper for row in rows])

    def _answer(self, soft: Soft, totals: Floats, place: Ints) -> None:
        near, leaves = self._near(place), self._options[0]
        far = near ^ 1
        mine, costs = (totals.reshape(-1, self._size)[sides][:, leaves].sum(axis=1) for sides in (near, far))
        order = np.argsort(costs, axis=1, kind="stable")
        others, heavy = np.take_along_axis(costs, order, axis=1), self._weights[far[:, None], order]
        action = np.full(self._size, -1)
        action[place % self._size] = np.arange(self.n_actions)
        played, bounds = action[leaves].max(axis=0), (self._lower, self._upper)
        ours = mine, self._weights[near], played
        several_rows(soft, *ours, others, heavy, order, *bounds, self._answers, self._chosen)


def _attained(value: float) -> float:
    """Return a least total; raises InfeasibleError where no tree has one."""
    if value == np.inf:
        raise InfeasibleError("no tree keeps the side constraints")
    return value
