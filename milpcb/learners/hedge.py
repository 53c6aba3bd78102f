"""Hedge with full information over an enumerated class: what is possible if all costs are shown."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from milpcb.core.checks import real
from milpcb.learners.base import Learner
from milpcb.learners.needs import EnumeratedOracle, require
from milpcb.types import Floats


class Hedge(Learner):
    """Exponential weights over all N labelings, shown every cost (Freund & Schapire 1997).

    Guarantee: regret <= sqrt(T log N / 2) for the rate sqrt(8 log N / T), whatever the costs and contexts.
    It is for comparison, and no bandit learner: it sees the costs of actions that were not played.

    Parameters
    ----------
    oracle : the policy class, opened on all contexts, with kind "enumeration"
    horizon : number of rounds T
    seed : not used
    rate : eta >= 0 of the weights exp(-eta * total cost); None for sqrt(8 log N / T)

    """

    full_information: ClassVar[bool] = True
    kept = ("_totals",)
    horizon: int

    def __init__(self, oracle: EnumeratedOracle, *, horizon: int, seed: int = 0, rate: float | None = None) -> None:
        super().__init__(oracle, horizon=horizon, seed=seed)
        require("hedge", oracle, "enumerate")
        self._labelings = np.ascontiguousarray(oracle.labelings.T)  # (m, N): a round reads one row
        self._log_size = float(np.log(self._labelings.shape[1]))
        if rate is None:
            rate = float(np.sqrt(8 * self._log_size / horizon))
        self.rate = real("rate", rate, "finite and not negative", lambda eta: eta >= 0)
        self._totals = np.zeros(self._labelings.shape[1])

    def _act(self, row: int) -> Floats:
        """Return the weight of the policies that play each action (K,)."""
        weights = np.exp(-self.rate * (self._totals - self._totals.min()))
        mass = np.bincount(self._labelings[row], weights, minlength=self.n_actions)
        return np.asarray(mass / mass.sum())

    def _learn(self, row: int, action: int, cost: float, probability: float) -> None:
        """Learn nothing from the played action alone; see ``_learn_all``."""

    def _learn_all(self, row: int, costs: Floats) -> None:
        """Charge every policy the cost of its own action."""
        self._totals += costs[self._labelings[row]]

    def guarantee(self) -> float:
        """Return sqrt(T log N / 2) at the default rate, log N / rate + rate T / 8 at any other."""
        if self._log_size == 0:
            return 0.0
        if self.rate == 0:
            return np.inf
        return float(self._log_size / self.rate + self.rate * self.horizon / 8)
