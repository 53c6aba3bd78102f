"""The class of box rules: its settings, and what it is on given contexts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, permutations, product
from math import comb, log

import numpy as np

from milpcb.core.checks import whole
from milpcb.errors import InputError
from milpcb.protocols import Opened
from milpcb.types import Floats
from policies.boxes.geometry import Boxes, BoxList
from policies.boxes.program import BoxEncoding
from policies.boxes.rule import BoxRule, Interval
from policies.boxes.terms import BoxTerms
from policies.cuts import CuttingClass, Thresholds, check_thresholds, cut_points
from policies.names import Names
from policies.paths.terms import too_many

MOST_ENTRIES = 10**9  # of boxes on contexts: beyond them memory runs out


@dataclass(frozen=True)
class BoxRules(CuttingClass):
    """One action inside a box, another outside.

    Parameters
    ----------
    n_actions : K >= 2
    max_features : 1 (an interval of one feature) or 2 (also a rectangle of two)
    thresholds : number of quantile cuts per feature, "all" for a cut between any two values of a feature, or one list
        of cut points per feature; a feature that only takes 0 and 1 gives one cut
    feature_names, action_names : used in printed rules

    """

    n_actions: int
    max_features: int = 1
    thresholds: Thresholds = 3
    feature_names: Sequence[str] | None = None
    action_names: Sequence[str] | None = None

    def __post_init__(self) -> None:
        whole("n_actions", self.n_actions, 2)
        if whole("max_features", self.max_features, 1) > 2:
            raise InputError(f"max_features must be 1 or 2, got {self.max_features}; for more use decision_trees")
        object.__setattr__(self, "thresholds", check_thresholds(self.thresholds))

    def _on(self, contexts: Floats, names: Names) -> OpenedBoxes:
        fixed = self.with_cuts_of(contexts, names)
        intervals = [comb(len(cuts) + 2, 2) - 1 for cuts in cut_points(contexts, fixed.thresholds)]
        pairs = (sum(intervals) ** 2 - sum(n**2 for n in intervals)) // 2 if self.max_features == 2 else 0
        if (sum(intervals) + pairs) * len(contexts) > MOST_ENTRIES:
            raise InputError(
                f"{sum(intervals) + pairs:,} boxes on {len(contexts):,} rows of contexts are more than "
                f"{MOST_ENTRIES:,} entries; use fewer thresholds"
            )
        return OpenedBoxes(fixed, contexts, names)

    def _terms(self, cuts: tuple[tuple[float, ...], ...], names: Names) -> BoxTerms:
        points = [np.array(feature) for feature in cuts]
        boxes = BoxList(points, [False] * len(cuts), pairs=self.max_features == 2)
        return BoxTerms(boxes, self.n_actions, names)


class OpenedBoxes(Opened):
    """Box rules on fixed contexts. ``log_size`` is exact, for labelings too."""

    def __init__(self, rules: BoxRules, contexts: Floats, names: Names) -> None:
        """Take box rules with explicit cut points."""
        self._boxes = boxes = Boxes(contexts, rules.thresholds, pairs=rules.max_features == 2)
        self._rules, self._names = rules, names
        self.n_actions = rules.n_actions
        self.group, self.contexts = boxes.group, boxes.contexts
        n_rules = self.n_actions * (1 + (len(boxes) - 1) * (self.n_actions - 1))
        self.log_size = log(n_rules)
        self.unsupported = {"constraints": reason} if (reason := too_many(n_rules)) else {}
        every = Opened.capabilities | {"search", "action_weights", "fixed", "totals", "constraints"}
        self.capabilities = every - self.unsupported.keys()

    def program(self, *, constrained: bool = False) -> BoxEncoding:
        """Return the encoding that picks a box; an LP suffices unless side constraints are added."""
        return BoxEncoding(self._boxes, self.n_actions, self._names, constrained=constrained)

    def describe_search(self) -> str:
        """Name what ``search`` goes through."""
        return f"the totals of all {len(self._boxes):,} boxes that hold different contexts"

    def terms(self) -> BoxTerms:
        """Return both sides of the boxes that divide these contexts differently."""
        return self._own_terms

    @cached_property
    def _own_terms(self) -> BoxTerms:
        return BoxTerms(self._boxes, self.n_actions, self._names)

    def policies(self) -> Iterator[BoxRule]:
        """List all rules by the definition: constants, then every box of one feature, then of two.

        Different boxes may hold the same contexts.
        """
        yield from (BoxRule((), a, a, self._names) for a in range(self.n_actions))
        for r in range(1, self._rules.max_features + 1):
            for sides in combinations(self._intervals(), r):
                for intervals, actions in product(product(*sides), permutations(range(self.n_actions), 2)):
                    yield BoxRule(intervals, *actions, self._names)

    def draw(self, rng: np.random.Generator) -> BoxRule:
        """Return a random rule: one of the different boxes, an action inside and an action outside, all uniform."""
        inside, outside = rng.integers(self.n_actions, size=2).tolist()
        return BoxRule(self._boxes.intervals(int(rng.integers(len(self._boxes)))), inside, outside, self._names)

    def fixed(self) -> BoxRules:
        """Return the class with these cut points, explicit from now on."""
        return self._rules

    def _intervals(self) -> list[list[Interval]]:
        """Return the intervals of each feature, without the one that is all numbers."""
        return [
            [
                Interval(f, lower, upper, self._boxes.binary[f])
                for lower, upper in combinations((None, *cuts.tolist(), None), 2)
                if (lower, upper) != (None, None)
            ]
            for f, cuts in enumerate(self._boxes.cuts)
        ]
