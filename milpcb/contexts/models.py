"""Models of future contexts: what a learner knows of them, and how it draws them."""

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from milpcb.contexts.draws import Multinomial
from milpcb.core.checks import LARGEST, context_array, number_array, whole_array
from milpcb.errors import InputError
from milpcb.protocols import ContextModel
from milpcb.types import Ints


class _OnTable(ContextModel):
    """A model of the rows of a table of ``contexts`` (m, d)."""

    def __init__(self, contexts: Any) -> None:
        self.contexts = context_array(contexts)
        self.n_contexts = len(self.contexts)

    def attach(self, oracle: Any, horizon: int | None) -> None:
        """Raise InputError unless the oracle was opened on the contexts, in this order; any horizon will do."""
        del horizon
        theirs, own = oracle.contexts, self.contexts
        if theirs.shape != own.shape:
            raise InputError(
                f"the oracle was opened on {len(theirs)} contexts of {theirs.shape[1]} columns, but the pool has "
                f"{len(own)} of {own.shape[1]}; use the same"
            )
        if not np.array_equal(theirs, own):
            row = int(np.flatnonzero((theirs != own).any(axis=1))[0])
            raise InputError(
                f"the oracle and the pool hold different contexts, row {row} is the first; "
                "a row number must mean the same in both"
            )


class FinitePool(_OnTable):
    """Contexts drawn i.i.d. from a known finite pool (paper, section 2: the hybrid i.i.d.-adversarial setting).

    Parameters
    ----------
    contexts : (m, d), an array or a data frame of numbers
    weights : (m,), none negative: row j is shown with probability ``weights[j] / sum(weights)``; None for uniform

    """

    def __init__(self, contexts: Any, weights: Any = None) -> None:
        super().__init__(contexts)
        if weights is None:
            weights = np.ones(self.n_contexts)
        weights = number_array("weights", weights)
        if weights.shape != (self.n_contexts,):
            raise InputError(f"weights have shape {weights.shape}; give one per context: ({self.n_contexts},)")
        if not (weights >= 0).all() or not 0 < weights.sum() <= LARGEST:
            raise InputError(f"weights must be finite and non-negative, with a positive sum of at most {LARGEST:g}")
        self.weights = weights / weights.sum()
        self._law = Multinomial(self.weights)

    def future(self, t: int, horizon: int, rate: float, rng: np.random.Generator) -> Ints:
        """Return (m,) counts of the kept rounds after round ``t``: Binomial(T - t, rate) rounds, then their contexts.

        Same law as drawing a context and Z for every future round and dropping the rounds with Z = 0.
        """
        return self._law.draw(int(rng.binomial(horizon - t - 1, rate)), rng)


class Sampler(ContextModel):
    """Fresh contexts from a law that can be sampled. Needs a GrowingOracle, which takes in what is drawn.

    Only the rounds that carry noise are drawn. Contexts between the same cut points are one row of the oracle.

    Parameters
    ----------
    draw : a function ``draw(n, rng)`` that returns n contexts (n, d). All its randomness must come from ``rng``: a
        restored run calls it again from the same state

    """

    def __init__(self, draw: Callable[[int, np.random.Generator], Any]) -> None:
        if not callable(draw):
            raise InputError("Sampler needs a function draw(n, rng) that returns n contexts")
        self._draw = draw
        self._oracle: Any = None

    def attach(self, oracle: Any, horizon: int | None) -> None:
        """Take the oracle that the drawn contexts extend; raises InputError when its contexts are fixed."""
        del horizon  # any will do
        if not hasattr(oracle, "extend"):
            raise InputError("a Sampler draws contexts the oracle has not seen; give it a GrowingOracle")
        self._oracle = oracle

    def future(self, t: int, horizon: int, rate: float, rng: np.random.Generator) -> Ints:
        """Return (m,) counts over the oracle's rows, new ones included, of the kept rounds after round ``t``."""
        n = int(rng.binomial(horizon - t - 1, rate))
        drawn = self._draw(n, rng) if n else []
        if hasattr(drawn, "__len__") and len(drawn) != n:  # what has no length is no table: the oracle refuses it
            raise InputError(
                f"draw({n}, rng) returned {len(drawn)} contexts; it must return as many as it is asked for"
            )
        rows = self._oracle.extend(drawn) if n else np.zeros(0, dtype=np.int64)
        return np.bincount(rows, minlength=self._oracle.n_contexts)

    def state(self) -> dict[str, Any]:
        """Return the contexts that the oracle holds, in the order of its rows.

        They belong here because the learner's estimates and the drawn futures are counted by these rows.
        """
        return {"contexts": self._oracle.contexts.tolist()}

    def restore(self, state: dict[str, Any]) -> None:
        """Bring the contexts back to their rows; raises InputError when the oracle holds others in their place.

        The oracle must be made with the same first contexts as the one that was saved, since these fix the cut points.
        """
        saved = state["contexts"]
        known = min(len(saved), self._oracle.n_contexts)
        fits = not known or np.array_equal(self._oracle.contexts[:known], saved[:known])
        if fits and known < len(saved):
            fits = self._oracle.extend(saved[known:]).tolist() == list(range(known, len(saved)))
        if not fits:
            raise InputError(
                "the saved contexts do not get their rows back; restore with a new GrowingOracle "
                "made of the same class and the same first contexts, before it takes in others"
            )


class Transductive(_OnTable):
    """The sequence of contexts is known in advance (paper, section 2: the transductive setting); costs are adversarial.

    Parameters
    ----------
    contexts : (m, d), an array or a data frame of numbers
    order : (T,) row numbers: round t (0-based) will show row ``order[t]``

    """

    def __init__(self, contexts: Any, order: Any) -> None:
        super().__init__(contexts)
        self.order = whole_array("order", order)
        if self.order.ndim != 1 or not len(self.order):
            raise InputError("order must be a list of row numbers, one per round")
        if self.order.min() < 0 or self.order.max() >= self.n_contexts:
            raise InputError(f"order names rows outside 0..{self.n_contexts - 1}")
        self._at = -1
        self._left = np.bincount(self.order, minlength=self.n_contexts)

    def attach(self, oracle: Any, horizon: int | None) -> None:
        """Check that the oracle was opened on these contexts, and that the order has as many rounds as the horizon."""
        super().attach(oracle, horizon)
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


class Empirical(_OnTable):
    """Future contexts are drawn, with replacement, from those of all rounds before the current epoch.

    The law of the contexts is unknown and cannot be sampled. The setting and the idea are those of Wu, Sima &
    Szpankowski (2024, arXiv 2401.15520), read as an abstract; the epochs, and drawing with replacement for all rounds
    left, are our own, and no bound on regret is claimed.

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
        super().__init__(contexts)
        self._oracle: Any = None
        self._seen = np.zeros(self.n_contexts, dtype=np.int64)
        self._sample = np.zeros(self.n_contexts, dtype=np.int64)
        self._law: Multinomial | None = None  # of a context drawn from the sample, where there is one

    def attach(self, oracle: Any, horizon: int | None) -> None:
        """Check that the oracle was opened on these contexts, and that no other learner's was here before."""
        super().attach(oracle, horizon)
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
