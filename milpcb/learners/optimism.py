"""Optimistic estimates: what is left of c / q, or of c J, so that actions that were seldom tried are tried again."""

from __future__ import annotations

from math import log, sqrt
from typing import Literal

from milpcb.bets import proved

Estimates = Literal["unbiased", "optimistic"]
# Stakes, in units of sqrt(log N / (K T)) with a horizon, else of sqrt(log N / (K t)) in round t: for Exp4, of those
# tried at T = 1e4 and 1e5, the ones with the least confident certificates.
WITH_HORIZON, ANYTIME, BOLDEST = 4.0, 1.5, 0.5


class Optimism:
    """In the place of an estimate e >= c, x = c + log(1 + lambda (e - c)) / l <= e, where l = -log(1 - lambda).

    The stakes lambda are fixed in advance and never increase (statements 17 and 19 of milpcb/theory/confidence.md).

    Parameters
    ----------
    log_size : log N of the class
    n_actions : K
    horizon : T, None for stakes that fall with the round
    factor : of all stakes

    """

    def __init__(self, log_size: float, n_actions: int, horizon: int | None, factor: float = 1.0) -> None:
        size = sqrt(max(log_size, log(2)) / n_actions)
        self._horizon = horizon
        self._unit = factor * (ANYTIME * size if horizon is None else WITH_HORIZON * size / sqrt(horizon))

    def stake(self, t: int) -> float:
        """Return the stake of round t (1, 2, ...); with a horizon it is that of every round."""
        return min(BOLDEST, self._unit if self._horizon is not None else self._unit / sqrt(t))

    @property
    def stakes(self) -> tuple[float, ...]:
        """Return what a ledger should bet too: the one stake of all rounds, where there is one."""
        return () if self._horizon is None else (self.stake(1),)

    def estimate(self, cost: float, estimate: float, t: int) -> float:
        """Return x for the cost c of round t and its estimate e."""
        return proved(cost, estimate, self.stake(t))
