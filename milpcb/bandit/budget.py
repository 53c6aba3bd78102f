"""Side constraints of a bandit: their sums over the contexts so far, updated as contexts arrive."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from typing import Any

import numpy as np

from milpcb.constraints import LabelConstraint, NamedConstraint, NamedRows
from milpcb.constraints.by_names import Never
from milpcb.core.checks import whole
from milpcb.errors import InputError
from milpcb.types import Bools, Floats

GROWTH = 1.1  # constraints are bound anew when there are so many times the decisions of the last time

Tables = list[dict[str, Floats]]  # of each constraint, by name: (K,) at one context


class ContextsSoFar:
    """The sums of the tables of ``constraints`` over the decisions so far, by the row of their contexts."""

    def __init__(self, constraints: Sequence[NamedConstraint], n_actions: int) -> None:
        self._constraints, self._n_actions = constraints, n_actions
        self._sums: list[dict[str, Floats]] = [{} for _ in constraints]  # (n, K) of the first n rows, by name
        self._nothing = np.zeros((0, n_actions))
        self._decisions = 0
        self._bound_at = 0  # decisions when the constraints were bound last
        self._read = False  # whether conditions were read once: what is declared stands in the rows of every context

    def tables(self, rows: NamedRows) -> Tables:
        """Return the tables of each constraint at the first of ``rows``, {} of those by rows; raises InputError."""
        found: list[Mapping[str, Floats]] = []
        with nullcontext() if self._read else warnings.catch_warnings(action="error", category=UserWarning):
            try:
                found += ({} if rule.by_row else rule.tables(rows) for rule in self._constraints)
            except UserWarning as doubt:
                raise InputError(f"{doubt}; declare every string that may come, in Bandit(..., values=...)") from doubt
        self._read = True
        return [{key: table[0] for key, table in own.items()} for own in found]

    def forbidden(self, tables: Tables) -> Bools:
        """Return which actions (K,) guard-rails forbid at a context."""
        found = np.zeros(self._n_actions, dtype=bool)
        for constraint, own in zip(self._constraints, tables, strict=True):
            for table in own.values() if isinstance(constraint, Never) else ():
                found |= table > 0.0
        return found

    def due(self, row: int, tables: Tables) -> bool:
        """Return whether one decision more asks for binding anew: by their number, or as a guard-rail forbids more."""
        if self._decisions + 1 >= GROWTH * self._bound_at:
            return True
        known = self.forbidden([{key: sums[row] for key, sums in own.items() if row < len(sums)} for own in self._sums])
        return bool((self.forbidden(tables) & ~known).any())

    def rules(self, n_rows: int, row: int | None = None, tables: Tables | None = None) -> list[LabelConstraint]:
        """Return the constraints on the decisions so far, and on one more at ``row`` if it is given."""
        found = []
        for i, (constraint, own) in enumerate(zip(self._constraints, self._sums, strict=True)):
            more = {} if tables is None else tables[i]
            sums = {key: _padded(own.get(key, self._nothing), n_rows) for key in {**own, **more}}
            for key, table in more.items():
                sums[key][row] += table
            found += constraint.rules(sums, float(self._decisions + (row is not None)))
        return found

    def enter(self, row: int, tables: Tables, *, bound: bool) -> None:
        """Take in a decision; ``bound`` is whether the constraints were bound with it."""
        self._decisions += 1
        if bound:
            self._bound_at = self._decisions
        for own, more in zip(self._sums, tables, strict=True):
            for key, table in more.items():
                sums = own.get(key, self._nothing)
                own[key] = sums if row < len(sums) else _padded(sums, row + 1)
                own[key][row] += table

    def bind_next(self) -> None:
        """Have the constraints bound anew with the next decision."""
        self._bound_at = 0

    def state(self) -> dict[str, Any]:
        """Return everything as plain data."""
        sums = [{key: table.tolist() for key, table in own.items()} for own in self._sums]
        return {"decisions": self._decisions, "bound_at": self._bound_at, "sums": sums}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Go on from a saved state."""
        self._decisions = whole("decisions", state["decisions"], 0)
        self._bound_at = whole("bound_at", state["bound_at"], 0)
        for own, saved in zip(self._sums, state["sums"], strict=True):
            for key, table in saved.items():
                own[key] = np.array(table, dtype=float).reshape(-1, self._n_actions)


def as_plain(rules: Sequence[LabelConstraint]) -> list[list[Any]]:
    """Return constraints as plain data, for ``of_plain``."""
    return [[np.asarray(rule.weights).tolist(), float(rule.upper), rule.name] for rule in rules]


def of_plain(entries: Sequence[Sequence[Any]], n_rows: int) -> list[LabelConstraint]:
    """Return the constraints of ``as_plain`` on ``n_rows`` contexts, of which those that came later weigh nothing."""
    return [
        LabelConstraint(_padded(np.array(weights, dtype=float), n_rows), float(upper), str(name))
        for weights, upper, name in entries
    ]


def _padded(table: Floats, n_rows: int) -> Floats:
    """Return a copy with rows of 0 at its end."""
    return np.vstack([table, np.zeros((n_rows - len(table), table.shape[1]))])
