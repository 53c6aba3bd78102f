"""One rule list: the first clause whose condition holds gives the action."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from milpcb.types import Bools, Floats, Ints
from policies.exports.decisions import Test
from policies.literals import Test as Literal
from policies.names import Names
from policies.rule import ChainRule


@dataclass(frozen=True)
class Clause:
    """Play ``action`` if ``x[feature] <= threshold``, or if > when not ``below``; ``binary``: the feature is 0 or 1."""

    feature: int
    threshold: float
    below: bool
    action: int
    binary: bool = False

    @classmethod
    def of(cls, test: Literal, below: bool, action: int) -> Clause:
        """Return the rule that plays an action where a literal holds, or where it does not hold."""
        feature, threshold, binary = test
        return cls(feature, threshold, below, action, binary)

    def holds(self, contexts: Floats) -> Bools:
        """Return (n,): where the condition holds."""
        return np.asarray((contexts[:, self.feature] <= self.threshold) == self.below)

    def test(self) -> Test:
        """Return the condition as a comparison."""
        return Test(self.feature, "<=" if self.below else ">", self.threshold, self.binary)


@dataclass(frozen=True, repr=False)
class RuleList(ChainRule):
    """The first of the ``rules`` whose condition holds plays its action, else ``default`` is played.

    Last rules that play the default are dropped, and "if not l play a, else b" becomes "if l play b, else a", so that
    lists that only differ so are equal.
    """

    rules: tuple[Clause, ...]
    default: int
    names: Names = field(default=Names(), compare=False)

    def __post_init__(self) -> None:
        kept = len(self.rules)
        while kept and self.rules[kept - 1].action == self.default:
            kept -= 1
        object.__setattr__(self, "rules", self.rules[:kept])
        if kept and not self.rules[-1].below:
            last, action = self.rules[-1], self.rules[-1].action
            turned = replace(last, below=True, action=self.default)
            object.__setattr__(self, "rules", (*self.rules[:-1], turned))
            object.__setattr__(self, "default", action)

    @property
    def leaf_actions(self) -> tuple[int, ...]:
        return (*(rule.action for rule in self.rules), self.default)

    @property
    def n_features(self) -> int:
        return 1 + max((rule.feature for rule in self.rules), default=0)

    @property
    def _conditions(self) -> list[Test]:
        return [rule.test() for rule in self.rules]

    def _leaf(self, contexts: Floats) -> Ints:
        first = np.full(len(contexts), len(self.rules), dtype=np.int64)
        for i, rule in reversed(list(enumerate(self.rules))):
            first[rule.holds(contexts)] = i
        return first
