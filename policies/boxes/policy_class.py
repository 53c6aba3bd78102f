"""The class of box rules: its settings, and what it is on given contexts."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, permutations, product
from math import comb, log
from typing import TYPE_CHECKING

import numpy as np

from milpcb.core.checks import whole
from milpcb.errors import InputError
from milpcb.protocols import Objective, Opened
from milpcb.types import Floats, Ints
from policies.boxes.geometry import Boxes, BoxList
from policies.boxes.rule import BoxRule, Interval
from policies.cuts import CuttingClass, Thresholds, check_thresholds, cut_points
from policies.names import Names
from policies.one_hot import OneHotEncoding
from policies.paths.terms import PathTerms, too_many

if TYPE_CHECKING:
    from policies.paths.graph import Graph


class BoxTerms(PathTerms):
    """The K constants, then for every other box the actions inside and those outside.

    The leaf totals of box rules, (box, side, action) and one for each constant, and the rules as paths.

    A path plays an action on all contexts, or one inside a box and then another one outside. So each labeling of the
    class has exactly one derivation.

    The program picks a box with both of its actions, the sum of two terms, so noise on its columns is not noise on
    these terms.
    """

    def __init__(self, boxes: BoxList, n_actions: int, names: Names) -> None:
        self._boxes, self.n_actions, self._names = boxes, n_actions, names
        self.n_features = len(boxes.cuts)
        self.n_touched = len(boxes)
        self.n_terms = (2 * len(boxes) - 1) * n_actions

    def places(self, contexts: Floats) -> list[Ints]:
        """Return the constants, and of every other box the side that a context is on."""
        outside = np.ascontiguousarray(~self._boxes.holding(contexts)[:, 1:])
        sides = np.pad(1 + 2 * np.arange(outside.shape[1]) + outside, ((0, 0), (1, 0)))
        return list((sides * self.n_actions)[:, :, None] + np.arange(self.n_actions))

    def adder(self, contexts: Floats) -> Callable[[Floats], Floats]:
        """Return a function of costs at these ``contexts``; outside of a box are all, less those inside."""
        by_box = self._boxes.totals_of(contexts)

        def add_up(costs: Floats) -> Floats:
            totals = np.empty((2 * len(self._boxes), self.n_actions))
            totals[::2], totals[1::2] = (side.T for side in by_box(costs))
            totals[1] = totals[0]  # outside of all contexts is nothing: what is left begins with the constants
            return totals[1:].ravel()

        return add_up

    @cached_property
    def graph(self) -> Graph:
        """A node for each box with its action inside; constants go past them."""
        from policies.paths.graph import Graph

        K, n_boxes = self.n_actions, len(self._boxes) - 1
        pairs = np.array(list(permutations(range(K), 2)))
        box = np.arange(n_boxes)[:, None]
        node, sides = 1 + box * K, (1 + 2 * box) * K  # of action 0 inside
        actions, sink = np.arange(K), 1 + n_boxes * K
        source = np.append(np.zeros(K + node.size * K, dtype=np.int64), node + pairs[:, 0])
        to = np.concatenate([np.full(K, sink), (node + actions).ravel(), np.full(n_boxes * len(pairs), sink)])
        term = np.concatenate([actions, (sides + actions).ravel(), (sides + K + pairs[:, 1]).ravel()])
        return Graph(source, to, term, 1 + 2 * n_boxes, K)

    def policy(self, terms: list[int]) -> BoxRule:
        """Return the rule of two sides, or of one constant."""
        side, inside = divmod(terms[0], self.n_actions)
        return BoxRule(self._boxes.intervals((side + 1) // 2), inside, terms[-1] % self.n_actions, self._names)


class BoxEncoding(OneHotEncoding):
    """Box rules: one action inside an axis-parallel box over one or two features, another outside; a pick of one box.

    Policy class
        A box is the set of contexts with lower < x[f] <= upper for one feature f, or for each of two; lower and upper
        are cut points or infinite. Any action inside, any outside. Boxes that hold the same contexts, or the contexts
        that the other leaves out, make the same rules and are one; the box of all contexts makes the K constants. With
        B other boxes N = K + B K (K - 1): every rule is another labeling.
    Variables
        x[b] in {0, 1}: box b is picked, b = 0 being all contexts. Each side takes its cheapest action.
        Constrained encodings: w[a] in {0, 1}: constant a; v[b, n] in {0, 1}: box b with the n-th of the K (K - 1)
        ordered pairs of different actions (inside, outside).
    Constraints
        sum x = 1, constrained sum w + sum v = 1: a simplex, every vertex is 0/1. An interval as a path from bin to bin
        would have to remember the action outside: K^2 nodes a bin, more columns than intervals for the usual few cuts.
    Cost map
        H[s, t, a], the total of costs[., a] over the contexts below the cuts s and t at once, is linear in the costs.
        The box (l, u] x (l', u'] has the inside total I = H[u, u'] - H[l, u'] - H[u, l'] + H[l, l'], the outside total
        O is the rest. x[b] costs min_a I[b, a] + min_a O[b, a]; w[a] the total of costs[., a]; v[b, (a, c)] costs I[b,
        a] + O[b, c].
    Size
        B + 1 columns and 1 row (constrained: N columns). q cuts a feature make at most q (q + 1) / 2 boxes of each
        feature and (q (q + 3) / 2)^2 of each pair: B = 60 for 10 features of 3 cuts, with pairs 3 705. No big-M.
    """

    def __init__(self, boxes: Boxes, n_actions: int, names: Names, *, constrained: bool) -> None:
        self._boxes, self._n_actions, self._names = boxes, n_actions, names
        # The actions of the columns of a constrained encoding, after the constants.
        self._different = list(permutations(range(n_actions), 2)) if constrained else []
        if constrained:
            super().__init__(w=(n_actions,), v=(len(boxes) - 1, len(self._different)))
        else:
            super().__init__(x=(len(boxes),))

    def objective(self, costs: Floats) -> Objective:
        """Return the cost of each box with its cheapest actions, or with each pair of actions."""
        inside, outside = self._boxes.totals(costs)
        if not self._different:
            return Objective(inside.min(axis=0) + outside.min(axis=0))
        pairs = np.array([inside[a, 1:] + outside[c, 1:] for a, c in self._different])
        return Objective(np.concatenate([inside[:, 0], pairs.T.ravel()]))

    def policy(self, number: int, costs: Floats) -> BoxRule:
        """Return the rule of the box that is picked."""
        if not self._different:
            inside, outside = (int(totals[:, number].argmin()) for totals in self._boxes.totals(costs))
            return BoxRule(self._boxes.intervals(number), inside, outside, self._names)
        if number < self._n_actions:
            return BoxRule((), number, number, self._names)
        b, n = divmod(number - self._n_actions, len(self._different))
        return BoxRule(self._boxes.intervals(b + 1), *self._different[n], self._names)


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
