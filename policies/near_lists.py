"""All policies within a bound of total cost, for classes whose derivations are listed: heads and tails that meet.

The heads and the tails of a state (policies/derivations.py) that label alike are one. Sorted by cost, the tails that a
head may have are the first so many of its state, so that derivations are counted without being made. Those that are
within the bound are then checked against the side constraints, and are one where they label all contexts alike
(milpcb/marks.py).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from milpcb.marks import Marks, first_of_each, marks
from milpcb.protocols import Listing, Within
from milpcb.types import Floats, Ints, Policy

MOST_PAIRS = 2_000_000  # heads with a tail that are looked at: half a second
HALVINGS = 30  # of a bound that leaves too many of them
_STATE = np.uint64(0xD6E8FEB86659FD93)  # an odd number: marks of two states differ


class _Side(NamedTuple):
    """Heads, or tails: their numbers, states, sizes, costs and marks (n,), and weights (R, n) in rows."""

    number: Ints
    state: Ints
    size: Ints
    costs: Floats
    marks: Marks
    weights: Floats

    def take(self, places: Ints) -> _Side:
        """Return some of them, in this order."""
        number, state, size, costs, own, weights = self
        return _Side(number[places], state[places], size[places], costs[places], own[places], weights[:, places])

    def least(self, n_states: int) -> Floats:
        """Return the least cost (n_states,) in each state."""
        least = np.full(n_states, np.inf)
        np.minimum.at(least, self.state, self.costs)
        return least


class Lists(NamedTuple):
    """Heads, or tails: the numbers of their parts (n, h), their states (n,), counted from 0, and their sizes (n,).

    Of derivations that label alike the one of least size is taken.
    """

    lists: Ints
    state: Ints
    size: Ints


def near(
    heads: Lists, tails: Lists, parts: list[Floats], policy: Callable[[list[int]], Policy], asked: Within
) -> Listing | None:
    """Return the policies asked for; None where too many derivations break a row before one is found that keeps it.

    Parameters
    ----------
    heads, tails : those of all derivations
    parts : the totals of the parts, of the costs, of both tables of keys (milpcb/marks.py), and of each row's weights
    policy : makes the policy of a derivation from its parts
    asked : which policies

    """
    every, others = _side(heads, parts), _side(tails, parts)
    pairs = _Pairs(every, others, asked.bound)
    complete = pairs.few(asked.bound)
    bound = asked.bound if complete else pairs.affordable(asked.least, asked.bound)
    found = _found(pairs.heads, pairs.tails, *pairs.within(bound), asked)

    def made(number: int) -> Policy:
        head, tail = heads.lists[found.head[number]], tails.lists[found.tail[number]]
        return policy([*head.tolist(), *tail.tolist()])

    return Listing(found.costs, made, complete) if len(found.costs) else None


class _Found(NamedTuple):
    """The derivations found, by cost: total costs (n,), and the numbers of their heads and tails (n,)."""

    costs: Floats
    head: Ints
    tail: Ints


def _found(heads: _Side, tails: _Side, head: Ints, tail: Ints, asked: Within) -> _Found:
    """Return the pairs that keep all rows, by cost, one of those that label alike."""
    for held, others, row in zip(heads.weights, tails.weights, asked.rows, strict=True):
        weights = held[head] + others[tail]
        kept = (row.lower <= weights) & (weights <= row.upper)
        head, tail = head[kept], tail[kept]
    small = np.argsort(heads.size[head] + tails.size[tail], kind="stable")
    head, tail = head[small], tail[small]
    first = first_of_each(heads.marks[head] + tails.marks[tail])
    head, tail = head[first], tail[first]
    costs = heads.costs[head] + tails.costs[tail]
    order = np.lexsort((tails.number[tail], heads.number[head], costs))
    return _Found(costs[order], heads.number[head[order]], tails.number[tail[order]])


def _side(half: Lists, parts: list[Floats]) -> _Side:
    """Return heads, or tails, those of a state once that label alike: the smallest of them."""
    lists, state, size = half
    costs, *others = (sum((part[numbers] for numbers in lists.T), np.zeros(len(lists))) for part in parts)
    own = marks(others[:2])
    weights = np.array(others[2:]).reshape(len(others) - 2, len(lists))
    small = np.argsort(size, kind="stable")
    first = small[first_of_each((own + state.astype(np.uint64) * _STATE)[small])]
    return _Side(np.arange(len(lists)), state, size, costs, own, weights).take(first)


class _Pairs:
    """The heads and tails with a partner of total cost at most ``bound``, and the pairs of them."""

    def __init__(self, heads: _Side, tails: _Side, bound: float) -> None:
        n_states = 1 + int(max(heads.state.max(), tails.state.max()))
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

    def affordable(self, least: float, bound: float) -> float:
        """Return a bound between two that leaves few pairs, the lower one where that leaves more already."""
        low, high = least, bound
        for _ in range(HALVINGS):
            middle = (low + high) / 2
            if self.few(middle):
                low = middle
            else:
                high = middle
        return low

    def within(self, bound: float) -> tuple[Ints, Ints]:
        """Return the places of the heads and the tails of pairs of total cost at most ``bound``, not too many."""
        counts = np.diff(np.minimum(np.cumsum(self.counts(bound)), MOST_PAIRS), prepend=0)
        head = np.repeat(np.arange(len(counts)), counts)
        starts = np.repeat(self._tail_first[:-1], np.diff(self._first))
        begins = np.cumsum(counts) - counts
        return head, np.arange(len(head)) - np.repeat(begins - starts, counts)
