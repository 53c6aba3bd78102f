"""Side rows in classes whose derivations are listed: their weights never change, only their costs do.

A derivation, a head and a tail of one state (policies/derivations.py), has a weight in each row, known for good when
the rows are, and a cost, which changes from question to question.

One row. With the heads of a state by falling and the tails by rising weight, the tails that may follow a head are a
window of neighbours, both ends of which only move up from head to head; and so are the heads that a tail may follow.
So one pass adds up all windows, in (min, +) or in (log-sum-exp, +), in as many steps as there are heads and tails: far
fewer than derivations.
Several rows. The windows are those of the row that leaves the fewest derivations; each of these is compared with the
bounds of the other rows, unless it costs too much to matter.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property, lru_cache
from typing import NamedTuple

import numpy as np

from milpcb.errors import InfeasibleError, InputError
from milpcb.protocols.tables import RestrictedTerms, TermRow, Terms
from milpcb.types import Bools, Floats, Ints, Policy
from policies.derivations import Derivations, ListedTerms
from policies.weighted_kernels import Array, Side, Soft, add_up, one_row, several_rows, windows

MOST_LEFT = 10**9  # derivations that the first of several rows leaves: a few seconds a question at worst
_MOST_KEPT = 10**8  # actions of heads and tails that are kept from question to question, of a byte each
_OTHER = -1  # the action of a head where tails decide it, and of a tail where heads do


class KeptTerms(RestrictedTerms):
    """The derivations of ``terms`` that keep all ``rows``."""

    def __init__(self, terms: ListedTerms, rows: Sequence[TermRow]) -> None:
        super().__init__(terms)
        self._listed, self._rows = terms, tuple(rows)
        self._kept = kept = _kept(terms, self._rows)
        size = len(kept.heads.costs) + len(kept.tails.costs)
        self._front = np.empty((size, 2))
        self._parts = np.append(terms.parts(rows[0].totals), 0.0)  # the last stands for no part, and is kept
        self._played = lru_cache(1 + _MOST_KEPT // size)(self._played_at)

    def under(self, rows: Sequence[TermRow]) -> Terms:
        """Return the terms under these rows as well."""
        return self._listed.under((*self._rows, *rows))

    def profile(self, totals: Floats, place: Ints) -> Floats:
        """Return (K,): the least total of the derivations by the action at ``place``."""
        return self._answers(None, totals, self._played(place.tobytes()))[0]

    def log_weights(self, totals: Floats, place: Ints, rate: float) -> Floats:
        """Return (K,): log of the summed exp(-rate * total) of the derivations by the action at ``place``."""
        return -self._answers(1.0, rate * totals, self._played(place.tobytes()))[0]

    def minimise(self, totals: Floats) -> tuple[float, Policy]:
        """Return the least total and a policy that attains it; the first head, then the first tail, wins a tie."""
        (least, *_), (head, *_) = self._answers(None, totals, self._nobody)
        if least == np.inf:
            raise InfeasibleError("no policy of the class keeps the side constraints")
        kept = self._kept
        tails = np.arange(kept.heads.low[head], kept.heads.high[head])
        weights = kept.heads.weights[head] + kept.tails.weights[tails]
        tails = tails[((kept.bounds[0] <= weights) & (weights <= kept.bounds[1])).all(axis=1)]
        tail = tails[kept.tails.costs[tails].argmin()]
        return float(least), self._listed.policy(
            [*kept.head_parts[:, head].tolist(), *kept.tail_parts[:, tail].tolist()]
        )

    def _answers(self, soft: Soft, totals: Floats, played: _Played) -> tuple[Floats, Ints]:
        """Return the answers by action, and what is chosen; see policies/weighted_kernels.py."""
        kept, parts = self._kept, self._parts
        parts[:-1] = self._listed.parts(totals)
        add_up(parts, kept.head_parts, kept.heads.costs)
        add_up(parts, kept.tail_parts, kept.tails.costs)
        answers, chosen = np.empty(self.n_actions), np.zeros(self.n_actions, dtype=np.int64)
        if kept.bounds.shape[1]:
            several_rows(soft, *played, kept.bounds, answers, chosen)
        else:
            one_row(soft, *played, self._front, answers, chosen)
        return answers, chosen

    def _played_at(self, place: bytes) -> _Played:
        """Return who decides the action at a place, given by its bytes."""
        terms = np.frombuffer(place, dtype=np.int64).reshape(-1, self.n_actions)
        actions = np.append(self._listed.actions(terms), _OTHER).astype(np.int8)
        heads, tails = _most(actions, self._kept.head_parts), _most(actions, self._kept.tail_parts)
        return self._sides(tails[self._kept.tails.start[:-1]] != _OTHER, heads, tails)

    @cached_property
    def _nobody(self) -> _Played:
        """All derivations as those that play action 0, by their heads."""
        heads, tails = (np.zeros(len(side.low), dtype=np.int8) for side in (self._kept.heads, self._kept.tails))
        return self._sides(np.zeros(len(self._kept.heads.start) - 1, dtype=bool), heads, tails)

    def _sides(self, by_tails: Bools, heads: Array, tails: Array) -> _Played:
        return _Played(by_tails, self._kept.heads._replace(actions=heads), self._kept.tails._replace(actions=tails))


class _Played(NamedTuple):
    """The states in which tails decide the action at a place, and both sides with their actions there."""

    by_tails: Bools
    heads: Side
    tails: Side


class _Kept(NamedTuple):
    """The derivations in order of weight in one row: their parts and windows, and the bounds (2, R) of other rows."""

    head_parts: Array
    tail_parts: Array
    heads: Side
    tails: Side
    bounds: Floats

    @property
    def n_left(self) -> int:
        """The number of derivations that keep the first row."""
        return int((self.heads.high - self.heads.low).sum())


def _kept(terms: ListedTerms, rows: Sequence[TermRow]) -> _Kept:
    """Return the derivations in the order of the row that leaves the fewest."""
    every = terms.derivations()
    parts = [np.append(terms.parts(row.totals), 0.0) for row in rows]
    heads = np.array([part[every.heads].sum(axis=1) for part in parts])
    tails = np.array([part[every.tails].sum(axis=1) for part in parts])
    bounds = np.array([[row.lower for row in rows], [row.upper for row in rows]])
    ordered = (_in_order_of(first, every, heads, tails, bounds) for first in range(len(rows)))
    kept = min(ordered, key=lambda kept: kept.n_left)
    if len(rows) > 1 and kept.n_left > MOST_LEFT:
        raise InputError(
            f"under several side constraints the search compares {kept.n_left:,} policies, more than {MOST_LEFT:,}; "
            "use oracle kind 'milp', or a smaller class"
        )
    return kept


def _in_order_of(first: int, every: Derivations, heads: Floats, tails: Floats, bounds: Floats) -> _Kept:
    """Return the derivations in the order of one row; weights are (R, n) and (R, n'), bounds of their sums (2, R)."""
    by_head = np.lexsort((-heads[first], every.head_state))
    by_tail = np.lexsort((tails[first], every.tail_state))
    heads, tails = heads[:, by_head], tails[:, by_tail]
    states = np.arange(every.head_state.max() + 2)
    head_start = np.searchsorted(every.head_state[by_head], states)
    tail_start = np.searchsorted(every.tail_state[by_tail], states)
    lower, upper = bounds[:, first]
    others = np.arange(len(heads)) != first
    # Turned round, the weights of tails fall, and those of heads rise.
    return _Kept(
        np.ascontiguousarray(every.heads[by_head].T, dtype=np.int32),
        np.ascontiguousarray(every.tails[by_tail].T, dtype=np.int32),
        _side(head_start, tail_start, heads[first], tails[first], (lower, upper), heads[others]),
        _side(tail_start, head_start, -tails[first], -heads[first], (-upper, -lower), tails[others]),
        np.ascontiguousarray(bounds[:, others]),
    )


def _side(
    start: Ints, other_start: Ints, weights: Floats, others: Floats, bounds: tuple[float, float], further: Floats
) -> Side:
    """Return one side, with its windows of the other side, and its weights (R, n) in further rows."""
    low, high = np.empty((2, len(weights)), dtype=np.int64)
    windows(start, other_start, weights, others, *bounds, low, high)
    return Side(start, low, high, np.ascontiguousarray(further.T), np.empty(len(low)), np.zeros(len(low), np.int8))


def _most(parts: Array, chosen: Array) -> Array:
    """Return (n,): the largest of ``parts`` in each column of ``chosen`` (k, n), -1 where there is none."""
    most = np.full(chosen.shape[1], _OTHER, dtype=parts.dtype)
    for numbers in chosen:
        np.maximum(most, parts[numbers], out=most)
    return most
