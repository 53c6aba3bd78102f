"""Side constraints in classes whose derivations are listed: weights never change, only costs do.

A derivation, a head and a tail of one state (policies/derivations.py), has a weight in each side constraint, computed
once, and a cost, which changes from query to query. policies/pairings.py has the order in which one pass over the heads
and tails adds up all derivations that keep the constraints.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from milpcb.constraints.linear import check_rows
from milpcb.errors import InfeasibleError
from milpcb.protocols import RestrictedTerms, SideConstraint, Terms
from milpcb.types import Bools, Floats, Ints, Policy
from policies.pairings import Pairing, Weighed, pairing
from policies.semirings import Array, Soft
from policies.weighted_kernels import Side, add_up, pair

_MOST_KEPT = 10**8  # actions of heads and tails that are kept from query to query, of a byte each
# The states in which tails decide the action at a place, and both sides with their actions there.
_Played = tuple[Bools, Side, Side]
_OTHER = -1  # the action of a head where tails decide it, and of a tail where heads do


class KeptTerms(RestrictedTerms):
    """The derivations of ``terms``, which are ListedTerms (policies/derivations.py), that keep all ``rows``."""

    def __init__(self, terms: Any, rows: Sequence[SideConstraint]) -> None:
        super().__init__(terms)
        self._listed, self._rows = terms, tuple(rows)
        self._pairing, self._head_parts, self._tail_parts = _kept(terms, self._rows)
        size = len(self._pairing.by_head) + len(self._pairing.by_tail)
        self._front = np.empty((size, 2))
        self._parts = np.append(terms.parts(rows[0].weights), 0.0)  # the last stands for no part, and is kept
        self._kind = np.min_scalar_type(-self.n_actions)  # of actions: one byte, unless there are more than 128
        self._played = lru_cache(1 + _MOST_KEPT // size)(self._played_at)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self._listed, self._rows)

    def under(self, rows: Sequence[SideConstraint]) -> Terms:
        """Return the terms under these rows as well."""
        return KeptTerms(self._listed, (*self._rows, *rows))

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
        tail = self._pairing.cheapest_tail(head)
        return float(least), self._listed.policy(
            [*self._head_parts[:, head].tolist(), *self._tail_parts[:, tail].tolist()]
        )

    def _answers(self, soft: Soft, totals: Floats, played: _Played) -> tuple[Floats, Ints]:
        """Return the answers by action, and what is chosen; see policies/weighted_kernels.py."""
        parts, (_, _, heads, tails, bounds) = self._parts, self._pairing
        parts[:-1] = self._listed.parts(totals)
        add_up(parts, self._head_parts, heads.costs)
        add_up(parts, self._tail_parts, tails.costs)
        answers, chosen = np.empty(self.n_actions), np.zeros(self.n_actions, dtype=np.int64)
        pair(soft, *played, bounds, self._front, answers, chosen)
        return answers, chosen

    def _played_at(self, place: bytes) -> _Played:
        """Return who decides the action at a place, given by its bytes."""
        terms = np.frombuffer(place, dtype=np.int64).reshape(-1, self.n_actions)
        actions = np.append(self._listed.actions(terms), _OTHER).astype(self._kind)
        heads, tails = _most(actions, self._head_parts), _most(actions, self._tail_parts)
        return self._sides(tails[self._pairing.tails.start[:-1]] != _OTHER, heads, tails)

    @cached_property
    def _nobody(self) -> _Played:
        """All derivations as those that play action 0, by their heads."""
        heads, tails = (np.zeros(len(side.low), self._kind) for side in (self._pairing.heads, self._pairing.tails))
        return self._sides(np.zeros(len(self._pairing.heads.start) - 1, dtype=bool), heads, tails)

    def _sides(self, by_tails: Bools, heads: Array, tails: Array) -> _Played:
        pairing = self._pairing
        return by_tails, pairing.heads._replace(actions=heads), pairing.tails._replace(actions=tails)


def _kept(terms: Any, rows: Sequence[SideConstraint]) -> tuple[Pairing, Array, Array]:
    """Return the derivations in the order of the row that leaves the fewest, and their heads' and tails' parts so."""
    every = terms.derivations()
    check_rows(len(rows), len(every.heads) + len(every.tails))
    parts = [np.append(terms.parts(row.weights), 0.0) for row in rows]
    heads = Weighed(every.head_state, np.array([part[every.heads].sum(axis=1) for part in parts]))
    tails = Weighed(every.tail_state, np.array([part[every.tails].sum(axis=1) for part in parts]))
    found = pairing(heads, tails, np.array([[row.lower for row in rows], [row.upper for row in rows]]))
    parts_by_weight = (every.heads[found.by_head].T, every.tails[found.by_tail].T)
    head_parts, tail_parts = (np.ascontiguousarray(part, dtype=np.int32) for part in parts_by_weight)
    return found, head_parts, tail_parts


def _most(parts: Array, chosen: Array) -> Array:
    """Return (n,): the largest of ``parts`` in each column of ``chosen`` (k, n), -1 where there is none."""
    most = np.full(chosen.shape[1], _OTHER, dtype=parts.dtype)
    for numbers in chosen:
        np.maximum(most, parts[numbers], out=most)
    return most
