"""The leaf totals of rule lists, (cell, action), and the shortest paths of the program over them, cell by cell.

A rule that ends the list for a cell plays an action there, and so does the default. Best[cell] is over all ways to go
on from a cell, with (+) for "or" and (x) for "and":
    Best[cell] = (+)_a C[cell, a]                                                        at level D: the default
    Best[cell] = (+)_{s, f} ((+)_a C[cell + (f, 1 - s), a]) (x) Best[cell + (f, s)]      below
Read in (min, +), C being total costs, Best of the empty cell is the least total cost. Read in (log-sum-exp, +), C being
-rate * total costs, it is the log of the sum of exp(-rate * total cost) over all derivations: D tests of different
literals, an outcome to go on with at all but the last, an action for each of the D + 1 ends. There are
p (p - 1) ... (p - D + 1) 2^(D - 1) K^(D + 1) of them, and every policy of the class has at least one. By the action a
at a row the same recursion runs through the cells that hold the row:
    At[cell, a] = C[cell, a]                                                             at level D
    At[cell, a] = (+)_{s, f} C[cell + (f, 1 - s), a] (x) Best[cell + (f, s)]             the row is in the end
                             or ((+)_b C[cell + (f, 1 - s), b]) (x) At[cell + (f, s), a]     the row goes on
One pass costs the size of the program: one lookup and one sum for each of its columns (K for those at the row's cells).

The program has a column for each way to a cell, so noise on its columns is not noise on these terms.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from milpcb.types import Bools, Floats, Ints
from policies.derivations import Derivations, FoldedTerms
from policies.literals import Test, outcomes
from policies.names import Names
from policies.rule_lists.geometry import Cells, clauses
from policies.rule_lists.rule import RuleList

Step = tuple[int, int, int]  # a literal, its outcome that goes on, the action of the other


class RuleListTerms(FoldedTerms):
    """The cells of levels 1 to D, or the one of level 0 where there are no literals, each with every action.

    ``turned`` (p,) marks the literals of which outcome 1 means that they do not hold; ``write`` makes the list that is
    found of its steps and its default, where it is not written as it is.
    """

    def __init__(
        self,
        cells: Cells,
        tests: Sequence[Test],
        turned: Bools,
        n_actions: int,
        names: Names,
        write: Callable[[list[Step], int], RuleList] | None = None,
    ) -> None:
        self.n_actions = n_actions
        self._cells, self._tests, self._turned, self._names = cells, list(tests), turned, names
        self._write = write or self._rule_list
        first = min(1, cells.depth)
        self._skipped = [np.zeros((n_actions, 1))] * first  # the empty cell ends no list that has a test
        sizes, combinations = cells.sizes[first:], [len(chosen) for chosen in cells.chosen[first:]]
        self._first = np.cumsum([0, *sizes[:-1]])  # the number of a level's first cell
        self._levels = [slice(start, start + size) for start, size in zip(self._first.tolist(), sizes, strict=True)]
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

        def add_up(costs: Floats) -> Floats:
            totals = np.empty((self.n_terms // self.n_actions, self.n_actions))
            for level, table in zip(self._levels, by_cell(costs)[len(self._skipped) :], strict=True):
                totals[level] = table.T
            return totals.ravel()

        return add_up

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

    def value(self, totals: Floats) -> float:
        """Return the least total."""
        return float(self._best([table.min(axis=0) for table in self._tables(totals)], np.minimum)[0][0])

    def minimise(self, totals: Floats) -> tuple[float, RuleList]:
        """Return the least total and a list that attains it, followed from the empty cell."""
        cells, cell, steps, tables = self._cells, 0, list[Step](), self._tables(totals)
        ends = [table.min(axis=0) for table in tables]
        best = self._best(ends, np.minimum)
        for level, (on, fired) in enumerate(zip(cells.on, cells.fired, strict=True)):
            ways = ends[level + 1][fired[:, cell]] + best[level + 1][on[:, cell]]
            s, i = np.unravel_index(ways.argmin(), ways.shape)
            action = tables[level + 1][:, fired[s, cell, i]].argmin()
            steps.append((int(cells.literal[level][cell, i]), int(s), int(action)))
            cell = int(on[s, cell, i])
        return float(best[0][0]), self._write(steps, int(tables[-1][:, cell].argmin()))

    def _best(self, ends: list[Floats], add: np.ufunc) -> list[Floats]:
        """Return Best of each level, (n_l,); ``ends`` are the sums over actions of each cell."""
        best = [ends[-1]]
        for end, on, fired in zip(ends[:0:-1], self._cells.on[::-1], self._cells.fired[::-1], strict=True):
            best.append(add.reduce(end.take(fired) + best[-1].take(on), axis=(0, 2)))
        return best[::-1]

    def _by_action(self, totals: Floats, place: Ints, add: np.ufunc) -> Floats:
        """Return At of the empty cell, (K,)."""
        cells, tables, own = self._cells, self._tables(totals), self._own(place)
        ends = [add.reduce(table, axis=0) for table in tables]
        best = self._best(ends, add)
        at = tables[-1]
        for level in range(cells.depth)[::-1]:
            here = own[level]
            on, fired = cells.on[level][:, here], cells.fired[level][:, here]
            # The context has outcome s of the literal, or not: whether it goes on.
            outcomes = own[1] & 1  # the cells of level 1 are (literal, outcome)
            goes_on = outcomes[cells.literal[level][here]] == np.arange(len(on))[:, None, None]
            ended = tables[level + 1][:, fired] + best[level + 1][on]
            gone_on = ends[level + 1][fired] + at[:, on]
            at = np.zeros((self.n_actions, cells.sizes[level]))  # only the context's own cells are ever read
            at[:, here] = add.reduce(np.where(goes_on, gone_on, ended), axis=(1, 3))
        return np.asarray(at[:, 0])

    def _term(self, level: int, cells: Ints) -> Ints:
        """Return the number of the term of ``cells`` of a level, from 1 up, with action 0."""
        return np.asarray((self._first[level - 1] + cells) * self.n_actions)

    def _rule_list(self, steps: list[Step], default: int) -> RuleList:
        return RuleList(clauses(steps, self._tests, self._turned), default, self._names)

    def _tables(self, totals: Floats) -> list[Floats]:
        """Return the totals (K, n_l) of the cells of each level; that of level 0 is not read where there are others."""
        table = np.ascontiguousarray(totals.reshape(-1, self.n_actions).T)
        return [*self._skipped, *(table[:, level] for level in self._levels)]

    def _own(self, place: Ints) -> list[Ints]:
        """Return the cells of each level that hold the context of a place."""
        levels = np.split(place[:, 0] // self.n_actions, self._at_level)
        skipped = [np.zeros(1, dtype=np.int64) for _ in self._skipped]
        return [*skipped, *(level - first for level, first in zip(levels, self._first, strict=True))]
