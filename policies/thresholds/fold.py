"""The dynamic program of threshold rules over the totals of their bins, for all features at once, in any semiring.

A derivation is a feature, at most B of its cuts, and any action for each piece (neighbours may repeat theirs), so a
constant is counted once per feature and set of cuts.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from milpcb.types import Bools, Floats, Ints
from policies.names import Names
from policies.recursion import Recursion
from policies.thresholds.rule import ThresholdRule


class ThresholdFold(Recursion):
    """Tables are the totals (features, bins, K), features with fewer bins padded with zeros.

    A context's own are its bins (features,).
    """

    def __init__(
        self, cuts: dict[int, Floats], binary: dict[int, bool], n_actions: int, max_cuts: int, names: Names
    ) -> None:
        self._n_actions, self._max_cuts, self._names = n_actions, max_cuts, names
        self._features, self._cuts, self._binary = list(cuts), list(cuts.values()), binary
        self.width = max(len(points) for points in self._cuts) + 1
        self._may_cut: Bools = np.array([[0 < b <= len(points) for b in range(self.width)] for points in self._cuts])

    def value(self, tables: Floats) -> float:
        """Return the least total."""
        return float(self._by_rule(tables, np.minimum).min())

    def profile(self, tables: Floats, own: Ints) -> Floats:
        """Return V[a]: the pieces that hold the context are priced out unless they play a."""
        return np.asarray(self._forced(tables, own, np.minimum, np.inf).min(axis=(1, 2, 3)))

    def log_weights(self, logs: Floats, own: Ints) -> Floats:
        """Return the log of the summed weights by the action at the context; ``logs`` are -rate * totals."""
        folded = self._forced(logs, own, np.logaddexp, -np.inf)
        return np.asarray(np.logaddexp.reduce(folded.reshape(self._n_actions, -1), axis=1))

    def minimise(self, tables: Floats) -> tuple[float, ThresholdRule]:
        """Return the best rule, walking back from its last piece."""
        states = self._states(tables, np.minimum)
        last = states[-1]
        f, used, action = (int(i) for i in np.unravel_index(last.argmin(), last.shape))
        actions, cuts = [action], []
        for b in range(tables.shape[1] - 1, 0, -1):
            before = states[b - 1][f]
            if before[used, action] + tables[f, b, action] == states[b][f, used, action]:  # the fold's own sum
                continue
            used -= 1
            action = int(before[used].argmin())
            cuts.append(float(self._cuts[f][b - 1]))
            actions.append(action)
        feature = self._features[f]
        rule = ThresholdRule(feature, tuple(cuts[::-1]), tuple(actions[::-1]), self._names, self._binary[feature])
        return float(last.min()), rule

    def _by_rule(self, totals: Floats, add: Any) -> Floats:
        """Return (..., features, cuts used, last action): the sum in the semiring over the rules that end so."""
        return self._states(totals, add)[-1]

    def _states(self, totals: Floats, add: Any) -> list[Floats]:
        """Fold the bins from low to high; ``add`` is min or log-sum-exp, ``totals`` (..., features, bins, K)."""
        nothing = np.inf if add is np.minimum else -np.inf
        state = np.full((*totals.shape[:-2], self._max_cuts + 1, self._n_actions), nothing)
        state[..., 0, :] = totals[..., 0, :]
        states = [state]
        for b in range(1, totals.shape[-2]):
            cut = add.reduce(state[..., :-1, :], axis=-1, keepdims=True)
            cut = np.where(self._may_cut[:, b, None, None], cut, nothing)
            after = state.copy()
            after[..., 1:, :] = add(state[..., 1:, :], cut)
            state = after + totals[..., None, b, :]
            states.append(state)
        return states

    def _forced(self, totals: Floats, bins: Ints, add: Any, nothing: float) -> Floats:
        """Return (K, features, cuts used, last action), the bins of the context held to each action in turn."""
        K, F = self._n_actions, len(bins)
        forced = np.repeat(totals[None], K, axis=0)
        other = ~np.eye(K, dtype=bool)
        forced[:, np.arange(F), bins, :] = np.where(other[:, None, :], nothing, totals[np.arange(F), bins][None])
        return self._by_rule(forced, add)
