"""The interface of a model of future contexts."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar

import numpy as np

from milpcb.types import Ints


class ContextModel(ABC):
    """What a learner knows of future contexts: how many of the imagined future rounds fall on each context.

    ``known`` is True where the future is drawn from the true law, as guarantees assume.
    """

    known: ClassVar[bool] = True

    @abstractmethod
    def attach(self, oracle: Any, horizon: int | None) -> None:
        """Check that the model fits a learner's oracle, whose rows it counts, and its horizon; raises InputError."""

    def observe(self, t: int, row: int) -> None:
        """Note the ``row`` that round ``t`` (0-based) shows, before its future is drawn; may raise InputError."""
        del t, row  # most models know all there is to know

    @abstractmethod
    def future(self, t: int, horizon: int, rate: float, rng: np.random.Generator) -> Ints:
        """Return (m,) counts: of the rounds after ``t`` (0-based), each kept with probability ``rate``."""

    def future_rounds(self, t: int, horizon: int, rate: float, rng: np.random.Generator) -> tuple[Ints, Ints]:
        """Return the kept rounds (n,) after ``t`` in order, and the row (n,) that each shows.

        As drawn here, ``future`` deals them out in random order: right where contexts are i.i.d.
        """
        counts = self.future(t, horizon, rate, rng)
        rows = rng.permutation(np.repeat(np.arange(len(counts)), counts))
        rounds = rng.choice(horizon - t - 1, len(rows), replace=False, shuffle=False)
        return t + 1 + np.sort(rounds), rows

    def state(self) -> dict[str, Any]:
        """Return what was learnt about contexts so far, as plain data."""
        return {}

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from a saved state, as ``state`` returned it."""
        del state
