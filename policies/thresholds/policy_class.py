"""The class of threshold rules: its settings, and what it is on given contexts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, pairwise, product
from math import comb, log

import numpy as np

from milpcb.core.checks import whole
from milpcb.types import Floats
from policies.cuts import CuttingClass, Thresholds, check_thresholds
from policies.names import Names
from policies.paths.opened import OpenedPaths
from policies.thresholds.rule import ThresholdRule
from policies.thresholds.terms import Bins, ThresholdTerms


@dataclass(frozen=True)
class ThresholdRules(CuttingClass):
    """Rules that cut one feature into pieces.

    Parameters
    ----------
    n_actions : K >= 2
    max_cuts : B >= 1, the most cuts of a rule
    thresholds : number of quantile cuts per feature, "all" for a cut between any two values of a feature, or one list
        of cut points per feature; a feature that only takes 0 and 1 gives one cut
    feature_names, action_names : used in printed rules

    """

    n_actions: int
    max_cuts: int = 1
    thresholds: Thresholds = 3
    feature_names: Sequence[str] | None = None
    action_names: Sequence[str] | None = None

    def __post_init__(self) -> None:
        whole("n_actions", self.n_actions, 2)
        whole("max_cuts", self.max_cuts, 1)
        object.__setattr__(self, "thresholds", check_thresholds(self.thresholds))

    def _on(self, contexts: Floats, names: Names) -> OpenedThresholds:
        return OpenedThresholds(self.with_cuts_of(contexts, names), contexts, names)

    def _terms(self, cuts: tuple[tuple[float, ...], ...], names: Names) -> ThresholdTerms:
        every = {f: np.array(points) for f, points in enumerate(cuts) if points} or {0: np.zeros(0)}
        return ThresholdTerms(every, dict.fromkeys(every, False), self.n_actions, self.max_cuts, names)


class OpenedThresholds(OpenedPaths):
    """Threshold rules on fixed contexts. ``log_size`` is exact for rules, an upper bound for labelings."""

    def __init__(self, rules: ThresholdRules, contexts: Floats, names: Names) -> None:
        self._bins = bins = Bins.of(contexts, rules.thresholds)
        self._names, self._max_cuts, k = names, rules.max_cuts, rules.n_actions
        sizes = [len(points) for points in bins.cuts.values()]
        chosen = [(q, c) for q in sizes for c in range(min(rules.max_cuts, q) + 1)]
        size = k + sum(comb(q, c) * k * (k - 1) ** c for q, c in chosen if c)
        ways = sum(comb(q, c) * k ** (c + 1) for q, c in chosen)
        super().__init__(rules, bins.group, bins.contexts, log_size=log(size), n_derivations=ways)

    @cached_property
    def own_terms(self) -> ThresholdTerms:
        """The bins (feature, bin, action) between the cut points that divide these contexts."""
        return ThresholdTerms(self._bins.cuts, self._bins.binary, self.n_actions, self._max_cuts, self._names)

    def describe_search(self) -> str:
        """Name what ``search`` goes through."""
        return "a dynamic program over the bins of each feature"

    def policies(self) -> Iterator[ThresholdRule]:
        """List all rules once: constants, then feature by feature, few cuts first."""
        yield from (ThresholdRule(0, (), (a,), self._names) for a in range(self.n_actions))
        for f, cuts in self._bins.cuts.items():
            for c in range(1, min(self._max_cuts, len(cuts)) + 1):
                every = product(range(self.n_actions), repeat=c + 1)
                changing = [actions for actions in every if all(a != b for a, b in pairwise(actions))]
                for chosen, actions in product(combinations(cuts.tolist(), c), changing):
                    yield ThresholdRule(f, chosen, actions, self._names, self._bins.binary[f])

    def draw(self, rng: np.random.Generator) -> ThresholdRule:
        """Return a random rule: a feature, as many of its cuts as allowed, any action for each piece, all uniform."""
        f = int(rng.choice(list(self._bins.cuts)))
        cuts = self._bins.cuts[f]
        chosen = np.sort(rng.choice(cuts, min(self._max_cuts, len(cuts)), replace=False))
        actions = rng.integers(self.n_actions, size=len(chosen) + 1)
        return ThresholdRule(f, tuple(chosen.tolist()), tuple(actions.tolist()), self._names, self._bins.binary[f])
