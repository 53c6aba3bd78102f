"""The leaf totals of rule lists, (cell, action), and the lists as paths from cell to cell.

A path goes from the cell of all contexts to a larger set of outcomes with every test. Each of its edges is a test of
another literal, with the action of the outcome that ends there; the last edge is the default. So there are
p (p - 1) ... (p - D + 1) 2^(D - 1) K^(D + 1) derivations, and every policy of the class has at least one.

The program has a column for each way to a cell, so noise on its columns is not noise on these terms.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from milpcb.protocols import TermSearch
from milpcb.types import Bools, Floats, Ints
from policies.literals import Test, outcomes
from policies.names import Names
from policies.paths.terms import PathTerms
from policies.rule_lists.geometry import Cells, HeldCells, clauses
from policies.rule_lists.rule import RuleList

if TYPE_CHECKING:
    from policies.paths.graph import Graph


class RuleListTerms(PathTerms):
    """The cells of levels 1 to D, or the one of level 0 where there are no literals, each with every action.

    ``turned`` (p,) marks the literals of which outcome 1 means that they do not hold.
    """

    def __init__(self, cells: Cells, tests: Sequence[Test], turned: Bools, n_actions: int, names: Names) -> None:
        self.n_actions = n_actions
        self._cells, self._tests, self._turned, self._names = cells, list(tests), turned, names
        self._skipped = min(1, cells.depth)  # the empty cell ends no list that has a test
        self._first = np.cumsum([0, *cells.sizes]) - sum(cells.sizes[: self._skipped])  # leaf of a level's first cell
        self.n_features = 1 + max((feature for feature, *_ in self._tests), default=0)
        self.n_touched = sum(len(chosen) for chosen in cells.chosen[self._skipped :])
        self.n_terms = int(self._first[-1]) * n_actions

    def places(self, contexts: Floats) -> list[Ints]:
        """Return the cells that hold each context, one for each set of literals."""
        own = self._cells.own(outcomes(contexts, self._tests) ^ self._turned)
        levels = [first + level for first, level in zip(self._first, own, strict=False)][self._skipped :]
        return list((np.concatenate(levels, axis=1) * self.n_actions)[:, :, None] + np.arange(self.n_actions))

    def adder(self, contexts: Floats) -> Callable[[Floats], Floats]:
        """Return a function of costs at these ``contexts``: by what holds there, then less that, what does not."""
        by_cell = self._cells.totals_of(outcomes(contexts, self._tests) ^ self._turned)

        def add_up(costs: Floats) -> Floats:
            return np.concatenate([table.T for table in by_cell(costs)[self._skipped :]]).ravel()

        return add_up

    @cached_property
    def graph(self) -> Graph:
        """A node for each cell; the outcome of a test that ends plays its cheapest action, and so does the default."""
        from policies.paths.graph import Graph

        cells, node = self._cells, np.cumsum([0, *self._cells.sizes])
        source, to, leaf = [], [], []
        for level, (on, fired) in enumerate(zip(cells.on, cells.fired, strict=True)):
            cell = np.broadcast_to(np.arange(cells.sizes[level])[None, :, None], on.shape)
            source.append(node[level] + cell.ravel())
            to.append(node[level + 1] + on.ravel())
            leaf.append(self._first[level + 1] + fired.ravel())
        last = np.unique(cells.on[-1]) if cells.depth else np.zeros(1, dtype=np.int64)
        source.append(node[-2] + last)
        to.append(np.full(len(last), node[-1]))
        leaf.append(self._first[-2] + last)
        used, numbered = np.unique(np.concatenate(source), return_inverse=True)
        term = self.n_terms + np.concatenate(leaf)
        return Graph(
            numbered, np.searchsorted(used, np.concatenate(to)), term, self.n_terms // self.n_actions, self.n_actions
        )

    def policy(self, terms: list[int]) -> RuleList:
        """Return the list that ends in these cells, in their order."""
        cells, cell, steps = self._cells, 0, []
        for level, term in enumerate(terms[:-1]):
            ended = term // self.n_actions - int(self._first[level + 1])
            s, i = np.argwhere(cells.fired[level][:, cell] == ended)[0].tolist()
            steps.append((int(cells.literal[level][cell, i]), s, term % self.n_actions))
            cell = int(cells.on[level][s, cell, i])
        return RuleList(clauses(steps, self._tests, self._turned), terms[-1] % self.n_actions, self._names)


class ShortListSearch(TermSearch):
    """The search whose best list is written as short as it goes on the contexts, which are those of ``cells``."""

    def __init__(self, terms: RuleListTerms, contexts: Floats, cells: HeldCells, names: Names) -> None:
        super().__init__(terms, contexts)
        self._parts = terms, contexts, cells, names

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), self._parts

    def minimise(self, costs: Floats) -> tuple[float, RuleList]:
        """Return the least total cost and a list that attains it, without rules that divide no contexts."""
        total, policy = super().minimise(costs)
        *_, cells, names = self._parts
        found = cast("RuleList", policy)
        return total, cells.rule_list(cells.steps(found), found.default, names)
