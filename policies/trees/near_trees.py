"""All trees of depth 3 or more within a bound of total cost, root by root.

The trees below a root within the bound are those on either side whose cost leaves room for the best tree on the other:
two shorter lists, which meet as heads and tails do (policies/near_lists.py). Lists of trees of depth 2 come from their
derivations. The least cost on a set of contexts is asked once, whatever tests lead to it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np

from milpcb.core.marks import key_tables
from milpcb.protocols import Listing, Within
from milpcb.types import Bools, Ints, Policy
from policies.derivations import ListedTerms
from policies.literals import Test
from policies.near_lists import Halves, Met, meet, side_of
from policies.trees.geometry import path_totals
from policies.trees.rule import Node, split

MOST_WORK = 3e9  # products of a literal and a cost that the least costs below all roots may take: some seconds
TRIES = 8  # bounds that are asked for, each half as far from the least cost as the one before


class TooManyTreesError(Exception):
    """The trees on some contexts are too many to be listed."""


@dataclass(frozen=True, eq=False)
class _Below:
    """Trees on some contexts by cost, and what makes one."""

    side: Halves
    node: Callable[[int], Node]
    complete: bool = True


class NearTrees:
    """The trees of one ``depth`` within a bound, for the costs and rows asked about.

    Parameters
    ----------
    pairs : the terms of the trees of depth 2
    tests, truth : the literals, and which hold at which context (n, p)
    depth : at least 2
    node : makes the tree of a derivation of depth 2
    asked : which trees

    """

    def __init__(
        self,
        pairs: ListedTerms,
        tests: Sequence[Test],
        truth: Bools,
        depth: int,
        node: Callable[[list[int]], Node],
        asked: Within,
    ) -> None:
        self._tests, self._truth, self._held, self._depth = tests, truth, truth.astype(float), depth
        self._asked, self._node = asked, node
        tables = [asked.costs, *key_tables(*asked.costs.shape), *(row.weights for row in asked.rows)]
        self._tables = np.stack(tables, axis=2)
        self._every = every = pairs.derivations()
        self._sizes = pairs.sizes(every.heads), pairs.sizes(every.tails)
        self._least: dict[tuple[int, bytes], float] = {}

    @property
    def work(self) -> float:
        """About how many products it takes to find the least costs."""
        n, p = self._truth.shape
        return float(n * p**2 * self._tables.shape[1] * (2 * p) ** (self._depth - 2))

    def listing(self, policy: Callable[[Node], Policy]) -> Listing | None:
        """Return the trees asked for, those within a lower bound where they are too many; None where that has none."""
        if self.work > MOST_WORK:
            return None
        least, bound = self._asked.least, self._asked.bound
        everyone = np.ones(len(self._truth), dtype=bool)
        for tried in range(TRIES + 1):
            lower = least + (bound - least) / 2**tried if tried < TRIES else least
            try:
                found = self._below(everyone, self._depth, lower, whole=True)
            except TooManyTreesError:
                continue
            made, complete = (lambda number: policy(found.node(number))), found.complete and not tried  # noqa: B023
            return Listing(found.side.costs, made, complete) if len(found.side.costs) else None
        return None

    def _below(self, here: Bools, height: int, bound: float, *, whole: bool = False) -> _Below:
        """Return the trees on the contexts ``here`` (n,); raises TooManyTreesError unless it is the ``whole`` tree."""
        heads, tails, made = self._derivations(here) if height == 2 else self._by_root(here, height, bound)
        least, rows = (self._asked.least, self._asked.rows) if whole else (-np.inf, ())
        found = meet(heads, tails, least, bound, rows)
        if not (found.complete or whole):
            raise TooManyTreesError
        return _Below(found.side, partial(_met, found, made), found.complete)

    def _derivations(self, here: Bools) -> tuple[Halves, Halves, Callable[[int, int], Node]]:
        """Return the stumps below all roots."""
        every, width = self._every, self._tables.shape[2]
        totals = path_totals(self._held[here], self._tables[here], 2).reshape(-1, width).T
        parts = [np.append(total, 0.0) for total in totals]
        heads = side_of(every.heads, every.head_state, self._sizes[0], parts)
        tails = side_of(every.tails, every.tail_state, self._sizes[1], parts)

        def made(head: int, tail: int) -> Node:
            return self._node([*every.heads[head].tolist(), *every.tails[tail].tolist()])

        return heads, tails, made

    def _by_root(self, here: Bools, height: int, bound: float) -> tuple[Halves, Halves, Callable[[int, int], Node]]:
        """Return the trees where each root fails, and where it holds, with a partner within the bound."""
        roots: list[tuple[Test, _Below, _Below]] = []
        for test, holds in zip(self._tests, self._truth.T, strict=True):
            below, above = here & ~holds, here & holds
            fails, others = self.least(below, height - 1), self.least(above, height - 1)
            if fails + others <= bound:
                trees_below = self._below(below, height - 1, bound - others)
                trees_above = self._below(above, height - 1, bound - fails)
                roots.append((test, trees_below, trees_above))
        n_rows = len(self._asked.rows)
        heads = _joined([below.side for _, below, _ in roots], n_rows)
        tails = _joined([above.side for *_, above in roots], n_rows)

        def made(head: int, tail: int) -> Node:
            test, below, above = roots[heads.root[head]]
            return split(test, above.node(int(tails.first[tail])), below.node(int(heads.first[head])))

        return heads.side, tails.side, made

    def least(self, here: Bools, height: int) -> float:
        """Return the least cost of a tree of a height on the contexts ``here`` (n,)."""
        if not here.any():
            return 0.0
        key = height, np.packbits(here).tobytes()
        if key not in self._least:
            self._least[key] = self._found_least(here, height)
        return self._least[key]

    def _found_least(self, here: Bools, height: int) -> float:
        if height == 2:
            leaves = path_totals(self._held[here], np.ascontiguousarray(self._tables[here, :, 0]), 2).min(axis=-1)
            return float(leaves.sum(axis=3).min(axis=2).sum(axis=1).min())
        ways = (self.least(here & ~holds, height - 1) + self.least(here & holds, height - 1) for holds in self._truth.T)
        return min(ways)


def _met(found: Met, made: Callable[[int, int], Node], number: int) -> Node:
    return made(int(found.head[number]), int(found.tail[number]))


class _Joined(NamedTuple):
    """The trees below several roots on one side, a state for each root: which root, and which of its trees (n,)."""

    side: Halves
    root: Ints
    first: Ints


def _joined(sides: Sequence[Halves], n_rows: int) -> _Joined:
    """Return the sides of several roots as one, with ``n_rows`` weights."""
    nothing = np.zeros(0, dtype=np.int64)
    none = Halves(nothing, nothing, nothing, np.zeros(0), np.zeros(0, dtype=np.uint64), np.zeros((n_rows, 0)))
    parts = [none, *sides]
    root = np.repeat(np.arange(-1, len(sides)), [len(part.costs) for part in parts])
    side = Halves(
        np.arange(len(root)),
        root,
        np.concatenate([part.size for part in parts]),
        np.concatenate([part.costs for part in parts]),
        np.concatenate([part.marks for part in parts]),
        np.concatenate([part.weights for part in parts], axis=1),
    )
    return _Joined(side, root, np.concatenate([part.number for part in parts]))
