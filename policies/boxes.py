"""Box rules: one action inside an axis-parallel box over one or two features, another outside; a pick of one box.

Policy class
    A box is the set of contexts with lower < x[f] <= upper for one feature f, or for each of two; lower and upper are cut
    points or infinite. Any action inside, any outside. Boxes that hold the same contexts, or the contexts that the
    other leaves out, make the same rules and are one; the box of all contexts makes the K constants. With B other
    boxes N = K + B K (K - 1): every rule is another labeling.
Variables
    x[b] in {0, 1}: box b is picked, b = 0 being all contexts. Each side takes its cheapest action.
    Constrained encodings: w[a] in {0, 1}: constant a; v[b, n] in {0, 1}: box b with the n-th of the K (K - 1) ordered
    pairs of different actions (inside, outside).
Constraints
    sum x = 1, constrained sum w + sum v = 1: a simplex, every vertex is 0/1. An interval as a path from bin to bin
    would have to remember the action outside: K^2 nodes a bin, more columns than intervals for the usual few cuts.
Cost map
    H[s, t, a], the total of costs[., a] over the contexts below the cuts s and t at once, is linear in the costs. The box
    (l, u] x (l', u'] has the inside total I = H[u, u'] - H[l, u'] - H[u, l'] + H[l, l'], the outside total O is the rest.
    x[b] costs min_a I[b, a] + min_a O[b, a]; w[a] the total of costs[., a]; v[b, (a, c)] costs I[b, a] + O[b, c].
Size
    B + 1 columns and 1 row (constrained: N columns). q cuts a feature make at most q (q + 1) / 2 boxes of each feature
    and (q (q + 3) / 2)^2 of each pair: B = 60 for 10 features of 3 cuts, with pairs 3 705. No big-M.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import combinations, pairwise, permutations, product
from math import inf, log
from typing import Any

import numpy as np

from milpcb.checks import context_array, whole
from milpcb.errors import InputError
from milpcb.program import ProgramBuilder
from milpcb.protocols import Encoding, Objective, Search
from milpcb.types import Bools, Floats, Ints
from policies.cuts import (
    CuttingClass,
    Distinct,
    Thresholds,
    check_names,
    check_thresholds,
    cut_points,
    describe_test,
)
from policies.names import Names


@dataclass(frozen=True)
class Interval:
    """The condition lower < x[feature] <= upper, None being no bound; ``binary``: the feature only takes 0 and 1."""

    feature: int
    lower: float | None
    upper: float | None
    binary: bool = False

    def holds(self, contexts: Floats) -> Bools:
        """Return (n,): whose feature is in the interval."""
        column = contexts[:, self.feature]
        lower, upper = -inf if self.lower is None else self.lower, inf if self.upper is None else self.upper
        return np.asarray((lower < column) & (column <= upper))

    def condition(self, names: Names) -> str:
        """Return the condition as people say it."""
        name = names.feature(self.feature)
        if self.upper is None:
            return f"{name} = 1" if self.binary else f"{name} > {self.lower:.6g}"
        if self.lower is None:
            return describe_test(names, self.feature, self.upper, binary=self.binary)
        return f"{self.lower:.6g} < {name} <= {self.upper:.6g}"


@dataclass(frozen=True)
class BoxRule:
    """Play ``inside`` where all intervals hold, else ``outside``; a constant has no interval, so it is one rule."""

    intervals: tuple[Interval, ...]
    inside: int
    outside: int
    names: Names = field(default=Names(), compare=False)

    def __post_init__(self) -> None:
        if not self.intervals:
            object.__setattr__(self, "outside", self.inside)
        if self.inside == self.outside:
            object.__setattr__(self, "intervals", ())

    def predict(self, contexts: Any) -> Ints:
        """Return the action of each context, (n, d) -> (n,); raises InputError when a feature is not there."""
        last = max((interval.feature for interval in self.intervals), default=0)
        array = context_array(contexts, least_columns=last + 1)
        held = np.ones(len(array), dtype=bool)
        for interval in self.intervals:
            held &= interval.holds(array)
        return np.where(held, self.inside, self.outside)

    def __str__(self) -> str:
        inside, outside = self.names.action(self.inside), self.names.action(self.outside)
        if not self.intervals:
            return f"play {inside}"
        conditions = " and ".join(interval.condition(self.names) for interval in self.intervals)
        return f"if {conditions}:\n    play {inside}\nelse:\n    play {outside}"


@dataclass(frozen=True)
class BoxRules(CuttingClass):
    """One action inside a box, another outside.

    Parameters
    ----------
    n_actions : K >= 2
    max_features : 1 (an interval of one feature) or 2 (also a rectangle of two)
    thresholds : number of quantile cuts per feature, or one list of cut points per feature; a feature that only takes
        0 and 1 gives one cut
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

    @property
    def names(self) -> Names:
        """Names for printing."""
        return Names(check_names(self.feature_names), check_names(self.action_names))

    def formulate(self, contexts: Floats, *, constrained: bool = False) -> BoxEncoding:
        """Return the encoding that picks a box; an LP suffices unless side constraints are added."""
        return BoxEncoding(self, contexts, constrained=constrained)

    def search(self, contexts: Floats) -> BoxSearch:
        """Return the exact search: all boxes at once."""
        return BoxSearch(self, contexts)

    def log_size(self, contexts: Floats) -> float:
        """Return log N, the exact number of labelings."""
        others = len(Boxes(self, contexts)) - 1
        return log(self.n_actions * (1 + others * (self.n_actions - 1)))

    def policies(self, contexts: Floats) -> Iterator[BoxRule]:
        """List all rules by the definition: constants, then every box of one feature, then of two.

        Different boxes may hold the same contexts.
        """
        yield from (BoxRule((), a, a, self.names) for a in range(self.n_actions))
        features = _intervals(contexts, self.thresholds)
        for r in range(1, self.max_features + 1):
            for sides in combinations(features, r):
                for intervals, actions in product(product(*sides), permutations(range(self.n_actions), 2)):
                    yield BoxRule(intervals, *actions, self.names)

    def draw(self, contexts: Floats, rng: np.random.Generator) -> BoxRule:
        """Return a random rule: one of the different boxes, an action inside and an action outside, all uniform."""
        boxes = Boxes(self, contexts)
        inside, outside = rng.integers(self.n_actions, size=2).tolist()
        return boxes.rule(int(rng.integers(len(boxes))), inside, outside)


