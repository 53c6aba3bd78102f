"""Contexts drawn fresh from a law that the learner can sample (paper, section 2), continuous or not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from milpcb.errors import InputError
from milpcb.protocols import ContextModel
from milpcb.types import Ints


class Sampler(ContextModel):
    """``draw(n, rng)`` returns n fresh contexts (n, d). Needs a GrowingOracle, which takes in what is drawn.

    Only the rounds that carry noise are drawn. Contexts between the same cut points are one row of the oracle.
    """

    def __init__(self, draw: Callable[[int, np.random.Generator], Any]) -> None:
        if not callable(draw):
            raise InputError("Sampler needs a function draw(n, rng) that returns n contexts")
        self._draw = draw
        self._oracle: Any = None

    def attach(self, oracle: Any) -> None:
        """Take the oracle that the drawn contexts extend; raises InputError when its contexts are fixed."""
        if not hasattr(oracle, "extend"):
            raise InputError("a Sampler draws contexts the oracle has not seen; give it a GrowingOracle")
        self._oracle = oracle

    def future(self, t: int, horizon: int, rate: float, rng: np.random.Generator) -> Ints:
        """Return (m,) counts over the oracle's rows, new ones included, of the kept rounds after round ``t``."""
        n = int(rng.binomial(horizon - t - 1, rate))
        rows = self._oracle.extend(self._draw(n, rng)) if n else np.zeros(0, dtype=np.int64)
        return np.bincount(rows, minlength=self._oracle.n_contexts)
