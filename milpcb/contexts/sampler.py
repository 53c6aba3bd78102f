"""Contexts drawn fresh from a law that the learner can sample (paper, section 2), continuous or not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from milpcb.errors import InputError
from milpcb.protocols import ContextModel
from milpcb.types import Ints


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
        rows = self._oracle.extend(self._draw(n, rng)) if n else np.zeros(0, dtype=np.int64)
        if len(rows) != n:
            raise InputError(f"draw({n}, rng) returned {len(rows)} contexts; it must return as many as it is asked for")
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
        contexts = state["contexts"]
        rows = self._oracle.extend(contexts) if contexts else np.zeros(0, dtype=np.int64)
        if not (rows == np.arange(len(contexts))).all():
            raise InputError(
                "the saved contexts do not get their rows back; restore with a new GrowingOracle "
                "made of the same class and the same first contexts, before it takes in others"
            )
