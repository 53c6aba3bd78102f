"""The law of the contexts is unknown and cannot be sampled: contexts seen in earlier epochs stand for future ones.

The setting and the idea are those of Wu, Sima & Szpankowski (2024, arXiv 2401.15520), read as an abstract; the epochs,
and drawing with replacement for all rounds left, are our own. Their algorithm also starts anew in each epoch; here only
the sample changes, and no bound on regret is claimed.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from milpcb.contexts.draws import Multinomial
from milpcb.contexts.fit import check_same_contexts
from milpcb.core.checks import context_array
from milpcb.errors import InputError
from milpcb.protocols import ContextModel
from milpcb.types import Ints


class Empirical(ContextModel):
    """Future contexts are drawn, with replacement, from those of all rounds before the current epoch.

    Rounds count from 1; epoch e holds the rounds 2^e to 2^(e+1) - 1, so the sample is that of the 2^e - 1 rounds before
    it. It stays as it is throughout an epoch, and contains neither the context that the learner is playing on nor its
    neighbours: the imagined future rounds depend on nothing that is being decided.

    In round 1 there is no sample, and no noise: the only law at hand, uniform over the rows of ``contexts``, would be
    knowledge of contexts that were never shown. Every policy then has total 0, so BISTRO+ plays uniformly unless it
    follows a leader; either way one round costs at most 1.

    The model remembers what *one* learner saw: make one for each learner.

    Parameters
    ----------
    contexts : (m, d), the table that rows are numbers of; rows not seen so far get no noise

    """

    known: ClassVar[bool] = False

    def __init__(self, contexts: Any) -> None:
        self.contexts = context_array(contexts)
        self.n_contexts = len(self.contexts)
        self._oracle: Any = None
        self._seen = np.zeros(self.n_contexts, dtype=np.int64)
        self._sample = np.zeros(self.n_contexts, dtype=np.int64)
        self._law: Multinomial | None = None  # of a context drawn from the sample, where there is one

    def attach(self, oracle: Any, horizon: int | None) -> None:
        """Check that the oracle was opened on these contexts, and that no other learner's was here before."""
        del horizon  # any will do
        check_same_contexts(oracle, self.contexts)
        if self._oracle is not None and self._oracle is not oracle:
            raise InputError("an Empirical remembers the contexts that one learner saw; make one for each learner")
        self._oracle = oracle

    def observe(self, t: int, row: int) -> None:
        """Count the context of the current round; the first round of an epoch takes in all earlier rounds first."""
        del t  # a learner of one phase counts its own rounds from 0
        round_ = int(self._seen.sum()) + 1
        if round_ & (round_ - 1) == 0:  # a power of 2
            self._take(self._seen)
        self._seen[row] += 1

    def future(self, t: int, horizon: int, rate: float, rng: np.random.Generator) -> Ints:
        """Return (m,) counts of the kept rounds after round ``t``, each on a context drawn from the sample."""
        if self._law is None:
            return np.zeros(self.n_contexts, dtype=np.int64)
        return self._law.draw(int(rng.binomial(horizon - t - 1, rate)), rng)

    def state(self) -> dict[str, Any]:
        """Return how often each context was seen, so far and before this epoch."""
        return {"seen": self._seen.tolist(), "sample": self._sample.tolist()}

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from a saved state."""
        self._seen[:] = state["seen"]
        self._take(np.array(state["sample"], dtype=np.int64).reshape(self._seen.shape))

    def _take(self, sample: Ints) -> None:
        """Draw from ``sample`` (m,), how often each context was seen, from now on."""
        self._sample = sample.copy()
        self._law = Multinomial(sample / sample.sum()) if sample.any() else None
