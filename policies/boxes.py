"""Box rules, an action inside a box and another outside: one rule, the different boxes, their totals, the class."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain, combinations, pairwise, permutations, product
from math import comb, inf, log

import numpy as np

from milpcb.core.checks import whole
from milpcb.core.decimals import beyond, spaced
from milpcb.errors import InputError
from milpcb.types import Bools, Floats, Ints
from policies.cuts import CuttingClass, Distinct, Thresholds, check_thresholds, cut_points, is_binary
from policies.exports.decisions import AllOf, Test
from policies.names import Names
from policies.paths.graph import Graph
from policies.paths.policy_class import OpenedPaths, PathTerms
from policies.rule import ChainRule


@dataclass(frozen=True)
class Interval:
    """The condition lower < x[feature] <= upper, None for no bound; ``binary``: the feature only takes 0 and 1."""

    feature: int
    lower: float | None
    upper: float | None
    binary: bool = False

    def holds(self, contexts: Floats) -> Bools:
        """Return (n,): whether the feature of a context is in the interval."""
        column = contexts[:, self.feature]
        lower, upper = -inf if self.lower is None else self.lower, inf if self.upper is None else self.upper
        return np.asarray((lower < column) & (column <= upper))

    def tests(self) -> list[Test]:
        """Return the comparisons that the condition is made of, none without bounds."""
        below = [Test(self.feature, ">", self.lower, self.binary)] if self.lower is not None else []
        above = [Test(self.feature, "<=", self.upper, self.binary)] if self.upper is not None else []
        return below + above


@dataclass(frozen=True, repr=False)
class BoxRule(ChainRule):
    """Play ``inside`` where all intervals hold, else ``outside``; a constant has no interval, so it is one rule."""

    intervals: tuple[Interval, ...]
    inside: int
    outside: int
    names: Names = field(default=Names(), compare=False)

    def __post_init__(self) -> None:
        bounded = tuple(each for each in self.intervals if (each.lower, each.upper) != (None, None))
        object.__setattr__(self, "intervals", bounded)
        if not self.intervals:
            object.__setattr__(self, "outside", self.inside)
        if self.inside == self.outside:
            object.__setattr__(self, "intervals", ())

    @property
    def leaf_actions(self) -> tuple[int, ...]:
        return (self.inside, self.outside) if self.intervals else (self.inside,)

    @property
    def _conditions(self) -> list[AllOf]:
        tests = tuple(test for interval in self.intervals for test in interval.tests())
        return [AllOf(tests)] if tests else []

    def _leaf(self, contexts: Floats) -> Ints:
        outside = np.zeros(len(contexts), dtype=np.int64)
        for interval in self.intervals:
            outside |= ~interval.holds(contexts)
        return outside


class BoxList:
    """Boxes between cut points; number 0 holds all contexts.

    Bound 0 is minus infinity, bound 1 infinity, then come all cut points; ``corners`` (4, B + 1) holds the bounds
    (l, u, l', u') of each box, bounds 0 and 1 of features that it leaves free.
    """

    def __init__(self, cuts: list[Floats], binary: list[bool], *, pairs: bool, contexts: Floats | None = None) -> None:
        """List the boxes, with ``pairs`` of two features too, that divide the contexts, or the space, differently."""
        self.cuts, self.binary, self.pairs = cuts, binary, pairs
        self._bounds = [(0, -inf), (0, inf), *((f, cut) for f, points in enumerate(cuts) for cut in points.tolist())]
        blocks = [block for block in _blocks(cuts, pairs=pairs) if block]
        boxes = chain(*blocks) if contexts is None else _different(blocks, self.below_bounds(contexts))
        self.corners = np.array(list(boxes)).T

    def __len__(self) -> int:
        return int(self.corners.shape[1])

    def holding(self, contexts: Floats) -> Bools:
        """Return (n, B + 1): whether a box holds a context of ``contexts`` (n, d)."""
        return _inside(self.below_bounds(contexts), self.corners)

    def intervals(self, b: int) -> tuple[Interval, ...]:
        """Return the intervals whose common part is box ``b``; none for number 0."""
        bounds = self.corners[:, b].tolist()
        return tuple(self._interval(*side) for side in (bounds[:2], bounds[2:]) if side != [0, 1])

    def below_bounds(self, contexts: Floats) -> Bools:
        """Return (n, bounds): whether the feature of each bound is at most the bound."""
        feature, bound = (np.array(part) for part in zip(*self._bounds, strict=True))
        return np.asarray(contexts[:, feature] <= bound)

    def _interval(self, lower: int, upper: int) -> Interval:
        f = self._bounds[max(lower, upper)][0]
        low, high = (None if side < 2 else self._bounds[side][1] for side in (lower, upper))
        return Interval(f, low, high, self.binary[f])


Corners = tuple[int, int, int, int]


def _blocks(cuts: list[Floats], *, pairs: bool) -> Iterator[list[Corners]]:
    """Yield all boxes in blocks, first the one of all contexts, then those of one feature, then of two."""
    yield [(0, 1, 0, 1)]
    ends = pairwise(np.cumsum([2, *map(len, cuts)]).tolist())
    sides = [[side for side in combinations((0, *range(*end), 1), 2) if side != (0, 1)] for end in ends]
    for of in sides:
        yield [(*side, 0, 1) for side in of if side[1] != 1]  # above a bound they divide as up to it
    for of, of2 in combinations(sides, 2) if pairs else ():
        yield from ([(*side, *other) for other in of2] for side in of)


def _different(blocks: list[list[Corners]], below: Bools) -> Iterable[Corners]:
    """Return the first of the boxes that divide the contexts alike, in their order."""
    boxes: dict[bytes, Corners] = {}
    for corners in blocks:
        held = _inside(below, np.array(corners).T)
        keys = np.packbits(held ^ held[:1], axis=0).T  # a set and what it leaves out divide alike
        for key, box in zip(keys, corners, strict=True):
            boxes.setdefault(key.tobytes(), box)
    return boxes.values()


def _inside(below: Bools, corners: Ints) -> Bools:
    lower, upper, lower2, upper2 = np.moveaxis(below[:, corners], 1, 0)
    return np.asarray(upper & ~lower & upper2 & ~lower2)


class BoxTerms(PathTerms):
    """The leaf totals of box rules, (box, side, action) and one for each constant, and the rules as paths.

    Policy class
        A box is the set of contexts with lower < x[f] <= upper for one feature f, or for each of two; lower and upper
        are cut points or infinite. Any action inside, any outside. Boxes that hold the same contexts, or the contexts
        that the other leaves out, make the same rules and are one; the box of all contexts makes the K constants. With
        B other boxes N = K + B K (K - 1): every rule is another labeling.
    Paths
        A path plays an action on all contexts, or one inside a box and then another one outside, so there are N.
        Programs have one row, and B + 1 columns, constrained N. q cuts a feature make at most q (q + 1) / 2 boxes of
        each feature and (q (q + 3) / 2)^2 of each pair: B = 60 for 10 features of 3 cuts, with pairs 3 705.
    """

    def __init__(self, boxes: BoxList, n_actions: int, names: Names) -> None:
        self._boxes, self.n_actions, self._names = boxes, n_actions, names
        self.n_features = len(boxes.cuts)
        self.n_touched = len(boxes)
        self.n_terms = (2 * len(boxes) - 1) * n_actions

    def places(self, contexts: Floats) -> list[Ints]:
        outside = np.ascontiguousarray(~self._boxes.holding(contexts)[:, 1:])
        sides = np.pad(1 + 2 * np.arange(outside.shape[1]) + outside, ((0, 0), (1, 0)))
        return list((sides * self.n_actions)[:, :, None] + np.arange(self.n_actions))

    def adder(self, contexts: Floats) -> Callable[[Floats], Floats]:
        """Return a function of costs at these ``contexts``; the total outside a box is that of all, minus that inside.

        With H[s, t] the total below two bounds at once, (l, u] x (l', u'] holds H[u, u'] + H[l, l'] - H[l, u'] -
        H[u, l']; an interval of one feature holds H[u] - H[l].
        """
        below = np.ascontiguousarray(self._boxes.below_bounds(contexts).T, dtype=float)
        lower, upper, lower2, upper2 = self._boxes.corners
        added, taken, n, pairs = [upper], [lower], len(below), self._boxes.pairs
        if pairs:
            added, taken = [upper * n + upper2, lower * n + lower2], [lower * n + upper2, upper * n + lower2]

        def add_up(costs: Floats) -> Floats:
            actions = np.ascontiguousarray(costs.T)
            weighted = (actions[:, None, :] * below).reshape(-1, len(costs)) if pairs else actions
            under = (weighted @ below.T).reshape(len(actions), -1)
            inside = under.take(added[0], axis=1)
            for more in added[1:]:
                inside += under.take(more, axis=1)
            for less in taken:
                inside -= under.take(less, axis=1)
            totals = np.empty((2 * len(self._boxes), self.n_actions))
            totals[::2], totals[1::2] = inside.T, (inside[:, :1] - inside).T
            totals[1] = totals[0]  # outside of all contexts is nothing: what is left begins with the constants
            return totals[1:].ravel()

        return add_up

    @cached_property
    def graph(self) -> Graph:
        """A node for each box with its action inside; constants go past them."""
        K, n_boxes = self.n_actions, len(self._boxes) - 1
        pairs = np.array(list(permutations(range(K), 2)))
        box = np.arange(n_boxes)[:, None]
        node, sides = 1 + box * K, (1 + 2 * box) * K  # of action 0 inside
        actions, sink = np.arange(K), 1 + n_boxes * K
        source = np.append(np.zeros(K + node.size * K, dtype=np.int64), node + pairs[:, 0])
        to = np.concatenate([np.full(K, sink), (node + actions).ravel(), np.full(n_boxes * len(pairs), sink)])
        term = np.concatenate([actions, (sides + actions).ravel(), (sides + K + pairs[:, 1]).ravel()])
        return Graph(source, to, term, 1 + 2 * n_boxes, K)

    @property
    def wide_graph(self) -> Graph:
        boxes, n_boxes = np.arange(1, len(self._boxes)), len(self._boxes) - 1
        source = np.concatenate([np.zeros(1 + n_boxes, dtype=np.int64), boxes])
        to = np.concatenate([[n_boxes + 1], boxes, np.full(n_boxes, n_boxes + 1)])
        leaf = np.concatenate([[0], 2 * boxes - 1, 2 * boxes])
        return Graph(source, to, self.n_terms + leaf, 1 + 2 * n_boxes, self.n_actions)

    def policy(self, terms: list[int]) -> BoxRule:
        side, inside = divmod(terms[0], self.n_actions)
        return BoxRule(self._boxes.intervals((side + 1) // 2), inside, terms[-1] % self.n_actions, self._names)


MOST_ENTRIES = 10**9  # of boxes on contexts: beyond them memory runs out


@dataclass(frozen=True)
class BoxRules(CuttingClass):
    """One action inside a box, another outside.

    Parameters
    ----------
    n_actions : K >= 2
    max_features : 1 (an interval of one feature) or 2 (also a rectangle of two)
    thresholds : number of quantile cuts per feature, "all" for one between any two values, or one list per feature
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
        n_boxes, m = sum(intervals) + pairs, len(contexts)
        size = f"{spaced(n_boxes)} boxes on {spaced(m)} rows of contexts have {{}} entries"
        if reason := beyond(n_boxes * m, MOST_ENTRIES, size, "use fewer thresholds"):
            raise InputError(reason)
        return OpenedBoxes(fixed, contexts, names)

    def _terms(self, cuts: tuple[tuple[float, ...], ...], names: Names) -> BoxTerms:
        points = [np.array(feature) for feature in cuts]
        boxes = BoxList(points, [False] * len(cuts), pairs=self.max_features == 2)
        return BoxTerms(boxes, self.n_actions, names)


class OpenedBoxes(OpenedPaths):
    """Box rules on fixed contexts. ``log_size`` is exact, also for labelings."""

    def __init__(self, rules: BoxRules, contexts: Floats, names: Names) -> None:
        distinct = Distinct.rows(rules.patterns(contexts))
        kept, binary = contexts[distinct.first], [is_binary(column) for column in contexts.T]
        cuts = cut_points(contexts, rules.thresholds)
        self._boxes = boxes = BoxList(cuts, binary, pairs=rules.max_features == 2, contexts=kept)
        self._most, self._names = rules.max_features, names
        size = rules.n_actions * (1 + (len(boxes) - 1) * (rules.n_actions - 1))
        super().__init__(rules, distinct.group, kept, log_size=log(size), n_derivations=size)

    @cached_property
    def own_terms(self) -> BoxTerms:
        return BoxTerms(self._boxes, self.n_actions, self._names)

    def describe_search(self) -> str:
        return f"the totals of all {spaced(len(self._boxes))} boxes that hold different contexts"

    def policies(self) -> Iterator[BoxRule]:
        yield from (BoxRule((), a, a, self._names) for a in range(self.n_actions))
        for r in range(1, self._most + 1):
            for sides in combinations(self._intervals(), r):
                for intervals, actions in product(product(*sides), permutations(range(self.n_actions), 2)):
                    yield BoxRule(intervals, *actions, self._names)

    def draw(self, rng: np.random.Generator) -> BoxRule:
        """Return a random rule: one of the different boxes, an action inside and an action outside, all uniform."""
        inside, outside = rng.integers(self.n_actions, size=2).tolist()
        return BoxRule(self._boxes.intervals(int(rng.integers(len(self._boxes)))), inside, outside, self._names)

    def _intervals(self) -> list[list[Interval]]:
        return [
            [
                Interval(f, lower, upper, self._boxes.binary[f])
                for lower, upper in combinations((None, *cuts.tolist(), None), 2)
                if (lower, upper) != (None, None)
            ]
            for f, cuts in enumerate(self._boxes.cuts)
        ]