class Boxes:
    """The different boxes on fixed contexts; number 0 holds all contexts.

    Bound 0 is minus infinity, bound 1 infinity, then come all cut points; ``_corners`` (4, B + 1) holds the bounds
    (l, u, l', u') of each box, bounds 0 and 1 of features that it leaves free.
    """

    def __init__(self, rules: BoxRules, contexts: Floats) -> None:
        cuts = cut_points(contexts, rules.thresholds)
        distinct = Distinct.rows(
            np.column_stack([np.searchsorted(c, column) for c, column in zip(cuts, contexts.T, strict=True)])
        )
        self.n_actions = rules.n_actions
        self.group = distinct.group
        self.contexts = contexts[distinct.first]
        self._names, self._binary = rules.names, _binary(contexts)
        self._bounds = [(0, -inf), (0, inf), *((f, cut) for f, points in enumerate(cuts) for cut in points.tolist())]
        feature, bound = (np.array(part) for part in zip(*self._bounds, strict=True))
        below = self.contexts[:, feature] <= bound
        self._below = np.ascontiguousarray(below.T, dtype=float)
        self._pairs = rules.max_features == 2
        self._corners = np.array(_different(_sides(cuts), below, pairs=self._pairs)).T
        # Where the cost map's H with a plus and with a minus stand, for one feature H[u] and H[l].
        lower, upper, lower2, upper2 = self._corners
        n = len(self._below)
        self._added = np.array([upper * n + upper2, lower * n + lower2] if self._pairs else [upper])
        self._taken = np.array([lower * n + upper2, upper * n + lower2] if self._pairs else [lower])

    def __len__(self) -> int:
        return int(self._corners.shape[1])

    def totals(self, costs: Floats) -> tuple[Floats, Floats]:
        """Return the total costs (K, B + 1) inside and outside each box; whole costs stay exact."""
        actions = np.ascontiguousarray(costs.T)
        if self._pairs:
            weighted = actions[:, None, :] * self._below
            totals = (weighted.reshape(-1, len(costs)) @ self._below.T).reshape(len(actions), -1)
        else:
            totals = actions @ self._below.T
        inside = totals.take(self._added, axis=1).sum(axis=1) - totals.take(self._taken, axis=1).sum(axis=1)
        return inside, inside[:, :1] - inside

    def hold(self, row: int) -> Bools:
        """Return (B + 1,): which boxes hold context ``row``."""
        lower, upper, lower2, upper2 = self._below[:, row][self._corners] > 0
        return np.asarray(upper & ~lower & upper2 & ~lower2)

    def rule(self, b: int, inside: int, outside: int) -> BoxRule:
        """Return the rule of box ``b`` with these actions."""
        bounds = self._corners[:, b].tolist()
        sides = [self._interval(*side) for side in (bounds[:2], bounds[2:]) if side != [0, 1]]
        return BoxRule(tuple(sides), inside, inside if b == 0 else outside, self._names)

    def _interval(self, lower: int, upper: int) -> Interval:
        f = self._bounds[max(lower, upper)][0]
        low, high = (None if side < 2 else self._bounds[side][1] for side in (lower, upper))
        return Interval(f, low, high, self._binary[f])


