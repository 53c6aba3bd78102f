"""An oracle whose contexts arrive during the run."""

from __future__ import annotations

from typing import Any

import numpy as np

from milpcb.errors import InputError
from milpcb.oracles import open_oracle
from milpcb.oracles.base import Oracle
from milpcb.protocols import PolicyClass
from milpcb.types import Answer, Floats, Ints


class GrowingOracle:
    """Asks like an Oracle; ``extend`` adds contexts.

    A context that equals an earlier one, or falls between the same cut points, is that one and costs nothing. New
    ones are collected: the next question opens the class on all of them once, so a batch costs one opening, and a run
    costs as many as there are questions between which something new arrived. Cut points are fixed when the
    oracle is made: quantiles are those of the contexts known then.
    """

    def __init__(
        self, policies: PolicyClass, contexts: Any, kind: str = "search", solver: str | None = None, **options: Any
    ) -> None:
        opened = policies.on(contexts)
        opened.require("fixed")
        self._policies = opened.fixed()
        self._options = {"kind": kind, "solver": solver, **options}
        self._rows: dict[bytes, int] = {}
        self._contexts: list[Floats] = []
        self._calls, self._seconds = 0, 0.0
        self._opened: Oracle | None = None
        self.rows = self.extend(contexts)
        self.n_actions = policies.n_actions

    def __repr__(self) -> str:
        kind, name = self._options["kind"], type(self._policies).__name__
        return f"<GrowingOracle: {name}, kind {kind}, {self.n_contexts} contexts so far, {self.n_actions} actions>"

    @property
    def n_contexts(self) -> int:
        """Number of contexts so far, those on which every policy plays alike counted once: the rows that costs must have."""
        return len(self._contexts)

    @property
    def contexts(self) -> Floats:
        """One representative of each, (n_contexts, d)."""
        return np.array(self._contexts)

    @property
    def log_size(self) -> float:
        """Natural log of the number of policies on the contexts so far."""
        return self._oracle().log_size

    @property
    def log_derivations(self) -> float:
        """Natural log of the number of derivations on the contexts so far; see Oracle.log_derivations."""
        return self._oracle().log_derivations

    @property
    def can(self) -> frozenset[str]:
        """What the opened oracle can be asked; a list of labelings would not stay one, so there is none."""
        return self._oracle().can - {"enumerate"}

    @property
    def calls(self) -> int:
        """Questions asked so far."""
        return self._calls + (self._opened.calls if self._opened else 0)

    @property
    def seconds(self) -> float:
        """Seconds spent on questions, openings excepted."""
        return self._seconds + (self._opened.seconds if self._opened else 0.0)

    def extend(self, contexts: Any) -> Ints:
        """Add contexts (n, d); return the row (n,) of each: an old one where every policy plays as on an old context."""
        array = self._policies.read(contexts)
        if self._contexts and array.shape[1] != len(self._contexts[0]):
            raise InputError(f"contexts have {array.shape[1]} columns, those before had {len(self._contexts[0])}")
        rows = np.empty(len(array), dtype=np.int64)
        for i, pattern in enumerate(self._policies.patterns(array)):
            key = pattern.tobytes()
            if key not in self._rows:
                self._rows[key] = len(self._contexts)
                self._contexts.append(array[i])
                self._retire()
            rows[i] = self._rows[key]
        return rows

    def minimise(self, costs: Any) -> Answer:
        """See Oracle.minimise; costs are (n_contexts, K)."""
        return self._oracle().minimise(costs)

    def value(self, costs: Any) -> float:
        """See Oracle.value."""
        return self._oracle().value(costs)

    def profile(self, costs: Any, row: int) -> Floats:
        """See Oracle.profile."""
        return self._oracle().profile(costs, row)

    def action_weights(self, costs: Any, row: int, rate: float) -> Floats:
        """See Oracle.action_weights."""
        return self._oracle().action_weights(costs, row, rate)

    def _oracle(self) -> Oracle:
        if self._opened is None:
            self._opened = open_oracle(self._policies, self.contexts, **self._options)
        return self._opened

    def _retire(self) -> None:
        if self._opened is not None:
            self._calls, self._seconds = self.calls, self.seconds
            self._opened = None
