"""One monotone rule: for each action above the least, the points from which on it is played. The order of contexts."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np

from milpcb.errors import InputError
from milpcb.types import Floats, Ints
from policies.cuts import Distinct, Thresholds, cut_points, is_binary
from policies.exports.decisions import AllOf, AnyOf, Test
from policies.names import Names
from policies.rule import ChainRule

Point = tuple[float, ...]


@dataclass(frozen=True)
class Axis:
    """The order of contexts by a feature: its value, or the number of ``steps`` below it; ``sign`` -1 reverses it."""

    feature: int
    sign: int
    steps: tuple[float, ...] | None = None
    binary: bool = False

    def along(self, contexts: Floats) -> Floats:
        """Return (n,): the place of each context."""
        column = contexts[:, self.feature]
        place = column if self.steps is None else np.searchsorted(self.steps, column)
        return np.asarray(self.sign * place + 0.0)  # adding 0 makes -0 and 0 the same

    def test(self, floor: float) -> Test | None:
        """Return the test that a place is ``floor`` or further; None when that always holds."""
        if self.steps is None:
            return Test(self.feature, ">=", floor) if self.sign > 0 else Test(self.feature, "<=", 0.0 - floor)
        below = int(abs(floor))
        if below == (0 if self.sign > 0 else len(self.steps)):
            return None
        sign, cut = (">", self.steps[below - 1]) if self.sign > 0 else ("<=", self.steps[below])
        return Test(self.feature, sign, cut, self.binary)


@dataclass(frozen=True, repr=False)
class MonotoneRule(ChainRule):
    """Play the last of the ``levels`` (action, floors) with a floor that is reached, else ``least``.

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
        """Return whether contexts may be at ``floor``, but not all of them at it or further."""
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
    """Return (n, d): the place of each context on each axis."""
    return np.column_stack([axis.along(contexts) for axis in axes])


class Order:
    """The distinct contexts in their partial order; ``group`` (m,) and ``contexts`` (g, d) are those of Opened.

    ``points`` (g, d) are their places on the axes, ``below`` (g, g) is True at [i, j] where i lies strictly below
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
