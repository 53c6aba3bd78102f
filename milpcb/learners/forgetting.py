"""Exp4 that forgets: over the totals of the last rounds, or over totals that are discounted from round to round."""

from __future__ import annotations

from math import sqrt
from typing import Any, ClassVar, Literal, get_args

import numpy as np

from milpcb.core.checks import choice, whole
from milpcb.learners.exp4 import Exp4, WeighingOracle
from milpcb.types import Floats

By = Literal["window", "discount"]


class Forgetting(Exp4):
    """Exponential weights over policies by what they cost of late.

    Setting: the best policy changes; no guarantee is claimed. Policies are weighed by their estimated totals over a
    *window*, the last w rounds; or by all estimates, each multiplied by gamma = 1 - 1/w after every round since. Both
    are from bandits without contexts (Garivier & Moulines 2011). The rate is Exp4's for w rounds,
    sqrt(2 log N / (K w)). It stands beside ``fixed_share``, which need not know how fast the world changes.

    Parameters
    ----------
    oracle : the policy class; kinds "search" and "audited" (for most classes) and "enumeration" have action weights
    horizon : number of rounds T that may be played, or None for no end
    seed : not used
    rounds : w, at least 2
    by : "window" or "discount"

    """

    kept: ClassVar[tuple[str, ...]] = (*Exp4.kept, "_recent")

    def __init__(
        self,
        oracle: WeighingOracle,
        *,
        horizon: int | None = None,
        seed: int = 0,
        rounds: int = 1000,
        by: By = "window",
    ) -> None:
        self._rounds = whole("rounds", rounds, 2)
        self._window = choice("by", by, get_args(By)) == "window"
        self._recent: list[list[float]] = []  # of the window: row, action, estimate
        super().__init__(oracle, horizon=horizon, seed=seed, rate=0.0)
        self.rate = self._fixed = sqrt(2 * self._log_count / (self.n_actions * self._rounds))

    def _learn(self, row: int, action: int, cost: float, probability: float) -> None:
        if not self._window:
            self._table.totals *= 1 - 1 / self._rounds
        super()._learn(row, action, cost, probability)
        if self._window:
            self._recent.append([row, action, cost / probability])
        if len(self._recent) > self._rounds:
            old_row, old_action, estimate = self._recent.pop(0)
            self._table.add(int(old_row), int(old_action), -estimate)

    def guarantee(self) -> float:
        """Return infinity."""
        return np.inf

    def bound(self, confidence: float | None = None) -> float:
        """Return NaN."""
        del confidence
        return np.nan

    def estimates(self) -> Floats | None:
        """Return None: totals are not kept by context."""
        return None

    def _go_on(self, before: Any) -> None:
        super(Exp4, self)._go_on(before)  # the ledger does not know what was forgotten
