"""The base class of rules that ask one test after the other: the first that holds gives the action."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING

from policies.drawing import chain
from policies.exports import Decision, chain_of
from policies.exports.decisions import Condition
from policies.leaves import LeafSummary
from policies.rule import Rule

if TYPE_CHECKING:
    import networkx as nx


class ChainRule(Rule):
    """Play the action of the first test that holds, and the last action where none does."""

    @property
    @abstractmethod
    def _conditions(self) -> Sequence[Condition]:
        """The tests; there is one action more."""

    @property
    @abstractmethod
    def _tests(self) -> Sequence[str]:
        """The tests in words."""

    def decision(self) -> Decision:
        """Return the chain of tests."""
        return chain_of(self._conditions, self.leaf_actions)

    def __str__(self) -> str:
        *plays, last = (f"play {self.names.action(action)}" for action in self.leaf_actions)
        if not plays:
            return last
        rules = (f"if {test}:\n    {play}\n" for test, play in zip(self._tests, plays, strict=True))
        return "el".join(rules) + f"else:\n    {last}"

    def graph(self, leaves: Sequence[LeafSummary] | None = None) -> nx.DiGraph:
        """Return the chain of tests; see Rule.graph."""
        return chain(self._tests, self.leaf_actions, self.names, leaves)
