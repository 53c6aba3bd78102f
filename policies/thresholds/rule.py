"""One threshold rule: a feature cut into pieces, an action a piece."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from milpcb.types import Floats, Ints
from policies.cuts import describe_test
from policies.drawing import chain
from policies.exports import Decision, Test, chain_of
from policies.leaves import LeafSummary
from policies.names import Names
from policies.rule import Rule

if TYPE_CHECKING:
    import networkx as nx


@dataclass(frozen=True, repr=False)
class ThresholdRule(Rule):
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
        """The action of each piece, from low to high."""
        return self.actions

    @property
    def n_features(self) -> int:
        """The number of the tested feature, plus one."""
        return self.feature + 1

    def decision(self) -> Decision:
        """Return the chain of tests."""
        return chain_of([Test(self.feature, "<=", cut) for cut in self.cuts], self.actions)

    def _leaf(self, contexts: Floats) -> Ints:
        return np.searchsorted(self.cuts, contexts[:, self.feature]).astype(np.int64)

    @property
    def _tests(self) -> list[str]:
        return [describe_test(self.names, self.feature, cut, binary=self.binary) for cut in self.cuts]

    def __str__(self) -> str:
        plays = [f"play {self.names.action(action)}" for action in self.actions]
        if not self.cuts:
            return plays[0]
        heads = [f"{word} {test}:" for word, test in zip(["if", *["elif"] * len(self.cuts)], self._tests, strict=False)]
        return "\n".join(f"{head}\n    {play}" for head, play in zip([*heads, "else:"], plays, strict=True))

    def graph(self, leaves: Sequence[LeafSummary] | None = None) -> nx.DiGraph:
        """Return the chain of tests; see Rule.graph."""
        return chain(self._tests, self.actions, self.names, leaves)
