"""Exp4 (Auer, Cesa-Bianchi, Freund & Schapire 2002) over a class that may be exponentially large, never listing it.

Forgetting is Exp4 over the totals of the last rounds, or over totals that are discounted from round to round.
"""

from __future__ import annotations

from math import expm1, log1p, sqrt
from typing import Any, ClassVar, Literal, get_args

import numpy as np

from milpcb.bets import Estimates, Optimism
from milpcb.core.checks import check_confidence, choice, real, whole
from milpcb.errors import InputError
from milpcb.learners.base import Learner
from milpcb.learners.needs import require
from milpcb.ledger import OWN
from milpcb.protocols import Table
from milpcb.types import Floats

Rate = Literal["fixed", "anytime", "adaptive", "certified"]
# The adaptive rate stays within the anytime rate and this multiple of it.
BOLDEST = 2.0
ROUNDING = 1e-15  # of 1 - q
By = Literal["window", "discount"]
FIRST = 1.0  # the certified rate of the first round


class Weighing(Learner):
    """A learner that plays by the action weights of its oracle, and whose estimates may be optimistic."""

    delayed = True
    plays_policies = True
    bolder: ClassVar[float] = 1.0  # than those of Exp4, the stakes of optimistic estimates

    def __init__(self, oracle: Any, *, horizon: int | None, seed: int, estimates: Estimates) -> None:
        super().__init__(oracle, horizon=horizon, seed=seed)
        require(type(self).__name__, oracle, "action_weights")
        self._log_count: float = max(0.0, oracle.log_derivations)
        self._optimism: Optimism | None = None
        if choice("estimates", estimates, get_args(Estimates)) == "optimistic":
            self._optimism = Optimism(self._log_count, self.n_actions, horizon, self.bolder)
            if horizon is not None:  # then one stake is that of all rounds
                self.ledger.bet(self._optimism.stake(1))

    def _sure(self, log_union: float, confidence: float) -> float:
        """Return the price of the largest stake that is at most every stake of the run; NaN for none."""
        sure = check_confidence(confidence)
        least = -1.0 if self._optimism is None else self._optimism.stake(self.played)
        stakes = [stake for stake in self.ledger.stakes if stake <= least]
        return self.ledger.price(max(stakes), log_union, sure) if stakes else np.nan


