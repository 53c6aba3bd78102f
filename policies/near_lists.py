"""All policies within a bound of total cost, for classes whose derivations are listed: heads and tails that meet.

The heads and the tails of a state (policies/derivations.py) that label alike are one. Sorted by cost, the tails that a
head may have are the first so many of its state, so that derivations are counted without being made. Those that are
within the bound are then checked against the side constraints, and are one where they label all contexts alike
(milpcb/core/marks.py).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from milpcb.core.marks import Marks, first_of_each, marks
from milpcb.protocols import SideConstraint
from milpcb.types import Floats, Ints

MOST_PAIRS = 2_000_000  # heads with a tail that are looked at: half a second
WIDEST = 2**16  # integers that lie closer together are sorted by counting
HALVINGS = 30  # of a bound that leaves too many of them
_STATE = np.uint64(0xD6E8FEB86659FD93)  # an odd number: marks of two states differ


class Halves(NamedTuple):
    """Heads, or tails: their numbers, states, sizes, costs and marks (n,), and weights (R, n) in rows.

    Of derivations that label alike the one of least size is taken.
    """

    number: Ints
    state: Ints
    size: Ints
    costs: Floats
    marks: Marks
    weights: Floats

    def take(self, places: Ints) -> Halves:
        """Return some of them, in this order."""
        return Halves._make(own[..., places] for own in self)

    def least(self, n_states: int) -> Floats:
        """Return the least cost (n_states,) in each state."""
        least = np.full(n_states, np.inf)
        np.minimum.at(least, self.state, self.costs)
        return least


def side_of(lists: Ints, state: Ints, size: Ints, parts: Sequence[Floats]) -> Halves:
    """Return heads, or tails, those of a state once that label alike: the smallest of them.

    Parameters
    ----------
    lists : (n, h) the numbers of their parts
    state, size : (n,)
    parts : the totals of the parts, of the costs, of both tables of keys (milpcb/core/marks.py), of each row's weights

    """
    costs, *others = (sum((part[numbers] for numbers in lists.T), np.zeros(len(lists))) for part in parts)
    own = marks(others[:2])
    weights = np.array(others[2:]).reshape(len(others) - 2, len(lists))
    small = np.argsort(size, kind="stable")
    first = small[first_of_each((own + state.astype(np.uint64) * _STATE)[small])]
    return Halves(np.arange(len(lists)), state, size, costs, own, weights).take(first)


class Met(NamedTuple):
    """Heads and tails that have met, by cost: as heads or tails of one state, and the numbers of both halves (n,).

    ``complete`` is false where the bound was lowered, as too many are within it.
    """

    side: Halves
    head: Ints
    tail: Ints
    complete: bool


def meet(heads: Halves, tails: Halves, least: float, bound: float, rows: Sequence[SideConstraint] = ()) -> Met:
    """Return the derivations of total cost at most ``bound`` that keep all rows, one of those that label alike.

    Where they are too many it is those within a lower bound, not below ``least``; some of them where even so they are.
    """
    pairs = _Pairs(heads, tails, bound)
    complete = pairs.few(bound)
    heads, tails = pairs.heads, pairs.tails
    head, tail = pairs.within(bound if complete else affordable(pairs.few, least, bound, HALVINGS))
    for held, others, row in zip(heads.weights, tails.weights, rows, strict=False):
        kept = row.holds(held[head] + others[tail])
        head, tail = head[kept], tail[kept]
    small = ranked(heads.size[head] + tails.size[tail])
    head, tail = head[small], tail[small]
    first = first_of_each(heads.marks[head] + tails.marks[tail])
    head, tail = head[first], tail[first]
    costs = heads.costs[head] + tails.costs[tail]
    order = ranked(costs)
    head, tail = head[order], tail[order]
    side = Halves(
        np.arange(len(order)),
        np.zeros(len(order), dtype=np.int64),
        heads.size[head] + tails.size[tail],
        costs[order],
        heads.marks[head] + tails.marks[tail],
        heads.weights[:, head] + tails.weights[:, tail],
    )
    return Met(side, heads.number[head], tails.number[tail], complete)


def affordable(few: Callable[[float], bool], least: float, bound: float, halvings: int) -> float:
    """Return a bound between two that leaves few of what is listed, the lower one where that leaves more already."""
    low, high = least, bound
    for _ in range(halvings):
        middle = (low + high) / 2
        if few(middle):
            low = middle
        else:
            high = middle
    return low


def ranked(numbers: Floats | Ints) -> Ints:
    """Return the order of numbers, equal ones as they are; of whole ones that lie close by counting, which is fast."""
    if len(numbers) and np.ptp(numbers) < WIDEST and (numbers == np.rint(numbers)).all():
        numbers = (numbers - numbers.min()).astype(np.uint16)
    return np.argsort(numbers, kind="stable")


class _Pairs:
    """The heads and tails with a partner of total cost at most ``bound``, and the pairs of them."""

    def __init__(self, heads: Halves, tails: Halves, bound: float) -> None:
        n_states = 1 + int(max(heads.state.max(initial=0), tails.state.max(initial=0)))
        least, others = heads.least(n_states), tails.least(n_states)
        heads = heads.take(np.flatnonzero(heads.costs + others[heads.state] <= bound))
        tails = tails.take(np.flatnonzero(tails.costs + least[tails.state] <= bound))
        self.heads = heads.take(np.argsort(heads.state, kind="stable"))
        self.tails = tails.take(np.lexsort((tails.costs, tails.state)))
        self._states = np.unique(self.heads.state)
        self._first = np.searchsorted(self.heads.state, np.append(self._states, n_states))
        self._tail_first = np.searchsorted(self.tails.state, np.append(self._states, n_states))

    def counts(self, bound: float) -> Ints:
        """Return how many tails each head (n,) may have, the first of its state."""
        counts = np.empty(len(self.heads.costs), dtype=np.int64)
        for i in range(len(self._states)):
            own = slice(self._first[i], self._first[i + 1])
            tails = self.tails.costs[self._tail_first[i] : self._tail_first[i + 1]]
            counts[own] = np.searchsorted(tails, bound - self.heads.costs[own], side="right")
        return counts

    def few(self, bound: float) -> bool:
        """Return whether pairs of total cost at most ``bound`` are few enough to be looked at."""
        return int(self.counts(bound).sum()) <= MOST_PAIRS

    def within(self, bound: float) -> tuple[Ints, Ints]:
        """Return the places of the heads and the tails of pairs of total cost at most ``bound``, not too many."""
        counts = np.diff(np.minimum(np.cumsum(self.counts(bound)), MOST_PAIRS), prepend=0)
        head = np.repeat(np.arange(len(counts)), counts)
        starts = np.repeat(self._tail_first[:-1], np.diff(self._first))
        begins = np.cumsum(counts) - counts
        return head, np.arange(len(head)) - np.repeat(begins - starts, counts)
