"""One labeling of given contexts, as a policy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from milpcb.errors import InputError
from milpcb.types import Floats, Ints
from policies.drawing import fan
from policies.leaves import LeafSummary
from policies.names import Names
from policies.rule import Rule

if TYPE_CHECKING:
    import networkx as nx


@dataclass(frozen=True, eq=False, repr=False)
class ListedPolicy(Rule):
    """Labeling number ``index``: ``labels`` (m,) of the rows of ``contexts`` (m, d)."""

    index: int
    contexts: Floats
    labels: Ints
    names: Names = field(default=Names())

    @property
    def leaf_actions(self) -> tuple[int, ...]:
        """The actions that the labeling plays somewhere, increasing."""
        return tuple(np.unique(self.labels).tolist())

    @property
    def n_features(self) -> int:
        """The number of columns d."""
        return int(self.contexts.shape[1])

    def predict(self, contexts: Any) -> Ints:
        """Return the action of each context, (n, d) -> (n,).

        The table that the labeling was made on is answered row by row; in any other table each row is looked up by
        its value. Raises InputError on a context that is not listed, or listed with different labels.
        """
        return np.array(self.leaf_actions)[self._leaf(self.names.table(contexts))]

    def _leaf(self, contexts: Floats) -> Ints:
        labels = self.labels if np.array_equal(contexts, self.contexts) else self._looked_up(contexts)
        return np.searchsorted(self.leaf_actions, labels).astype(np.int64)

    def __eq__(self, other: object) -> bool:
        """Return whether two labelings are of the same contexts and alike; names and numbers in a list do not count."""
        if not isinstance(other, ListedPolicy):
            return NotImplemented
        return np.array_equal(self.contexts, other.contexts) and np.array_equal(self.labels, other.labels)

    def __hash__(self) -> int:
        return hash(self.labels.tobytes())

    def __str__(self) -> str:
        actions, counts = (part.tolist() for part in np.unique(self.labels, return_counts=True))
        parts = [f"{self.names.action(a)} on {n}" for a, n in zip(actions, counts, strict=True)]
        parts[0] += " context" if counts[0] == 1 else " contexts"
        return f"labeling {self.index}: {', '.join(parts)}"

    def graph(self, leaves: Sequence[LeafSummary] | None = None) -> nx.DiGraph:
        """Return one node for the list, with a leaf an action; see Rule.graph."""
        tests = [f"{count} listed" for count in np.unique(self.labels, return_counts=True)[1].tolist()]
        return fan(f"labeling {self.index}", tests, self.leaf_actions, self.names, leaves)

    def _plain(self) -> dict[str, Any]:
        return {"index": self.index, "contexts": self.contexts.tolist(), "labels": self.labels.tolist()}

    @classmethod
    def _from_plain(cls, data: dict[str, Any], names: Names) -> Self:
        contexts, labels = np.array(data["contexts"], dtype=float), np.array(data["labels"], dtype=np.int64)
        if contexts.ndim != 2 or labels.shape != (len(contexts),):
            raise ValueError("contexts and labels do not go together")
        most = len(names.actions) or np.inf
        if not (np.isfinite(contexts).all() and all(type(a) is int and 0 <= a < most for a in data["labels"])):
            raise ValueError("a context is no number, or a label no action")
        return cls(int(data["index"]), contexts, labels, names)

    def _looked_up(self, contexts: Floats) -> Ints:
        labels: dict[bytes, set[int]] = {}
        for key, label in zip(_keys(self.contexts), self.labels.tolist(), strict=True):
            labels.setdefault(key, set()).add(label)
        return np.array([_only(row, labels.get(key, set())) for row, key in enumerate(_keys(contexts))])


def _only(row: int, labels: set[int]) -> int:
    if not labels:
        raise InputError(f"contexts[{row}] is not among those the labelings are of; ask for listed contexts only")
    if len(labels) > 1:
        raise InputError(
            f"contexts[{row}] is listed several times with different labels; ask for the whole table of contexts"
        )
    return next(iter(labels))


def _keys(contexts: Floats) -> list[bytes]:
    """Return a key of each row by value: adding 0 makes -0 and 0 the same."""
    return [row.tobytes() for row in contexts + 0.0]
