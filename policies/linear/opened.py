"""Scoring rules with integer weights on fixed contexts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cached_property
from itertools import combinations, combinations_with_replacement, product
from math import comb, gcd, log
from typing import Any

import numpy as np

from milpcb.protocols import Encoding, Listing, Opened, Search, Within
from milpcb.types import Floats, Ints
from policies.linear.geometry import Scored, ScoringRule
from policies.linear.near import near_rules
from policies.linear.program_bigm import LinearEncoding, beyond_tolerance, largest_big_m
from policies.linear.program_tables import TableEncoding, too_many_rows
from policies.linear.search_branching import BRIEF, BranchingSearch, too_wide
from policies.linear.supports import Supports
from policies.linear.terms import TableSearch, TableTerms


class OpenedLinear(Opened):
    """Scoring rules on fixed contexts; which program and which search fit the sizes is decided when first asked for.

    ``log_size`` is the log of an upper bound on the number of labelings, the least of four. With g distinct contexts
    and s of d columns: the weight vectors times the placements of K - 1 cuts among at most g + 1 places; K - 1
    halfspaces on s columns, C(d, s) (2 sum_{k <= s} C(g-1, k))^(K-1) (Cover, IEEE Trans. Electron. Comput. 1965), also
    with s = d; K^g; and where support tables can be used, their rows, whatever the contexts are.
    """

    def __init__(self, scored: Scored) -> None:
        self.n_actions = scored.n_cuts + 1
        self.group, self.contexts = scored.group, scored.contexts
        self.scored = scored

    @cached_property
    def capabilities(self) -> frozenset[str]:  # type: ignore[override]  # found when first asked for, as it may build tables
        """Everything but "fixed", less the keys of ``unsupported``."""
        every = Opened.capabilities | {"search", "action_weights", "totals", "constraints"}
        return every - self.unsupported.keys()

    @cached_property
    def unsupported(self) -> dict[str, str]:  # type: ignore[override]
        """What is too large on these contexts, and what would fix it."""
        found = {}
        if self._no_program_by_tables and (reason := beyond_tolerance(self.scored, largest_big_m(self.scored))):
            found["program"] = reason
        if not self._no_tables:
            return found | self._of_tables()
        none = f"there are no support tables, as {self._no_tables}"
        found["totals"] = f"{none}; put noise on contexts"
        found["constraints"] = f"branch and bound knows no side constraints, and {none}; or use oracle kind 'milp'"
        found["action_weights"] = f"branch and bound has no action weights, and {none}; or use kind 'enumeration'"
        if self.n_actions > 2:
            found["search"] = f"{self._no_tables}; for more than two actions there is only oracle kind 'milp' then"
        elif reason := too_wide(self.scored):
            found["search"] = reason
        return found

    def _of_tables(self) -> dict[str, str]:
        """Return what is too large although there are support tables."""
        large = {"action_weights": self._supports.too_many_to_sum(), "totals": self._supports.too_many_to_keep()}
        return {what: reason for what, reason in large.items() if reason}

    @cached_property
    def log_size(self) -> float:  # type: ignore[override]
        """The least of the bounds."""
        scored, cuts = self.scored, self.n_actions - 1
        distinct, features, columns = len(self.contexts), int(scored.copies.sum()), len(scored.columns)
        bounds = [self.n_actions**distinct]
        for size in (min(scored.limit, columns), columns):
            halfspaces = 2 * sum(comb(distinct - 1, k) for k in range(size + 1))
            bounds.append(comb(columns, size) * halfspaces**cuts)
        vectors = sum(comb(features, k) * (2 * scored.max_weight) ** k for k in range(scored.limit + 1))
        bounds.append(vectors * comb(distinct + cuts, cuts))
        if not self._no_tables:
            bounds.append(self._supports.n_rows)
        return log(min(bounds))

    def program(self, *, constrained: bool = False) -> Encoding:
        """Return the encoding that fits the sizes; its ``why`` names it and gives the reason for the choice."""
        self.require("program")
        if not self._no_program_by_tables:
            return TableEncoding(self._supports)
        why = f"big-M rows, as {self._no_program_by_tables}"
        return LinearEncoding(self.scored, constrained=constrained, why=why)

    def search(self) -> TableSearch | BranchingSearch:
        """Return the search that fits the sizes; its ``describe()`` names it and gives the reason."""
        self.require("search")
        if not self._no_tables:
            return TableSearch(self._supports)
        return BranchingSearch(self.scored, f"no support tables, as {self._no_tables}")

    def brief_search(self) -> Search | None:
        """Return branch and bound of one level where columns have more than two values: there a solver wins often."""
        if not self._no_tables or not self._many_values or "program" in self.unsupported:
            return None
        return BranchingSearch(self.scored, self._no_tables, BRIEF)

    @property
    def _many_values(self) -> bool:
        return bool(np.ptp(self.scored.table(), axis=0).max(initial=0) > 1)

    def describe_search(self) -> str:
        """Name the search, and the sizes that it was chosen for."""
        return self.search().describe()

    def terms(self) -> TableTerms:
        """Return the totals by support and pattern, where there are support tables."""
        self.require("totals")
        return TableTerms(self._supports)

    def near(self, asked: Within) -> Listing | None:
        """Return the rules asked for, where there are support tables."""
        return None if self._no_tables else near_rules(self._supports, asked)

    def policies(self) -> Iterator[ScoringRule]:
        """List the rules, few features first: all weights in the box, all placements of the cuts among the scores.

        Constant columns get no weight, and weights with a common factor are left out: neither would distinguish more
        contexts.
        """
        for weights in self._weights():
            for cuts in combinations_with_replacement(_places(self.scored.points @ weights), self.n_actions - 1):
                yield self.scored.rule_of(weights, cuts)

    def draw(self, rng: np.random.Generator) -> ScoringRule:
        """Return a random rule that splits the contexts (any such rule can come), or a constant one if none does."""
        points, limit = self.scored.points, self.scored.limit
        features = np.flatnonzero(np.ptp(points, axis=0))
        weights = self._spread((), ())
        while len(features) and not np.ptp(points @ weights):
            support = rng.choice(features, rng.integers(1, limit + 1), replace=False)
            size = rng.integers(1, self.scored.max_weight + 1, len(support))
            weights = self._spread(support, size * rng.choice((-1, 1), len(support)))
        places = _places(points @ weights)
        splitting = rng.choice(places[1:-1] or places)  # the first place has no context below it, the last none above
        others = rng.choice(places, self.n_actions - 2)
        return self.scored.rule_of(weights, tuple(int(cut) for cut in sorted([splitting, *others])))

    @cached_property
    def _supports(self) -> Supports:
        return Supports(self.scored)

    @cached_property
    def _no_tables(self) -> str:
        """Why there are no support tables, or nothing where there are."""
        return self._supports.obstacle()

    @cached_property
    def _no_program_by_tables(self) -> str:
        return self._no_tables or too_many_rows(self._supports)

    def _weights(self) -> Iterator[Ints]:
        """Yield primitive weights (d,) in the box, few features first, 0 on columns that are constant."""
        largest = self.scored.max_weight
        values = sorted((w for w in range(-largest, largest + 1) if w), key=lambda w: (abs(w), -w))
        every = self._chosen(values)
        return (self._spread(support, chosen) for support, chosen in every if gcd(*chosen) <= 1)

    def _chosen(self, values: Iterable[Any]) -> Iterator[tuple[tuple[int, ...], tuple[Any, ...]]]:
        """Yield sets of features that are not constant, few first, each with all choices of one of ``values`` each."""
        features = np.flatnonzero(np.ptp(self.scored.points, axis=0)).tolist()
        for size in range(min(self.scored.limit, len(features)) + 1):
            for support in combinations(features, size):
                yield from ((support, chosen) for chosen in product(values, repeat=size))

    def _spread(self, support: Any, values: Any, *each: int) -> Ints:
        """Return weights (d,), or (d, ``each``), with these values on some features, and 0 elsewhere."""
        weights = np.zeros((self.scored.points.shape[1], *each), dtype=np.int64)
        if len(support):
            weights[list(support)] = values
        return weights


def _places(scores: Floats) -> list[int]:
    """Return where a cut can be: at each score, or above all of them."""
    found = [int(score) for score in np.unique(scores)]
    return [*found, found[-1] + 1]
