"""Contexts drawn i.i.d. from a known finite pool (paper, section 2: the hybrid i.i.d.-adversarial setting)."""

from __future__ import annotations

from typing import Any

import numpy as np

from milpcb.contexts.draws import Multinomial
from milpcb.contexts.fit import check_same_contexts
from milpcb.core.checks import LARGEST, context_array, number_array
from milpcb.errors import InputError
from milpcb.protocols import ContextModel
from milpcb.types import Ints


class FinitePool(ContextModel):
    """A pool of contexts, of which each round shows one.

    Parameters
    ----------
    contexts : (m, d), an array or a data frame of numbers
    weights : (m,), none negative: row j is shown with probability ``weights[j] / sum(weights)``; None for uniform

    """

    def __init__(self, contexts: Any, weights: Any = None) -> None:
        self.contexts = context_array(contexts)
        self.n_contexts = len(self.contexts)
        if weights is None:
            weights = np.ones(self.n_contexts)
        weights = number_array("weights", weights)
        if weights.shape != (self.n_contexts,):
            raise InputError(f"weights have shape {weights.shape}; give one per context: ({self.n_contexts},)")
        if not (weights >= 0).all() or not 0 < weights.sum() <= LARGEST:
            raise InputError(f"weights must be finite and non-negative, with a positive sum of at most {LARGEST:g}")
        self.weights = weights / weights.sum()
        self._law = Multinomial(self.weights)

    def attach(self, oracle: Any, horizon: int | None) -> None:
        """Check that the oracle was opened on these contexts."""
        del horizon  # any will do
        check_same_contexts(oracle, self.contexts)

    def future(self, t: int, horizon: int, rate: float, rng: np.random.Generator) -> Ints:
        """Return (m,) counts of the kept rounds after round ``t``: Binomial(T - t, rate) rounds, then their contexts.

        Same law as drawing a context and Z for every future round and dropping the rounds with Z = 0.
        """
        return self._law.draw(int(rng.binomial(horizon - t - 1, rate)), rng)
