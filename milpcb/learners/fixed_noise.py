"""Follow the perturbed leader at one rate: the published Contextual-FTPL, on a table of costs by context."""

from __future__ import annotations

import math
from typing import Any, cast

import numpy as np

from milpcb import rng
from milpcb.core.checks import real, whole
from milpcb.errors import InputError
from milpcb.learners.needs import played_on, require
from milpcb.protocols import Policy, ValueOracle
from milpcb.types import Floats, Ints


class FixedNoise:
    """The leader of a fixed ``epsilon``: plays and learns; the arguments are those of ContextualFTPL, and checked here.

    Raises InputError on settings that cannot be.
    """

    def __init__(
        self,
        oracle: ValueOracle,
        *,
        horizon: int,
        seed: int,
        epsilon: float | None,
        cap: int | None,
        separator: list[int] | None,
        queries: str,
    ) -> None:
        K, T = oracle.n_actions, horizon
        self._noisy = _distinct(oracle, seed) if separator is None else _separating(oracle, separator)
        self._stability = 1 if separator is None else len(self._noisy)  # kappa
        self._noise_price = _noise_price(len(self._noisy), oracle.log_size)
        if epsilon is None:
            epsilon = float(np.sqrt(self._noise_price / (2 * self._stability * K * T)))
        self.epsilon = real("epsilon", epsilon, 'finite and above 0, or "adaptive"', lambda rate: rate > 0)
        self.cap = int(np.ceil(np.sqrt(K * T))) if cap is None else cap
        self._oracle = oracle
        self._follow = self._read_profile if queries == "profile" else self._ask_minimiser
        self._past = np.zeros((oracle.n_contexts, K))
        self._rng = rng.child(seed, "learner", "noise")

    def play(self, row: int) -> int:
        """Return the action on ``row`` of the best policy on past estimates plus fresh noise."""
        costs = self._past.copy()
        costs[self._noisy] += self._rng.laplace(scale=1.0 / self.epsilon, size=(len(self._noisy), costs.shape[1]))
        return self._follow(costs, row)

    def learn(self, row: int, action: int, cost: float, played: int) -> float:
        """Add the estimate J c e_y, where J counts the redraws until ``action`` comes out again, and is at most M.

        Returns J c: with p the probability of y, the mean of J is (1 - (1 - p)^M) / p, at most 1 / p.
        """
        del played
        if cost == 0:  # nothing times J needs no J
            return 0.0
        estimate = cost * self._redraws(row, action)
        self._past[row, action] += estimate
        return estimate

    def bound(self) -> float:
        """Return NaN: the published analysis is not about one run."""
        return math.nan

    def guarantee(self, horizon: int | None) -> float:
        """Return the bound on expected regret after ``horizon`` rounds at this K, eps, M, class and set of contexts."""
        K, T = self._past.shape[1], cast("int", horizon)
        instability = 2 * self.epsilon * self._stability * K * T
        return float(instability + self._noise_price / self.epsilon + K * T / (math.e * self.cap))

    def state(self) -> dict[str, Any]:
        """Return estimates and generator."""
        return {"past": self._past.tolist(), "rng": rng.freeze(self._rng)}

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from a saved state."""
        self._past[:] = state["past"]
        rng.thaw(self._rng, state["rng"])

    def _redraws(self, row: int, action: int) -> int:
        """Return J; the M-th redraw counts whatever its outcome, so it is not made."""
        for redraw in range(1, self.cap):
            if self.play(row) == action:
                return redraw
        return self.cap

    def _read_profile(self, costs: Floats, row: int) -> int:
        return int(self._oracle.profile(costs, row).argmin())

    def _ask_minimiser(self, costs: Floats, row: int) -> int:
        answer = self._oracle.minimise(costs)
        _ = answer.value  # raises unless the minimum is proved
        policy = cast("Policy", answer.policy)  # and then some policy attains it
        return played_on(policy, self._oracle.contexts, row)


def _noise_price(n_noisy: int, log_size: float) -> float:
    """Return a bound on E max_pi of the noise of a policy at eps = 1; a class of one is treated as a class of two.

    Each policy sums d Laplace variables, -log(1 - l^2) <= l^2 / (1 - l) bounds the log of their moment generating
    function, and the maximum of N such sums is at most 2 sqrt(d log N) + log N.
    """
    log_size = max(log_size, float(np.log(2)))
    return float(2 * np.sqrt(n_noisy * log_size) + log_size)


def _distinct(oracle: ValueOracle, seed: int) -> Ints:
    """Return the first row of every distinct context; all rows, where some policy plays differently on equal ones.

    To find out, weights are moved from equal rows to their first one. A policy that labels them alike has total 0; any
    other has another total, but for a coincidence of random weights.
    """
    _, first, group = np.unique(oracle.contexts, axis=0, return_index=True, return_inverse=True)
    if len(first) == oracle.n_contexts:
        return np.arange(oracle.n_contexts)
    require("ftpl", oracle, "value")
    probe = (
        rng.child(seed, "learner", "probe").integers(2**16, size=(oracle.n_contexts, oracle.n_actions)).astype(float)
    )
    np.subtract.at(probe, first[group.reshape(-1)], probe.copy())
    differ = oracle.value(probe) < 0 or oracle.value(-probe) < 0
    return np.arange(oracle.n_contexts) if differ else np.sort(first)


def _separating(oracle: ValueOracle, separator: list[int]) -> Ints:
    """Return the rows of a separator; raises InputError when they are no rows, or are known not to separate."""
    listed = separator if isinstance(separator, (list, tuple, np.ndarray)) else ()
    rows = np.array([whole("a row of the separator", row, 0) for row in listed], dtype=np.int64)
    if not len(rows) or len(np.unique(rows)) < len(rows) or rows.max() >= oracle.n_contexts:
        raise InputError(
            f"separator must list different row numbers of the {oracle.n_contexts} contexts, got {separator!r}"
        )
    if "enumerate" in oracle.capabilities:
        _check_separates(np.unique(cast("Any", oracle).labelings, axis=0), rows)
    return rows


def _check_separates(labelings: Ints, rows: Ints) -> None:
    """Raise InputError when two of the distinct ``labelings`` (N, m) agree on all ``rows``."""
    _, first, group = np.unique(labelings[:, rows], axis=0, return_index=True, return_inverse=True)
    twin = first[group.reshape(-1)]
    other = np.flatnonzero(twin != np.arange(len(labelings)))
    if len(other):
        differ = np.flatnonzero(labelings[other[0]] != labelings[twin[other[0]]])
        raise InputError(
            f"separator = {rows.tolist()} leaves two policies alike that differ elsewhere; "
            f"add row {differ[0]}, where they do"
        )
