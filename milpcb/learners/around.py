"""Learners that hand some of their rounds to another learner: their base, Doubling and Guarded."""

from collections.abc import Callable, Mapping
from copy import copy
from typing import Any, ClassVar

import numpy as np

from milpcb import rng
from milpcb.contexts import Transductive
from milpcb.core.checks import real, whole
from milpcb.errors import InputError, shown
from milpcb.learners.base import Learner
from milpcb.learners.needs import check_pool, require
from milpcb.plugins import injection, registry
from milpcb.protocols import ContextModel
from milpcb.types import Floats

_PLAYED = "{} goes with learners that learn from played actions, not with {}"


class Around(Learner):
    """A learner around ``inner``, whose arguments may be any of this one's; errors call this one ``what``."""

    what: ClassVar[str]
    inner: Learner

    def __init__(
        self, oracle: Any, pool: ContextModel | None, contexts: Any = None, *, horizon: int | None, seed: int
    ) -> None:
        super().__init__(oracle, horizon=horizon, seed=seed)
        if pool is not None:
            check_pool(pool)
        self._supplied = {"oracle": oracle, "pool": pool, "contexts": contexts, "n_actions": self.n_actions}
        self._supplied |= {"horizon": horizon, "seed": seed}

    def _give_up(self) -> None:
        self.inner.give_up()

    def oracle_error(self) -> float:
        return self.inner.oracle_error()

    def _made(self, inner: str | Learner, options: Mapping[str, Any] | None, **supplied: Any) -> Learner:
        """Return a learner made by its name with ``options``, or as it is handed in; InputError if it cannot play."""
        if isinstance(inner, Learner):
            name = type(inner).__name__
            if inner.full_information:
                raise InputError(_PLAYED.format(self.what, name))
            if inner.n_actions != self.n_actions:
                raise InputError(f"the {name} inside has {inner.n_actions} actions, and the oracle {self.n_actions}")
            if inner.played:
                raise InputError(f"the {name} inside has played already; hand in one that has not")
            return inner
        cls = registry.load("learner", inner)
        if cls.full_information or injection.asks(cls, "best") or cls is type(self):
            raise InputError(_PLAYED.format(self.what, f"'{inner}'"))
        if options is not None and not isinstance(options, Mapping):
            raise InputError(f"options must be a table of {inner}'s own options by name, got {shown(options)}")
        known = {name: value for name, value in (self._supplied | supplied).items() if value is not None}
        made: Learner = injection.make(cls, known, options or {})
        return made


# --------------------------------------------------------------------------- a learner that needs a horizon


