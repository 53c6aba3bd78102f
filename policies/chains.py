"""The base class of rules that ask one test after the other: the first that holds gives the action."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING

from policies.drawing import chain
from policies.exports import AllOf, Decision, Test, chain_of
from policies.exports.decisions import Condition
from policies.leaves import LeafSummary
from policies.names import Names
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
    def _tests(self) -> list[str]:
        """The tests in words."""
        return [_in_words(condition, self.names) for condition in self._conditions]

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


def _in_words(condition: Condition, names: Names) -> str:
    if isinstance(condition, Test):
        return condition.in_words(names)
    word = " and " if isinstance(condition, AllOf) else "\nor "
    return word.join(_in_words(part, names) for part in condition.parts)  # type: ignore[union-attr]  # no chain has sums
