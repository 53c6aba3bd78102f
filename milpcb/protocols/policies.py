"""The interface of a policy class: opened on contexts it has a program, a list, and perhaps a search of its own."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Protocol

import numpy as np

from milpcb.core.checks import context_array
from milpcb.errors import InputError, shown
from milpcb.program import Program
from milpcb.protocols.recursion import Listing, Search, Terms, TermSearch, Within, not_given
from milpcb.types import Floats, Ints, Policy


@dataclass(frozen=True)
class Objective:
    """The linear objective ``coefficients @ x + offset`` that a cost matrix becomes."""

    coefficients: Floats
    offset: float = 0.0


@dataclass(frozen=True)
class Cuts:
    """Rows ``lower <= matrix @ x <= upper`` (r, n_columns) that every policy's point keeps, and one such ``point``."""

    matrix: Floats
    lower: Floats
    upper: Floats
    point: Floats


class Separator(Protocol):
    """Finds violated rows of a polytope that has too many to list; see milpcb.solvers.lazy."""

    def cuts(self, x: Floats, objective: Floats) -> Cuts:
        """Return rows that the solver's solution ``x`` (n_columns,) violates, (0, n_columns) where none is found.

        ``point`` is that of any policy, preferably of low ``objective`` (n_columns,): an upper bound. If all entries of
        ``x`` are whole and ``x`` is no policy's point, there must be a row; if some are fractions, the solver branches.
        """
        ...


class Encoding(ABC):
    """A policy class on fixed contexts: the polytope ``program``, and the cost map from costs (g, K) into objectives.

    A ``separator`` finds the rows that ``program`` leaves out because they are too many. ``noisy_columns`` are those
    that noise may lie on, in its order, where they are not just those that costs reach.
    """

    program: Program
    separator: Separator | None = None
    noisy_columns: Ints | None = None

    @abstractmethod
    def objective(self, costs: Floats) -> Objective:
        """Return the objective whose minimum over the polytope is the least total cost.

        In a *constrained* encoding the map is linear in ``costs`` and exact at every point of the polytope, so
        ``objective(weights) <= b`` is the side constraint ``sum_j weights[j, pi(x_j)] <= b``.
        """

    @abstractmethod
    def decode(self, x: Floats, costs: Floats) -> Policy:
        """Return the policy of the vertex ``x`` of the polytope, which was optimal for ``costs``."""


class Opened:
    """A policy class on fixed contexts: its geometry, from which programs and searches are made.

    Attributes
    ----------
    n_actions : K
    group : (m,) sends each row of the given contexts to its class of contexts that all policies label alike, 0..g-1
    contexts : (g, d) one representative of each such class
    log_size : natural log of the number of policies, exactly or as an upper bound (each class documents which)
    log_union : natural log of the number of policies before constraints, None where it is ``log_size``
    capabilities : the available methods: "program", "search", "policies" (a list of all), "action_weights" (of the
        search), "fixed" (the class may be kept while more contexts arrive), "totals" (the recursion over running leaf
        totals: ``terms``), "constraints" (the search and that recursion keep side constraints: ``under``), "time_limit"
        (the search can end at one: ``search_within``)
    unsupported : the reason, in words, why something is not among ``capabilities``, where there is one
    solver_is_quicker : whether kind "search" asks the default solver, by ``program``, as it is likely to be quicker
    keeps_totals : whether learners keep running leaf totals of a class that has some, and not the costs of contexts
    search_keeps_rows : whether ``search`` keeps side constraints itself; else those of a class with totals do
    class_name, settings : the name of the class, and the class itself; ``open_class`` sets them

    """

    n_actions: int
    group: Ints
    contexts: Floats
    log_size: float
    log_union: float | None = None
    capabilities: frozenset[str] = frozenset({"program", "policies"})
    unsupported: Mapping[str, str] = MappingProxyType({})
    solver_is_quicker: bool = False
    keeps_totals: bool = True
    search_keeps_rows: bool = False
    class_name: str = ""
    settings: PolicyClass | None = None

    def require(self, capability: str) -> None:
        """Raise InputError, with the reason, unless ``capability`` is one of the class's."""
        if capability not in self.capabilities:
            raise self._lacks(capability)

    def _lacks(self, capability: str) -> InputError:
        """Return the error on a capability that the class has not, or declares without its method."""
        if capability in self.capabilities:
            return not_given(self, capability)
        return InputError(self.unsupported.get(capability, f"{type(self).__name__} has no {_ASKED_FOR[capability]}"))

    def program(self, *, constrained: bool = False) -> Encoding:
        """Return the encoding; ``constrained`` asks for a cost map usable as a row."""
        del constrained
        raise self._lacks("program")

    def search(self) -> Search:
        """Return the class's own exact search: of a class with terms, unless it has a quicker one, that over these."""
        if "totals" not in self.capabilities:
            raise self._lacks("search")
        return TermSearch(self.terms(), self.contexts)

    def search_within(self, time_limit: float) -> Search:
        """Return a search whose answers end after so many seconds; unproved ones then raise OracleInexact."""
        del time_limit
        raise self._lacks("time_limit")

    def describe_search(self) -> str:
        """Return a description of ``search`` for ``Oracle.explain``, with its reason where the sizes decide."""
        return "the class's own exact search"

    def terms(self) -> Terms:
        """Return the terms of the class with the cut points that are in use on these contexts."""
        raise self._lacks("totals")

    def near(self, asked: Within) -> Listing | None:
        """Return the policies within a bound, each labeling once; None where there is no quick list of them."""
        return self.terms().near(self.contexts, asked) if {"totals", "constraints"} <= self.capabilities else None

    def policies(self) -> Iterator[Policy]:
        """List every policy by its definition, independently of program and search (repeats allowed)."""
        raise self._lacks("policies")

    def draw(self, rng: np.random.Generator) -> Policy:
        """Return a random policy of the class (the class documents by which law)."""
        del rng
        raise self._lacks("draw")

    def labelings(self) -> Ints:
        """Return the distinct labelings (N, m) of the given contexts, in the order in which the policies are listed."""
        labels = (np.asarray(policy.predict(self.contexts), dtype=np.int64) for policy in self.policies())
        distinct = {labeling.tobytes(): labeling for labeling in labels}
        return np.array(list(distinct.values()), dtype=np.int64)[:, self.group]

    def fixed(self) -> PolicyClass:
        """Return the class on these contexts in a form for more contexts to come (quantile cuts become explicit)."""
        raise self._lacks("fixed")


