"""One threshold rule: a feature cut into pieces, an action a piece."""

from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

from milpcb.types import Floats, Ints
from policies.exports import Test
from policies.names import Names
from policies.rule import ChainRule


@dataclass(frozen=True, repr=False)
class ThresholdRule(ChainRule):
    """``actions[i]`` where exactly i of the increasing ``cuts`` lie below the feature.

    Neighbouring pieces with one action are merged, and a constant is a rule on feature 0, so that equal rules compare
    equal. ``binary`` means that the feature only takes 0 and 1.
    """

    feature: int
    cuts: tuple[float, ...]
    actions: tuple[int, ...]
    names: Names = field(default=Names(), compare=False)
    binary: bool = False

    def __post_init__(self) -> None:
        changes = [i for i, (left, right) in enumerate(pairwise(self.actions)) if left != right]
        object.__setattr__(self, "cuts", tuple(self.cuts[i] for i in changes))
        object.__setattr__(self, "actions", (self.actions[0], *(self.actions[i + 1] for i in changes)))
        if not changes:
            object.__setattr__(self, "feature", 0)
            object.__setattr__(self, "binary", False)

    @property
    def leaf_actions(self) -> tuple[int, ...]:
        return self.actions

    @property
    def n_features(self) -> int:
        return self.feature + 1

    @property
    def _conditions(self) -> list[Test]:
        return [Test(self.feature, "<=", cut, self.binary) for cut in self.cuts]

    def _leaf(self, contexts: Floats) -> Ints:
        return np.searchsorted(self.cuts, contexts[:, self.feature]).astype(np.int64)
