"""Any learner, watched by the certificate of its own run: where that grows too large, another one goes on."""

from collections.abc import Callable
from typing import Any

import numpy as np

from milpcb import rng
from milpcb.core.checks import real, whole
from milpcb.errors import InputError
from milpcb.learners.base import Learner
from milpcb.learners.inside import Around
from milpcb.learners.needs import require
from milpcb.protocols import ContextModel
from milpcb.types import Floats

ALLOWED = 500.0  # beside what grows with the rounds: what a good learner's certificate is off by chance early on
PIECES = 32  # of the horizon, for the guarantee


class Guarded(Around):
    """Any learner, for as long as the certificate of the play stays at most B(t); then a safe one, for good.

    Setting: costs are oblivious. With tau the round after which the certificate first exceeded B, or T, and G(n) the
    safe learner's guarantee for n rounds, E[Reg_T] <= E[B(tau)] + 1 + E[G(T - tau)] (statement G1 of
    milpcb/theory/confidence.md). The certificate grows by at most the costs paid, so it need not be computed before the
    last one, and the costs paid since, exceed B. Until the change no action has less of a chance than min(1/2, share /
    sqrt(t)) / K: even chances are mixed in, just as much as that takes. Whether the learner inside was followed is
    drawn given the action; it learns from these rounds alone.

    Parameters
    ----------
    oracle, pool, contexts, horizon, seed : as of every learner, handed on to those inside
    inner : registered name of a learner that learns from played actions, or one that has not played yet
    options : that learner's own options, where it is named
    safe : registered name of the learner that goes on; it is made anew for the rounds that are left
    bound : B, a number, or a function of the number of rounds that does not fall; None: 2 sqrt(t K log N) + 500
    share : of the least chance of an action, 0 or more, as above

    """

    what = "a guard"
    kept = ("inner", "safe", "looks", "_seen", "_paid", "changed", "_rng")

    def __init__(
        self,
        oracle: Any,
        pool: ContextModel | None = None,
        contexts: Any = None,
        *,
        horizon: int | None = None,
        seed: int = 0,
        inner: str | Learner = "epsilon_greedy",
        options: dict[str, Any] | None = None,
        safe: str = "exp4",
        bound: float | Callable[[int], float] | None = None,
        share: float = 0.2,
    ) -> None:
        super().__init__(oracle, pool, contexts, horizon=horizon, seed=seed)
        self._safe_name = safe
        self.inner = self._made(inner, options)
        self.safe: Learner | None = None  # that goes on, once it does
        self._make_safe(horizon)  # where that cannot be, it is found now
        self._allowed = _function(bound, oracle, self.n_actions)
        self._share = real("share", share, "finite and 0 or more", lambda number: number >= 0)
        self._seen, self._paid = 0.0, 0.0  # the last certificate looked at, and what was paid when it was
        self._rng = rng.child(seed, "guarded")
        self.looks = 0
        self.changed: int | None = None  # the number of rounds after which the safe learner went on

    @property
    def least_chance(self) -> float:
        if self.safe is not None:
            return self.safe.least_chance
        return max(self.inner.least_chance, self._least())

    def _act(self, row: int) -> Floats:
        if self.safe is None:
            self._look()
        if self.safe is not None:
            return self.safe.act(row)
        q = self.inner.act(row)
        mu = self._mixed(float(q.min()))
        self.note = [mu, q.tolist()]
        return np.asarray((1 - mu) * q + mu / self.n_actions)

    def _learn(self, row: int, action: int, cost: float, probability: float) -> float | None:
        if self.safe is not None:
            self.safe.learn(row, action, cost, probability)
            return self.safe.ledger.last
        mu, q = self.note
        if self._rng.random() * probability < (1 - mu) * q[action]:
            self.inner.learn(row, action, cost, q[action])
            return self.inner.ledger.last if mu == 0 else None
        self.inner.give_up()
        return None

    def _give_up(self) -> None:
        (self.inner if self.safe is None else self.safe).give_up()

    def _look(self) -> None:
        allowed = self._allowed(self.played)
        if self._known() <= allowed:
            return
        self._seen, self._paid = self.certificate() - self.ledger.others, self._own()
        self.looks += 1
        if self._seen > allowed:
            self.changed = self.played
            self.safe = self._make_safe(None if self.horizon is None else self.horizon - self.played)

    def _known(self) -> float:
        return self._seen + self._own() - self._paid

    def _own(self) -> float:
        """Return what was paid for actions that were drawn: others' are no reason to change the learner."""
        return self.ledger.cost - self.ledger.others

    def _mixed(self, lowest: float) -> float:
        missing = self._least() - lowest
        return missing / (1 / self.n_actions - lowest) if missing > 0 else 0.0

    def _least(self) -> float:
        return min(0.5, self._share / float(np.sqrt(self.played + 1))) / self.n_actions

    def _make_safe(self, rounds: int | None) -> Learner:
        return self._made(self._safe_name, None, horizon=rounds)

    def guarantee(self) -> float:
        """Return the greatest of B(tau) + 1 + G(T - tau), to the next of 32 parts of T; inf without a horizon."""
        if self.horizon is None:
            return np.inf
        ends = np.unique(np.linspace(0, self.horizon, PIECES + 1).round().astype(int)).tolist()
        left = [self._make_safe(self.horizon - start).guarantee() for start in ends[:-1]]
        return max(self._allowed(end) + 1 + after for end, after in zip(ends[1:], left, strict=True))

    def bound(self, confidence: float | None = None) -> float:
        """Return what the certificate is at most until the change, plus the bound of the safe learner after it."""
        if confidence is not None:
            return np.nan
        return self._known() if self.safe is None else self._seen + self.safe.bound()

    def oracle_error(self) -> float:
        return self.inner.oracle_error() + (0.0 if self.safe is None else self.safe.oracle_error())

    def _restore(self, state: dict[str, Any]) -> None:
        self.safe = self.changed = None
        if state["changed"] is not None:
            self.changed = whole("changed", state["changed"], 0)
            self.safe = self._make_safe(None if self.horizon is None else self.horizon - self.changed)
        super()._restore(state)


def _function(bound: float | Callable[[int], float] | None, oracle: Any, K: int) -> Callable[[int], float]:
    """Return B as a function of the number of rounds; raises InputError on what is none."""
    if callable(bound):
        return bound
    if bound is not None:
        fixed = real("bound", bound, "finite and above 0, or a function of the number of rounds", lambda b: b > 0)
        return lambda _t: fixed
    require("guarded", oracle, "action_weights")
    log_size = max(0.0, oracle.log_derivations)
    if not np.isfinite(log_size):
        raise InputError("how many policies there are is not known; give bound=")
    return lambda t: 2 * float(np.sqrt(t * K * log_size)) + ALLOWED
