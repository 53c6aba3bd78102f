"""The interface of a class's own exact recursion, over costs of contexts (Search) or over leaf totals (Terms).

A policy's total cost is a sum of *leaf totals*, or terms, such as those of the leaves (path, action) of a tree or of
the bins of a threshold rule. The costs of contexts are such totals too, with a term for each context and action. Where
a class has leaf totals, its search adds costs up to these, by a linear map, and asks there (TermSearch).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, Generic, TypeVar

import numpy as np

from milpcb.constraints import SideConstraint
from milpcb.errors import InputError
from milpcb.protocols.oracles import SeveralTables
from milpcb.types import Floats, Ints, Policy, Stop


@dataclass(frozen=True, eq=False)
class Within:
    """The policies of total cost at most ``bound``, by ``costs`` (g, K), that keep all ``rows``."""

    costs: Floats
    bound: float
    rows: tuple[SideConstraint, ...] = ()


@dataclass(frozen=True, eq=False)
class Listing:
    """Policies with different labelings, by their ``totals`` (n,), which do not decrease.

    ``policy`` makes one, given its number. Where the list is not ``complete`` it has some of the policies, or none.
    """

    totals: Floats
    policy: Callable[[int], Policy]
    complete: bool = True


Place = TypeVar("Place")  # a context, as the recursion knows it

# Numbers of places that are kept, 80 MB; places of other rows are computed again.
MOST_HELD = 10**7
AT_ONCE = 2**20  # terms that costs are added to at a time


class Recursion(ABC, Generic[Place]):
    """One recursion over all derivations of a class (the ways to write a policy), read in several semirings."""

    @abstractmethod
    def value(self, totals: Floats) -> float:
        """Return the least total, in the semiring (min, +)."""

    @abstractmethod
    def minimise(self, totals: Floats) -> tuple[float, Policy]:
        """Return the least total and a policy that attains it; the lowest-numbered choice wins a tie."""

    @abstractmethod
    def profile(self, totals: Floats, place: Place) -> Floats:
        """Return V[a] (K,): the least total of the policies that play a at ``place``, inf where none does."""

    def profiles(self, totals: Floats, places: Sequence[Place]) -> Floats:
        """Return (n, K): the profiles at some places, of the same totals."""
        return np.array([self.profile(totals, place) for place in places])

    def log_weights(self, totals: Floats, place: Place, rate: float) -> Floats:
        """Return (K,): log of the summed exp(-rate * total) of the derivations that play a at ``place``."""
        del totals, place, rate
        raise not_given(self, "action_weights")

    def under(self, rows: Sequence[SideConstraint]) -> Any:
        """Return the recursion over the policies alone that keep ``rows``, on the same totals.

        Where none keeps them, values and profiles are infinite and minimise raises InfeasibleError.
        """
        del rows
        raise not_given(self, "constraints")


class Search(Recursion[int]):
    """A policy class's own exact search: totals are costs (g, K) by distinct context, a place is the number of one."""

    def answer(self, costs: Floats) -> tuple[float, float, Policy, Stop]:
        """Return bounds on the least total cost, a policy that attains the upper one, and why the search stopped."""
        value, policy = self.minimise(costs)
        return value, value, policy, Stop.OPTIMAL


