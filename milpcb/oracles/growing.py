"""An oracle whose contexts arrive during the run."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property, partial
from time import perf_counter
from typing import Any, cast

import numpy as np

from milpcb.constraints import LabelConstraint
from milpcb.core.checks import choice, flag, index, instance, several
from milpcb.core.decimals import spaced
from milpcb.errors import InputError
from milpcb.oracles import check_options, open_oracle
from milpcb.oracles.base import KnownRows, Oracle
from milpcb.oracles.near_best import NearBest
from milpcb.oracles.search import SearchOracle
from milpcb.oracles.totals import CostTable, TermTable
from milpcb.oracles.without import Opening
from milpcb.protocols import Opened, PolicyClass, Table, Terms, ValueOracle, open_class
from milpcb.types import Answer, Floats, Ints


class OpenedTerms(Opened):
    """The terms of a class, with a list of contexts (m, d). ``log_size`` counts derivations, over all cut points."""

    capabilities = frozenset({"search", "action_weights", "totals", "constraints"})

    def __init__(self, terms: Terms, contexts: Floats, log_size: float) -> None:
        self.n_actions = terms.n_actions
        self.group, self.contexts = np.arange(len(contexts)), contexts
        self.log_size = self.log_union = log_size
        self._terms = terms

    def terms(self) -> Terms:
        return self._terms

    def describe_search(self) -> str:
        return f"the recursion of the class over the totals of its {spaced(self._terms.n_terms)} terms"


class GrowingOracle(ValueOracle):
    """Asks like an Oracle; ``rows`` and ``extend`` add contexts.

    A context that equals an earlier one, or falls between the same cut points, is that one and costs nothing: the
    oracle holds one context for each pattern. Cut points are fixed when the oracle is made: quantiles are those of the
    contexts known then.

    By kind "search", a class with terms is never opened on the contexts. Its answers come from its recursion over all
    cut points, and ``table()`` keeps the totals, so that a round costs the same however many contexts have arrived.
    Explicit cut points need no contexts to begin with. Else new contexts are collected, and the next query opens the
    class on all of them.

    Parameters
    ----------
    policies : a policy class that can be kept while contexts arrive
    contexts : (m, d) to begin with; None for none, with kind "search" and explicit cut points only
    kind, solver, options : see milpcb.open_oracle
    constrained : whether policies will have to keep side constraints, which ``hold`` names; of a class with terms

    Attributes
    ----------
    n_contexts : contexts so far, those where every policy plays alike counted once: the rows that costs need

    """

    def __init__(
        self,
        policies: PolicyClass,
        contexts: Any = None,
        kind: str = "search",
        solver: str | None = None,
        *,
        constrained: bool = False,
        **options: Any,
    ) -> None:
        instance("policies", policies, PolicyClass, "a policy class, as in DecisionTrees(n_actions=2)")
        flag("constrained", constrained)
        check_options(kind, {**options, **({} if solver is None else {"solver": solver})})
        self._options = {"kind": kind, "solver": solver, **options}
        self._policies = policies if contexts is None else _fixed(policies, contexts)
        self.n_actions = policies.n_actions
        self._known = KnownRows(self._policies)
        self._contexts = np.empty((0, 0))  # with room for more, of which the first ``n_contexts`` are there
        self.n_contexts = 0
        self._calls, self._seconds = 0, 0.0
        self._opened: Oracle | None = None
        by_terms = kind == "search" and solver is None and not options
        if contexts is None:
            if not by_terms:
                raise InputError(
                    "an oracle without contexts needs kind 'search', without further options; or give contexts"
                )
            self._terms: Terms | None = self._policies.terms()
        else:
            self._terms = _terms(self._policies) if by_terms else None
        self._held, self._constrained = self._terms, constrained
        if constrained and self._terms is None:
            raise InputError("side constraints on contexts that arrive need a class with terms, by kind 'search'")
        if contexts is not None:
            self.extend(contexts)

    __reduce__ = Oracle.__reduce__

    def __repr__(self) -> str:
        kind, name = self._options["kind"], type(self._policies).__name__
        return f"<GrowingOracle: {name}, kind {kind}, {self.n_contexts} contexts so far, {self.n_actions} actions>"

    def explain(self) -> str:
        """Return what ``Oracle.explain`` does for the contexts so far, and whether totals are kept."""
        kept = "kept from round to round" if self._terms is not None else "added up anew when contexts arrive"
        return f"{self._oracle().explain()}\ntotals: {kept}"

    @property
    def contexts(self) -> Floats:
        """One representative of each, (n_contexts, d)."""
        if self._terms is not None and not self.n_contexts:
            return np.empty((0, self._terms.n_features))
        known = self._contexts[: self.n_contexts]
        known.setflags(write=False)
        return known

    @property
    def log_size(self) -> float:
        """Natural log of the number of policies on the contexts so far; of a class with terms, of its derivations."""
        return self._oracle().log_size

    @property
    def log_union(self) -> float:
        """Natural log of the number of derivations whatever contexts arrive; NaN for a class without terms."""
        return np.nan if self._terms is None else self._log_derivations

    @property
    def log_derivations(self) -> float:
        """Natural log of the number of derivations: on the contexts so far, or for a class with terms on any."""
        return self._oracle().log_derivations if self._terms is None else self._log_derivations

    @property
    def capabilities(self) -> frozenset[str]:
        """Kinds of query that the opened oracle answers; no list of labelings, which each new context would change."""
        return self._oracle().capabilities - ({"enumerate"} if self._terms is not None else {"enumerate", "columns"})

    @property
    def settles_ties(self) -> bool:
        """See Oracle."""
        return self._options["kind"] != "milp" or self._oracle().settles_ties

    @property
    def calls(self) -> int:
        """Queries asked so far."""
        return self._calls + (self._opened.calls if self._opened else 0)

    @property
    def seconds(self) -> float:
        """Seconds spent on queries, openings excepted."""
        return self._seconds + (self._opened.seconds if self._opened else 0.0)

    def rows(self, contexts: Any) -> Ints:
        """Return the row (n,) of each of ``contexts`` (n, d), those that are new included: they are added."""
        return self.extend(contexts)

    def extend(self, contexts: Any) -> Ints:
        """Add contexts (n, d); return the row (n,) of each: an old one where all policies play as on an old context."""
        array = self._known.read(contexts)
        rows = self._known.add(array)
        if self._known.count == self.n_contexts:
            return rows
        for context, row in zip(array, rows.tolist(), strict=True):
            if row == self.n_contexts:
                self._append(context)
                self._retire()
        return rows

    def hold(self, constraints: Sequence[LabelConstraint]) -> None:
        """Answer from now on for the policies that keep ``constraints``, of weights (n_contexts, K).

        A context that comes later weighs nothing in them. Totals that are kept stay as they are. Raises InfeasibleError
        where no policy keeps them, and InputError where the class has no search under them; nothing is changed then.
        """
        if not self._constrained:
            raise InputError("this oracle holds no side constraints: make it with constrained=True")
        self._held = self.under(constraints).opened.terms()
        self._retire()

    def under(self, constraints: Sequence[LabelConstraint]) -> SearchOracle:
        """Return an oracle of its own, on the contexts so far, for the policies that keep ``constraints``."""
        if self._terms is None:
            raise InputError("side constraints on contexts that arrive need a class with terms, by kind 'search'")
        rules = several("constraints", constraints, LabelConstraint, "LabelConstraint")
        opened = OpenedTerms(self._terms, self.contexts, self._log_derivations)
        return SearchOracle(opened, self.contexts, constraints=tuple(rules))

    def _append(self, context: Floats) -> None:
        """Take in a new context (d,); room for twice as many is made where there is none."""
        if self.n_contexts == len(self._contexts):
            more = np.empty((max(16, 2 * self.n_contexts), len(context)))
            if self.n_contexts:
                more[: self.n_contexts] = self._contexts
            self._contexts = more
        self._contexts[self.n_contexts] = context
        self.n_contexts += 1

    def minimise(self, costs: Any) -> Answer:
        return self._oracle().minimise(costs)

    def value(self, costs: Any) -> float:
        return self._oracle().value(costs)

    def profile(self, costs: Any, row: int) -> Floats:
        return self._oracle().profile(costs, row)

    def near_best(self, costs: Any, slack: float) -> NearBest:
        """See Oracle.near_best."""
        return self._oracle().near_best(costs, slack)

    def action_weights(self, costs: Any, row: int, rate: float) -> Floats:
        return self._oracle().action_weights(costs, row, rate)

    def table(self, noise: str | None = "columns") -> Table:
        """Return an empty table of totals, to which contexts may be added while it is kept; its noise is on columns.

        Without noise, ``None``, every class has one; where it has no terms that is the matrix of all costs.

        Raises InputError for noise on contexts, and where the class has no terms.
        """
        if noise is not None:
            choice("noise", noise, ("contexts", "columns"))
        if noise is None and self._terms is None:
            return CostTable(self, np.zeros(0, dtype=np.int64))
        if noise == "contexts" or self._terms is None:
            raise InputError(
                f'a table with noise_on = "{noise}" needs all contexts beforehand; open the oracle on all of them'
                + (', or set noise_on = "columns"' if self._terms is not None else "")
            )
        asked = (lambda: cast("Terms", self._held)) if self._constrained else None
        return TermTable(self._terms, self, asked)

    def context(self, row: int) -> Floats:
        """Return the context (d,) of a row."""
        return np.asarray(self._contexts[index("row", row, self.n_contexts)])

    def count(self, start: float) -> float:
        """See Oracle.count."""
        seconds = perf_counter() - start
        self._calls += 1
        self._seconds += seconds
        return seconds

    @cached_property
    def _log_derivations(self) -> float:
        return self._terms.log_derivations if self._terms is not None else 0.0

    def _oracle(self) -> Oracle:
        if self._opened is None:
            contexts = self.contexts
            if self._held is None:
                self._opened = open_oracle(self._policies, contexts, **self._options)
            else:
                opened = OpenedTerms(self._held, contexts, self._log_derivations)
                self._opened = SearchOracle(opened, contexts)
                if not self._constrained:  # under constraints it is not known on which contexts they came to hold
                    again = partial(open_oracle, kind="search")
                    self._opened.opening = Opening(self._policies, opened, contexts, contexts, again)
        return self._opened

    def _retire(self) -> None:
        if self._opened is not None:
            self._calls, self._seconds = self.calls, self.seconds
            self._opened = None


def _fixed(policies: PolicyClass, contexts: Any) -> PolicyClass:
    """Return the class with the cut points that ``contexts`` give it; raises InputError where it cannot be kept."""
    opened = open_class(policies, contexts)
    opened.require("fixed")
    return opened.fixed()


def _terms(policies: PolicyClass) -> Terms | None:
    """Return the terms of a class with fixed cut points, None where it has none, or too many of them."""
    try:
        return policies.terms()
    except InputError:
        return None
