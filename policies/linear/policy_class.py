"""The class of scoring rules with integer weights: its settings, and what it is on given contexts."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, combinations_with_replacement, product
from math import comb, gcd, log
from typing import Any

import numpy as np

from milpcb.core.checks import whole
from milpcb.core.decimals import beyond
from milpcb.protocols import Encoding, Listing, Opened, Search, TermSearch, Within
from milpcb.types import Floats, Ints
from policies.cuts import NamedClass, Thresholds, check_thresholds
from policies.linear.geometry import Scored
from policies.linear.labelings import OneScore
from policies.linear.program import LinearEncoding, TableEncoding, beyond_tolerance, few_rows
from policies.linear.rule import LinearRule
from policies.linear.search_tables import TableTerms
from policies.linear.supports import Supports
from policies.names import Names

# Numbers held by a query of branch and bound: 160 MB.
MOST_HELD = 2 * 10**7


def _too_wide(scored: Scored) -> str:
    table = np.rint(scored.table()).astype(np.int64)
    span = int(scored.max_weight * scored.copies @ np.ptp(table, axis=0))
    counted = f"scores span {span} points on {len(table)} contexts, {{}} numbers to hold"
    remedy = "give large values in larger units or in classes, or use oracle kind 'milp'"
    return beyond(span * len(table), MOST_HELD, counted, remedy)


class OpenedLinear(Opened):
    """Scoring rules on fixed contexts; which program and which search fit the sizes is decided when first asked for.

    ``log_size`` is the log of an upper bound on the number of labelings, the least of four. With g distinct contexts
    and s of d columns: the weight vectors times the placements of K - 1 cuts among at most g + 1 places; K - 1
    halfspaces on s columns, C(d, s) (2 sum_{k <= s} C(g-1, k))^(K-1) (Cover, IEEE Trans. Electron. Comput. 1965), also
    with s = d; K^g; and where support tables can be used, their rows, whatever the contexts are.
    """

    def __init__(self, scored: Scored) -> None:
        self.n_actions = scored.n_actions
        self.group, self.contexts = scored.group, scored.contexts
        self.scored = scored

    @cached_property
    def capabilities(self) -> frozenset[str]:  # type: ignore[override]  # found when first asked for, as it may build tables
        """Everything but "fixed", less the keys of ``unsupported``."""
        every = Opened.capabilities | {"search", "action_weights", "totals", "constraints"}
        return every - self.unsupported.keys()

    @cached_property
    def unsupported(self) -> dict[str, str]:  # type: ignore[override]
        """Sizes that are too large on these contexts, and their remedies."""
        found = {}
        if not self._program_by_tables and (reason := beyond_tolerance(self.scored)):
            found["program"] = reason
        if self._no_tables:
            return found | self._without_tables()
        large = {"action_weights": self._supports.too_many_to_sum(), "totals": self._supports.too_many_to_keep()}
        return found | {what: reason for what, reason in large.items() if reason}

    @cached_property
    def log_size(self) -> float:  # type: ignore[override]
        """The least of the bounds."""
        tables = [] if self._no_tables else [self._supports.n_rows]
        return log(min(self.n_actions ** len(self.contexts), *self._bounds(), *tables))

    def _without_tables(self) -> dict[str, str]:
        none = f"there are no support tables, as {self._no_tables}"
        found = {
            "totals": f"{none}; put noise on contexts",
            "constraints": f"branch and bound knows no side constraints, and {none}; or use oracle kind 'milp'",
            "action_weights": f"branch and bound has no action weights, and {none}; or use kind 'enumeration'",
        }
        if self.n_actions > 2:
            found["search"] = f"{self._no_tables}; for more than two actions there is only oracle kind 'milp' then"
        elif reason := _too_wide(self.scored):
            found["search"] = reason
        return found

    def _bounds(self) -> list[int]:
        scored, cuts, distinct = self.scored, self.n_actions - 1, len(self.contexts)
        features, columns = int(scored.copies.sum()), len(scored.columns)
        halfspaces = [2 * sum(comb(distinct - 1, k) for k in range(s + 1)) for s in (scored.limit, columns)]
        vectors = sum(comb(features, k) * (2 * scored.max_weight) ** k for k in range(scored.limit + 1))
        few = comb(columns, min(scored.limit, columns)) * halfspaces[scored.limit > columns] ** cuts
        return [few, halfspaces[1] ** cuts, vectors * comb(distinct + cuts, cuts)]

    def program(self, *, constrained: bool = False) -> Encoding:
        del constrained  # the one cost map is linear and exact
        self.require("program")
        return TableEncoding(self._supports) if self._program_by_tables else LinearEncoding(self.scored)

    def search(self) -> Search:
        self.require("search")
        if self._no_tables:
            from policies.linear.search_branching import BranchingSearch  # with it numba, which takes a second

            return BranchingSearch(self.scored)
        return TermSearch(TableTerms(self._supports), self.contexts)  # also where totals are too many to keep

    @cached_property
    def solver_is_quicker(self) -> bool:  # type: ignore[override]  # found when first asked for, as the others are
        """Whether branch and bound would search columns of more than two values."""
        if not self._no_tables or "program" in self.unsupported:
            return False
        return bool(np.ptp(self.scored.table(), axis=0).max(initial=0) > 1)

    def describe_search(self) -> str:
        self.require("search")
        if self._no_tables:
            n = len(self.scored.columns)
            return f"branch and bound on the weights of {n} columns: no support tables, as {self._no_tables}"
        batches = self._supports.batches
        rows = " or ".join(map(str, sorted({len(batch.table.labels) for batch in batches})))
        supports = f"{sum(len(batch.supports) for batch in batches)} supports of {self.scored.limit} features"
        return f"support tables: {supports}, {rows} rows each, those of low bounds first"

    def terms(self) -> TableTerms:
        self.require("totals")
        return TableTerms(self._supports)

    def near(self, asked: Within) -> Listing | None:
        return None if self._no_tables else TableTerms(self._supports).near(self.contexts, asked)

    def policies(self) -> Iterator[LinearRule]:
        for weights in self._weights():
            for cuts in combinations_with_replacement(_places(self.scored.points @ weights), self.n_actions - 1):
                yield self.scored.rule_of(weights, cuts)

    def draw(self, rng: np.random.Generator) -> LinearRule:
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
        return self._supports.obstacle()

    @cached_property
    def _program_by_tables(self) -> bool:
        return not self._no_tables and few_rows(self._supports)

    def _weights(self) -> Iterator[Ints]:
        """Yield primitive weights (d,) in the box, few features first, 0 on columns that are constant."""
        largest = self.scored.max_weight
        values = sorted((w for w in range(-largest, largest + 1) if w), key=lambda w: (abs(w), -w))
        features = np.flatnonzero(np.ptp(self.scored.points, axis=0)).tolist()
        for size in range(min(self.scored.limit, len(features)) + 1):
            for support, chosen in product(combinations(features, size), product(values, repeat=size)):
                if gcd(*chosen) <= 1:
                    yield self._spread(support, chosen)

    def _spread(self, support: Any, values: Any) -> Ints:
        """Return weights (d,) with these values on some features, and 0 elsewhere."""
        weights = np.zeros(self.scored.points.shape[1], dtype=np.int64)
        weights[list(support)] = values
        return weights


def _places(scores: Floats) -> list[int]:
    found = [int(score) for score in np.unique(scores)]
    return [*found, found[-1] + 1]


@dataclass(frozen=True)
class LinearRules(NamedClass):
    """Scoring rules with small integer weights.

    Parameters
    ----------
    n_actions : K >= 2; of more than two the order counts: a higher score plays a higher action
    max_weight : weights are integers in [-max_weight, max_weight]; policies.Halfspaces has real ones
    max_features : number of features that may have a weight; None for no limit
    thresholds : as of trees; a column of contexts that holds anything but integers counts for the number of its
        thresholds at or below the value; one of integers needs no thresholds and counts for itself
    feature_names, action_names : used in printed rules

    """

    n_actions: int = 2
    max_weight: int = 5
    max_features: int | None = None
    thresholds: Thresholds = 3
    feature_names: Sequence[str] | None = None
    action_names: Sequence[str] | None = None

    def __post_init__(self) -> None:
        whole("n_actions", self.n_actions, 2)
        object.__setattr__(self, "max_weight", whole("max_weight", self.max_weight, 1))
        if self.max_features is not None:
            whole("max_features", self.max_features, 1)
        object.__setattr__(self, "thresholds", check_thresholds(self.thresholds))

    def _on(self, contexts: Floats, names: Names) -> Opened:
        kind = OneScore(self.n_actions)
        return OpenedLinear(Scored(contexts, kind, self.max_weight, self.max_features, self.thresholds, names))
