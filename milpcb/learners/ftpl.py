"""Contextual-FTPL (Syrgkanis, Krishnamurthy & Schapire 2016): follow the leader of perturbed estimates."""

import math
from typing import Any, Literal, cast, get_args

import numpy as np

from milpcb import rng
from milpcb.core.checks import choice, real, whole
from milpcb.core.kept import SavedPart
from milpcb.errors import InputError
from milpcb.learners.adaptive_noise import LAWS, AdaptiveNoise, Leaders, Noise, spread
from milpcb.learners.base import Learner
from milpcb.learners.needs import proved_action, require, require_contexts
from milpcb.protocols import ValueOracle
from milpcb.types import Floats, Ints


class FixedNoise(SavedPart):
    """The leader of a fixed ``epsilon``: plays and learns; the arguments are those of ContextualFTPL."""

    kept = ("_past", "_rng")

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
        # A bound on E max_pi of the noise of a policy at eps = 1: each sums d Laplace variables, -log(1 - l^2) <= l^2 /
        # (1 - l) bounds the log of their moment generating function, and the largest of N such sums is at most that.
        # A class of one is treated as a class of two.
        log_size = max(oracle.log_size, float(np.log(2)))
        self._noise_price = float(2 * np.sqrt(len(self._noisy) * log_size) + log_size)
        if epsilon is None:
            epsilon = float(np.sqrt(self._noise_price / (2 * self._stability * K * T)))
        self.epsilon = real("epsilon", epsilon, 'finite and above 0, or "adaptive"', lambda rate: rate > 0)
        self.cap = int(np.ceil(np.sqrt(K * T))) if cap is None else cap
        self._oracle = oracle
        self._by_profile = queries == "profile"
        self._past = np.zeros((oracle.n_contexts, K))
        self._rng = rng.child(seed, "learner", "noise")

    def play(self, row: int) -> int:
        """Return the action on ``row`` of the best policy on past estimates plus fresh noise."""
        costs = self._past.copy()
        costs[self._noisy] += self._rng.laplace(scale=1.0 / self.epsilon, size=(len(self._noisy), costs.shape[1]))
        if self._by_profile:
            return int(self._oracle.profile(costs, row).argmin())
        return proved_action(self._oracle.minimise(costs), self._oracle, row)

    def learn(self, row: int, action: int, cost: float, played: int) -> float:
        """Add the estimate J c e_y and return J c, J the redraws until ``action`` comes out again, at most M."""
        del played
        if cost == 0:  # nothing times J needs no J
            return 0.0
        redraws = (redraw for redraw in range(1, self.cap) if self.play(row) == action)
        estimate = cost * next(redraws, self.cap)  # the M-th counts whatever its outcome, so it is not made
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


def _distinct(oracle: ValueOracle, seed: int) -> Ints:
    """Return the first row of every distinct context; all rows, where some policy plays differently on equal ones.

    Random weights are moved from equal rows to their first one: a policy that labels them alike has the total 0.
    """
    _, first, group = np.unique(oracle.contexts, axis=0, return_index=True, return_inverse=True)
    if len(first) == oracle.n_contexts:
        return np.arange(oracle.n_contexts)
    require("ftpl", oracle, "value")
    draws = rng.child(seed, "learner", "probe")
    probe = draws.integers(2**16, size=(oracle.n_contexts, oracle.n_actions)).astype(float)
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
        labelings = np.unique(cast("Any", oracle).labelings, axis=0)
        _, first, group = np.unique(labelings[:, rows], axis=0, return_index=True, return_inverse=True)
        differ = np.argwhere(labelings != labelings[first[group.reshape(-1)]])
        if len(differ):
            raise InputError(
                f"separator = {rows.tolist()} leaves two policies alike that differ elsewhere; "
                f"add row {differ[0, 1]}, where they do"
            )
    return rows


Queries = Literal["profile", "argmin"]
Place = Literal["contexts", "columns"]


