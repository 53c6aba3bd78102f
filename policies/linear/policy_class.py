"""The class of scoring rules with integer weights: its settings, and the class on given contexts."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, combinations_with_replacement, product
from math import comb, gcd, log
from typing import Any, ClassVar, Literal

import numpy as np

from milpcb.core.checks import choice, whole
from milpcb.core.decimals import beyond
from milpcb.protocols import Encoding, Listing, Opened, Search, TermSearch, Within
from milpcb.types import Floats, Ints
from policies.cuts import NamedClass, Thresholds, check_thresholds
from policies.linear.geometry import Scored, ScoringRule
from policies.linear.labelings import EachScore, OneScore, labels_of
from policies.linear.program import EachEncoding, LinearEncoding, TableEncoding, beyond_tolerance, few_rows
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
    """Scoring rules on fixed contexts; the program and the search that fit the sizes are chosen at first use.

    ``log_size`` is the log of an upper bound on the number of labelings, the least of four. With g distinct contexts
    and s of d columns: the weight vectors times the placements of K - 1 cuts among at most g + 1 places; K - 1
    halfspaces on s columns, C(d, s) (2 sum_{k <= s} C(g-1, k))^(K-1) (Cover, IEEE Trans. Electron. Comput. 1965), also
    with s = d; K^g; and where support tables can be used, their rows, whatever the contexts are.
    """

    _by_rows: ClassVar[type[LinearEncoding | EachEncoding]] = LinearEncoding

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
        """Reasons of sizes that are too large on these contexts, with their remedies."""
        found = {}
        if not self._program_by_tables and (reason := beyond_tolerance(self.scored, self._by_rows.big_m(self.scored))):
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
        columns = len(scored.columns)
        halfspaces = [2 * sum(comb(distinct - 1, k) for k in range(s + 1)) for s in (scored.limit, columns)]
        few = comb(columns, min(scored.limit, columns)) * halfspaces[scored.limit > columns] ** cuts
        return [few, halfspaces[1] ** cuts, self._by_weights()]

    def _by_weights(self) -> int:
        scored, features = self.scored, int(self.scored.copies.sum())
        more = scored.kind.n_weights(scored.max_weight) - 1
        vectors: int = sum(comb(features, k) * more**k for k in range(scored.limit + 1))
        return vectors * scored.kind.n_placements(len(self.contexts))

    def program(self, *, constrained: bool = False) -> Encoding:
        del constrained  # the one cost map is linear and exact
        self.require("program")
        return TableEncoding(self._supports) if self._program_by_tables else self._by_rows(self.scored)

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

    def policies(self) -> Iterator[ScoringRule]:
        for weights in self._weights():
            for cuts in combinations_with_replacement(_places(self.scored.points @ weights), self.n_actions - 1):
                yield self.scored.rule_of(weights, cuts)

    def draw(self, rng: np.random.Generator) -> ScoringRule:
        """Return a random rule that splits the contexts (any such rule can come), or a constant if none does."""
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
        return (self._spread(support, chosen) for support, chosen in self._chosen(values) if gcd(*chosen) <= 1)

    def _chosen(self, values: Iterable[Any]) -> Iterator[tuple[tuple[int, ...], tuple[Any, ...]]]:
        """Yield sets of features that are not constant, few first, each with all choices of a value for each."""
        features = np.flatnonzero(np.ptp(self.scored.points, axis=0)).tolist()
        for size in range(min(self.scored.limit, len(features)) + 1):
            for support in combinations(features, size):
                yield from ((support, chosen) for chosen in product(values, repeat=size))

    def _spread(self, support: Any, values: Any, *each: int) -> Ints:
        """Return weights (d,), or (d, ``each``), with these values on some features, and 0 elsewhere."""
        weights = np.zeros((self.scored.points.shape[1], *each), dtype=np.int64)
        weights[list(support)] = np.reshape(values, (-1, *each))
        return weights


def _places(scores: Floats) -> list[int]:
    found = [int(score) for score in np.unique(scores)]
    return [*found, found[-1] + 1]


class OpenedEach(OpenedLinear):
    """Rules with a score for each action.

    ``log_size`` is the least of three: the weights, those alike but for a shift once, times the placements of K - 1
    bases, (K - 1)! (g + 1) ... ((K - 1) g + 1); K^g; and where support tables can be used, their rows.
    """

    _by_rows = EachEncoding

    def _bounds(self) -> list[int]:
        return [self._by_weights()]

    def _without_tables(self) -> dict[str, str]:
        reason = f"rules with a score for each action are searched by support tables alone; {self._no_tables}"
        tables = ("search", "action_weights", "constraints", "totals")
        return dict.fromkeys(tables, f"{reason}; for best policies there is oracle kind 'milp' then")

    def policies(self) -> Iterator[ScoringRule]:
        K, points = self.n_actions, self.scored.points.astype(np.int64)
        for support, chosen in self._chosen(self.scored.kind.weights([self.scored.max_weight])[1:, 0]):
            weights = self._spread(support, chosen, K)
            scores, group = np.unique(points @ weights, axis=0, return_inverse=True)
            every = np.unique(labels_of(scores[None])[0], axis=0)
            yield from (self.scored.labelled(weights, labels) for labels in every[:, group.ravel()].astype(np.int64))

    def draw(self, rng: np.random.Generator) -> ScoringRule:
        """Return a random rule: features, weights and labels that some bases give, each with equal chances."""
        points, limit, largest = self.scored.points, self.scored.limit, self.scored.max_weight
        features = np.flatnonzero(np.ptp(points, axis=0))
        support = rng.choice(features, int(rng.integers(min(limit, len(features)) + 1)), replace=False)
        values = rng.integers(-largest, largest + 1, (len(support), self.n_actions))
        weights = self._spread(support, values, self.n_actions)
        scores = points @ weights
        bases = rng.integers(-1, int(np.ptp(scores)) + 2, self.n_actions)
        return self.scored.labelled(weights, (scores + bases).argmax(axis=1))


_KINDS = {"one": (OneScore, OpenedLinear), "each": (EachScore, OpenedEach)}


@dataclass(frozen=True)
class LinearRules(NamedClass):
    """Scoring rules with small integer weights.

    Parameters
    ----------
    n_actions : K >= 2; where there is one score they are ordered: a higher score plays a higher action
    max_weight : weights are integers in [-max_weight, max_weight]; policies.Halfspaces has real ones
    max_features : number of features that may have a weight; None for no limit
    thresholds : as of trees; a column of contexts that holds anything but integers counts for the number of its
        thresholds at or below the value; one of integers needs no thresholds and counts for itself
    feature_names, action_names : used in printed rules
    scores : "one" score with a cut between each action and the next; or, for actions without an order, "each" has a
        score of its own, with weights on the same at most max_features features and any base: the highest score plays,
        of equal ones that of the lowest number. Its search takes two features of 0 and 1 for up to four actions, three
        for three with weights of 1; what is larger is for oracle kind "milp"

    """

    n_actions: int = 2
    max_weight: int = 5
    max_features: int | None = None
    thresholds: Thresholds = 3
    feature_names: Sequence[str] | None = None
    action_names: Sequence[str] | None = None
    scores: Literal["one", "each"] = "one"

    def __post_init__(self) -> None:
        whole("n_actions", self.n_actions, 2)
        choice("scores", self.scores, tuple(_KINDS))
        object.__setattr__(self, "max_weight", whole("max_weight", self.max_weight, 1))
        if self.max_features is not None:
            whole("max_features", self.max_features, 1)
        object.__setattr__(self, "thresholds", check_thresholds(self.thresholds))

    def _on(self, contexts: Floats, names: Names) -> Opened:
        kind, opened = _KINDS[self.scores]
        return opened(
            Scored(contexts, kind(self.n_actions), self.max_weight, self.max_features, self.thresholds, names)
        )
