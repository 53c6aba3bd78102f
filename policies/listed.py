"""One labeling of given contexts as a policy, and the class of all in a list: its settings, and on contexts."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np

from milpcb.core.checks import context_array, whole, whole_array
from milpcb.core.decimals import spaced
from milpcb.errors import InputError
from milpcb.listed import ListedSearch, OneHotEncoding
from milpcb.protocols import Listing, Objective, Opened, Policy, PolicyClass, Within
from milpcb.types import Floats, Ints
from policies.cuts import Distinct
from policies.names import Names
from policies.rule import Rule


@dataclass(frozen=True, eq=False, repr=False)
class ListedPolicy(Rule):
    """Labeling number ``index``: ``labels`` (m,) of the rows of ``contexts`` (m, d).

    The table that it was made on is answered row by row; in any other table each row is looked up by its value.
    InputError is raised on a context that is not listed, or listed with different labels.
    """

    index: int
    contexts: Floats
    labels: Ints
    names: Names = field(default=Names())

    @property
    def leaf_actions(self) -> tuple[int, ...]:
        return tuple(np.unique(self.labels).tolist())

    @property
    def n_features(self) -> int:
        return int(self.contexts.shape[1])

    def _leaf(self, contexts: Floats) -> Ints:
        labels = self.labels if np.array_equal(contexts, self.contexts) else self._looked_up(contexts)
        return np.searchsorted(self.leaf_actions, labels).astype(np.int64)

    def __eq__(self, other: object) -> bool:
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

    @property
    def _fan(self) -> tuple[str, list[str]]:
        counts = np.unique(self.labels, return_counts=True)[1].tolist()
        return f"labeling {self.index}", [f"{count} listed" for count in counts]

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
        found = [labels.get(key, set()) for key in _keys(contexts)]
        for row, each in enumerate(found):
            if len(each) != 1:
                what = "several times with different labels" if each else "in no row"
                raise InputError(f"contexts[{row}] is listed {what}; ask for the whole table of listed contexts")
        return np.array([label for each in found for label in each])


def _keys(contexts: Floats) -> list[bytes]:
    """Return a key of each row by value: adding 0 makes -0 and 0 the same."""
    return [row.tobytes() for row in contexts + 0.0]


class ListedEncoding(OneHotEncoding):
    """A list of labelings as a program: x[n] is 1 if labeling n is chosen, at sum_j costs[j, labels[n, j]]."""

    def __init__(self, listed: ListedSearch) -> None:
        super().__init__(len(listed.labels))
        self._listed = listed

    def objective(self, costs: Floats) -> Objective:
        return Objective(self._listed.totals(costs))

    def policy(self, number: int) -> Policy:
        return self._listed.policies[number]


class OpenedList(Opened):
    """Listed policies on fixed contexts: each with labels (N, m). ``log_size`` counts different labelings, exactly."""

    capabilities = Opened.capabilities | {"search", "action_weights", "constraints"}

    def __init__(self, policies: Sequence[Policy], labels: Ints, n_actions: int, contexts: Floats) -> None:
        distinct = _merged(labels, contexts)
        self.n_actions = n_actions
        self.group, self.contexts = distinct.group, contexts[distinct.first]
        self.log_size = float(np.log(len(np.unique(labels, axis=0))))
        self._policies, self._labels = policies, labels[:, distinct.first]

    def program(self, *, constrained: bool = False) -> ListedEncoding:
        del constrained  # the one cost map is linear and exact
        return ListedEncoding(ListedSearch(self._policies, self._labels, self.n_actions))

    def describe_search(self) -> str:
        return f"the totals of all {spaced(len(self._labels))} policies of the list"

    def search(self) -> ListedSearch:
        return ListedSearch(self._policies, self._labels, self.n_actions)

    def near(self, asked: Within) -> Listing:
        return self.search().near(asked)

    def policies(self) -> Iterator[Policy]:
        return iter(self._policies)

    def draw(self, rng: np.random.Generator) -> Policy:
        """Return one of the listed policies, each with probability 1 / N."""
        return self._policies[int(rng.integers(len(self._policies)))]

    def labelings(self) -> Ints:
        _, first = np.unique(self._labels, axis=0, return_index=True)
        return self._labels[np.sort(first)][:, self.group]


class ListedRules(PolicyClass):
    """Base of a class of your own, by a method ``policies(contexts)`` that yields every policy: the shortest way.

    Constructor arguments of the subclass are the keys of ``[policies]`` in a config; one of them is ``n_actions``.
    Policies that label the contexts alike are one, the first; there may be a few hundred thousand.

    Parameters
    ----------
    n_actions : K >= 2

    """

    reads_columns = False

    def __init__(self, n_actions: int) -> None:
        self.n_actions = whole("n_actions", n_actions, 2)

    @abstractmethod
    def policies(self, contexts: Floats) -> Iterator[Policy]:
        """Yield every policy on ``contexts`` (m, d), at least one; each has ``predict`` and ``__str__``."""

    def on(self, contexts: Any) -> OpenedList:
        """Return the list on ``contexts`` (m, d); raises InputError on a policy that predicts no actions in 0..K-1."""
        array = context_array(contexts)
        distinct: dict[bytes, tuple[Policy, Ints]] = {}
        for policy in self.policies(array):
            labels = self._labels(policy, array)
            distinct.setdefault(labels.tobytes(), (policy, labels))
        if not distinct:
            raise InputError(f"{type(self).__name__} lists no policy on these contexts; yield at least one")
        policies, table = zip(*distinct.values(), strict=True)
        return OpenedList(policies, np.array(table), self.n_actions, array)

    def _labels(self, policy: Policy, contexts: Floats) -> Ints:
        labels = np.asarray(policy.predict(contexts), dtype=np.int64)
        if labels.shape != (len(contexts),) or labels.min() < 0 or labels.max() >= self.n_actions:
            raise InputError(
                f"'{policy}' of {type(self).__name__} must predict one action in 0..{self.n_actions - 1} "
                f"for each of the {len(contexts)} contexts, got {labels}"
            )
        return labels


class FiniteClass(PolicyClass):
    """An explicit list of policies, given by their actions on the contexts that the class is opened on.

    A labeling is a function of the *row*: equal contexts may get different labels.

    Parameters
    ----------
    labelings : (N, m) integers in 0..K-1, N >= 1, one column per row of the contexts; repeats are allowed
    n_actions : K >= 2

    """

    reads_columns = False

    def __init__(self, labelings: Any, n_actions: int) -> None:
        self.n_actions = whole("n_actions", n_actions, 2)
        self.table = _label_array(labelings, self.n_actions)

    def on(self, contexts: Any) -> OpenedList:
        """Return the list on ``contexts`` (m, d); raises InputError unless each column of labelings has a row."""
        array = context_array(contexts)
        if len(array) != self.table.shape[1]:
            raise InputError(
                f"the labelings are of {self.table.shape[1]} contexts, but the contexts have {len(array)} rows; "
                "give one column of labelings per row"
            )
        policies = [ListedPolicy(index, array, labels) for index, labels in enumerate(self.table)]
        return OpenedList(policies, self.table, self.n_actions, array)


def _merged(labels: Ints, contexts: Floats) -> Distinct:
    """Merge equal contexts, unless some labeling differs on them: then only the table as it is can be answered."""
    distinct = Distinct.rows(contexts)
    if (labels[:, distinct.first][:, distinct.group] != labels).any():
        return Distinct(np.arange(len(contexts)), np.arange(len(contexts)))
    return distinct


def _label_array(labelings: Any, n_actions: int) -> Ints:
    array = whole_array("labelings", labelings)
    if array.ndim != 2 or 0 in array.shape:
        raise InputError(
            f"labelings must be a table (policies, contexts) with at least one of each, got shape {array.shape}"
        )
    bad = np.argwhere((array < 0) | (array >= n_actions))
    if len(bad):
        row, column = bad[0]
        raise InputError(f"labelings[{row}, {column}] is {array[row, column]}; actions are 0..{n_actions - 1}")
    array.setflags(write=False)
    return array