class Terms(Recursion[Ints]):
    """The terms of a policy class with fixed cut points, and the recursion over their totals (n_terms,).

    A *place* is the terms (S, K) that a cost of each action at a context is added to, always S different ones, so that
    the total of a policy's terms is its total cost.
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

    def held_places(self, context: Callable[[int], Floats]) -> Callable[[int], Ints]:
        """Return the place of a row as a function that keeps its last answers; ``context`` returns that of a row."""
        most = max(1, MOST_HELD // (self.n_touched * self.n_actions))
        return lru_cache(most)(lambda row: self.places(context(row)[None])[0])

    def totals(self, contexts: Floats, costs: Floats) -> Floats:
        """Return the totals (n_terms,) of ``costs`` (n, K) at ``contexts`` (n, d); integer costs stay exact."""
        return self.adder(contexts)(costs)

    def adder(self, contexts: Floats) -> Callable[[Floats], Floats]:
        """Return a function of costs (n, K) at these ``contexts`` (n, d), for many queries.

        It returns their totals, or others that are the same for every derivation, in an array that it may reuse.
        """
        places = np.array(self.places(contexts), dtype=np.int64).reshape(-1, self.n_actions)

        def add_up(costs: Floats) -> Floats:
            added = np.repeat(costs, self.n_touched, axis=0)
            return np.asarray(np.bincount(places.ravel(), added.ravel(), self.n_terms), dtype=float)

        return add_up

    def near(self, contexts: Floats, asked: Within) -> Listing | None:
        """Return the policies within a bound at ``contexts`` (n, d), see Opened.near; None without a list of them."""
        del contexts, asked
        return None

    def add(self, totals: Floats, contexts: Floats, actions: Ints, amounts: Floats) -> None:
        """Add ``amounts`` (n,), one cell after the other: the cost of ``actions`` (n,) at ``contexts`` (n, d)."""
        for part in np.array_split(np.arange(len(actions)), 1 + len(actions) * self.n_touched // AT_ONCE):
            for place, action, amount in zip(self.places(contexts[part]), actions[part], amounts[part], strict=True):
                totals[place[:, action]] += amount

    def value(self, totals: Floats) -> float:
        """Return the least total of all derivations: the least entry of a profile, at any place."""
        return float(self.profile(totals, self._anywhere).min())

    @cached_property
    def _anywhere(self) -> Ints:
        return self.places(np.zeros((1, self.n_features)))[0]

    def several(self, place: Callable[[int], Ints], count: Callable[[float], float]) -> SeveralTables | None:
        """Return tables of totals that share one recursion, none begun yet; None where no recursion does that.

        ``place`` returns the place of a row, and ``count`` counts a query, given its start.
        """
        del place, count
        return None


class RestrictedTerms(Terms):
    """The ``terms`` of a class with a recursion over some of its policies, which a subclass of this has."""

    def __init__(self, terms: Terms) -> None:
        self.terms = terms
        self.n_actions, self.n_terms = terms.n_actions, terms.n_terms
        self.n_touched, self.n_features = terms.n_touched, terms.n_features

    def places(self, contexts: Floats) -> list[Ints]:
        return self.terms.places(contexts)

    def adder(self, contexts: Floats) -> Callable[[Floats], Floats]:
        return self.terms.adder(contexts)


class TermSearch(Search):
    """Exact answers from the recursion over the totals of ``terms``, of costs (g, K) at ``contexts`` (g, d)."""

    def __init__(self, terms: Terms, contexts: Floats) -> None:
        self._terms, self._contexts = terms, contexts
        self._add_up = terms.adder(contexts)
        self._place = terms.held_places(contexts.__getitem__)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self._terms, self._contexts)

    def value(self, costs: Floats) -> float:
        return self._terms.value(self._add_up(costs))

    def minimise(self, costs: Floats) -> tuple[float, Policy]:
        return self._terms.minimise(self._add_up(costs))

    def profile(self, costs: Floats, row: int) -> Floats:
        return self._terms.profile(self._add_up(costs), self._place(row))

    def profiles(self, costs: Floats, rows: Sequence[int]) -> Floats:
        return self._terms.profiles(self._add_up(costs), [self._place(row) for row in rows])

    def log_weights(self, costs: Floats, row: int, rate: float) -> Floats:
        return self._terms.log_weights(self._add_up(costs), self._place(row), rate)

    def under(self, rows: Sequence[SideConstraint]) -> TermSearch:
        return TermSearch(self._terms.under([row.mapped(self._add_up) for row in rows]), self._contexts)


def not_given(owner: Any, capability: str) -> InputError:
    """Return the error on a foreign class that declares a capability and lacks its method."""
    return InputError(
        f"the class of {type(owner).__name__} declares '{capability}' in capabilities and has no method for it: write "
        "it, or leave it out"
    )
