"""A class known by its terms: any list of contexts will do, none or a growing one, as nothing is computed for it."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

import numpy as np

from milpcb.errors import InputError
from milpcb.oracles.term_table import held_places
from milpcb.protocols import Encoding, Opened, Policy, Search, Terms
from milpcb.types import Floats, Ints

NO_CONTEXTS = "a class that is known by its terms alone has no {}: open it on contexts, by open_oracle"


class OpenedTerms(Opened):
    """The terms of a class, with a list of contexts (m, d). ``log_size`` counts derivations, over all cut points."""

    can = frozenset({"search", "action_weights", "terms"})

    def __init__(self, terms: Terms, contexts: Floats, log_size: float) -> None:
        self.n_actions = terms.n_actions
        self.group, self.contexts = np.arange(len(contexts)), contexts
        self.log_size = log_size
        self._terms = terms

    def terms(self) -> Terms:
        """Return the terms."""
        return self._terms

    def search(self) -> Search:
        """Return the search that adds up the totals of the terms for each question."""
        return TermSearch(self._terms, self.contexts)

    def program(self, *, constrained: bool = False) -> Encoding:
        """Raise InputError: a program is that of a class on its contexts."""
        del constrained
        raise InputError(NO_CONTEXTS.format("program"))

    def policies(self) -> Iterator[Policy]:
        """Raise InputError."""
        raise InputError(NO_CONTEXTS.format("list of policies"))

    def draw(self, rng: np.random.Generator) -> Policy:
        """Raise InputError."""
        del rng
        raise InputError(NO_CONTEXTS.format("random policy"))


class TermSearch(Search):
    """Exact answers from the recursion over the totals of ``terms``, of costs (m, K) at ``contexts`` (m, d)."""

    def __init__(self, terms: Terms, contexts: Floats) -> None:
        self._terms = terms
        self._add_up = terms.adder(contexts)
        self._place = held_places(terms, contexts.__getitem__)

    def value(self, costs: Floats) -> float:
        """Return the least total cost."""
        return float(self._terms.profile(self._add_up(costs), self._anywhere).min())

    def minimise(self, costs: Floats) -> tuple[float, Policy]:
        """Return the least total cost and a policy that attains it."""
        return self._terms.minimise(self._add_up(costs))

    def profile(self, costs: Floats, row: int) -> Floats:
        """Return (K,): the least total cost by the action at ``row``."""
        return self._terms.profile(self._add_up(costs), self._place(row))

    def log_weights(self, costs: Floats, row: int, rate: float) -> Floats:
        """Return (K,): log of the summed exp(-rate * total cost) of the derivations by the action at ``row``."""
        return self._terms.log_weights(self._add_up(costs), self._place(row), rate)

    @cached_property
    def _anywhere(self) -> Ints:
        """Return the place of a context: the least total is the least entry of its profile, whichever it is."""
        return self._terms.places(np.zeros((1, self._terms.n_features)))[0]
