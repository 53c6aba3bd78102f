"""One monotone rule: for each action above the least, the points from which on it is played."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np

from milpcb.types import Floats, Ints
from policies.exports import AllOf, AnyOf, Test
from policies.names import Names
from policies.rule import ChainRule

Point = tuple[float, ...]


@dataclass(frozen=True)
class Axis:
    """How a feature orders contexts: by its value, or by the number of ``steps`` below it; ``sign`` -1 turns it round.

    ``binary`` means that the feature only takes 0 and 1, and that its one step is between them.
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
