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
from functools import cached_property, lru_cache
from typing import NamedTuple

import numpy as np

from milpcb.errors import InfeasibleError
from milpcb.protocols.tables import RestrictedTerms, TermRow, Terms
from milpcb.types import Bools, Floats, Ints, Policy
from policies.derivations import Derivations, ListedTerms
from policies.weighted_kernels import Array, Soft, add_up, one_row, several_rows, windows

_MOST_KEPT = 10**8  # actions of derivations that are kept from question to question, of a byte each
_OTHER = -1  # the action of a head where the tail decides it, and the other way round


class KeptTerms(RestrictedTerms):
    """The derivations of ``terms`` that keep all ``rows``."""

    def __init__(self, terms: ListedTerms, rows: Sequence[TermRow]) -> None:
        super().__init__(terms)
        self._listed, self._rows = terms, tuple(rows)
        self._kept = kept = _kept(terms, self._rows)
        self._heads, self._tails = np.empty(len(kept.heads)), np.empty(len(kept.tails))
        self._played = lru_cache(1 + _MOST_KEPT // (len(kept.heads) + len(kept.tails)))(self._played_at)

    def under(self, rows: Sequence[TermRow]) -> Terms:
        """Return the terms under these rows as well."""
        return self._listed.under((*self._rows, *rows))

    def profile(self, totals: Floats, place: Ints) -> Floats:
        """Return (K,): the least total of the derivations by the action at ``place``."""
        return self._kept.answers(None, *self._costs(totals), self._played(place.tobytes()))[0]

    def log_weights(self, totals: Floats, place: Ints, rate: float) -> Floats:
        """Return (K,): log of the summed exp(-rate * total) of the derivations by the action at ``place``."""
        return -self._kept.answers(1.0, *self._costs(rate * totals), self._played(place.tobytes()))[0]

    def minimise(self, totals: Floats) -> tuple[float, Policy]:
        """Return the least total and a policy that attains it; the first head, then the first tail, wins a tie."""
        kept, (heads, tails) = self._kept, self._costs(totals)
        (least, *_), (head, *_) = kept.answers(None, heads, tails, self._nobody)
        if least == np.inf:
            raise InfeasibleError("no policy of the class keeps the side constraints")
        after = kept.after(head)
        tail = after[tails[after].argmin()]
        return float(least), self._listed.policy([*kept.heads[head].tolist(), *kept.tails[tail].tolist()])

    def _costs(self, totals: Floats) -> tuple[Floats, Floats]:
        """Return the costs of the heads and of the tails, in arrays that the next call writes over."""
        parts = np.append(self._listed.parts(totals), 0.0)
        add_up(parts, self._kept.heads, self._heads)
        add_up(parts, self._kept.tails, self._tails)
        return self._heads, self._tails

    def _played_at(self, place: bytes) -> _Played:
        """Return who decides the action at a place, given by its bytes."""
        kept, terms = self._kept, np.frombuffer(place, dtype=np.int64).reshape(-1, self.n_actions)
        actions = np.append(self._listed.actions(terms), _OTHER).astype(np.int8)
        heads, tails = (_most(actions, parts) for parts in (kept.heads, kept.tails))
        return _Played(heads, tails, tails[kept.tail_start[:-1]] != _OTHER)

    @cached_property
    def _nobody(self) -> _Played:
        """All derivations as those that play action 0."""
        heads, tails = (np.full(len(parts), a, np.int8) for parts, a in ((self._kept.heads, 0), (self._kept.tails, -1)))
        return _Played(heads, tails, np.zeros(self._kept.n_states, dtype=bool))


class _Played(NamedTuple):
    """The actions of heads and tails at a place, and the states in which tails decide it."""

    heads: Array
    tails: Array
    by_tails: Bools


class _Kept:
    """The derivations in the order of their weights in the row ``first``, and the window of tails of each head."""

    def __init__(
        self, every: Derivations, heads: Floats, tails: Floats, bounds: Floats, first: int, n_actions: int
    ) -> None:
        """Take the weights (n, R) of heads and (n', R) of tails in each row, and the bounds (2, R) of their sums."""
        self._n_actions = n_actions
        by_head = np.lexsort((-heads[:, first], every.head_state))
        by_tail = np.lexsort((tails[:, first], every.tail_state))
        heads, tails = heads[by_head], tails[by_tail]
        self.heads, self.tails = every.heads[by_head].astype(np.int32), every.tails[by_tail].astype(np.int32)
        self.n_states = int(every.head_state.max()) + 1
        states = np.arange(self.n_states + 1)
        self.head_start = np.searchsorted(every.head_state[by_head], states)
        self.tail_start = np.searchsorted(every.tail_state[by_tail], states)
        self._low, self._high = np.empty((2, len(heads)), dtype=np.int64)
        weights = (np.ascontiguousarray(heads[:, first]), np.ascontiguousarray(tails[:, first]))
        windows(self.head_start, self.tail_start, *weights, bounds[:, first].copy(), self._low, self._high)
        others = np.arange(bounds.shape[1]) != first
        self._weights = (heads[:, others], tails[:, others], np.ascontiguousarray(bounds[:, others]))
        self._front = np.empty((len(tails), 2))

    @property
    def n_pairs(self) -> int:
        """The number of derivations that keep the first row."""
        return int((self._high - self._low).sum())

    def answers(self, soft: Soft, heads: Floats, tails: Floats, played: _Played) -> tuple[Floats, Ints]:
        """Return the answers by action, and the heads that are chosen; see policies/weighted_kernels.py."""
        answers, chosen = np.empty(self._n_actions), np.zeros(self._n_actions, dtype=np.int64)
        costs = (played.by_tails, heads, played.heads, tails, played.tails)
        if self._weights[0].shape[1]:
            states = (self.head_start, self.tail_start, self._low, self._high)
            several_rows(soft, *states, *costs, *self._weights, answers, chosen)
        else:
            one_row(soft, self.head_start, self._low, self._high, *costs, self._front, answers, chosen)
        return answers, chosen

    def after(self, head: int) -> Ints:
        """Return the numbers of the tails that may follow a head."""
        tails = np.arange(self._low[head], self._high[head])
        of_head, of_tail, (lower, upper) = self._weights
        weights = of_head[head] + of_tail[tails]
        kept: Ints = tails[((lower <= weights) & (weights <= upper)).all(axis=1)]
        return kept


def _kept(terms: ListedTerms, rows: Sequence[TermRow]) -> _Kept:
    """Return the derivations in the order of the row that leaves the fewest."""
    every = terms.derivations()
    parts = [np.append(terms.parts(row.totals), 0.0) for row in rows]
    heads = np.column_stack([_sums(part, every.heads) for part in parts])
    tails = np.column_stack([_sums(part, every.tails) for part in parts])
    bounds = np.array([[row.lower for row in rows], [row.upper for row in rows]])
    kept = (_Kept(every, heads, tails, bounds, first, terms.n_actions) for first in range(len(rows)))
    return min(kept, key=lambda kept: kept.n_pairs)


def _sums(parts: Floats, chosen: Ints) -> Floats:
    """Return (n,): the sum of ``parts`` in each row of ``chosen`` (n, k)."""
    total = np.zeros(len(chosen))
    for column in chosen.T:
        total += parts[column]
    return total


def _most(parts: Array, chosen: Array) -> Array:
    """Return (n,): the largest of ``parts`` in each row of ``chosen`` (n, k), -1 where there is none."""
    most = np.full(len(chosen), _OTHER, dtype=parts.dtype)
    for column in chosen.T:
        np.maximum(most, parts[column], out=most)
    return most
