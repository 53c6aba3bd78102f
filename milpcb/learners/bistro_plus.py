"""BISTRO+ (Syrgkanis, Luo, Krishnamurthy & Schapire 2016, Algorithms 1 and 2): one loop for every relaxation."""

from __future__ import annotations

from typing import Any, Literal, get_args

import numpy as np

from milpcb import registry, rng
from milpcb.checks import whole
from milpcb.errors import InputError, UnknownNameError
from milpcb.learners.relaxed_play import fill, mix, phi_from_psi, psi_from_profile
from milpcb.protocols import ContextModel, Learner, Relaxation, ValueOracle
from milpcb.types import Floats

Queries = Literal["all", "profile"]
Leftover = Literal["uniform", "leader"]


class BistroPlus(Learner):
    """BISTRO+: regret against the best policy in hindsight is bounded whatever the costs.

    Setting: contexts i.i.d. from a law the learner knows, or known in advance; costs in [0, 1] chosen obliviously.
    Guarantee: E[regret] <= 2 sqrt(2 T K L log N) + T K / L for the noise of the paper (equation (8)).
    Oracle: values only, K + 1 a round (``queries="all"``), or one profile a round.

    Totals are whole numbers in units of L: an estimate adds 0 or 1 to one cell, the noise adds 0 or +-2. So psi/L is
    an integer, phi is 0 or 1, and every exact oracle gives the same run, bit for bit. Other relaxations have other units.

    Parameters
    ----------
    oracle : the policy class, opened on the contexts of ``pool``
    pool : FinitePool, Transductive, or a Sampler with a GrowingOracle
    horizon : number of rounds T
    seed : non-negative integer
    scale : L >= K; None takes the minimiser of the guarantee
    noise : a registered relaxation: "paper" is BISTRO+ as published, "half" and "coordinate" have sharper guarantees
    queries : "all" asks K + 1 values as in the paper; "profile" asks one profile; the answers are the same
    leftover : who gets the mass that Algorithm 2 distributes arbitrarily: "uniform" over all actions, or "leader":
        over the actions that some minimiser plays (needs ``queries="profile"``); every rule is optimal

    """

    def __init__(
        self,
        oracle: ValueOracle,
        pool: ContextModel,
        horizon: int,
        seed: int,
        scale: float | None = None,
        noise: str = "paper",
        queries: Queries = "all",
        leftover: Leftover = "uniform",
    ) -> None:
        _check_choice("queries", queries, get_args(Queries))
        _check_choice("leftover", leftover, get_args(Leftover))
        if leftover == "leader" and queries == "all":
            raise InputError('leftover = "leader" needs to know the leaders: set queries = "profile"')
        pool.attach(oracle)
        self.n_actions = K = whole("n_actions", oracle.n_actions, 2)
        self.horizon = whole("horizon", horizon, 1)
        self.relaxation: Relaxation = registry.load("relaxation", noise)()
        if scale is None:
            scale = self.relaxation.best_scale(self.horizon, K, oracle.log_size)
        least = self.relaxation.least_scale(K)
        if not (np.isfinite(scale) and scale >= least):
            raise InputError(f"scale (L) must be finite and at least {least:g} for K = {K}, got {scale!r}")
        self.scale = float(scale)
        self._oracle, self._pool = oracle, pool
        self._ask = self._ask_all if queries == "all" else self._ask_profile
        self._leftover_rule = leftover
        self._t = 0
        self._past = np.zeros((oracle.n_contexts, K))
        self._costs = np.zeros_like(self._past)
        self._rate = self.relaxation.rate(self.scale, K)
        self._future_rng = rng.child(seed, "learner", "future")
        self._estimate_rng = rng.child(seed, "learner", "estimate")
        self._everyone = np.full(K, 1.0 / K)

    def act(self, row: int) -> Floats:
        """Return q_t(rho_t) for a fresh future rho_t (K,)."""
        if self._t >= self.horizon:
            raise InputError(
                f"round {self._t + 1} is past the horizon of {self.horizon}; make the learner with a longer one"
            )
        self._draw_totals()
        psi, leftover = self._ask(row)
        return mix(fill(phi_from_psi(psi, self.relaxation.hit), leftover), self.scale)

    def learn(self, row: int, action: int, cost: float, probability: float) -> None:
        """Draw X ~ Bernoulli(c / (L q)) and count L X e_y as the estimate of c_t (paper, equation (4))."""
        if not 0.0 <= cost <= 1.0:
            raise InputError(f"round {self._t + 1} has cost {cost} for action {action}; costs must lie in [0, 1]")
        if not (probability >= (1.0 - 1e-9) / self.scale and probability <= 1.0 + 1e-9):
            raise InputError(
                f"probability {probability} of action {action} is not one that act() gave: it is below 1/L or above 1"
            )
        if self._estimate_rng.random() < cost / (self.scale * probability):
            self._past[row, action] += self.relaxation.hit
        self._t += 1

    def guarantee(self) -> float:
        """Return the bound on expected regret at this T, K, L and class."""
        return float(self.relaxation.guarantee(self.scale, self.horizon, self.n_actions, self._oracle.log_size))

    def state(self) -> dict[str, Any]:
        """Return round, estimates and generators."""
        return {
            "t": self._t,
            "past": self._past.tolist(),
            "future_rng": rng.freeze(self._future_rng),
            "estimate_rng": rng.freeze(self._estimate_rng),
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from a saved state."""
        self._t = state["t"]
        self._past = np.array(state["past"])
        self._costs = np.empty_like(self._past)
        rng.thaw(self._future_rng, state["future_rng"])
        rng.thaw(self._estimate_rng, state["estimate_rng"])

    def _draw_totals(self) -> None:
        """Put past estimates plus a fresh future into the cost table: tot(pi) for every policy, in units."""
        counts = self._pool.future(self._t, self.horizon, self._rate, self._future_rng)
        if len(counts) > len(self._past):  # a sampler has brought new contexts
            new = np.zeros((len(counts) - len(self._past), self.n_actions))
            self._past = np.concatenate([self._past, new])
            self._costs = np.empty_like(self._past)
        noise = self.relaxation.noise(counts, self.n_actions, self._future_rng)
        np.add(self._past, noise, out=self._costs)

    def _ask_all(self, row: int) -> tuple[Floats, Floats]:
        """Return psi_0..psi_K from K + 1 values (paper, equation (9)), and the spread of the leftover."""
        hit, costs = self.relaxation.hit, self._costs
        psi = np.empty(self.n_actions + 1)
        psi[0] = self._oracle.value(costs)
        for i in range(self.n_actions):
            costs[row, i] += hit
            psi[i + 1] = self._oracle.value(costs)
            costs[row, i] -= hit
        return psi, self._everyone

    def _ask_profile(self, row: int) -> tuple[Floats, Floats]:
        """Return the same psi from one profile."""
        profile = self._oracle.profile(self._costs, row)
        leftover = self._everyone
        if self._leftover_rule == "leader":
            leaders = profile == profile.min()
            leftover = leaders / leaders.sum()
        return psi_from_profile(profile, self.relaxation.hit), leftover


def _check_choice(name: str, value: str, known: tuple[str, ...]) -> None:
    if value not in known:
        raise UnknownNameError(name, value, known)
