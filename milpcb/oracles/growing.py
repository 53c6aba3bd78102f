"""An oracle whose contexts arrive during the run."""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
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
from milpcb.oracles.near_best import NearBest, Opening
from milpcb.oracles.search import SearchOracle
from milpcb.oracles.totals import CostTable, TermTable
from milpcb.protocols import Opened, PolicyClass, Table, Terms, ValueOracle, open_class
from milpcb.protocols.oracles import NOISE
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
    """An oracle to which ``rows`` and ``extend`` add contexts; contexts that all policies label alike are one.

    By kind "search" of a class with leaf totals, answers come from its recursion over all cut points. Else the next
    query after a new context opens the class again, on all contexts so far.

    Parameters
    ----------
    policies : a policy class that can be kept while contexts arrive
    contexts : (m, d) to begin with, whose quantiles become cut points; None for none, with leaf totals and explicit
        cut points only
    kind, solver, options : see milpcb.open_oracle
    constrained : whether policies will have to keep side constraints, which ``hold`` names; of a class with leaf totals

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
        self._constrained = flag("constrained", constrained)
        given = options if solver is None else {"solver": solver, **options}
        check_options(kind, given)
        self._again: Any = partial(open_oracle, kind=kind, **given)
        self._policies = policies if contexts is None else _fixed(policies, contexts)
        self.n_actions = policies.n_actions
        by_totals = kind == "search" and not given
        if not by_totals and (constrained or contexts is None):
            needs = "side constraints on contexts that arrive" if constrained else "an oracle without contexts"
            raise InputError(f"{needs}: take kind 'search', without further options, or open it on all contexts")
        self._terms = self._held = self._leaf_totals(needed=constrained or contexts is None) if by_totals else None
        self._known = KnownRows(self._policies)
        self._found = np.empty((0, 0))  # the contexts, with room for as many again
        self.n_contexts = 0
        self._calls, self._seconds = 0, 0.0
        self._opened: Oracle | None = None
        if contexts is not None:
            self.extend(contexts)

    def _leaf_totals(self, *, needed: bool) -> Terms | None:
        try:
            return self._policies.terms()
        except InputError:
            if needed:
                raise
            return None

    def __getstate__(self) -> dict[str, Any]:
        """Return all but the oracle on the contexts so far, which the next query opens again."""
        return vars(self) | {"_opened": None, "_calls": self.calls, "_seconds": self.seconds}

    def __copy__(self) -> GrowingOracle:
        """Return an oracle of its own: contexts that arrive at one of two do not arrive at the other."""
        return deepcopy(self)

    def __repr__(self) -> str:
        name = type(self._policies).__name__
        kind = self._again.keywords["kind"]
        return f"<GrowingOracle: {name}, kind {kind}, {self.n_contexts} contexts so far, {self.n_actions} actions>"

    def explain(self) -> str:
        """Return the text of ``Oracle.explain`` for the contexts so far."""
        return self._oracle().explain()

    @property
    def contexts(self) -> Floats:
        """One representative of each distinct context, (n_contexts, d)."""
        known = self._found[: self.n_contexts]
        if not self.n_contexts:
            known = np.empty((0, cast("Terms", self._terms).n_features))
        known.setflags(write=False)
        return known

    @property
    def log_size(self) -> float:
        """Natural log of the number of policies on the contexts so far; of leaf totals, of derivations on any."""
        return self._oracle().log_size

    @property
    def log_union(self) -> float:
        """Natural log of the number of derivations, whatever contexts arrive; NaN without leaf totals."""
        return np.nan if self._terms is None else self._log_derivations

    @property
    def log_derivations(self) -> float:
        """Natural log of the number of derivations: on the contexts so far, or with leaf totals on any."""
        return self._oracle().log_derivations if self._terms is None else self._log_derivations

    @property
    def capabilities(self) -> frozenset[str]:
        """Kinds of query that are answered; without a list of labelings, which each new context would change."""
        return self._oracle().capabilities - ({"enumerate"} if self._terms else {"enumerate", "columns"})

    @property
    def settles_ties(self) -> bool:
        """See Oracle."""
        return self._again.keywords["kind"] != "milp" or self._oracle().settles_ties

    @property
    def calls(self) -> int:
        """Queries asked so far."""
        return self._calls + (self._opened.calls if self._opened else 0)

    @property
    def seconds(self) -> float:
        """Seconds spent on queries, openings excepted."""
        return self._seconds + (self._opened.seconds if self._opened else 0.0)

    def rows(self, contexts: Any) -> Ints:
        """Return the row (n,) of each of ``contexts`` (n, d); new ones are added."""
        return self.extend(contexts)

    def extend(self, contexts: Any) -> Ints:
        """Add contexts (n, d); return the row (n,) of each: of an old context where all policies play alike on both."""
        array = self._known.read(contexts)
        rows = self._known.add(array)
        for context, row in zip(array, rows.tolist(), strict=True):
            if row == self.n_contexts:
                if row == len(self._found):
                    self._found = np.resize(self._found, (max(16, 2 * row), len(context)))
                self._found[row] = context
                self.n_contexts += 1
                self._retire()
        return rows

    def hold(self, constraints: Sequence[LabelConstraint]) -> None:
        """Restrict all later answers to policies that keep ``constraints``, in which later contexts weigh nothing.

        Raises InfeasibleError where no policy does, InputError where the class cannot; nothing is changed then.
        """
        if not self._constrained:
            raise InputError("this oracle holds no side constraints: make it with constrained=True")
        self._held = self.under(constraints).opened.terms()
        self._retire()

    def under(self, constraints: Sequence[LabelConstraint]) -> SearchOracle:
        """Return another oracle, on the contexts so far, for the policies that keep ``constraints``."""
        if self._terms is None:
            raise InputError("side constraints on contexts that arrive need kind 'search' of a class with leaf totals")
        rules = several("constraints", constraints, LabelConstraint, "LabelConstraint")
        opened = OpenedTerms(self._terms, self.contexts, self._log_derivations)
        return SearchOracle(opened, self.contexts, constraints=tuple(rules))

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
        """Return an empty table, which allows contexts to be added; it is of leaf totals where the class has them.

        Raises InputError for noise on contexts, and for noise without leaf totals.
        """
        if noise is not None and (choice("noise", noise, NOISE) == "contexts" or self._terms is None):
            raise InputError(
                f'a table with noise_on = "{noise}" needs all contexts beforehand; open the oracle on all of them'
                + (', or set noise_on = "columns"' if self._terms else "")
            )
        if self._terms is None:
            return CostTable(self, np.zeros(0, dtype=np.int64))
        return TermTable(self._terms, self, (lambda: cast("Terms", self._held)) if self._constrained else None)

    def context(self, row: int) -> Floats:
        """Return the context (d,) of a row."""
        return np.asarray(self._found[index("row", row, self.n_contexts)])

    def count(self, start: float) -> float:
        """See Oracle.count."""
        seconds = perf_counter() - start
        self._calls += 1
        self._seconds += seconds
        return seconds

    @cached_property
    def _log_derivations(self) -> float:
        return cast("Terms", self._terms).log_derivations

    def _oracle(self) -> Oracle:
        if self._opened is None:
            contexts = self.contexts
            if self._held is None:
                self._opened = self._again(self._policies, contexts)
                return self._opened
            opened = OpenedTerms(self._held, contexts, self._log_derivations)
            self._opened = SearchOracle(opened, contexts)
            if not self._constrained:  # under constraints it is not known on which contexts they came to hold
                self._opened.opening = Opening(self._policies, opened, contexts, contexts, self._again)
        return self._opened

    def _retire(self) -> None:
        if self._opened is not None:
            self._calls, self._seconds = self.calls, self.seconds
            self._opened = None


def _fixed(policies: PolicyClass, contexts: Any) -> PolicyClass:
    opened = open_class(policies, contexts)
    opened.require("fixed")
    return opened.fixed()