class BoxEncoding(Encoding):
    """The simplex over the boxes and its cost map."""

    def __init__(self, rules: BoxRules, contexts: Floats, *, constrained: bool) -> None:
        self._boxes = boxes = Boxes(rules, contexts)
        self.group, self.contexts = boxes.group, boxes.contexts
        # The actions of the columns of a constrained encoding, after the constants.
        self._different = list(permutations(range(rules.n_actions), 2)) if constrained else []
        b = ProgramBuilder()
        if constrained:
            w = b.columns("w", (rules.n_actions,), upper=1.0, integer=True)
            v = b.columns("v", (len(boxes) - 1, len(self._different)), upper=1.0, integer=True)
            columns = np.concatenate([w, v.ravel()])
        else:
            columns = b.columns("x", (len(boxes),), upper=1.0, integer=True)
        b.rows((columns[None, :], 1.0), lower=1.0, upper=1.0)
        self.program = b.build(integral=True)

    def objective(self, costs: Floats) -> Objective:
        """Return the cost of each box with its cheapest actions, or with each pair of actions."""
        inside, outside = self._boxes.totals(costs)
        if not self._different:
            return Objective(inside.min(axis=0) + outside.min(axis=0))
        pairs = np.array([inside[a, 1:] + outside[c, 1:] for a, c in self._different])
        return Objective(np.concatenate([inside[:, 0], pairs.T.ravel()]))

    def decode(self, x: Floats, costs: Floats) -> BoxRule:
        """Return the rule of the box that is picked."""
        picked = int(x.argmax())
        if not self._different:
            return self._boxes.rule(picked, *_cheapest(*self._boxes.totals(costs), picked))
        k = self._boxes.n_actions
        if picked < k:
            return self._boxes.rule(0, picked, picked)
        b, n = divmod(picked - k, len(self._different))
        return self._boxes.rule(b + 1, *self._different[n])


