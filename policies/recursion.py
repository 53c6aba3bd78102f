"""One recursion of a class, asked about costs on fixed contexts and about totals that are kept.

A recursion reads *tables*: the totals of the parts of policies, laid out as suits the class. A search makes them from
costs, the terms of a class from leaf totals; nothing else differs between the two.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any

from milpcb.protocols import Policy, Search, SideConstraint, Terms
from milpcb.types import Floats, Ints
from policies.derivations import ListedTerms


class Recursion(ABC):
    """The sum over all derivations of a class, in any semiring.

    ``own`` is what the recursion needs to know of a context: which parts hold it.
    """

    @abstractmethod
    def value(self, tables: Any) -> float:
        """Return the least total."""

    @abstractmethod
    def minimise(self, tables: Any) -> tuple[float, Policy]:
        """Return the least total and a policy that attains it; the first choice wins a tie."""

    @abstractmethod
    def profile(self, tables: Any, own: Any) -> Floats:
        """Return (K,): the least total by the action at the context."""

    @abstractmethod
    def log_weights(self, logs: Any, own: Any) -> Floats:
        """Return (K,): the log of the summed weights by the action at the context; ``logs`` are of -rate * totals."""


class RecursionSearch(Search):
    """The ``recursion`` on fixed contexts.

    ``tables`` are made from costs (g, K), ``own`` is that of a row.
    """

    def __init__(self, recursion: Recursion, tables: Callable[[Floats], Any], own: Callable[[int], Any]) -> None:
        self._recursion, self._tables, self._own = recursion, tables, own

    def value(self, costs: Floats) -> float:
        """Return the least total cost."""
        return self._recursion.value(self._tables(costs))

    def minimise(self, costs: Floats) -> tuple[float, Policy]:
        """Return the least total cost and a policy that attains it."""
        return self._recursion.minimise(self._tables(costs))

    def profile(self, costs: Floats, row: int) -> Floats:
        """Return (K,): the least total cost by the action at ``row``."""
        return self._recursion.profile(self._tables(costs), self._own(row))

    def log_weights(self, costs: Floats, row: int, rate: float) -> Floats:
        """Return (K,): log of the summed exp(-rate * total cost) of the derivations by the action at ``row``."""
        return self._recursion.log_weights(self._tables(-rate * costs), self._own(row))


class RecursionTerms(ListedTerms):
    """The ``recursion`` over leaf totals that are kept."""

    recursion: Recursion

    @abstractmethod
    def tables(self, totals: Floats) -> Any:
        """Return the tables that the recursion reads, from totals (n_terms,)."""

    @abstractmethod
    def own(self, place: Ints) -> Any:
        """Return what the recursion needs to know of a context, from its place (S, K)."""

    def profile(self, totals: Floats, place: Ints) -> Floats:
        """Return (K,): the least total of the derivations by the action at ``place``."""
        return self.recursion.profile(self.tables(totals), self.own(place))

    def minimise(self, totals: Floats) -> tuple[float, Policy]:
        """Return the least total and a policy that attains it."""
        return self.recursion.minimise(self.tables(totals))

    def log_weights(self, totals: Floats, place: Ints, rate: float) -> Floats:
        """Return (K,): log of the summed exp(-rate * total) of the derivations by the action at ``place``."""
        return self.recursion.log_weights(self.tables(-rate * totals), self.own(place))

    def under(self, rows: Sequence[SideConstraint]) -> Terms:
        """Return the terms with a recursion over the derivations alone that keep ``rows``."""
        from policies.weighted_folds import KeptTerms  # the compiler takes its time: only for those who have rows

        return KeptTerms(self, rows)
