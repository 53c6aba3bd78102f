"""Learners around another one, which they hand some of their rounds."""

from collections.abc import Mapping
from typing import Any, ClassVar

from milpcb.errors import InputError, shown
from milpcb.learners.base import Learner
from milpcb.learners.needs import check_pool
from milpcb.plugins import injection, registry
from milpcb.protocols import ContextModel

_PLAYED = "{} goes with learners that learn from played actions, not with {}"


class Around(Learner):
    """A learner around ``inner``, which may ask for all that this one was given; errors call this one ``what``."""

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
