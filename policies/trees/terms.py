"""The leaf totals of decision trees, (path, action), and the recursion over them.

A path is D pairs (literal, outcome), in the order of the tests; a term has the number that it has in an array of shape
(p, 2) * D + (K,). A derivation is that of the
search (policies/trees/search.py): any literal at each inner node, any action at each leaf. Where a literal comes twice
on a path with different outcomes no context follows it: its terms cost nothing, and hold noise where there is some.
Noise may differ between two orders of the same tests, so that the recursion is over paths, and not over states: that of
policies/trees/usage.py, with side constraints or without.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from milpcb.protocols import Listing, SideConstraint, Terms, Within
from milpcb.types import Floats, Ints
from policies.literals import Test, outcomes
from policies.names import Names
from policies.trees.rule import DecisionTree, path_totals
from policies.trees.sets import fits

if TYPE_CHECKING:
    from policies.trees.constrained import ConstrainedTrees


class TreeTerms(Terms):
    """The leaves of all trees of one depth over fixed literals, with the recursion over the trees that keep ``rows``.

    Raises SearchTooLargeError where there is too much to keep under these.
    """

    def __init__(
        self, tests: list[Test], n_actions: int, depth: int, names: Names, rows: Sequence[SideConstraint] = ()
    ) -> None:
        self.n_actions, self._rows = n_actions, tuple(rows)
        self._tests, self._names = tests, names
        self.n_literals = p = len(tests)
        self.depth = depth = depth if p else 0
        self.n_touched = p**depth
        self.n_terms = (2 * p) ** depth * n_actions
        self.n_features = 1 + max((feature for feature, *_ in tests), default=0)
        if rows:
            _ = self.trees

    @cached_property
    def trees(self) -> ConstrainedTrees:
        """The recursion."""
        from policies.trees.constrained import ConstrainedTrees, PathLeaves  # only for those who ask

        rows = self._rows or (SideConstraint(np.zeros(self.n_terms)),)  # one that all trees keep
        leaves = PathLeaves(self.n_literals, self.depth, self.n_actions)
        return ConstrainedTrees(leaves, self._tests, self._names, rows)

    def places(self, contexts: Floats) -> list[Ints]:
        return list(self.n_actions * self._paths(contexts)[:, :, None] + np.arange(self.n_actions))

    def adder(self, contexts: Floats) -> Callable[[Floats], Floats]:
        truth = outcomes(contexts, self._tests).astype(float)
        return lambda costs: np.ascontiguousarray(path_totals(truth, costs, self.depth)).ravel()

    def under(self, rows: Sequence[SideConstraint]) -> TreeTerms:
        return TreeTerms(self._tests, self.n_actions, self.depth, self._names, (*self._rows, *rows))

    def near(self, contexts: Floats, asked: Within) -> Listing | None:
        """Return the trees asked for, where the answers of all states fit memory and the trees are few enough."""
        if not fits(self.n_literals, self.depth, self.n_actions, self.n_actions - 1, None):
            return None
        from policies.trees.near import NearTrees  # only for those who ask

        return NearTrees(outcomes(contexts, self._tests), self.depth, asked).listing(self._tests, self._names)

    def value(self, totals: Floats) -> float:
        return self.trees.value(totals)

    def minimise(self, totals: Floats) -> tuple[float, DecisionTree]:
        """Return the least total and a tree that attains it; at each node the lowest-numbered choice wins a tie."""
        return self.trees.minimise(totals)

    def profile(self, totals: Floats, place: Ints) -> Floats:
        return self.trees.profile(totals, place)

    def log_weights(self, totals: Floats, place: Ints, rate: float) -> Floats:
        return self.trees.log_weights(totals, place, rate)

    def _paths(self, contexts: Floats) -> Ints:
        """Return the numbers (n, p^D) of the paths that contexts may take."""
        sides = 2 * np.arange(self.n_literals) + outcomes(contexts, self._tests)
        paths = np.zeros((len(contexts), 1), np.int64)
        for length in range(1, self.depth + 1):
            longer = 2 * self.n_literals * paths[:, :, None] + sides[:, None, :]
            paths = longer.reshape(len(contexts), self.n_literals**length)
        return paths
