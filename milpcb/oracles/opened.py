"""Classes that are only searched: under side constraints, or known by their leaf totals alone.

A constraint and its negative are one two-sided constraint, lower <= sum_j weights[j, pi(x_j)] <= upper. If an action at
one context breaks it, whatever is played elsewhere, no policy may play that action there: it is forbidden, by a
penalty. Guard-rails consist of forbidden actions alone. A constraint that can then no longer be broken is left out; all
others are rows of leaf totals, which go to ``Terms.under``, or to ``Search.under`` of classes without leaf totals.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from typing import ClassVar, cast

import numpy as np

from milpcb.constraints.linear import SideConstraint, merged, reduced
from milpcb.errors import InfeasibleError, InputError, SearchTooLargeError
from milpcb.oracles.query import LEAST_RANGE
from milpcb.protocols import (
    Encoding,
    Listing,
    Opened,
    Policy,
    PolicyClass,
    Recursion,
    RestrictedTerms,
    Search,
    Terms,
    TermSearch,
    Within,
)
from milpcb.protocols.recursion import Place
from milpcb.types import Bools, Floats, Ints

# A weight of e^-2000 is none, as no class that can be searched has e^1000 derivations.
NO_WEIGHT = 2000.0
NOBODY = "no policy of the class avoids the forbidden actions"


class _Avoiding(Recursion[Place]):
    """The recursion ``asked`` over the policies that use none of the ``forbidden`` totals, an array like these.

    Where it is None nothing is forbidden.
    """

    _asked: Recursion[Place]
    _forbidden: Bools | None

    def value(self, totals: Floats) -> float:
        priced, most = self._priced(totals)
        value = self._asked.value(priced)
        return value if value <= most else np.inf

    def minimise(self, totals: Floats) -> tuple[float, Policy]:
        return self._minimum(self._asked, totals)

    def profile(self, totals: Floats, place: Place) -> Floats:
        return np.asarray(self.profiles(totals, [place])[0])

    def profiles(self, totals: Floats, places: Sequence[Place]) -> Floats:
        priced, most = self._priced(totals)
        profiles = self._asked.profiles(priced, places)
        return np.where(profiles <= most, profiles, np.inf)

    def log_weights(self, totals: Floats, place: Place, rate: float) -> Floats:
        if self._forbidden is None:
            return self._asked.log_weights(totals, place, rate)
        scaled = rate * totals
        least, most = self._range(scaled)
        logs = self._asked.log_weights(scaled + (NO_WEIGHT + most - least) * self._forbidden, place, 1.0)
        return np.where(logs < -most - NO_WEIGHT / 2, -np.inf, logs)

    @abstractmethod
    def _range(self, totals: Floats) -> tuple[float, float]:
        """Return bounds on the total of every policy, without any penalty."""

    def _minimum(self, asked: Recursion[Place], totals: Floats) -> tuple[float, Policy]:
        priced, most = self._priced(totals)
        value, policy = asked.minimise(priced)
        if value > most:
            raise InfeasibleError(NOBODY)
        return value, policy

    def _priced(self, totals: Floats) -> tuple[Floats, float]:
        """Return totals with the penalties, and a bound that only totals with a penalty are above.

        A penalty is twice the range of all totals, or their size where they differ by little more than rounding: in the
        unit of the costs, and whole where these are.
        """
        if self._forbidden is None:
            return totals, np.inf
        least, most = self._range(totals)
        size = float(np.abs(totals).sum())
        price = 2.0 * (most - least) if most - least > LEAST_RANGE * size else size or 1.0
        return totals + price * self._forbidden, most + price / 4.0


class SearchUnder(_Avoiding[int], Search):
    """The search over the policies of a class that play no cell of ``forbidden`` (g, K) and keep all rows.

    Where the best policy of the ``free`` search is one that ``keeps_all`` accepts, that is the answer: the recursion
    ``under`` the rows, which has much to hold, is made only when it is not.
    """

    def __init__(
        self,
        free: Search,
        forbidden: Bools | None,
        under: Callable[[], Search] | None,
        keeps_all: Callable[[Policy], bool],
    ) -> None:
        self._free, self._forbidden, self._under, self._keeps_all = free, forbidden, under, keeps_all

    @cached_property
    def _asked(self) -> Search:  # type: ignore[override]  # made when it is first asked
        return self._free if self._under is None else self._under()

    def first(self, costs: Floats) -> tuple[float, Policy] | None:
        """Return the least total and a policy where the free search finds one that keeps the rows."""
        found = self._minimum(self._free, costs)
        return found if self._keeps_all(found[1]) else None

    def minimise(self, costs: Floats) -> tuple[float, Policy]:
        """Return the least total cost and a policy that attains it."""
        return self.first(costs) or super().minimise(costs)

    def _range(self, totals: Floats) -> tuple[float, float]:
        return float(totals.min(axis=1).sum()), float(totals.max(axis=1).sum())


class AvoidingTerms(_Avoiding[Ints], RestrictedTerms):
    """The ``terms`` with the recursion over the policies that play no cell of ``forbidden`` (n, K) at ``contexts``."""

    def __init__(self, terms: Terms, contexts: Floats, forbidden: Bools) -> None:
        super().__init__(terms)
        self._asked, self._forbidden = terms, terms.totals(contexts, forbidden.astype(float)) > 0.0

    def _range(self, totals: Floats) -> tuple[float, float]:
        size = float(np.abs(totals).sum())
        return -size, size


_NO_TIME_LIMIT = "under side constraints the search does not end at a time_limit; leave it out, or use kind 'milp'"


class OnlySearched(Opened):
    """A class that is only searched: it has no program, no list and no draws, for the ``reason``."""

    reason: ClassVar[str]

    def program(self, *, constrained: bool = False) -> Encoding:
        """Raise InputError."""
        del constrained
        raise InputError(self.reason.format("program"))

    def policies(self) -> Iterator[Policy]:
        """Raise InputError."""
        raise InputError(self.reason.format("list of policies"))

    def draw(self, rng: np.random.Generator) -> Policy:
        """Raise InputError."""
        del rng
        raise InputError(self.reason.format("random policy"))


class OpenedTerms(OnlySearched):
    """The terms of a class, with a list of contexts (m, d). ``log_size`` counts derivations, over all cut points."""

    reason = "a class that is known by its terms alone has no {}: open it on contexts, by open_oracle"
    capabilities = frozenset({"search", "action_weights", "totals", "constraints"})

    def __init__(self, terms: Terms, contexts: Floats, log_size: float) -> None:
        self.n_actions = terms.n_actions
        self.group, self.contexts = np.arange(len(contexts)), contexts
        self.log_size = log_size
        self._terms = terms

    def terms(self) -> Terms:
        """Return the terms."""
        return self._terms

    def describe_search(self) -> str:
        """Name the totals that are added up."""
        return f"the recursion of the class over the totals of its {self._terms.n_terms:,} terms"


class OpenedUnder(OnlySearched):
    """The policies of an opened class that keep all ``sides``, for a search; where none does, profiles are infinite.

    ``log_size`` is at most that of the class, and at most that of the derivations left. Raises InputError where the
    class has no recursion under what is left of the constraints.
    """

    reason = 'a class under side constraints has no {} here; use oracle kind "milp" or "enumeration"'

    def __init__(self, opened: Opened, sides: Sequence[SideConstraint]) -> None:
        self._opened = opened
        self.n_actions, self.group, self.contexts = opened.n_actions, opened.group, opened.contexts
        self.class_name = opened.class_name or type(opened).__name__
        self.unsupported = {**opened.unsupported, "time_limit": _NO_TIME_LIMIT}
        self.settings = opened.settings
        self.capabilities = opened.capabilities & {"search", "action_weights", "totals", "fixed"}
        allowed, self._rows = reduced(merged(sides), (len(opened.contexts), opened.n_actions))
        self._forbidden = None if allowed.all() else ~allowed
        if self._rows:
            opened.require("constraints")

    @cached_property
    def log_size(self) -> float:  # type: ignore[override]
        """See above; computed when it is first asked for."""
        if "action_weights" not in self.capabilities:
            return self._opened.log_size
        try:
            left = self.search().log_weights(np.zeros((len(self.contexts), self.n_actions)), 0, 0.0)
        except SearchTooLargeError:
            return self._opened.log_size
        return min(self._opened.log_size, float(np.logaddexp.reduce(left)))

    def feasible(self) -> bool:
        """Return whether any policy is left; those that play one action where they can are asked first."""
        shape = len(self.contexts), self.n_actions
        try:
            if any(self._search.first(costs) for costs in _for_each_action(*shape)):
                return True
        except InfeasibleError:
            return False
        return self._search.value(np.zeros(shape)) < np.inf

    def describe_search(self) -> str:
        """Return what the class goes through, and where the constraints are kept."""
        forbidden = 0 if self._forbidden is None else int(self._forbidden.sum())
        cells = f"{forbidden:,} of {len(self.contexts) * self.n_actions:,} pairs of a context and an action"
        return (
            f"{self._opened.describe_search()}; side constraints forbid {cells}; "
            f"the recursion keeps {len(self._rows)} more as sums"
        )

    def search(self) -> Search:
        """Return the search, of the class or of its terms under the rows; always the same one."""
        return self._search

    @cached_property
    def _search(self) -> SearchUnder:
        return SearchUnder(self._opened.search(), self._forbidden, self._under if self._rows else None, self._keeps_all)

    def _under(self) -> Search:
        """Return the search under the rows."""
        if "totals" in self.capabilities and not self._opened.search_keeps_rows:
            return TermSearch(self._terms, self.contexts)
        under: Search = self._opened.search().under(self._rows)
        return under

    def _keeps_all(self, policy: Policy) -> bool:
        """Return whether a policy of the class keeps the rows."""
        labels = policy.predict(self.contexts)
        return all(row.keeps(labels) for row in self._rows)

    def steps(self) -> tuple[float, float]:
        """Return those of the class where constraints only forbid actions; else the terms are searched too."""
        return super().steps() if self._rows else self._opened.steps()

    def terms(self) -> Terms:
        """Return the terms, whose recursion is over the policies left."""
        return self._terms if self._forbidden is None else AvoidingTerms(self._terms, self.contexts, self._forbidden)

    @cached_property
    def _terms(self) -> Terms:
        """Return the terms under the rows alone."""
        terms = self._opened.terms()
        if not self._rows:
            return terms
        add_up = terms.adder(self.contexts)
        return cast("Terms", terms.under([row.mapped(add_up) for row in self._rows]))

    def near(self, asked: Within) -> Listing | None:
        """Return the policies asked for, those of the class that keep the constraints."""
        rows = list(self._rows)
        if self._forbidden is not None:
            rows.append(SideConstraint(self._forbidden.astype(float), upper=0.5))
        return self._opened.near(replace(asked, rows=(*asked.rows, *rows)))

    def fixed(self) -> PolicyClass:
        """Return the class, without the constraints."""
        return self._opened.fixed()


def _for_each_action(n_contexts: int, n_actions: int) -> Iterator[Floats]:
    """Yield costs (g, K) that are 1 for all actions but one."""
    for action in range(n_actions):
        costs = np.ones((n_contexts, n_actions))
        costs[:, action] = 0.0
        yield costs