class Exp4(Weighing):
    """Exponential weights over all policies, fed with importance-weighted costs (c / q) e_y.

    Setting: nothing is assumed, contexts and costs may both be adversarial (oblivious). The oracle sums the weights of
    all policies by the action they play (``action_weights``), in one pass of the recursion that finds its minimum;
    under side constraints, of those that keep them. With N derivations (a policy that can be written in several ways
    weighs as often), c the cost and q the probability of the action played, no path has a certificate above

        bound() = log N / eta_t + d_1 + ... + d_t,    d = c + log(1 - q (1 - exp(-eta c / q))) / eta

    (statements 10 to 12 of milpcb/theory/README.md, L1, 16 and 17 of confidence.md). Rates, and E[regret] at most:

    * "fixed", sqrt(2 log N / (K T)): sqrt(2 T K log N);
    * "anytime", a_t = sqrt(log N / (K t)): 2 sqrt(T K log N) at every T;
    * "adaptive", sqrt(log N / V) put between a_t and 2 a_t, V the sum of c^2 / q so far: 3 sqrt(T K log N);
    * "certified", after AdaHedge, min(1, log N / (d_1 + ... + d_{t-1})): log N + 1 + 2 sqrt(1/4 + T K log N).

    Of a late round an estimate is c over the larger of q and the action's mass when it is learnt.

    Parameters
    ----------
    oracle, horizon, seed : as of every learner; the "fixed" rate is made from the horizon
    rate : "fixed", "anytime", "adaptive", "certified", or a number eta >= 0; None is "fixed" where there is a horizon,
        else "certified"
    estimates : "unbiased", c / q; or "optimistic", x <= c / q (see milpcb.bets.Optimism): seldom tried actions look
        cheap. All bounds hold with x for c / q, and certificates with a confidence are at most ``bound(confidence)``
    delays : D, the most that all delays add up to, each in rounds, where they depend neither on actions nor on costs.
        With the fixed rate and unbiased estimates ``guarantee()`` is then sqrt(2 (K T + 2 D) log N)

    """

    kept: ClassVar[tuple[str, ...]] = ("_squares", "_gaps", "_last_rate", "_table")

    def __init__(
        self,
        oracle: Any,
        *,
        horizon: int | None = None,
        seed: int = 0,
        rate: Rate | float | None = None,
        estimates: Estimates = "unbiased",
        delays: float = 0.0,
    ) -> None:
        super().__init__(oracle, horizon=horizon, seed=seed, estimates=estimates)
        if rate is None:
            rate = "certified" if horizon is None else "fixed"
        self._rule = choice("rate", rate, get_args(Rate)) if isinstance(rate, str) else "fixed"
        self._delays = real("delays", delays, "finite and 0 or more", lambda number: number >= 0)
        if delays and (self._rule != "fixed" or estimates != "unbiased"):
            raise InputError(
                "delays= goes with a fixed rate and unbiased estimates: otherwise nothing is proved of late costs; "
                'take rate="fixed", or leave it out and go by bound() and certificate()'
            )
        self._squares = 0.0
        self._gaps = 0.0  # Delta, the sum of the d
        self._last_rate = 0.0  # that of the last round learnt; 0 before there is one
        self._table: Table = oracle.table(noise=None)
        self._fixed = self._number(rate)

    @property
    def rate(self) -> float:
        """The rate of the next round."""
        if self._rule == "fixed":
            return self._fixed
        if self._rule == "certified":
            return min(FIRST, self._log_count / self._gaps) if self._gaps and self._log_count else FIRST
        anytime = float(np.sqrt(self._log_count / (self.n_actions * (self.played + 1))))
        if self._rule == "anytime":
            return anytime
        wanted = float(np.sqrt(self._log_count / self._squares)) if self._squares else np.inf
        return max(anytime, min(wanted, BOLDEST * anytime))

    def _act(self, row: int) -> Floats:
        return self._table.action_weights(row, self.rate)

    def _learn(self, row: int, action: int, cost: float, probability: float) -> None:
        mass = min(1.0, float(self._act(row)[action])) if self.late and cost else probability
        estimate = self._estimate(cost, probability, mass)
        self._last_rate = self.rate
        self._table.add(row, action, estimate)
        self._squares += cost * cost / probability
        self._gaps += path_gap(cost, mass, estimate, self._last_rate)

    def _estimate(self, cost: float, probability: float, mass: float) -> float:
        """Return what is added to the table: c over the larger of the probabilities at play and now, or less."""
        estimate = cost / max(probability, mass)
        return estimate if self._optimism is None else self._optimism.estimate(cost, estimate, self.played + 1)

    def guarantee(self) -> float:
        """Return the bound of the class's docstring, infinite without a horizon; optimistic estimates add to it."""
        if self._log_count == 0:
            return 0.0
        if self.horizon is None:
            return np.inf
        T, K = self.horizon, self.n_actions
        short = 0.0 if self._optimism is None else (K - 1) * (K + 2) / (2 * K) * self._optimism.stake(1) * T
        if self._rule == "certified":
            return float(self._log_count / FIRST + 1 + 2 * np.sqrt(0.25 + T * K * self._log_count)) + 4 * short
        if self._rule == "fixed":
            return self._log_count / self.rate + self.rate * (K * T / 2 + self._delays) + short if self.rate else np.inf
        factor = 2.0 if self._rule == "anytime" else 1.0 + BOLDEST
        return float(factor * np.sqrt(T * K * self._log_count)) + short

    def bound(self, confidence: float | None = None) -> float:
        """Return log N / eta + sum of d, 0 before round 1; NaN with a ``confidence`` but unbiased estimates."""
        if not self.played:
            return 0.0
        bound = self._log_count / self._last_rate + self._gaps if self._last_rate else np.inf
        if self._log_count == 0:  # there is nobody to regret
            bound = 0.0
        return bound if confidence is None else bound + self._sure(self.oracle.log_union, confidence)

    def _go_on(self, before: Exp4) -> None:
        """Take over totals and rate; a new action is at first as good as the best of the old ones at a context."""
        rows, old = before.oracle.n_contexts, before.n_actions
        totals = before.ledger.sums(before._place(), rows, self.n_actions)
        totals[:, old:] = totals[:, :old].min(axis=1, keepdims=True)
        for row, action in np.argwhere(totals).tolist():
            self._table.add(row, action, float(totals[row, action]))
        self._squares, self._gaps, self._last_rate = before._squares, before._gaps, before._last_rate

    def _place(self) -> int:
        """Return the place of the ledger's sum that is nearest to the estimates: a stake not above theirs."""
        if self._optimism is None:
            return 0
        most = self._optimism.stake(self.played + 1)
        below = [stake for stake in self.ledger.stakes if stake <= most] or [min(self.ledger.stakes)]
        return OWN + self.ledger.stakes.index(max(below))

    def _restore(self, state: dict[str, Any]) -> None:
        self._table = self.oracle.table(noise=None)
        super()._restore(state)

    def _number(self, rate: Rate | float) -> float:
        if not isinstance(rate, str):
            wanted = '"fixed", "anytime", "adaptive", "certified" or a finite number, 0 or more'
            return real("rate", rate, wanted, lambda eta: eta >= 0)
        if self._rule == "fixed" and self.horizon is None:
            raise InputError(
                'Exp4 with rate = "fixed" needs a horizon; give one, or set rate = "certified", which needs none'
            )
        return float(np.sqrt(2 * self._log_count / (self.n_actions * (self.horizon or 1) + 2 * self._delays)))


