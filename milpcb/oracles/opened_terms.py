"""A policy class known by its leaf totals alone: contexts need not be known, and nothing is computed for them."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from milpcb.errors import InputError
from milpcb.protocols import Encoding, Opened, Policy, Search, Terms
from milpcb.term_search import TermSearch
from milpcb.types import Floats

NO_CONTEXTS = "a class that is known by its terms alone has no {}: open it on contexts, by open_oracle"


class OpenedTerms(Opened):
    """The terms of a class, with a list of contexts (m, d). ``log_size`` counts derivations, over all cut points."""

    capabilities = frozenset({"search", "action_weights", "terms", "side_rows"})

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

    def describe_search(self) -> str:
        """Name the totals that are added up."""
        return f"the recursion of the class over the totals of its {self._terms.n_terms:,} terms"

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
