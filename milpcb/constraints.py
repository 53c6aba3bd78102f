"""Side constraints on the labels: one mechanism for every class, the cost map used once more."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from milpcb.errors import InputError
from milpcb.types import Floats


@dataclass(frozen=True)
class LabelConstraint:
    """The rule ``sum_j weights[j, pi(x_j)] <= upper``; ``weights`` is (m, K) over the rows of the contexts.

    ``name`` is what an error calls the constraint when no policy can satisfy it.
    """

    weights: npt.ArrayLike
    upper: float
    name: str = ""

    def matrix(self, n_contexts: int, n_actions: int) -> Floats:
        """Return the weights as a float array; raises InputError on a wrong shape or a non-finite entry."""
        weights = np.asarray(self.weights, dtype=float)
        if weights.shape != (n_contexts, n_actions):
            raise InputError(
                f"constraint {self.label} has weights of shape {weights.shape}; give one row per context and one "
                f"column per action: ({n_contexts}, {n_actions})"
            )
        if not (np.isfinite(weights).all() and np.isfinite(self.upper)):
            raise InputError(f"constraint {self.label} has NaN or infinite numbers; give finite weights and bound")
        return weights

    @property
    def label(self) -> str:
        """How messages call the constraint."""
        return f"'{self.name}'" if self.name else f"(upper = {self.upper:g})"
