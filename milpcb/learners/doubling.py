"""Doubling: a learner that needs a horizon, played without one."""

from copy import copy
from typing import Any

from milpcb import rng
from milpcb.contexts import Transductive
from milpcb.core.checks import whole
from milpcb.errors import InputError
from milpcb.learners.base import Learner
from milpcb.learners.inside import Around
from milpcb.learners.needs import check_pool
from milpcb.plugins import injection, registry
from milpcb.protocols import ContextModel
from milpcb.types import Floats


class Doubling(Around):
    """Phases of ``first``, 2 ``first``, 4 ``first``, ... rounds, each played by a fresh learner made for that many.

    Setting and kind of guarantee are those of the learner inside. Its guarantee for a phase also holds for a part of
    it, as costs could be 0 from there on; so regret is at most the sum of the guarantees of the phases that T rounds
    reach into: where one grows like T^a, 2^a / (2^a - 1) times that of a learner that knows T, 2.70 times for T^(2/3).

    Parameters
    ----------
    oracle, pool, seed : as of every learner, handed on to the one inside; each phase has its own child of the seed
    horizon : the number of rounds that ``guarantee()`` is of and that may be played; None: no end, and ``guarantee()``
        is of those played so far. How rounds are played does not depend on it
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
        _check(inner, pool)
        self._name, self._options = inner, copy(options)
        self._spent = 0.0  # oracle errors of finished phases
        self._begin(0)
        self.hides_law = self.inner.hides_law  # type: ignore[misc]  # as the learner inside, not as the class

    def _act(self, row: int) -> Floats:
        if self.played == self._end:
            self._spent += self.inner.oracle_error()
            self._begin(self._phase + 1)
        return self.inner.act(row)

    def _learn(self, row: int, action: int, cost: float, probability: float) -> float:
        self.inner.learn(row, action, cost, probability)
        return self.inner.ledger.last  # its own estimate, as its q may hide a law

    def _give_up(self) -> None:
        self.inner.give_up()

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
        self._phase = phase
        self._end = self._first * (2 ** (phase + 1) - 1)
        self.inner = self._make(phase)

    def _make(self, phase: int) -> Learner:
        rounds = self._first * 2**phase
        return self._made(self._name, self._options, horizon=rounds, seed=phase_seed(self.seed, phase))


def _check(inner: str, pool: ContextModel) -> None:
    cls = registry.load("learner", inner)
    if not injection.asks(cls, "horizon") or cls is Doubling:
        raise InputError(f"doubling is for learners that must know a horizon; use '{inner}' as it is")
    if injection.asks(cls, "pool") and isinstance(pool, Transductive):
        raise InputError(
            f"an order known in advance fixes the horizon: use '{inner}' as it is, or a pool without an order"
        )


def phase_seed(seed: int, phase: int) -> int:
    """Return the seed of the learner of a phase (0-based)."""
    return int(rng.child(seed, "doubling", phase).integers(2**63))
