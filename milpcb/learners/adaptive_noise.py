"""Follow the perturbed leader with adaptive noise: the run itself sets its size; no horizon, minima alone.

Notation. L is the table of estimated total costs, n a fresh vector of noise of a fixed law that is symmetric about 0,
n(pi) what it adds to the total of policy pi, and spread = E max_pi -n(pi). For a rate eps let P(eps, L) = E min_pi
(L(pi) + n(pi) / eps). Before every round eps_t is known from the past alone, and it never increases.

Algorithm. Round t plays the leader on L and a fresh n / eps_t. Where its action y has the cost c, J counts redraws of
the noise until y is played again, at most M_t, e = c J is added to L at y, and one more fresh vector estimates without
bias by how much: gain = min(min_{a != y} V[a], V[y] + e) - min V, with the mean P(eps_t, L + e) - P(eps_t, L), V being
the profile on it. Where c = 0, J is not needed, and gain = 0. Then delta = c - gain, and with Delta the sum of the
deltas so far

    1 / eps_{t+1} = max(1 / eps_t, Delta / spread).

What a run proves (derived for this project; potentials of this kind are from Abernethy, Lee & Tewari 2015). The mean of
e 1[y = a] is at most the cost of a. P(eps, L) <= min L, as n has mean 0; P(eps', L) >= P(eps, L) - (1/eps' - 1/eps)
spread for eps' < eps; P(eps_1, 0) = -spread / eps_1. Adding up the rounds, at every t, for costs that do not react to
the play,

    E[regret_t] <= E[certificate_t] <= E[bound_t],    bound_t = spread / eps_t + delta_1 + ... + delta_t.

``spread`` is estimated twice by Monte Carlo, independently of the run and of each other: one estimate sets the rates,
which may be anything, and the other stands in the bound, whose mean is therefore right.

A priori the regret grows with the square root of T, for Laplace noise, as long as the number of contexts or columns
that ``spread`` grows with stays the same: statement 15 of milpcb/theory/README.md, where both proofs are.
"""

from __future__ import annotations

import math
from typing import Any

from milpcb.learners.kept import SavedPart
from milpcb.learners.noise_laws import Noise, Spread
from milpcb.learners.optimism import Optimism
from milpcb.learners.queries import TableQueries

FIRST_RATE = 2.0  # eps_1; 1 where noise is of integers
STANDARD_ERRORS = 4.0  # added to the estimate of the spread in the guarantee


class AdaptiveNoise(SavedPart):
    """The leader of ``epsilon = "adaptive"``: plays, learns, and keeps what its bound is made of.

    Parameters
    ----------
    queries : how a table that is empty is queried, about noise of as many coordinates as that table has
    noise : the draws
    spreads : two independent estimates of E max over policies of -n(pi): for the rates, and for the bound
    cap : M, None for ceil(sqrt(K t)) in round t
    n_actions : K
    optimism : what is added to the table in the place of c J; None for c J itself

    """

    kept = ("_scale", "_last_scale", "_excess", "_table", "_noise")

    def __init__(
        self,
        queries: TableQueries,
        noise: Noise,
        spreads: tuple[Spread, Spread],
        *,
        cap: int | None,
        n_actions: int,
        optimism: Optimism | None = None,
    ) -> None:
        self._queries, self._noise, self._cap, self._n_actions = queries, noise, cap, n_actions
        self._table = queries.table
        self._for_rates, self._for_bound = spreads
        self._optimism = optimism
        self._first = 1.0 if noise.law.whole else 1 / FIRST_RATE
        self._scale = self._first  # 1 / eps of the round to come
        self._last_scale = 0.0  # that of the last round learnt; 0 before there is one
        self._excess = 0.0  # Delta

    @property
    def epsilon(self) -> float:
        """The rate of the round to come."""
        return 1 / self._scale

    def play(self, row: int) -> int:
        """Return the action on ``row`` of the leader on fresh noise."""
        return self._queries.play(row, self._draw())

    def learn(self, row: int, action: int, cost: float, played: int) -> float:
        """Take in the cost of the action played after ``played`` rounds, and return its estimate c J."""
        self._last_scale = self._scale
        if cost == 0:
            return 0.0
        estimate = cost * self._redraws(row, action, self._most(played + 1))
        added = estimate if self._optimism is None else self._optimism.estimate(cost, estimate, played + 1)
        self._excess += cost - self._gain(row, action, added)
        self._scale = self._next_scale()
        return estimate

    def bound(self) -> float:
        """Return the second estimate of the spread, over the rate of the last round, plus Delta; 0 before round 1."""
        return self._for_bound.mean * self._last_scale + self._excess

    def guarantee(self, horizon: int | None) -> float:
        """Return the constant of statement 15 of milpcb/theory/README.md; infinite without a horizon or for other laws.

        Of the spread it takes the mean of both estimates plus four of its standard errors, as the true one is not
        known. What optimistic estimates leave out is in statement 19 of milpcb/theory/confidence.md.
        """
        if horizon is None or not self._noise.law.shifts:
            return math.inf
        estimate = self._for_rates.mean
        if estimate == 0:  # all policies are alike
            return 0.0
        error = math.hypot(self._for_rates.error, self._for_bound.error) / 2
        spread = (estimate + self._for_bound.mean) / 2 + STANDARD_ERRORS * error
        T, K = horizon, self._n_actions
        capped = 2 * math.sqrt(K * T) if self._cap is None else K * T / self._cap
        instability = self._table.n_moved * (K - 0.5)
        chance = math.sqrt((2 * K - 1) * T)
        paid = chance + 1 + math.sqrt(2 * instability * T * estimate) + capped / math.e + self._left_out(T)
        return spread * self._first + paid + spread / estimate * (paid + chance)

    def _left_out(self, horizon: int) -> float:
        """Return by how much the means of optimistic estimates may fall short of those of c J, in all rounds."""
        if self._optimism is None:
            return 0.0
        K = self._n_actions
        return (K - 1) * (2 * K + 1) / (2 * K) * self._optimism.stake(1) * horizon

    def _draw(self) -> Any:
        return self._noise.draw() * self._scale

    def _most(self, round_number: int) -> int:
        """Return M of a round, counted from 1."""
        return math.ceil(math.sqrt(self._n_actions * round_number)) if self._cap is None else self._cap

    def _redraws(self, row: int, action: int, most: int) -> int:
        """Return J; the last redraw counts whatever its outcome, so it is not made."""
        for redraw in range(1, most):
            if self._queries.play(row, self._draw()) == action:
                return redraw
        return most

    def _gain(self, row: int, action: int, estimate: float) -> float:
        """Add the estimate to the table; return by how much that raises the least total on fresh noise."""
        return self._queries.add(row, action, estimate, self._draw())

    def _next_scale(self) -> float:
        """Return 1 / eps of the next round."""
        if self._for_rates.mean == 0:
            return self._scale
        wanted = self._excess / self._for_rates.mean
        return max(self._scale, float(math.ceil(wanted)) if self._noise.law.whole else wanted)