class ContextualFTPL(Learner):
    """Every round, the policy that is best on past estimates plus fresh noise.

    Setting: contexts and costs are both adversarial and fixed in advance. Estimates: J c e_y, where J counts redraws of
    the noise until the same action comes out again, at most M: a query for the play and for each redraw.

    A fixed ``epsilon`` is the published algorithm. Noise is on all d distinct contexts, which are known (kappa = 1), or
    on a separator of d rows (kappa = d): E[regret] <= 2 eps kappa K T + (2 sqrt(d log N) + log N) / eps + K T / (e M)
    (statement 13 of milpcb/theory/README.md). ``epsilon = "adaptive"`` needs no horizon; ``bound()`` is what the run
    proves about itself, and ``guarantee()`` is that of statement 15, for a spread that is first estimated by 60 to 400
    pairs of cheapest policies.

    Parameters
    ----------
    oracle : the policy class, opened on all contexts that will occur
    horizon, seed : as of every learner; a fixed epsilon is made from the horizon
    epsilon : eps > 0, the noise has the scale 1 / eps; None takes the minimiser of the guarantee; or "adaptive"
    noise_on : with "adaptive": "contexts" is on each context, those that every policy labels alike counted once;
        "columns" on the leaf totals of its search, where a round costs the same however many contexts there are, or on
        the columns of its program
    law : with "adaptive", of the noise: "laplace", which alone has a guarantee in advance, "normal", or "whole",
        integers times integers 1 / eps; with costs 0 and 1 and profiles all exact oracles then lead to the same bytes
    cap : M, the most redraws of a round; None: the square root of K T, rounded up, with "adaptive" that of K t
    separator : row numbers, on which any two policies differ; that is checked of listed policies. None: all contexts
    queries : "profile" plays the action where one profile is least; "argmin" that of a minimiser, almost surely the
        same

    """

    kept = ("_leader",)
    plays_policies = True
    hides_law = True
    oracle: ValueOracle

    def __init__(
        self,
        oracle: ValueOracle,
        *,
        horizon: int | None = None,
        seed: int = 0,
        epsilon: float | Literal["adaptive"] | None = None,
        noise_on: Place = "contexts",
        law: str = "laplace",
        cap: int | None = None,
        separator: list[int] | None = None,
        queries: Queries = "profile",
    ) -> None:
        super().__init__(oracle, horizon=horizon, seed=seed)
        choice("queries", queries, get_args(Queries))
        choice("noise_on", noise_on, get_args(Place))
        choice("law", law, LAWS)
        require(type(self).__name__, oracle, "minimise", *(["profile"] if queries == "profile" else []))
        cap = None if cap is None else whole("cap", cap, 1)
        self._leader: AdaptiveNoise | FixedNoise
        if isinstance(epsilon, str):
            choice("epsilon", epsilon, ("adaptive",))
            if separator is not None:
                raise InputError('a separator is for a fixed epsilon; leave it out, or epsilon = "adaptive"')
            self._leader = self._adaptive(seed, noise_on, cap, queries, law)
            return
        fixed = "ContextualFTPL with a fixed epsilon"
        if horizon is None:
            raise InputError(f'{fixed} needs a horizon; give one, or set epsilon = "adaptive", which needs none')
        if (noise_on, law) != ("contexts", "laplace"):
            raise InputError(f'noise_on = "{noise_on}", law = "{law}" is for epsilon = "adaptive"; set it too')
        require_contexts(fixed, oracle, ', or set epsilon = "adaptive" and noise_on = "columns"')
        self._leader = FixedNoise(
            oracle, horizon=horizon, seed=seed, epsilon=epsilon, cap=cap, separator=separator, queries=queries
        )

    @property
    def epsilon(self) -> float:
        """The rate of the round to come."""
        return self._leader.epsilon

    def _act(self, row: int) -> Floats:
        q = np.zeros(self.n_actions)  # all mass on one action: the draw is the learner's own
        q[self._leader.play(row)] = 1.0
        return q

    def _learn(self, row: int, action: int, cost: float, probability: float) -> float:
        del probability
        return self._leader.learn(row, action, cost, self.played)

    def guarantee(self) -> float:
        """Return the bound on expected regret of the class's docstring, infinite where it does not hold."""
        return self._leader.guarantee(self.horizon)

    def bound(self, confidence: float | None = None) -> float:
        """Return the bound that an adaptive run proves for itself; NaN at a fixed epsilon and with a ``confidence``."""
        return self._leader.bound() if confidence is None else np.nan

    def _adaptive(self, seed: int, noise_on: Place, cap: int | None, queries: str, law: str) -> AdaptiveNoise:
        table = self.oracle.table(noise_on)
        asked = Leaders(table, None if queries == "profile" else self.oracle)
        for_rates, for_bound, for_play = (
            Noise(table.n_noisy, rng.child(seed, "learner", name), law)
            for name in ("spread for rates", "spread for bound", "noise")
        )

        def least(vector: Floats) -> float:
            return table.minimise(vector).value

        first = spread(for_rates, least)
        spreads = first, spread(for_bound, least, first.draws)
        return AdaptiveNoise(asked, for_play, spreads, cap=cap, n_actions=self.n_actions)
