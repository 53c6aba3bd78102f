"""Monotone rules: one rule, the points from which on each action is played; the order of contexts; the class."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import comb, log
from typing import Any, Self

import numpy as np

from milpcb.core.checks import whole
from milpcb.errors import InputError
from milpcb.program import ProgramBuilder
from milpcb.protocols import Encoding, Objective, Opened, Search
from milpcb.types import Floats, Ints
from policies.cuts import Distinct, NamedClass, Thresholds, check_thresholds, cut_points, is_binary
from policies.exports.decisions import AllOf, AnyOf, Test
from policies.names import Names
from policies.rule import ChainRule

Point = tuple[float, ...]


@dataclass(frozen=True)
class Axis:
    """How a feature orders contexts: by its value or the number of ``steps`` below it; ``sign`` -1 turns it round."""

    feature: int
    sign: int
    steps: tuple[float, ...] | None = None
    binary: bool = False

    def along(self, contexts: Floats) -> Floats:
        """Return (n,): where each context stands."""
        column = contexts[:, self.feature]
        place = column if self.steps is None else np.searchsorted(self.steps, column)
        return np.asarray(self.sign * place + 0.0)  # adding 0 makes -0 and 0 the same

    def test(self, floor: float) -> Test | None:
        """Return "stands at ``floor`` or further"; None when that is always so."""
        if self.steps is None:
            return Test(self.feature, ">=", floor) if self.sign > 0 else Test(self.feature, "<=", 0.0 - floor)
        below = int(abs(floor))
        if below == (0 if self.sign > 0 else len(self.steps)):
            return None
        sign, cut = (">", self.steps[below - 1]) if self.sign > 0 else ("<=", self.steps[below])
        return Test(self.feature, sign, cut, self.binary)


@dataclass(frozen=True, repr=False)
class MonotoneRule(ChainRule):
    """Play the last of the ``levels`` (action, floors) of which some floor is reached, else ``least``.

    A floor (d,) is a place on each axis; it is reached by contexts that stand there or further on every axis. The
    actions increase, and each reaches only where the one before it does. The parts of ``leaves`` are the levels from
    the largest action down, then the rest. Printed numbers are those of the floors, exactly.
    """

    least: int
    levels: tuple[tuple[int, tuple[Point, ...]], ...]
    axes: tuple[Axis, ...]
    names: Names = field(default=Names(), compare=False)

    @classmethod
    def _from_plain(cls, data: dict[str, Any], names: Names) -> Self:
        rule = super()._from_plain(data, names)
        if not all(axis.sign in (1, -1) and axis.feature < len(rule.axes) for axis in rule.axes):
            raise ValueError("its axes are not those of so many features, up or down")
        if not all(rule.is_place(floor) for _, floors in rule.levels for floor in floors or ((),)):
            raise ValueError("its floors are not places on its axes")
        return rule

    @property
    def leaf_actions(self) -> tuple[int, ...]:
        return (*(action for action, _ in reversed(self.levels)), self.least)

    @property
    def n_features(self) -> int:
        return len(self.axes)

    @property
    def _conditions(self) -> list[AnyOf]:
        return [AnyOf(tuple(map(self._reached, floors))) for _, floors in reversed(self.levels)]

    def _reached(self, floor: Point) -> AllOf:
        tests = (axis.test(place) for axis, place in zip(self.axes, floor, strict=True))
        return AllOf(tuple(test for test in tests if test is not None))

    def is_place(self, floor: Point) -> bool:
        """Return whether contexts may stand at ``floor``, and not all of them at it or further."""
        pairs = [(axis, place) for axis, place in zip(self.axes, floor, strict=True) if axis.steps is not None]
        counted = all(place in axis.sign * np.arange(len(axis.steps or ()) + 1) for axis, place in pairs)
        return counted and bool(self._reached(floor).parts)

    def _leaf(self, contexts: Floats) -> Ints:
        points = places(contexts, self.axes)
        part = np.full(len(contexts), len(self.levels), dtype=np.int64)
        for i, (_, floors) in enumerate(self.levels, 1):
            for floor in floors:
                part[(points >= floor).all(axis=1)] = len(self.levels) - i
        return part


def places(contexts: Floats, axes: Sequence[Axis]) -> Floats:
    """Return (n, d): where each context stands on each axis."""
    return np.column_stack([axis.along(contexts) for axis in axes])


class Order:
    """The distinct contexts in their partial order; ``group`` (m,) and ``contexts`` (g, d) are those of Opened.

    ``points`` (g, d) is where each stands on the axes, ``below`` (g, g) is True at [i, j] where i lies strictly below
    j, and ``covers`` (2, c) holds the pairs i, j without a context between them (the transitive reduction).
    """

    def __init__(self, contexts: Floats, axes: tuple[Axis, ...], names: Names) -> None:
        points = places(contexts, axes)
        distinct = Distinct.rows(points)
        self.group = distinct.group
        self.contexts = contexts[distinct.first]
        self.points = points[distinct.first]
        self.below = ~np.eye(len(self.points), dtype=bool)
        for column in self.points.T:
            self.below &= column[:, None] <= column
        steps = self.below.astype(np.float32)
        self.covers = np.array(np.nonzero(self.below & (steps @ steps == 0)))
        self.axes, self._names = axes, names

    def rule(self, labels: Ints) -> MonotoneRule:
        """Return the rule of monotone ``labels`` (g,); a floor is a lowest context of an action or a larger one."""
        least = int(labels.min())
        levels = []
        for action in sorted(set(labels.tolist()) - {least}):
            reached = labels >= action
            floors = self.points[reached & ~self.below[reached].any(axis=0)]
            levels.append((action, tuple(map(tuple, floors.tolist()))))
        return MonotoneRule(least, tuple(levels), self.axes, self._names)

    def chains(self) -> list[int]:
        """Return the sizes of the fewest chains holding every context: a maximum matching of contexts to later ones."""
        import scipy.sparse as sp  # only for who counts chains, as it takes a tenth of a second to import

        after = sp.csgraph.maximum_bipartite_matching(sp.csr_array(self.below), perm_type="column")
        sizes = []
        for start in set(range(len(self.below))) - set(after.tolist()):
            sizes.append(1)
            while (start := after[start]) >= 0:
                sizes[-1] += 1
        return sizes

    def labelings(self, n_actions: int) -> Iterator[Ints]:
        """Yield all monotone labelings (g,), in lexicographic order of the contexts sorted by their points."""
        order = np.lexsort(self.points.T[::-1])  # whoever is below comes first
        lower = [np.flatnonzero(self.below[:, j]) for j in order]
        labels = np.zeros(len(self.points), dtype=np.int64)
        while True:
            yield labels.copy()
            rises = np.flatnonzero(labels[order] < n_actions - 1)
            if not len(rises):
                return
            labels[order[rises[-1]]] += 1
            for j, under in zip(order[rises[-1] + 1 :], lower[rises[-1] + 1 :], strict=True):
                labels[j] = labels[under].max(initial=0)


def axes_of(contexts: Floats, directions: Sequence[int] | None, thresholds: Thresholds | None) -> tuple[Axis, ...]:
    """Return the axis of each feature of ``contexts`` (m, d); raises InputError on another number of directions."""
    signs = (1,) * contexts.shape[1] if directions is None else tuple(directions)
    if len(signs) != contexts.shape[1]:
        raise InputError(
            f"directions list {len(signs)} features, but the contexts have {contexts.shape[1]}; give one each"
        )
    binary = [is_binary(column) for column in contexts.T]
    steps: list[tuple[float, ...] | None] = [(0.5,) if two else None for two in binary]
    if thresholds is not None:
        steps = [tuple(points.tolist()) for points in cut_points(contexts, thresholds)]
    return tuple(
        Axis(f, sign, cuts, two and cuts is not None and len(cuts) == 1)
        for f, (sign, cuts, two) in enumerate(zip(signs, steps, binary, strict=True))
    )


class MonotoneEncoding(Encoding):
    """Monotone rules: more of a feature never lowers the action; minimum closure of a partial order (min cut).

    Policy class
        K ordered actions. x lies below x' when every feature of x, signed by its direction, is at most that of x'; then
        action(x) <= action(x'). With K = 2 action 1 is played on an up-set. On g distinct contexts every monotone
        labeling is in the class; elsewhere a rule plays the largest action of a listed context below (its least
        monotone extension), or the least action of all listed contexts where none is below.
    Variables
        y[j, k] in {0, 1}, k = 1..K-1: the action of context j is at least k (in a file y_j_0 is k = 1).
    Constraints
        (1)  y[i, k] <= y[j, k]        for each pair i, j such that j covers i: i below j and no context between them
        (2)  y[j, k + 1] <= y[j, k]    k = 1..K-2
        The matrix is the transpose of a directed incidence matrix, totally unimodular: every vertex is 0/1. Rows of
        pairs that are not covers follow from (1).
    Cost map
        y[j, k] costs costs[j, k] - costs[j, k - 1], and sum_j costs[j, 0] is added: linear, with side constraints too.
    """

    def __init__(self, order: Order, n_actions: int) -> None:
        self._order = order
        b = ProgramBuilder()
        y = b.columns("y", (len(order.contexts), n_actions - 1), upper=1.0, integer=True)
        lower, upper = order.covers
        for smaller, larger in ((y[lower], y[upper]), (y[:, 1:], y[:, :-1])):  # (1), (2)
            if smaller.size:
                b.rows((smaller.reshape(-1, 1), 1.0), (larger.reshape(-1, 1), -1.0), upper=0.0)
        self.program = b.build(integral=True)

    def objective(self, costs: Floats) -> Objective:
        return Objective(np.diff(costs, axis=1).ravel(), float(costs[:, 0].sum()))

    def decode(self, x: Floats, costs: Floats) -> MonotoneRule:
        del costs  # x holds the labels
        return self._order.rule((x.reshape(len(self._order.contexts), -1) > 0.5).sum(axis=1))


@dataclass(frozen=True)
class MonotoneRules(NamedClass):
    """Rules whose action never goes down when a feature goes up (or, as its direction is, down).

    Parameters
    ----------
    n_actions : K >= 2, ordered
    directions : +1 or -1 for each feature; None is +1 for all
    thresholds : None orders contexts by the values themselves; others, as of trees, by the number of cuts below
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

    def _on(self, contexts: Floats, names: Names) -> OpenedMonotone:
        axes = axes_of(contexts, self.directions, self.thresholds)
        return OpenedMonotone(Order(contexts, axes, names), self.n_actions)


class OpenedMonotone(Opened):
    """Monotone rules on fixed contexts.

    ``log_size`` bounds the labelings: contexts fall into chains, as few as possible (Dilworth), and a chain of n has
    C(n + K - 1, K - 1) monotone ones.
    """

    capabilities = Opened.capabilities | {"search"}
    unsupported = {  # noqa: RUF012 - read only, as in every class
        "action_weights": "monotone rules have no action weights: their number does not factorise (to count them is "
        "#P-hard: Provan and Ball 1983); use oracle kind 'enumeration' on few contexts, "
        "or a learner that asks for values",
        "constraints": "under side constraints the best monotone rule is no minimum cut any more (a budget makes it "
        "the partially ordered knapsack, NP-hard: Johnson and Niemi 1983); use oracle kind 'milp'",
    }

    def __init__(self, order: Order, n_actions: int) -> None:
        self.n_actions = n_actions
        self.group, self.contexts = order.group, order.contexts
        self._order = order

    @cached_property
    def log_size(self) -> float:  # type: ignore[override]  # computed when first asked for
        """The log of the product over chains."""
        return sum(log(comb(n + self.n_actions - 1, n)) for n in self._order.chains())

    def program(self, *, constrained: bool = False) -> MonotoneEncoding:
        del constrained  # the one cost map is linear and exact
        return MonotoneEncoding(self._order, self.n_actions)

    def describe_search(self) -> str:
        return "a minimum cut of the graph of contexts that must not play less than another"

    def search(self) -> Search:
        from policies.monotone.search import MonotoneSearch  # with it numba, which takes a second to import

        return MonotoneSearch(self._order, self.n_actions)

    def policies(self) -> Iterator[MonotoneRule]:
        return map(self._order.rule, self._order.labelings(self.n_actions))

    def draw(self, rng: np.random.Generator) -> MonotoneRule:
        """Return a random rule: some contexts, log-uniform in number, ask for a uniform action from there upwards."""
        order = self._order
        g = len(order.contexts)
        labels = np.zeros(g, dtype=np.int64)
        for j in rng.permutation(g)[: int(np.exp(rng.uniform(0.0, np.log(g + 1.0))))]:
            reached = order.below[j].copy()
            reached[j] = True
            labels[reached] = np.maximum(labels[reached], rng.integers(self.n_actions))
        return order.rule(labels)


def _check_directions(directions: Any) -> tuple[int, ...]:
    message = f"directions must be None or a list of +1 and -1, one for each feature, got {directions!r}"
    try:
        signs = tuple(directions)
    except TypeError as error:
        raise InputError(message) from error
    if not all(sign in (1, -1) for sign in signs):
        raise InputError(message)
    return tuple(int(sign) for sign in signs)
