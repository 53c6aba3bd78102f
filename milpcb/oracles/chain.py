"""The chain of a search: the steps from a table of costs to an answer, as data, and classes under side constraints.

``steps`` yields them in the order in which an oracle of kind "search" tries them, and ``Oracle.explain`` prints them.

A constraint and its negative are one two-sided constraint, lower <= sum_j weights[j, pi(x_j)] <= upper. If an action at
one context breaks it, whatever is played elsewhere, no policy may play that action there: it is forbidden, by a
penalty. Guard-rails consist of forbidden actions alone. A constraint that can then no longer be broken is left out; all
others are rows of leaf totals, which go to ``Terms.under``, or to ``Search.under`` of classes without leaf totals.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cache, cached_property, partial
from typing import Any, NamedTuple, cast

import numpy as np

from milpcb.constraints.linear import SideConstraint, merged, reduced
from milpcb.core.decimals import spaced
from milpcb.errors import InfeasibleError, SearchTooLargeError
from milpcb.oracles.query import LEAST_RANGE
from milpcb.plugins import registry
from milpcb.protocols import (
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
from milpcb.types import Bools, Floats, Ints, Stop

# A weight of e^-2000 is none, as no class that can be searched has e^1000 derivations.
NO_WEIGHT = 2000.0
_ONLY = 'a class under side constraints is only searched; use oracle kind "milp" or "enumeration"'
_NO_LIMIT = "under side constraints the search does not end at a time_limit; leave it out, or use kind 'milp'"

Ask = Callable[..., Any]  # of the name of a query and its arguments; it returns the answer


class _Avoiding(Recursion[Place]):
    """A recursion over the policies that use none of the ``forbidden`` totals, an array like these; None: of all."""

    _forbidden: Bools | None

    @abstractmethod
    def _ask(self, query: str, *given: Any) -> Any:
        """Return the answer of the recursion over all policies to the query of this name."""

    @abstractmethod
    def _range(self, totals: Floats) -> tuple[float, float]:
        """Return bounds on the total of every policy, without any penalty."""

    def value(self, totals: Floats) -> float:
        priced, most = self._priced(totals)
        value = float(self._ask("value", priced))
        return np.inf if value > most else value

    def minimise(self, totals: Floats) -> tuple[float, Policy]:
        return self._minimum(self._ask, totals)

    def _minimum(self, ask: Ask, totals: Floats) -> tuple[float, Policy]:
        priced, most = self._priced(totals)
        value, policy = ask("minimise", priced)
        if value > most:
            raise InfeasibleError("no policy of the class avoids the forbidden actions")
        return value, policy

    def profile(self, totals: Floats, place: Place) -> Floats:
        return self._profiles("profile", totals, place)

    def profiles(self, totals: Floats, places: Sequence[Place]) -> Floats:
        return self._profiles("profiles", totals, places)

    def _profiles(self, query: str, totals: Floats, at: Any) -> Floats:
        priced, most = self._priced(totals)
        found = np.asarray(self._ask(query, priced, at))
        return found if self._forbidden is None else np.where(found <= most, found, np.inf)

    def log_weights(self, totals: Floats, place: Place, rate: float) -> Floats:
        if self._forbidden is None:
            return np.asarray(self._ask("log_weights", totals, place, rate))
        scaled = rate * totals
        least, most = self._range(scaled)
        logs = self._ask("log_weights", scaled + (NO_WEIGHT + most - least) * self._forbidden, place, 1.0)
        return np.where(logs < -most - NO_WEIGHT / 2, -np.inf, logs)

    def _priced(self, totals: Floats) -> tuple[Floats, float]:
        """Return totals with a penalty beyond their range, and a bound that only totals with a penalty are above."""
        if self._forbidden is None:
            return totals, np.inf
        least, most = self._range(totals)
        size = float(np.abs(totals).sum())
        price = 2.0 * (most - least) if most - least > LEAST_RANGE * size else size or 1.0
        return totals + price * self._forbidden, most + price / 4.0


class AvoidingTerms(_Avoiding[Ints], RestrictedTerms):
    """The ``terms`` with the recursion over the policies that play no cell of ``forbidden`` (n, K) at ``contexts``."""

    def __init__(self, terms: Terms, contexts: Floats, forbidden: Bools) -> None:
        super().__init__(terms)
        self._forbidden = terms.totals(contexts, forbidden.astype(float)) > 0.0

    def _ask(self, query: str, *given: Any) -> Any:
        return getattr(self.terms, query)(*given)

    def _range(self, totals: Floats) -> tuple[float, float]:
        size = float(np.abs(totals).sum())
        return -size, size


class Chain(_Avoiding[int], Search):
    """The search that tries the steps in turn."""

    def __init__(self, under: OpenedUnder) -> None:
        self._under, self._forbidden = under, under.forbidden

    def __getstate__(self) -> dict[str, Any]:
        return {"_under": self._under, "_forbidden": self._forbidden}

    def opened(self) -> Chain:
        """Return the chain after making its first search, so that a class without it is refused at once."""
        self._asked[0]()
        return self

    def lines(self) -> list[str]:
        """Return the name of each step, and its reason."""
        return [f"{step.name}: {step.why}" for step in self._steps]

    def answer(self, costs: Floats) -> tuple[float, float, Policy, Stop]:
        found = self._ask("answer", costs) if self._forbidden is None else super().answer(costs)
        return cast("tuple[float, float, Policy, Stop]", found)

    def minimise_first(self, costs: Floats) -> tuple[float, Policy]:
        """Answer ``minimise`` by the first step alone, which may raise SearchTooLargeError."""
        return self._minimum(self._asked[0](), costs)

    @cached_property
    def _steps(self) -> list[SearchStep]:
        return list(steps(self._under))

    @cached_property
    def _asked(self) -> list[Callable[[], Ask]]:
        """Makers of the queries of each step, kept once made: a recursion under rows has much to hold."""
        return [cache(step.ask) for step in self._steps if step.ask is not None]

    def _ask(self, query: str, *given: Any) -> Any:
        for ask in self._asked[:-1]:
            with suppress(SearchTooLargeError):
                return ask()(query, *given)
        return self._asked[-1]()(query, *given)

    def _range(self, totals: Floats) -> tuple[float, float]:
        return float(totals.min(axis=1).sum()), float(totals.max(axis=1).sum())


class OpenedUnder(Opened):
    """The policies of an opened class that keep all ``sides``, for a search; where none does, profiles are infinite.

    No policy may play the cells of ``forbidden`` (g, K), None for none; ``rows`` are the other constraints.
    ``log_size`` is the smaller of those of the class and of the derivations left.
    """

    def __init__(self, opened: Opened, sides: Sequence[SideConstraint], time_limit: float | None = None) -> None:
        self.opened, self.time_limit = opened, time_limit
        self.n_actions, self.group, self.contexts = opened.n_actions, opened.group, opened.contexts
        self.class_name = opened.class_name or type(opened).__name__
        self.settings, self.log_union = opened.settings, opened.log_union
        only = dict.fromkeys(("program", "policies", "draw"), _ONLY)
        self.unsupported = {**opened.unsupported, **only, "time_limit": _NO_LIMIT}
        self.capabilities = opened.capabilities & {"search", "action_weights", "totals", "fixed"}
        allowed, self.rows = reduced(merged(sides), (len(opened.contexts), opened.n_actions))
        self.forbidden = None if allowed.all() else ~allowed
        self.keeps_totals = bool(self.rows) or opened.keeps_totals
        self._chain = Chain(self)
        if self.rows:
            opened.require("constraints")

    @cached_property
    def log_size(self) -> float:  # type: ignore[override]
        """See above."""
        if "action_weights" not in self.capabilities:
            return self.opened.log_size
        try:
            left = self.search().log_weights(np.zeros((len(self.contexts), self.n_actions)), 0, 0.0)
        except SearchTooLargeError:
            return self.opened.log_size
        return min(self.opened.log_size, float(np.logaddexp.reduce(left)))

    def feasible(self) -> bool:
        """Return whether any policy is left; policies that play one action wherever they may are tried first."""
        n_contexts = len(self.contexts)
        try:
            for costs in 1.0 - np.eye(self.n_actions):
                with suppress(SearchTooLargeError):
                    self._chain.minimise_first(np.tile(costs, (n_contexts, 1)))
                    return True
        except InfeasibleError:
            return False
        return self._chain.value(np.zeros((n_contexts, self.n_actions))) < np.inf

    def search(self) -> Chain:
        """Return the chain of steps; always the same one."""
        return self._chain

    @property
    def by_solver(self) -> bool:
        """Whether a solver answers: where it is faster for the class, and policies have no constraints."""
        free = self.forbidden is None and not self.rows and self.time_limit is None
        return free and self.opened.solver_is_quicker

    @cached_property
    def solver(self) -> Any:
        """The oracle of kind "milp"."""
        return registry.load("oracle", "milp")(self.opened, self.contexts[self.group])

    @property
    def rows_by_terms(self) -> bool:
        """Whether rows are kept by the recursion over leaf totals, and not by the class's own search."""
        return bool(self.rows) and "totals" in self.capabilities and not self.opened.search_keeps_rows

    def terms(self) -> Terms:
        terms = self.row_terms
        return terms if self.forbidden is None else AvoidingTerms(terms, self.contexts, self.forbidden)

    @cached_property
    def row_terms(self) -> Terms:
        """The terms under the rows alone."""
        terms = self.opened.terms()
        if not self.rows:
            return terms
        add_up = terms.adder(self.contexts)
        return cast("Terms", terms.under([row.mapped(add_up) for row in self.rows]))

    def near(self, asked: Within) -> Listing | None:
        cells = [] if self.forbidden is None else [SideConstraint(self.forbidden.astype(float), upper=0.5)]
        return self.opened.near(replace(asked, rows=(*asked.rows, *self.rows, *cells)))

    def fixed(self) -> PolicyClass:
        return self.opened.fixed()


