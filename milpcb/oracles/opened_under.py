"""A class under side constraints, for a search: forbidden actions get a penalty, the rest are rows of leaf totals.

A constraint and its negative are one two-sided constraint, lower <= sum_j weights[j, pi(x_j)] <= upper. If an action at
one context breaks it, whatever is played elsewhere, no policy may play that action there: it is forbidden. Guard-rails
consist of forbidden actions alone. A constraint that can then no longer be broken is left out; all others go to
``Terms.under``, or to ``Search.under`` of classes without leaf totals.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cached_property

import numpy as np

from milpcb.errors import InputError
from milpcb.oracles.forbidden import AvoidingSearch, AvoidingTerms
from milpcb.oracles.side_rows import SideRow
from milpcb.protocols import (
    Encoding,
    LabelRow,
    Listing,
    Opened,
    Policy,
    PolicyClass,
    Search,
    TermRow,
    Terms,
    Within,
)
from milpcb.term_search import TermSearch
from milpcb.types import Bools, Floats

ONLY_SEARCHED = 'a class under side constraints has no {} here; use oracle kind "milp" or "enumeration"'


class Band(LabelRow):
    """The rule ``lower <= sum_j weights[j, pi(x_j)] <= upper`` on the distinct contexts."""

    def playable(self, allowed: Bools) -> Bools:
        """Return the cells (g, K) that some labeling of ``allowed`` cells uses without breaking the band."""
        least, most = self._extremes(allowed)
        lightest = least.sum() + (self.weights - least[:, None])
        heaviest = most.sum() + (self.weights - most[:, None])
        return np.asarray(allowed & (lightest <= self.upper) & (heaviest >= self.lower))

    def breakable(self, allowed: Bools) -> bool:
        """Return whether some labeling of ``allowed`` cells breaks the band."""
        least, most = self._extremes(allowed)
        return bool(most.sum() > self.upper or least.sum() < self.lower)

    def _extremes(self, allowed: Bools) -> tuple[Floats, Floats]:
        """Return the least and the largest weight (g,) of each context."""
        least = np.where(allowed, self.weights, np.inf).min(axis=1)
        return least, np.where(allowed, self.weights, -np.inf).max(axis=1)


def bands(sides: Sequence[SideRow]) -> list[Band]:
    """Return the constraints, each together with its negative and its repetitions."""
    found: dict[bytes, Band] = {}
    for side in sides:
        key, negative = (side.weights + 0.0).tobytes(), (0.0 - side.weights).tobytes()  # where -0.0 is 0.0
        if negative in found:
            band = found[negative]
            found[negative] = Band(band.weights, max(band.lower, -side.largest), band.upper)
        else:
            band = found.get(key, Band(side.weights, -np.inf, np.inf))
            found[key] = Band(band.weights, band.lower, min(band.upper, side.largest))
    return list(found.values())


def reduced(every: Sequence[Band], shape: tuple[int, int]) -> tuple[Bools, list[Band]]:
    """Return the cells (g, K) that may be played, and the bands that can be broken by playing only these.

    A cell forbidden by one band narrows the others, so they are gone through until nothing more is forbidden.
    """
    allowed, before = np.ones(shape, bool), np.zeros(shape, bool)
    while (allowed != before).any():
        before = allowed
        for band in every:
            allowed = band.playable(allowed)
            if not allowed.any(axis=1).all():
                return allowed, []
    return allowed, [band for band in every if band.breakable(allowed)]


class OpenedUnder(Opened):
    """The policies of an opened class that keep all ``sides``, for a search; where none does, profiles are infinite.

    ``log_size`` is at most that of the class, and at most that of the derivations left. Raises InputError where the
    class has no recursion under what is left of the constraints.
    """

    def __init__(self, opened: Opened, sides: Sequence[SideRow]) -> None:
        self._opened = opened
        self.n_actions, self.group, self.contexts = opened.n_actions, opened.group, opened.contexts
        self.class_name, self.unsupported = opened.class_name or type(opened).__name__, opened.unsupported
        self.settings = opened.settings
        self.capabilities = opened.capabilities & {"search", "action_weights", "terms", "fixed"}
        allowed, self._rows = reduced(bands(sides), (len(opened.contexts), opened.n_actions))
        self._forbidden = None if allowed.all() else ~allowed
        if self._rows:
            opened.require("side_rows")

    @cached_property
    def log_size(self) -> float:  # type: ignore[override]
        """See above; computed when it is first asked for."""
        if "action_weights" not in self.capabilities:
            return self._opened.log_size
        left = self.search().log_weights(np.zeros((len(self.contexts), self.n_actions)), 0, 0.0)
        return min(self._opened.log_size, float(np.logaddexp.reduce(left)))

    def feasible(self) -> bool:
        """Return whether any policy is left."""
        return self.search().value(np.zeros((len(self.contexts), self.n_actions))) < np.inf

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
    def _search(self) -> Search:
        search = self._search_under_rows() if self._rows else self._opened.search()
        return search if self._forbidden is None else AvoidingSearch(search, self._forbidden)

    def _search_under_rows(self) -> Search:
        """Return the search of the terms, of a class without terms its own."""
        if "terms" in self.capabilities:
            return TermSearch(self._terms, self.contexts)
        return self._opened.search().under(self._rows)

    def terms(self) -> Terms:
        """Return the terms, whose recursion is over the policies left."""
        return self._terms if self._forbidden is None else AvoidingTerms(self._terms, self.contexts, self._forbidden)

    @cached_property
    def _terms(self) -> Terms:
        """Return the terms under the rows alone."""
        terms = self._opened.terms()
        add_up = terms.adder(self.contexts)
        rows = [TermRow(add_up(row.weights).copy(), row.lower, row.upper) for row in self._rows]
        return terms.under(rows) if rows else terms

    def near(self, asked: Within) -> Listing | None:
        """Return the policies asked for, those of the class that keep the constraints."""
        rows = list(self._rows)
        if self._forbidden is not None:
            rows.append(Band(self._forbidden.astype(float), -np.inf, 0.5))
        return self._opened.near(replace(asked, rows=(*asked.rows, *rows)))

    def fixed(self) -> PolicyClass:
        """Return the class, without the constraints."""
        return self._opened.fixed()

    def program(self, *, constrained: bool = False) -> Encoding:
        """Raise InputError: constraints are rows of the program of kind "milp"."""
        del constrained
        raise InputError(ONLY_SEARCHED.format("program"))

    def policies(self) -> Iterator[Policy]:
        """Raise InputError."""
        raise InputError(ONLY_SEARCHED.format("list of policies"))

    def draw(self, rng: np.random.Generator) -> Policy:
        """Raise InputError."""
        del rng
        raise InputError(ONLY_SEARCHED.format("random policy"))