class BoxSearch(Search):
    """All boxes at once, from the same totals as the program.

    With (+) for "or" and (x) for "and", the sum over all rules that play a at a row is
        C[a] (+) (+)_b Own[b, a] (x) (+)_{c != a} Other[b, c],
    Own being the side of box b that holds the row, Other its other side, C the constants. Read in (min, +) of total
    costs, it is the profile; read in (log-sum-exp, +) of -rate * total costs, it is the log of the sum of
    exp(-rate * total cost). Each labeling of the class has exactly one derivation.
    """

    def __init__(self, rules: BoxRules, contexts: Floats) -> None:
        self._boxes = Boxes(rules, contexts)
        self.n_actions, self.group, self.contexts = rules.n_actions, self._boxes.group, self._boxes.contexts

    def value(self, costs: Floats) -> float:
        """Return the least total cost: the box whose two sides are cheapest, each at its cheapest action."""
        inside, outside = self._boxes.totals(costs)
        return float((inside.min(axis=0) + outside.min(axis=0)).min())

    def minimise(self, costs: Floats) -> tuple[float, BoxRule]:
        """Return the least total cost and a rule that attains it, the first box and actions in a tie."""
        inside, outside = self._boxes.totals(costs)
        totals = inside.min(axis=0) + outside.min(axis=0)
        b = int(totals.argmin())
        return float(totals[b]), self._boxes.rule(b, *_cheapest(inside, outside, b))

    def profile(self, costs: Floats, row: int) -> Floats:
        """Return (K,): the least total cost by the action at ``row``."""
        return self._at(*self._boxes.totals(costs), row, np.minimum)

    def log_weights(self, costs: Floats, row: int, rate: float) -> Floats:
        """Return (K,): log of the summed exp(-rate * total cost) of the rules by the action at ``row``."""
        return self._at(*self._boxes.totals(-rate * costs), row, np.logaddexp)

    def _at(self, inside: Floats, outside: Floats, row: int, add: np.ufunc) -> Floats:
        held = self._boxes.hold(row)
        own, other = np.where(held, inside, outside)[:, 1:], np.where(held, outside, inside)[:, 1:]
        rest = [add.reduce(np.delete(other, a, axis=0), axis=0) for a in range(self.n_actions)]
        return np.asarray(add.reduce(np.column_stack([inside[:, 0], own + np.array(rest)]), axis=1))


def _cheapest(inside: Floats, outside: Floats, b: int) -> tuple[int, int]:
    return int(inside[:, b].argmin()), int(outside[:, b].argmin())


def _intervals(contexts: Floats, thresholds: Thresholds) -> list[list[Interval]]:
    """Return the intervals of each feature, without the one that is all numbers."""
    binary = _binary(contexts)
    return [
        [
            Interval(f, lower, upper, binary[f])
            for lower, upper in combinations((None, *cuts.tolist(), None), 2)
            if (lower, upper) != (None, None)
        ]
        for f, cuts in enumerate(cut_points(contexts, thresholds))
    ]


def _sides(cuts: list[Floats]) -> list[list[tuple[int, int]]]:
    """Return the intervals of each feature as pairs of bounds."""
    ends = np.cumsum([2, *map(len, cuts)]).tolist()
    return [
        [side for side in combinations((0, *range(first, stop), 1), 2) if side != (0, 1)]
        for first, stop in pairwise(ends)
    ]


def _different(sides: list[list[tuple[int, int]]], below: Bools, *, pairs: bool) -> list[tuple[int, int, int, int]]:
    """Return the boxes that divide the contexts differently, first all contexts, then one feature, then two."""
    inside = [np.array([below[:, upper] & ~below[:, lower] for lower, upper in of]) for of in sides]
    boxes: dict[bytes, tuple[int, int, int, int]] = {}

    def keep(held: Bools, corners: list[tuple[int, int, int, int]]) -> None:
        keys = np.packbits(held ^ held[:, :1], axis=1)  # a set and what it leaves out divide alike
        for key, box in zip(keys, corners, strict=True):
            boxes.setdefault(key.tobytes(), box)

    keep(np.ones((1, len(below)), dtype=bool), [(0, 1, 0, 1)])
    for f, held in enumerate(inside):
        if sides[f]:
            keep(held, [(*side, 0, 1) for side in sides[f]])
    for f, f2 in combinations([f for f, of in enumerate(sides) if of], 2) if pairs else ():
        for side, held in zip(sides[f], inside[f], strict=True):
            keep(inside[f2] & held, [(*side, *other) for other in sides[f2]])
    return list(boxes.values())


def _binary(contexts: Floats) -> list[bool]:
    """Return which features only take 0 and 1."""
    return [bool(np.isin(column, (0.0, 1.0)).all()) for column in contexts.T]