_ASKED_FOR = {
    "program": "program; use oracle kind 'search'",
    "search": "search of its own; use oracle kind 'milp'",
    "action_weights": "action weights: its policies do not factorise; use oracle kind 'enumeration', which lists them",
    "policies": "list of its policies; use oracle kind 'milp' or 'search'",
    "draw": "random policies",
    "totals": "recursion over totals that can be kept: give all contexts beforehand, and put noise on contexts",
    "constraints": "search under side constraints; open the oracle with kind 'milp'",
    "fixed": "way to take contexts that arrive later; open it on all of them",
    "time_limit": "search that ends at a time_limit; leave it out, or use oracle kind 'milp'",
}


class PolicyClass(ABC):
    """A set of policies, as settings. Constructor arguments are the keys of the ``[policies]`` section of a config."""

    n_actions: int
    reads_columns = True  # whether policies are rules of the columns of contexts, and not a table of labels

    def __repr__(self) -> str:
        options = {name: value for name, value in vars(self).items() if not name.startswith("_")}
        return f"{type(self).__name__}({', '.join(f'{name}={shown(value)}' for name, value in options.items())})"

    @abstractmethod
    def on(self, contexts: Any) -> Opened:
        """Return the class on ``contexts`` (m, d), an array or data frame; raises InputError on one it cannot read."""

    def read(self, contexts: Any) -> Floats:
        """Return the columns of ``contexts`` that ``on`` reads, as a read-only array (m, d); raises InputError."""
        return context_array(contexts)

    def terms(self) -> Terms:
        """Return the terms of the class with all its cut points; raises InputError where it has no terms yet."""
        raise InputError(f"{type(self).__name__} has no {_ASKED_FOR['totals']}")

    def log_size(self, contexts: Any) -> float:
        """Return the natural log of the number of policies on ``contexts``; see Opened.log_size."""
        return float(self.on(contexts).log_size)

    def patterns(self, contexts: Floats) -> Any:
        """Return an array (n, k) whose equal rows are contexts that every policy of a fixed class labels alike."""
        return contexts


def check_n_actions(policies: PolicyClass) -> None:
    """Raise InputError unless a foreign class has set its number of actions."""
    if not hasattr(policies, "n_actions"):
        name = type(policies).__name__
        raise InputError(f"{name} has no n_actions; set self.n_actions, the number of actions, in its constructor")


def open_class(policies: PolicyClass, contexts: Any) -> Opened:
    """Return ``policies.on(contexts)``, with the name of its class; raises InputError unless it is an Opened."""
    check_n_actions(policies)
    name = type(policies).__name__
    opened = policies.on(contexts)
    if not isinstance(opened, Opened):
        raise InputError(f"{name}.on must return an Opened, got {shown(opened)}")
    for attribute, value in {"class_name": name, "settings": policies}.items():
        object.__setattr__(opened, attribute, value)  # it may be a frozen dataclass
    return opened
