"""The interface of an oracle, as learners see it, and of the running totals that it keeps."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from copy import copy
from typing import Any, Protocol

import numpy as np

from milpcb.ledger import Minimiser
from milpcb.types import Answer, Floats

NOISE = ("contexts", "columns")  # where the noise of a table may be


class Table(ABC):
    """The ``totals`` that an oracle keeps for a learner; noise is added to a query only, and not kept.

    Noise has ``n_noisy`` coordinates. A policy's total is linear in it, and a cost of 1 at one context and action moves
    a total along a direction whose 1-norm in these coordinates is at most ``n_moved``. Totals are by context, or by
    leaf (milpcb/protocols/recursion.py): then a round takes as long however many contexts there are.
    """

    totals: Floats
    n_noisy: int
    n_moved: float

    @abstractmethod
    def cell(self, row: int, action: int) -> Any:
        """Return the index of the totals to which a cost of ``action`` at the context ``row`` is added."""

    def add(self, row: int, action: int, amount: float) -> None:
        """Add ``amount`` to the cost of ``action`` at the context ``row``."""
        cell = self.cell(row, action)  # which may make room for it
        self.totals[cell] += amount

    def add_all(self, rows: Sequence[int], actions: Sequence[int], amounts: Sequence[float]) -> None:
        """Add to many cells, at least one, given by three lists of one length."""
        for row, action, amount in zip(rows, actions, amounts, strict=True):
            self.add(row, action, amount)

    @abstractmethod
    def profile(self, row: int, noise: Floats | None = None) -> Floats:
        """Return V[a] (K,): the least total of the policies that play a on ``row``, with ``noise`` (n_noisy,) added."""

    @abstractmethod
    def minimise(self, noise: Floats | None = None) -> Answer:
        """Return bounds on the least total with ``noise`` added, and a policy."""

    @abstractmethod
    def action_weights(self, row: int, rate: float) -> Floats:
        """Return the Exp4 distribution (K,) at ``row``; raises InputError where the oracle has no action weights."""

    def several(self) -> SeveralTables:
        """Return several tables like this one, which share queries; none has begun yet."""
        return SeveralTables(self)

    def another(self) -> Table:
        """Return an empty table like this one."""
        made = copy(self)
        made.totals = np.zeros_like(self.totals)
        return made

    def state(self) -> Any:
        """Return the totals as plain data (JSON-able)."""
        return self.totals.tolist()

    def restore(self, state: Any) -> None:
        """Go on bit-identically from a ``state``."""
        self.totals[:] = state


class SeveralTables:
    """Tables 0, 1, ..., J - 1 like the ``first``, each of the costs since it began; without noise."""

    def __init__(self, first: Table) -> None:
        self._first = first
        self._tables: list[Table] = []

    def begin(self, table: int) -> None:
        """Empty a table; the one after the last is a new one."""
        self._tables[table : table + 1] = [self._first.another()]

    def add(self, row: int, action: int, amount: float) -> None:
        """Add ``amount`` to the cost of ``action`` at the context ``row`` in all tables."""
        for table in self._tables:
            table.add(row, action, amount)

    def action_weights(self, row: int, rate: float) -> Floats:
        """Return the Exp4 distribution (J, K) of each table at ``row``."""
        return np.array([table.action_weights(row, rate) for table in self._tables])

    def state(self) -> list[Any]:
        """Return the state of each table, see ``Table.state``."""
        return [table.state() for table in self._tables]

    def restore(self, state: Sequence[Any]) -> None:
        """Go on bit-identically from a ``state``."""
        self._tables = [self._first.another() for _ in state]
        for table, own in zip(self._tables, state, strict=True):
            table.restore(own)


class ValueOracle(Minimiser, Protocol):
    """The part of an oracle that learners use; the capability "enumerate" adds its ``labelings`` (N, m)."""

    @property
    def capabilities(self) -> frozenset[str]:
        """Return the names of the queries that are answered."""
        ...

    @property
    def log_size(self) -> float:
        """Return the natural log of the number of policies, exactly or as an upper bound."""
        ...

    def value(self, costs: Floats) -> float:
        """Return the proved least total cost; ``costs`` is (m, K)."""
        ...

    def profile(self, costs: Floats, row: int) -> Floats:
        """Return V[a] (K,), the least total cost of the policies that play a on ``row``."""
        ...

    def action_weights(self, costs: Floats, row: int, rate: float) -> Floats:
        """Return the Exp4 distribution (K,) at ``row``."""
        ...

    def table(self, noise: str | None = "contexts") -> Table:
        """Return an empty table of total costs kept from round to round, with ``noise`` on "contexts" or "columns"."""
        ...
