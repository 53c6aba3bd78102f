"""Models of future contexts: a learner's knowledge of them, and how it draws them."""

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
        if not np.array_equal(oracle.contexts, self.contexts):
            raise InputError(
                f"the oracle was opened on contexts {oracle.contexts.shape}, and the pool has others, "
                f"{self.contexts.shape}; use the same, in the same order"
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
        weights = np.ones(self.n_contexts) if weights is None else number_array("weights", weights)
        if weights.shape != (self.n_contexts,) or not (weights >= 0).all() or not 0 < weights.sum() <= LARGEST:
            raise InputError(
                f"weights must be one per context, ({self.n_contexts},), finite and non-negative, with a positive sum"
            )
        self.weights = weights / weights.sum()
        self._law = Multinomial(self.weights)

    def future(self, t: int, horizon: int, rate: float, rng: np.random.Generator) -> Ints:
        """Return (m,) counts of the kept rounds after ``t``: Binomial(T - t, rate) rounds, then their contexts."""
        return self._law.draw(int(rng.binomial(horizon - t - 1, rate)), rng)


class Sampler(ContextModel):
    """Fresh contexts from a law that can be sampled. Needs a GrowingOracle, which adds the drawn contexts.

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
        del horizon  # any will do
        if not hasattr(oracle, "extend"):
            raise InputError("a Sampler draws contexts the oracle has not seen; give it a GrowingOracle")
        self._oracle = oracle

    def future(self, t: int, horizon: int, rate: float, rng: np.random.Generator) -> Ints:
        n = int(rng.binomial(horizon - t - 1, rate))
        drawn = self._draw(n, rng) if n else []
        if hasattr(drawn, "__len__") and len(drawn) != n:  # what has no length is no table: the oracle refuses it
            raise InputError(
                f"draw({n}, rng) returned {len(drawn)} contexts; it must return as many as it is asked for"
            )
        rows = self._oracle.extend(drawn) if n else np.zeros(0, dtype=np.int64)
        return np.bincount(rows, minlength=self._oracle.n_contexts)

    def state(self) -> dict[str, Any]:
        """Return the contexts that the oracle holds, in the order of its rows."""
        return {"contexts": self._oracle.contexts.tolist()}

    def restore(self, state: dict[str, Any]) -> None:
        """Bring the contexts back to their rows; raises InputError when the oracle holds others in their place."""
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
        rows = self.order if self.order.ndim == 1 and len(self.order) else np.array([-1])
        if rows.min() < 0 or rows.max() >= self.n_contexts:
            raise InputError(f"order must be a list of row numbers, one per round, from 0 to {self.n_contexts - 1}")
        self._at, self._left = -1, np.bincount(self.order, minlength=self.n_contexts)

    def attach(self, oracle: Any, horizon: int | None) -> None:
        super().attach(oracle, horizon)
        if horizon is not None:
            self._check_horizon(horizon)

    def observe(self, t: int, row: int) -> None:
        """Check that round ``t`` shows the row that the order announced."""
        announced = self.order[t] if t < len(self.order) else None
        if row != announced:
            raise InputError(
                f"round {t + 1} shows row {row}, but the order announced row {announced}; "
                "hand in the order of the rounds as they will come, or use a FinitePool"
            )

    def future(self, t: int, horizon: int, rate: float, rng: np.random.Generator) -> Ints:
        self._check_horizon(horizon)
        return rng.binomial(self._rounds_left(t), rate)

    def future_rounds(self, t: int, horizon: int, rate: float, rng: np.random.Generator) -> tuple[Ints, Ints]:
        self._check_horizon(horizon)
        rounds = t + 1 + np.flatnonzero(rng.random(horizon - t - 1) < rate)
        return rounds, self.order[rounds]

    def _check_horizon(self, horizon: int) -> None:
        if horizon != len(self.order):
            raise InputError(f"the order lists {len(self.order)} rounds, but the horizon is {horizon}; make them equal")

    def _rounds_left(self, t: int) -> Ints:
        """Return (m,): how many rounds after ``t`` show each context; one step per round in the usual order."""
        if t < self._at:
            self._at, self._left = -1, np.bincount(self.order, minlength=self.n_contexts)
        while self._at < t:
            self._at += 1
            self._left[self.order[self._at]] -= 1
        return self._left


class Empirical(_OnTable):
    """Future contexts are drawn, with replacement, from the contexts of all rounds before the current epoch.

    The law of the contexts is unknown and cannot be sampled: the setting and the idea of Wu, Sima & Szpankowski (2024,
    arXiv 2401.15520), read as an abstract; no bound on regret is claimed. Epoch e holds the rounds 2^e to 2^(e+1) - 1,
    so that imagined rounds depend on nothing that is being decided; in round 1 there is no noise. It is for *one*
    learner.

    Parameters
    ----------
    contexts : (m, d), the table that rows are numbers of; rows not seen so far get no noise

    """

    known: ClassVar[bool] = False

    def __init__(self, contexts: Any) -> None:
        super().__init__(contexts)
        self._oracle: Any = None
        self._seen = np.zeros(self.n_contexts, dtype=np.int64)
        self._take(self._seen)

    def attach(self, oracle: Any, horizon: int | None) -> None:
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
        if self._law is None:
            return np.zeros(self.n_contexts, dtype=np.int64)
        return self._law.draw(int(rng.binomial(horizon - t - 1, rate)), rng)

    def state(self) -> dict[str, Any]:
        return {"seen": self._seen.tolist(), "sample": self._sample.tolist()}

    def restore(self, state: dict[str, Any]) -> None:
        self._seen[:] = state["seen"]
        self._take(np.array(state["sample"], dtype=np.int64).reshape(self._seen.shape))

    def _take(self, sample: Ints) -> None:
        """Draw from ``sample`` (m,), how often each context was seen, from now on."""
        self._sample = sample.copy()
        self._law: Multinomial | None = Multinomial(sample / sample.sum()) if sample.any() else None
