"""Side rows in classes whose derivations are listed: their weights never change, only their costs do.

A derivation, a head and a tail of one state (policies/derivations.py), has a weight in each row, known for good when
the rows are, and a cost, which changes from question to question.

One row. With the heads of a state by falling and the tails by rising weight, the tails that may follow a head are a
window of the list, and both of its ends only move up from head to head. So one pass adds up all windows, in (min, +) or
in (log-sum-exp, +), in as many steps as there are heads and tails: far fewer than derivations.
Several rows. The windows are those of the row that leaves the fewest derivations; each of these is compared with the
bounds of the other rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from milpcb.errors import InfeasibleError
from milpcb.protocols.tables import RestrictedTerms, TermRow, Terms
from milpcb.types import Floats, Ints, Policy
from policies.derivations import Derivations, ListedTerms
from policies.weighted_kernels import Array, Soft, fold_pairs, fold_windows, windows

_MOST_KEPT = 10**8  # actions of derivations that are kept from question to question, of a byte each
_OTHER = -1  # the action of a head or tail that has no context of the place


class KeptTerms(RestrictedTerms):
    """The derivations of ``terms`` that keep all ``rows``."""

    def __init__(self, terms: ListedTerms, rows: Sequence[TermRow]) -> None:
        super().__init__(terms)
        self._listed, self._rows = terms, tuple(rows)
        self._kept = kept = _kept(terms, self._rows)
        self._played = lru_cache(1 + _MOST_KEPT // (len(kept.heads) + len(kept.tails)))(self._played_at)
        self._nobody = np.full(len(kept.tails), _OTHER, dtype=np.int8)

    def under(self, rows: Sequence[TermRow]) -> Terms:
        """Return the terms under these rows as well."""
        return self._listed.under((*self._rows, *rows))

    def profile(self, totals: Floats, place: Ints) -> Floats:
        """Return (K,): the least total of the derivations by the action at ``place``."""
        return self._by_action(None, totals, place)

    def log_weights(self, totals: Floats, place: Ints, rate: float) -> Floats:
        """Return (K,): log of the summed exp(-rate * total) of the derivations by the action at ``place``."""
        return -self._by_action(1.0, rate * totals, place)

    def minimise(self, totals: Floats) -> tuple[float, Policy]:
        """Return the least total and a policy that attains it; the first head, then the first tail, wins a tie."""
        kept, parts = self._kept, self._padded(totals)
        tails = _sums(parts, kept.tails)
        by_head = _sums(parts, kept.heads) + kept.fold(None, np.arange(kept.n_states), tails, self._nobody, _OTHER)
        head = int(by_head.argmin())
        if by_head[head] == np.inf:
            raise InfeasibleError("no policy of the class keeps the side rows")
        after = kept.after(head)
        tail = after[tails[after].argmin()]
        return float(by_head[head]), self._listed.policy([*kept.heads[head].tolist(), *kept.tails[tail].tolist()])

    def _by_action(self, soft: Soft, totals: Floats, place: Ints) -> Floats:
        """Return the sums (K,) by the action at ``place``: in each state the heads decide it, or the tails."""
        kept, parts, played = self._kept, self._padded(totals), self._played(place.tobytes())
        heads, tails = _sums(parts, kept.heads), _sums(parts, kept.tails)
        by_head = heads + kept.fold(soft, played.by_heads, tails, played.tails, _OTHER)
        answers = np.empty(self.n_actions)
        for action in range(self.n_actions):
            by_tail = heads + kept.fold(soft, played.by_tails, tails, played.tails, action)
            answers[action] = _sum(soft, np.append(by_head[played.heads == action], by_tail))
        return answers

    def _played_at(self, place: bytes) -> _Played:
        """Return who decides the action at a place, given by its bytes."""
        kept = self._kept
        terms = np.frombuffer(place, dtype=np.int64).reshape(-1, self.n_actions)
        actions = np.append(self._listed.actions(terms), _OTHER).astype(np.int8)
        heads, tails = (actions[parts].max(axis=1, initial=_OTHER) for parts in (kept.heads, kept.tails))
        by_tails = tails[kept.tail_start[:-1]] != _OTHER
        return _Played(heads, tails, np.flatnonzero(~by_tails), np.flatnonzero(by_tails))

    def _padded(self, totals: Floats) -> Floats:
        return np.append(self._listed.parts(totals), 0.0)


class _Played(NamedTuple):
    """The actions of heads and tails at a place, and the states in which heads and in which tails decide it."""

    heads: Array
    tails: Array
    by_heads: Ints
    by_tails: Ints


class _Kept:
    """The derivations in the order of their weights in the row ``first``, and the window of tails of each head.

    ``heads``, ``tails`` and the weights (n, R), (n', R) are in the order of their states already.
    """

    def __init__(self, every: Derivations, heads: Floats, tails: Floats, bounds: Floats, first: int) -> None:
        by_head = np.lexsort((-heads[:, first], every.head_state))
        by_tail = np.lexsort((tails[:, first], every.tail_state))
        self.heads, self.tails = every.heads[by_head], every.tails[by_tail]
        self.n_states = int(every.head_state.max()) + 1
        self.head_start = np.searchsorted(every.head_state[by_head], np.arange(self.n_states + 1))
        self.tail_start = np.searchsorted(every.tail_state[by_tail], np.arange(self.n_states + 1))
        self.low, self.high = np.empty(len(heads), dtype=np.int64), np.empty(len(heads), dtype=np.int64)
        windows(
            self.head_start,
            self.tail_start,
            heads[by_head, first],
            tails[by_tail, first],
            bounds[:, first],
            self.low,
            self.high,
        )
        others = np.arange(bounds.shape[1]) != first
        self._heads, self._tails = heads[by_head][:, others], tails[by_tail][:, others]
        self._bounds = np.ascontiguousarray(bounds[:, others])
        self._front = np.empty(len(tails))

    @property
    def n_pairs(self) -> int:
        """The number of derivations that keep the first row."""
        return int((self.high - self.low).sum())

    def after(self, head: int) -> Ints:
        """Return the numbers of the tails that may follow a head."""
        tails = np.arange(self.low[head], self.high[head])
        weights = self._heads[head] + self._tails[tails]
        kept: Ints = tails[((weights >= self._bounds[0]) & (weights <= self._bounds[1])).all(axis=1)]
        return kept

    def fold(self, soft: Soft, states: Ints, costs: Floats, actions: Array, action: int) -> Floats:
        """Return (n,): the sum over the tails that may follow each head of ``states`` and play ``action``, else inf."""
        sums = np.full(len(self.heads), np.inf)
        where = (soft, states, self.head_start, self.low, self.high, costs, actions, action)
        if len(self._bounds[0]):
            fold_pairs(*where, self._heads, self._tails, self._bounds, sums)
        else:
            fold_windows(*where, self._front, sums)
        return sums


def _kept(terms: ListedTerms, rows: Sequence[TermRow]) -> _Kept:
    """Return the derivations in the order of the row that leaves the fewest."""
    every = terms.derivations()
    parts = [np.append(terms.parts(row.totals), 0.0) for row in rows]
    heads = np.column_stack([_sums(part, every.heads) for part in parts])
    tails = np.column_stack([_sums(part, every.tails) for part in parts])
    bounds = np.array([[row.lower for row in rows], [row.upper for row in rows]])
    return min((_Kept(every, heads, tails, bounds, first) for first in range(len(rows))), key=lambda kept: kept.n_pairs)


def _sums(parts: Floats, chosen: Ints) -> Floats:
    """Return (n,): the sum of ``parts`` in each row of ``chosen`` (n, k)."""
    total = np.zeros(len(chosen))
    for column in chosen.T:
        total += parts[column]
    return total


def _sum(soft: Soft, costs: Floats) -> float:
    """Return the sum in (min, +), or of -log weights."""
    return float(costs.min() if soft is None else -np.logaddexp.reduce(-costs))
