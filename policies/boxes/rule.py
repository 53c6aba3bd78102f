"""One box rule: an action where one or two features lie in intervals, another action elsewhere."""

from dataclasses import dataclass, field
from math import inf

import numpy as np

from milpcb.types import Bools, Floats, Ints
from policies.exports.decisions import AllOf, Test
from policies.names import Names
from policies.rule import ChainRule


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

    def tests(self) -> list[Test]:
        """Return the comparisons that the condition is made of, none without bounds."""
        below = [Test(self.feature, ">", self.lower, self.binary)] if self.lower is not None else []
        above = [Test(self.feature, "<=", self.upper, self.binary)] if self.upper is not None else []
        return below + above

    def condition(self, names: Names) -> str:
        """Return the condition in words."""
        if self.lower is not None and self.upper is not None:
            return names.between(self.feature, self.lower, self.upper)
        return self.tests()[0].in_words(names)


@dataclass(frozen=True, repr=False)
class BoxRule(ChainRule):
    """Play ``inside`` where all intervals hold, else ``outside``; a constant has no interval, so it is one rule.

    Intervals without bounds always hold, and are left out.
    """

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
        """The actions inside and outside; one for a constant."""
        return (self.inside, self.outside) if self.intervals else (self.inside,)

    @property
    def n_features(self) -> int:
        return 1 + max((interval.feature for interval in self.intervals), default=0)

    @property
    def _conditions(self) -> list[AllOf]:
        tests = tuple(test for interval in self.intervals for test in interval.tests())
        return [AllOf(tests)] if tests else []

    def _leaf(self, contexts: Floats) -> Ints:
        outside = np.zeros(len(contexts), dtype=np.int64)
        for interval in self.intervals:
            outside |= ~interval.holds(contexts)
        return outside

    @property
    def _tests(self) -> list[str]:
        return [" and ".join(interval.condition(self.names) for interval in self.intervals)] if self.intervals else []
