"""The sequence of contexts is known in advance (paper, section 2: the transductive setting)."""

from __future__ import annotations

from typing import Any

import numpy as np

from milpcb.contexts.fit import check_same_contexts
from milpcb.core.checks import context_array, whole_array
from milpcb.errors import InputError
from milpcb.protocols import ContextModel
from milpcb.types import Ints


class Transductive(ContextModel):
    """The sequence of contexts is known in advance; costs remain adversarial.

    Parameters
    ----------
    contexts : (m, d), an array or a data frame of numbers
    order : (T,) row numbers: round t (0-based) will show row ``order[t]``

    """

    def __init__(self, contexts: Any, order: Any) -> None:
        self.contexts = context_array(contexts)
        self.n_contexts = len(self.contexts)
        self.order = whole_array("order", order)
        if self.order.ndim != 1 or not len(self.order):
            raise InputError("order must be a list of row numbers, one per round")
        if self.order.min() < 0 or self.order.max() >= self.n_contexts:
            raise InputError(f"order names rows outside 0..{self.n_contexts - 1}")
        self._at = -1
        self._left = np.bincount(self.order, minlength=self.n_contexts)

    def attach(self, oracle: Any, horizon: int | None) -> None:
        """Check that the oracle was opened on these contexts, and that the order has as many rounds as the horizon."""
        check_same_contexts(oracle, self.contexts)
        if horizon is not None:
            self._check_horizon(horizon)

    def observe(self, t: int, row: int) -> None:
        """Check that round ``t`` shows the row that the order announced."""
        if t >= len(self.order):
            raise InputError(f"round {t + 1} is past the {len(self.order)} rounds of the order")
        if row != self.order[t]:
            raise InputError(
                f"round {t + 1} shows row {row}, but the order announced row {self.order[t]}; "
                "hand in the order of the rounds as they will come, or use a FinitePool"
            )

    def future(self, t: int, horizon: int, rate: float, rng: np.random.Generator) -> Ints:
        """Return (m,) counts: each round after ``t`` is kept with probability ``rate``, its context is known."""
        self._check_horizon(horizon)
        return rng.binomial(self._rounds_left(t), rate)

    def future_rounds(self, t: int, horizon: int, rate: float, rng: np.random.Generator) -> tuple[Ints, Ints]:
        """Return the kept rounds (n,) after ``t``, in order, and the row (n,) that the order announces for each."""
        self._check_horizon(horizon)
        rounds = t + 1 + np.flatnonzero(rng.random(horizon - t - 1) < rate)
        return rounds, self.order[rounds]

    def _check_horizon(self, horizon: int) -> None:
        if horizon != len(self.order):
            raise InputError(f"the order lists {len(self.order)} rounds, but the horizon is {horizon}; make them equal")

    def _rounds_left(self, t: int) -> Ints:
        """Return (m,): how many rounds after ``t`` show each context; one step per round in the usual order."""
        if t < self._at:
            self._at = -1
            self._left = np.bincount(self.order, minlength=self.n_contexts)
        while self._at < t:
            self._at += 1
            self._left[self.order[self._at]] -= 1
        return self._left