def _asking(search: Search) -> Ask:
    return lambda query, *given: getattr(search, query)(*given)


def _free_optimum(under: OpenedUnder) -> Ask:
    """Return the best policy without rows, where it keeps them; every other query is left to the next step."""
    search = under.opened.search()

    def ask(query: str, *given: Any) -> Any:
        if query in {"minimise", "answer"}:
            found = getattr(search, query)(*given)
            labels = found[-1 if query == "minimise" else 2].predict(under.contexts)
            if all(row.keeps(labels) for row in under.rows):
                return found
        raise SearchTooLargeError("the best policy without side constraints does not keep them")

    return ask


class SearchStep(NamedTuple):
    """A step: its name, ``why`` it is taken, and the maker of its search; after SearchTooLargeError comes the next."""

    name: str
    why: str
    ask: Callable[[], Ask] | None = None


def steps(u: OpenedUnder) -> Iterator[SearchStep]:
    """Yield the steps of the search in a class under side constraints, in the order in which they are tried."""
    if u.forbidden is not None:
        cells = f"{spaced(u.forbidden.sum())} of {spaced(u.forbidden.size)}"
        yield SearchStep("forbidden", f"{cells} pairs of a context and an action, by side constraints")
    if u.rows:
        free = f"the best policy without side constraints, by {u.opened.describe_search()}, if it keeps them"
        yield SearchStep("first", free, partial(_free_optimum, u))
    sums = f"constraints kept as sums: {len(u.rows)}"
    if u.by_solver:
        slower = f"a solver, which is often quicker than {u.opened.describe_search()}"
        yield SearchStep("route", "\n".join([slower, *u.solver.route()]), lambda: cast("Ask", u.solver.ask))
    elif u.time_limit is not None:
        limit, ends = u.time_limit, "with the best policy so far and its bounds"
        why = f"by a search that ends after {limit:g} s {ends}"
        yield SearchStep("answers", why, lambda: _asking(u.opened.search_within(limit)))
    elif u.rows_by_terms:
        why = f"by a recursion over {spaced(u.row_terms.n_terms)} leaf totals, {sums}"
        yield SearchStep("answers", why, lambda: _asking(TermSearch(u.row_terms, u.contexts)))
    elif u.rows:
        yield SearchStep("answers", f"by the same search, {sums}", lambda: _asking(u.opened.search().under(u.rows)))
    else:
        yield SearchStep("answers", f"by {u.opened.describe_search()}", lambda: _asking(u.opened.search()))
