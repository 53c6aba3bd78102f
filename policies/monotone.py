"""Monotone rules: more of a feature never lowers the action; minimum closure of a partial order (min cut).

Policy class
    K ordered actions. x lies below x' when every feature of x, signed by its direction, is at most that of x'; then
    action(x) <= action(x'). With K = 2 action 1 is played on an up-set. On g distinct contexts every monotone labeling is
    in the class; elsewhere a rule plays the largest action of a listed context below (its least monotone extension), or
    the least action of all listed contexts where none is below.
Variables
    y[j, k] in {0, 1}, k = 1..K-1: the action of context j is at least k (in a file y_j_0 is k = 1).
Constraints
    (1)  y[i, k] <= y[j, k]        for each pair i, j such that j covers i: i below j and no context between them
    (2)  y[j, k + 1] <= y[j, k]    k = 1..K-2
    Each row has one 1 and one -1, so the matrix is the transpose of a directed incidence matrix, totally unimodular:
    every vertex is 0/1. Rows of pairs that are not covers follow from (1).
Cost map
    y[j, k] costs costs[j, k] - costs[j, k - 1], and sum_j costs[j, 0] is added. One map serves with and without side
    constraints.
Size
    g (K - 1) columns, (K - 1) rows a cover and g (K - 2) rows (2); no big-M.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from math import comb, log
from typing import Any

import numpy as np
import scipy.sparse as sp

from milpcb.checks import context_array, whole
from milpcb.errors import InputError
from milpcb.program import ProgramBuilder
from milpcb.protocols import Encoding, Objective, PolicyClass, Search
from milpcb.types import Bools, Floats, Ints
from policies.cuts import Distinct, Thresholds, check_names, check_thresholds, cut_points
from policies.names import Names

Point = tuple[float, ...]


@dataclass(frozen=True)
class Axis:
    """How a feature orders contexts: by its value, or by the number of ``steps`` below it; ``sign`` -1 turns it round.

    ``binary`` says that the feature only takes 0 and 1, and that its one step is between them.
    """

    feature: int
    sign: int
    steps: tuple[float, ...] | None = None
    binary: bool = False

    def along(self, contexts: Floats) -> Floats:
        """Return (n,): where each context stands."""
        column = contexts[:, self.feature]
        place = column if self.steps is None else np.searchsorted(self.steps, column)
        return np.asarray(self.sign * place + 0.0)  # adding 0 makes -0 and 0 the same

    def condition(self, floor: float, names: Names) -> str:
        """Return "stands at ``floor`` or further" as people say it; "" when that is always so."""
        name = names.feature(self.feature)
        if self.steps is None:
            return f"{name} >= {floor:.6g}" if self.sign > 0 else f"{name} <= {-floor:.6g}"
        below = int(abs(floor))
        if below == (0 if self.sign > 0 else len(self.steps)):
            return ""
        if self.binary:
            return f"{name} = {below}"
        return f"{name} > {self.steps[below - 1]:.6g}" if self.sign > 0 else f"{name} <= {self.steps[below]:.6g}"


@dataclass(frozen=True)
class MonotoneRule:
    """Play the last of the ``levels`` (action, floors) of which some floor is reached, else ``least``.

    A floor (d,) is a place on each axis; it is reached by contexts that stand there or further on every axis. The
    actions increase, and each reaches only where the one before it does.
    """

    least: int
    levels: tuple[tuple[int, tuple[Point, ...]], ...]
    axes: tuple[Axis, ...]
    names: Names = field(default=Names(), compare=False)

    def predict(self, contexts: Any) -> Ints:
        """Return the action of each context, (n, d) -> (n,); raises InputError on another number of features."""
        array = context_array(contexts)
        if array.shape[1] != len(self.axes):
            raise InputError(f"the rule orders {len(self.axes)} features, but the contexts have {array.shape[1]}")
        points = _points(array, self.axes)
        actions = np.full(len(array), self.least, dtype=np.int64)
        for action, floors in self.levels:
            for floor in floors:
                actions[(points >= floor).all(axis=1)] = action
        return actions

    def __str__(self) -> str:
        least = f"play {self.names.action(self.least)}"
        if not self.levels:
            return least
        rules = []
        for action, floors in reversed(self.levels):
            reached = "\nor ".join(map(self._condition, floors))
            rules.append(f"if {reached}:\n    play {self.names.action(action)}\n")
        return "el".join(rules) + f"else:\n    {least}"

    def _condition(self, floor: Point) -> str:
        parts = (axis.condition(place, self.names) for axis, place in zip(self.axes, floor, strict=True))
        return " and ".join(part for part in parts if part)


@dataclass(frozen=True)
class MonotoneRules(PolicyClass):
    """Rules whose action never goes down when a feature goes up (or, as its direction says, down).

    Parameters
    ----------
    n_actions : K >= 2, ordered
    directions : +1 or -1 for each feature; None is +1 for all
    thresholds : None orders contexts by the values themselves; a number of quantile cuts per feature, or one list of cut
        points per feature, by the number of cuts below the value
    feature_names, action_names : used in printed rules

    """

    n_actions: int
    directions: Sequence[int] | None = None
    thresholds: Thresholds | None = None
    feature_names: Sequence[str] | None = None
    action_names: Sequence[str] | None = None

    def __post_init__(self) -> None:
        whole("n_actions", self.n_actions, 2)
        if self.directions is not None:
            object.__setattr__(self, "directions", _check_directions(self.directions))
        if self.thresholds is not None:
            object.__setattr__(self, "thresholds", check_thresholds(self.thresholds))

    @property
    def names(self) -> Names:
        """Names for printing."""
        return Names(check_names(self.feature_names), check_names(self.action_names))

    def formulate(self, contexts: Floats, *, constrained: bool = False) -> MonotoneEncoding:
        """Return the closure encoding; an LP suffices unless side constraints are added."""
        del constrained  # the one cost map is linear and exact
        return MonotoneEncoding(Order(self, contexts))

    def search(self, contexts: Floats) -> Search:
        """Return the exact search: a minimum cut."""
        from policies.monotone_search import MonotoneSearch

        return MonotoneSearch(Order(self, contexts))

    def log_size(self, contexts: Floats) -> float:
        """Return the log of an upper bound on the number of labelings.

        The contexts fall into chains, as few as possible (Dilworth), and a chain of n has C(n + K - 1, K - 1) monotone
        labelings; the bound is their product, exact when contexts of different chains are never comparable.
        """
        return sum(log(comb(n + self.n_actions - 1, n)) for n in _chains(Order(self, contexts).below))

    def policies(self, contexts: Floats) -> Iterator[MonotoneRule]:
        """List the rules of all monotone labelings of the contexts, each once."""
        order = Order(self, contexts)
        for labels in _labelings(order.points, order.below, self.n_actions):
            yield order.rule(labels)

    def draw(self, contexts: Floats, rng: np.random.Generator) -> MonotoneRule:
        """Return a random rule: some contexts, log-uniform in number, ask for a uniform action from themselves upwards.

        The largest action that is asked for is played, or action 0 where none is.
        """
        order = Order(self, contexts)
        g = len(order.contexts)
        labels = np.zeros(g, dtype=np.int64)
        for j in rng.permutation(g)[: int(np.exp(rng.uniform(0.0, np.log(g + 1.0))))]:
            reached = order.below[j].copy()
            reached[j] = True
            labels[reached] = np.maximum(labels[reached], rng.integers(self.n_actions))
        return order.rule(labels)


class Order:
    """The distinct contexts in their partial order.

    ``points`` (g, d) is where each stands on the axes, ``below`` (g, g) tells of [i, j] whether i lies strictly below j,
    and ``covers`` (2, c) holds the pairs i, j without a context between them (the transitive reduction).
    """

    def __init__(self, rules: MonotoneRules, contexts: Floats) -> None:
        axes = _axes(rules, contexts)
        points = _points(contexts, axes)
        distinct = Distinct.rows(points)
        self.n_actions = rules.n_actions
        self.group = distinct.group
        self.contexts = contexts[distinct.first]
        self.points = points[distinct.first]
        self.below = _below(self.points)
        steps = self.below.astype(np.float32)
        self.covers = np.array(np.nonzero(self.below & (steps @ steps == 0)))
        self._axes, self._names = axes, rules.names

    def rule(self, labels: Ints) -> MonotoneRule:
        """Return the rule of monotone ``labels`` (g,); a floor is a lowest context of an action or a larger one."""
        least = int(labels.min())
        levels = []
        for action in sorted(set(labels.tolist()) - {least}):
            reached = labels >= action
            floors = self.points[reached & ~self.below[reached].any(axis=0)]
            levels.append((action, tuple(map(tuple, floors.tolist()))))
        return MonotoneRule(least, tuple(levels), self._axes, self._names)


class MonotoneEncoding(Encoding):
    """The polytope of (1)-(2) and its cost map."""

    def __init__(self, order: Order) -> None:
        self._order = order
        self.group, self.contexts = order.group, order.contexts
        b = ProgramBuilder()
        y = b.columns("y", (len(order.contexts), order.n_actions - 1), upper=1.0, integer=True)
        lower, upper = order.covers
        for smaller, larger in ((y[lower], y[upper]), (y[:, 1:], y[:, :-1])):  # (1), (2)
            if smaller.size:
                b.rows((smaller.reshape(-1, 1), 1.0), (larger.reshape(-1, 1), -1.0), upper=0.0)
        self.program = b.build(integral=True)

    def objective(self, costs: Floats) -> Objective:
        """Return what each step up adds to the costs of action 0."""
        return Objective(np.diff(costs, axis=1).ravel(), float(costs[:, 0].sum()))

    def decode(self, x: Floats, costs: Floats) -> MonotoneRule:
        """Count the steps up of each context."""
        del costs  # x holds the labels
        return self._order.rule((x.reshape(len(self.contexts), -1) > 0.5).sum(axis=1))


def _axes(rules: MonotoneRules, contexts: Floats) -> tuple[Axis, ...]:
    signs = (1,) * contexts.shape[1] if rules.directions is None else tuple(rules.directions)
    if len(signs) != contexts.shape[1]:
        raise InputError(
            f"directions list {len(signs)} features, but the contexts have {contexts.shape[1]}; give one each"
        )
    binary = [bool(np.isin(column, (0.0, 1.0)).all()) for column in contexts.T]
    steps: list[tuple[float, ...] | None] = [(0.5,) if two else None for two in binary]
    if rules.thresholds is not None:
        steps = [tuple(cuts.tolist()) for cuts in cut_points(contexts, rules.thresholds)]
    return tuple(
        Axis(f, sign, places, two and places is not None and len(places) == 1)
        for f, (sign, places, two) in enumerate(zip(signs, steps, binary, strict=True))
    )


def _points(contexts: Floats, axes: tuple[Axis, ...]) -> Floats:
    return np.column_stack([axis.along(contexts) for axis in axes])


def _below(points: Floats) -> Bools:
    """Return (g, g): whether point i is at most point j in every coordinate, and another point."""
    below = ~np.eye(len(points), dtype=bool)
    for column in points.T:
        below &= column[:, None] <= column
    return below


def _chains(below: Bools) -> list[int]:
    """Return the sizes of the fewest chains that hold every context: a maximum matching of contexts to later ones."""
    after = sp.csgraph.maximum_bipartite_matching(sp.csr_array(below), perm_type="column")
    sizes = []
    for start in set(range(len(below))) - set(after.tolist()):
        sizes.append(1)
        while (start := after[start]) >= 0:
            sizes[-1] += 1
    return sizes


def _labelings(points: Floats, below: Bools, n_actions: int) -> Iterator[Ints]:
    """Yield all monotone labelings (g,), in lexicographic order of the contexts sorted by their points."""
    order = np.lexsort(points.T[::-1])  # whoever is below comes first
    lower = [np.flatnonzero(below[:, j]) for j in order]
    labels = np.zeros(len(points), dtype=np.int64)
    while True:
        yield labels.copy()
        rises = np.flatnonzero(labels[order] < n_actions - 1)
        if not len(rises):
            return
        labels[order[rises[-1]]] += 1
        for j, under in zip(order[rises[-1] + 1 :], lower[rises[-1] + 1 :], strict=True):
            labels[j] = labels[under].max(initial=0)


def _check_directions(directions: Any) -> tuple[int, ...]:
    message = f"directions must be None or a list of +1 and -1, one for each feature, got {directions!r}"
    try:
        signs = tuple(directions)
    except TypeError as error:
        raise InputError(message) from error
    if not all(sign in (1, -1) for sign in signs):
        raise InputError(message)
    return tuple(int(sign) for sign in signs)
