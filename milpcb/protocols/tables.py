"""Running totals of costs: each round changes only the entries that its context reaches.

Most learners add one cost a round, to the total of one (context, action), and then query the totals. A policy's total
cost is a sum of *leaf totals*, or terms: the costs that its class's own recursion adds up, such as those of the leaves
(path, action) of a tree or of the pieces of a threshold rule; they are the columns of its program. Costs can be added
to leaf totals instead of to contexts, and so can noise. The number of leaf totals depends on the cut points alone, so
a round takes as long however many contexts there are, and contexts need not be known in advance.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from functools import cached_property, partial
from typing import Any

import numpy as np

from milpcb.errors import InputError
from milpcb.protocols.listing import Listing, Within
from milpcb.side_constraints import SideConstraint
from milpcb.types import Answer, Floats, Ints, Policy

NOISE = ("contexts", "columns")  # where the noise of a table may be


class Terms(ABC):
    """The terms of a policy class with fixed cut points, and its recursion over their totals.

    Totals are (n_terms,), and may hold noise. A *place* is all that the recursion needs to know of a context: the terms
    (S, K) that a cost of each action there is added to, always S different ones, so that the total of a policy's terms
    is its total cost.
    """

    n_actions: int
    n_terms: int
    n_touched: int  # S
    n_features: int  # columns of contexts that are read, the first of them

    @property
    def log_derivations(self) -> float:
        """Natural log of the number of derivations, at least that of policies: the N of Exp4's guarantee."""
        return float(np.logaddexp.reduce(self.log_weights(np.zeros(self.n_terms), self._anywhere, 0.0)))

    @abstractmethod
    def places(self, contexts: Floats) -> list[Ints]:
        """Return the place (S, K) of each of ``contexts`` (n, d); equal places are labelled alike by all policies."""

    def totals(self, contexts: Floats, costs: Floats) -> Floats:
        """Return the totals (n_terms,) of ``costs`` (n, K) at ``contexts`` (n, d); whole costs stay exact."""
        places = np.array(self.places(contexts), dtype=np.int64).reshape(len(costs), self.n_touched, self.n_actions)
        added = np.broadcast_to(costs[:, None, :], places.shape)
        return np.asarray(np.bincount(places.ravel(), added.ravel(), self.n_terms), dtype=float)

    def adder(self, contexts: Floats) -> Callable[[Floats], Floats]:
        """Return a function of costs (n, K) at these ``contexts`` (n, d), for many questions about the same contexts.

        It returns ``totals`` of the costs, or others that give every derivation the same total, in an array that the
        next call may write over.
        """
        return partial(self.totals, contexts)

    def under(self, rows: Sequence[SideConstraint]) -> Terms:
        """Return the same terms with a recursion over the policies alone that keep ``rows``, of leaf totals.

        Where none keeps them, profiles are infinite and minimise raises InfeasibleError. Raises InputError where the
        class cannot do it: only an Opened with the capability "side_rows" is asked.
        """
        del rows
        raise InputError(
            f"{type(self).__name__} has no recursion under side constraints; open the oracle with kind 'milp'"
        )

    def near(self, contexts: Floats, asked: Within) -> Listing | None:
        """Return the policies asked for at ``contexts`` (n, d), see Opened.near; None where they have no list."""
        del contexts, asked
        return None

    def add(self, totals: Floats, contexts: Floats, actions: Ints, amounts: Floats) -> None:
        """Add ``amounts`` (n,), one cell after the other: the cost of ``actions`` (n,) at ``contexts`` (n, d)."""
        for place, action, amount in zip(self.places(contexts), actions, amounts, strict=True):
            totals[place[:, action]] += amount

    @abstractmethod
    def profile(self, totals: Floats, place: Ints) -> Floats:
        """Return V[a] (K,): the least total of the derivations that play a at ``place``, inf where none does."""

    def value(self, totals: Floats) -> float:
        """Return the least total of all derivations: the least entry of a profile, at whichever place."""
        return float(self.profile(totals, self._anywhere).min())

    @abstractmethod
    def minimise(self, totals: Floats) -> tuple[float, Policy]:
        """Return the least total and a policy that attains it; the lowest-numbered choice wins a tie."""

    @abstractmethod
    def log_weights(self, totals: Floats, place: Ints, rate: float) -> Floats:
        """Return (K,): log of the sum of exp(-rate * total) over the derivations that play a at ``place``."""

    @cached_property
    def _anywhere(self) -> Ints:
        """The place of a context, whichever it is."""
        return self.places(np.zeros((1, self.n_features)))[0]


class RestrictedTerms(Terms):
    """The ``terms`` of a class with a recursion over some of its policies: that of a subclass of this."""

    def __init__(self, terms: Terms) -> None:
        self.terms = terms
        self.n_actions, self.n_terms = terms.n_actions, terms.n_terms
        self.n_touched, self.n_features = terms.n_touched, terms.n_features

    def places(self, contexts: Floats) -> list[Ints]:
        """Return the places of the terms."""
        return self.terms.places(contexts)

    def totals(self, contexts: Floats, costs: Floats) -> Floats:
        """Return the totals of the terms."""
        return self.terms.totals(contexts, costs)

    def adder(self, contexts: Floats) -> Callable[[Floats], Floats]:
        """Return the adder of the terms."""
        return self.terms.adder(contexts)


class Table(ABC):
    """The ``totals`` that an oracle keeps for a learner; noise that a question adds to them is not kept.

    Noise has ``n_noisy`` coordinates. What a policy's total becomes by it is linear in the noise, and a cost of 1 at
    one context and action moves a total along a direction whose 1-norm in these coordinates is at most ``n_moved``.
    """

    totals: Floats
    n_noisy: int
    n_moved: float

    @abstractmethod
    def cell(self, row: int, action: int) -> Any:
        """Return the index of the totals that a cost of ``action`` at the context ``row`` is added to."""

    def add(self, row: int, action: int, amount: float) -> None:
        """Add ``amount`` to the cost of ``action`` at the context ``row``."""
        cell = self.cell(row, action)  # which may make room for it
        self.totals[cell] += amount

    def add_all(self, rows: Sequence[int], actions: Sequence[int], amounts: Sequence[float]) -> None:
        """Add to many cells, at least one, given by three lists of one length."""
        for row, action, amount in zip(rows, actions, amounts, strict=True):
            self.add(row, action, amount)

    @abstractmethod
    def profile(self, row: int, noise: Floats | None = None) -> Floats:
        """Return V[a] (K,): the least total of the policies that play a on ``row``, with ``noise`` (n_noisy,) added."""

    @abstractmethod
    def minimise(self, noise: Floats | None = None) -> Answer:
        """Return bounds on the least total with ``noise`` added, and a policy."""

    @abstractmethod
    def action_weights(self, row: int, rate: float) -> Floats:
        """Return the Exp4 distribution (K,) at ``row``; raises InputError where the oracle has no action weights."""

    def state(self) -> Any:
        """Return the totals as plain data (JSON-able)."""
        return self.totals.tolist()

    def restore(self, state: Any) -> None:
        """Go on bit-identically from what ``state`` returned."""
        self.totals[:] = state
