"""A finite list of labelings: the one-hot program, the reference for every other class.

Policy class
    N labelings of m given contexts: labeling n plays labelings[n, j] on row j. It is a function of the *row*: equal
    contexts may be told apart.
Variables
    x[n] in {0, 1}: labeling n is chosen.
Constraints
    sum_n x[n] = 1, a simplex: every vertex is 0/1.
Cost map
    x[n] costs sum_j costs[j, labelings[n, j]]. One map serves with and without side
    constraints.
Size
    N columns and 1 row; no big-M.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from milpcb.checks import context_array, whole
from milpcb.errors import InputError
from milpcb.program import ProgramBuilder
from milpcb.protocols import Encoding, Objective, PolicyClass, Search
from milpcb.types import Floats, Ints
from policies.cuts import Distinct


@dataclass(frozen=True, eq=False)
class ListedPolicy:
    """Labeling number ``index``: ``labels`` (m,) of the rows of ``contexts`` (m, d)."""

    index: int
    contexts: Floats
    labels: Ints

    def predict(self, contexts: Any) -> Ints:
        """Return the action of each context, (n, d) -> (n,).

        The table that the labeling was made on is answered row by row; in any other table each row is looked up by
        its value. Raises InputError on a context that is not listed, or listed with different labels.
        """
        array = context_array(contexts)
        if np.array_equal(array, self.contexts):
            return self.labels.copy()
        labels: dict[bytes, set[int]] = {}
        for key, label in zip(_keys(self.contexts), self.labels.tolist(), strict=True):
            labels.setdefault(key, set()).add(label)
        return np.array([self._only(row, labels.get(key, set())) for row, key in enumerate(_keys(array))])

    def __str__(self) -> str:
        actions, counts = (part.tolist() for part in np.unique(self.labels, return_counts=True))
        parts = [f"action {a} on {n}" for a, n in zip(actions, counts, strict=True)]
        parts[0] += " context" if counts[0] == 1 else " contexts"
        return f"labeling {self.index}: {', '.join(parts)}"

    def _only(self, row: int, labels: set[int]) -> int:
        if not labels:
            raise InputError(f"contexts[{row}] is not among those the labelings are of; ask for listed contexts only")
        if len(labels) > 1:
            raise InputError(
                f"contexts[{row}] is listed several times with different labels; ask for the whole table of contexts"
            )
        return next(iter(labels))


class FiniteClass(PolicyClass):
    """An explicit list of policies, given by what they play on the contexts that the class is opened on.

    Parameters
    ----------
    labelings : (N, m) whole numbers in 0..K-1, N >= 1, one column per row of the contexts; repeats are allowed
    n_actions : K >= 2

    """

    def __init__(self, labelings: Any, n_actions: int) -> None:
        self.n_actions = whole("n_actions", n_actions, 2)
        self.table = _label_array(labelings, self.n_actions)

    def formulate(self, contexts: Floats, *, constrained: bool = False) -> FiniteEncoding:
        """Return the one-hot encoding; an LP suffices unless side constraints are added."""
        del constrained  # the one cost map is linear and exact
        self._check(contexts)
        return FiniteEncoding(self.table, self.n_actions, contexts)

    def search(self, contexts: Floats) -> FiniteSearch:
        """Return the walk through the list."""
        self._check(contexts)
        return FiniteSearch(self.table, self.n_actions, contexts)

    def policies(self, contexts: Floats) -> Iterator[ListedPolicy]:
        """List the labelings in the order given."""
        self._check(contexts)
        for index, labels in enumerate(self.table):
            yield ListedPolicy(index, contexts, labels)

    def draw(self, contexts: Floats, rng: np.random.Generator) -> ListedPolicy:
        """Return one of the labelings, each with probability 1 / N."""
        self._check(contexts)
        index = int(rng.integers(len(self.table)))
        return ListedPolicy(index, contexts, self.table[index])

    def log_size(self, contexts: Floats) -> float:
        """Return the log of the number of distinct labelings, exactly."""
        self._check(contexts)
        return float(np.log(len(np.unique(self.table, axis=0))))

    def _check(self, contexts: Floats) -> None:
        if len(contexts) != self.table.shape[1]:
            raise InputError(
                f"the labelings are of {self.table.shape[1]} contexts, but the contexts have {len(contexts)} rows; "
                "give one column of labelings per row"
            )


class FiniteEncoding(Encoding):
    """The simplex over the list and its cost map."""

    def __init__(self, table: Ints, n_actions: int, contexts: Floats) -> None:
        distinct = _merged(table, contexts)
        self.group = distinct.group
        self.contexts = contexts[distinct.first]
        self._given, self._table = contexts, table
        self._cell = n_actions * np.arange(len(self.contexts)) + table[:, distinct.first]
        b = ProgramBuilder()
        x = b.columns("x", (len(table),), upper=1.0, integer=True)
        b.rows((x[None, :], 1.0), lower=1.0, upper=1.0)
        self.program = b.build(integral=True)

    def objective(self, costs: Floats) -> Objective:
        """Return the total cost of each labeling."""
        return Objective(costs.ravel()[self._cell].sum(axis=1))

    def decode(self, x: Floats, costs: Floats) -> ListedPolicy:
        """Return the labeling whose column is 1."""
        del costs  # x names the labeling
        index = int(x.argmax())
        return ListedPolicy(index, self._given, self._table[index])


class FiniteSearch(Search):
    """The list itself; a derivation is a row of it, repeats included."""

    def __init__(self, table: Ints, n_actions: int, contexts: Floats) -> None:
        distinct = _merged(table, contexts)
        self.n_actions = n_actions
        self.group, self.contexts = distinct.group, contexts[distinct.first]
        self._given, self._table = contexts, table
        self._labels = table[:, distinct.first]
        self._cell = n_actions * np.arange(len(self.contexts)) + self._labels

    def value(self, costs: Floats) -> float:
        """Return the least total."""
        return float(self._totals(costs).min())

    def minimise(self, costs: Floats) -> tuple[float, ListedPolicy]:
        """Return the first labeling of least total."""
        totals = self._totals(costs)
        index = int(totals.argmin())
        return float(totals[index]), ListedPolicy(index, self._given, self._table[index])

    def profile(self, costs: Floats, row: int) -> Floats:
        """Return the least total by the label of the row."""
        profile = np.full(self.n_actions, np.inf)
        np.minimum.at(profile, self._labels[:, row], self._totals(costs))
        return profile

    def log_weights(self, costs: Floats, row: int, rate: float) -> Floats:
        """Return the log of the summed weights by the label of the row."""
        logs = np.full(self.n_actions, -np.inf)
        np.logaddexp.at(logs, self._labels[:, row], -rate * self._totals(costs))
        return logs

    def _totals(self, costs: Floats) -> Floats:
        return np.asarray(costs.ravel()[self._cell].sum(axis=1))


def _merged(table: Ints, contexts: Floats) -> Distinct:
    """Merge equal contexts, unless some labeling tells them apart: then only the table as it is can be answered."""
    distinct = Distinct.rows(contexts)
    if (table[:, distinct.first][:, distinct.group] != table).any():
        return Distinct(np.arange(len(contexts)), np.arange(len(contexts)))
    return distinct


def _label_array(labelings: Any, n_actions: int) -> Ints:
    """Return labelings as a read-only (N, m) array; raises InputError on shape, kind or range."""
    try:
        array = np.array(labelings)
    except ValueError as error:
        raise InputError("labelings must be a rectangular table: one row per policy, one column per context") from error
    if array.ndim != 2 or 0 in array.shape:
        raise InputError(
            f"labelings must be a table (policies, contexts) with at least one of each, got shape {array.shape}"
        )
    if not np.issubdtype(array.dtype, np.integer):
        raise InputError(f"labelings must be whole numbers, the actions 0..{n_actions - 1}, got {array.dtype}")
    bad = np.argwhere((array < 0) | (array >= n_actions))
    if len(bad):
        row, column = bad[0]
        raise InputError(f"labelings[{row}, {column}] is {array[row, column]}; actions are 0..{n_actions - 1}")
    array = array.astype(np.int64)
    array.setflags(write=False)
    return array


def _keys(contexts: Floats) -> list[bytes]:
    """Return a key of each row by value: adding 0 makes -0 and 0 the same."""
    return [row.tobytes() for row in contexts + 0.0]