def path_gap(cost: float, mass: float, estimate: float, rate: float) -> float:
    """Return d >= 0: the cost less the rise of P by its estimate at this rate, with 1 - q rounded up; ``mass`` is q."""
    if cost == 0.0 or rate == 0.0:
        return 0.0
    kept = min(0.0, min(1.0, mass) * expm1(-rate * estimate) + ROUNDING)  # the mean weight that is left, less 1
    return max(0.0, cost + log1p(kept) / rate)


class Forgetting(Exp4):
    """Exponential weights over policies by their recent costs (Garivier & Moulines 2011, without contexts).

    Setting: the best policy changes; no guarantee is claimed. Policies are weighed by their estimated totals over a
    *window*, the last w rounds; or by all estimates, each multiplied by 1 - 1/w after every round since. The rate is
    Exp4's for w rounds, sqrt(2 log N / (K w)).

    Parameters
    ----------
    oracle, horizon, seed : as of every learner
    rounds : w, at least 2
    by : "window" or "discount"

    """

    kept: ClassVar[tuple[str, ...]] = (*Exp4.kept, "_recent")

    def __init__(
        self, oracle: Any, *, horizon: int | None = None, seed: int = 0, rounds: int = 1000, by: By = "window"
    ) -> None:
        self._rounds = whole("rounds", rounds, 2)
        self._window = choice("by", by, get_args(By)) == "window"
        self._recent: list[list[float]] = []  # of the window: row, action, estimate
        super().__init__(oracle, horizon=horizon, seed=seed, rate=0.0)
        self._fixed = sqrt(2 * self._log_count / (self.n_actions * self._rounds))

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
        return np.inf

    def bound(self, confidence: float | None = None) -> float:
        del confidence
        return np.nan

    def _go_on(self, before: Any) -> None:
        super(Exp4, self)._go_on(before)  # the ledger does not know what was forgotten