class Doubling(Around):
    """Phases of ``first``, 2 ``first``, 4 ``first``, ... rounds, each played by a fresh learner made for that many.

    Setting and kind of guarantee are those of the learner inside. Regret is at most the sum of the guarantees of the
    phases that T rounds reach into: where one grows like T^a, 2^a / (2^a - 1) times that of a learner that knows T.

    Parameters
    ----------
    oracle, pool, seed : as of every learner, handed on to the one inside; each phase has its own child of the seed
    horizon : the number of rounds that may be played, and that ``guarantee()`` is for; None: no end, and the guarantee
        is for those played so far. The play does not depend on it
    inner : registered name of a learner that takes a horizon and learns from played actions
    options : that learner's own options
    first : rounds of the first phase

    """

    what = "doubling"
    kept = ("_phase", "_spent", "inner")

    def __init__(
        self,
        oracle: Any,
        pool: ContextModel,
        *,
        horizon: int | None = None,
        seed: int = 0,
        inner: str = "bistro_plus",
        options: dict[str, Any] | None = None,
        first: int = 1000,
    ) -> None:
        super().__init__(oracle, pool, horizon=horizon, seed=seed)
        check_pool(pool)
        self._first = whole("first", first, 1)
        self._name, self._options = inner, copy(options)
        cls = registry.load("learner", inner)
        if not injection.asks(cls, "horizon") or cls is Doubling:
            raise InputError(f"doubling is for learners that must know a horizon; use '{inner}' as it is")
        if injection.asks(cls, "pool") and isinstance(pool, Transductive):
            raise InputError(
                f"an order known in advance fixes the horizon: use '{inner}' as it is, or a pool without an order"
            )
        self._spent = 0.0  # oracle errors of finished phases
        self._begin(0)
        self.hides_law = self.inner.hides_law  # type: ignore[misc]  # as the learner inside, not as the class

    def _act(self, row: int) -> Floats:
        if self.played == self._first * (2 ** (self._phase + 1) - 1):
            self._spent += self.inner.oracle_error()
            self._begin(self._phase + 1)
        return self.inner.act(row)

    def _learn(self, row: int, action: int, cost: float, probability: float) -> float:
        self.inner.learn(row, action, cost, probability)
        return self.inner.ledger.last  # its own estimate, as its q may hide a law

    def guarantee(self) -> float:
        """Return the sum of the guarantees of all phases that ``horizon`` rounds, or those played, reach into."""
        rounds = max(self.horizon or 0, self.played, 1)
        phases = (-(-rounds // self._first)).bit_length()  # the least n with first (2^n - 1) >= rounds
        return float(sum(self._make(phase).guarantee() for phase in range(phases)))

    def oracle_error(self) -> float:
        return self._spent + self.inner.oracle_error()

    def _restore(self, state: dict[str, Any]) -> None:
        self._begin(whole("phase", state["phase"], 0, most=60))
        super()._restore(state)

    def _begin(self, phase: int) -> None:
        self._phase, self.inner = phase, self._make(phase)

    def _make(self, phase: int) -> Learner:
        rounds, seed = self._first * 2**phase, int(rng.child(self.seed, "doubling", phase).integers(2**63))
        return self._made(self._name, self._options, horizon=rounds, seed=seed)


# --------------------------------------------------------------------------- a learner that is watched


ALLOWED = 500.0  # beside what grows with the rounds: what a good learner's certificate is off by chance early on
PIECES = 32  # of the horizon, for the guarantee


class Guarded(Around):
    """Any learner, as long as the certificate of the play stays at most B(t); then a safe learner, for good.

    Setting: costs are oblivious. With tau the round after which the certificate first exceeded B, or T, and G(n) the
    safe learner's guarantee for n rounds, E[Reg_T] <= E[B(tau)] + 1 + E[G(T - tau)] (statement G1 of
    milpcb/theory/confidence.md). Until the change no action has a probability below min(1/2, share / sqrt(t)) / K:
    as much uniform play is mixed in as that needs. Whether the learner inside was followed is drawn, given the
    action; it learns from these rounds alone.

    Parameters
    ----------
    oracle, pool, contexts, horizon, seed : as of every learner, handed on to those inside
    inner : registered name of a learner that learns from played actions, or one that has not played yet
    options : that learner's own options, where it is named
    safe : registered name of the learner that takes over; it is made anew for the remaining rounds
    safe_options : that learner's own options
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
        safe_options: dict[str, Any] | None = None,
        bound: float | Callable[[int], float] | None = None,
        share: float = 0.2,
    ) -> None:
        super().__init__(oracle, pool, contexts, horizon=horizon, seed=seed)
        self._safe_name, self._safe_options = safe, copy(safe_options)
        self.inner = self._made(inner, options)
        self._safe_from(0)  # where that cannot be, it is found now
        self.safe: Learner | None = None  # that goes on, once it does
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
        lowest = float(q.min())
        missing = self._least() - lowest
        mu = missing / (1 / self.n_actions - lowest) if missing > 0 else 0.0
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
        if self._known() <= allowed:  # since the last look it has grown by no more than the costs paid
            return
        self._seen, self._paid = self.certificate() - self.ledger.others, self._own()
        self.looks += 1
        if self._seen > allowed:
            self.changed, self.safe = self.played, self._safe_from(self.played)

    def _known(self) -> float:
        return self._seen + self._own() - self._paid

    def _own(self) -> float:
        """Return what was paid for actions that were drawn: others' are no reason to change the learner."""
        return self.ledger.cost - self.ledger.others

    def _least(self) -> float:
        return min(0.5, self._share / float(np.sqrt(self.played + 1))) / self.n_actions

    def _safe_from(self, begin: int) -> Learner:
        left = None if self.horizon is None else self.horizon - begin
        return self._made(self._safe_name, self._safe_options, horizon=left)

    def guarantee(self) -> float:
        """Return the greatest of B(tau) + 1 + G(T - tau), to the next of 32 parts of T; inf without a horizon."""
        if self.horizon is None:
            return np.inf
        ends = np.unique(np.linspace(0, self.horizon, PIECES + 1).round().astype(int)).tolist()
        left = [self._safe_from(start).guarantee() for start in ends[:-1]]
        return max(self._allowed(end) + 1 + after for end, after in zip(ends[1:], left, strict=True))

    def bound(self, confidence: float | None = None) -> float:
        """Return the greatest possible certificate until the change, plus the bound of the safe learner after it."""
        if confidence is not None:
            return np.nan
        return self._known() if self.safe is None else self._seen + self.safe.bound()

    def oracle_error(self) -> float:
        return self.inner.oracle_error() + (0.0 if self.safe is None else self.safe.oracle_error())

    def _restore(self, state: dict[str, Any]) -> None:
        changed = state["changed"]
        self.changed = None if changed is None else whole("changed", changed, 0)
        self.safe = None if self.changed is None else self._safe_from(self.changed)
        super()._restore(state)


def _function(bound: float | Callable[[int], float] | None, oracle: Any, K: int) -> Callable[[int], float]:
    if callable(bound):
        return bound
    if bound is not None:
        fixed = real("bound", bound, "finite and above 0, or a function of the number of rounds", lambda b: b > 0)
        return lambda _t: fixed
    require("guarded", oracle, "action_weights")
    log_size = max(0.0, oracle.log_derivations)
    if not np.isfinite(log_size):
        raise InputError("the number of policies is not known; give bound=")
    return lambda t: 2 * float(np.sqrt(t * K * log_size)) + ALLOWED
