"""The interface of an environment, a stream of contexts and costs, and of a learner's model of future contexts."""

from abc import ABC, abstractmethod
from typing import Any, ClassVar, Protocol

import numpy as np

from milpcb.protocols.policies import PolicyClass
from milpcb.types import Floats, Ints


class Stream(Protocol):
    """A running environment: oblivious, readable again from the start, the same bytes for the same seed."""

    contexts: Floats
    order: Ints | None

    def reveal(self, t: int) -> int:
        """Return the row of ``contexts`` that round ``t`` (0-based) shows."""
        ...

    def costs(self, t: int) -> Floats:
        """Return the costs (K,) in [0, 1] of round ``t``."""
        ...


class Cache(Protocol):
    """A study's store of costs that an environment computed for one horizon and seed, so that it computes them once."""

    def load(self) -> Any:
        """Return the data that ``save`` was given for the same settings, None where no whole entry is there."""
        ...

    def save(self, data: Any) -> None:
        """Keep plain data (JSON-able)."""
        ...


class Environment(Protocol):
    """A process of contexts and costs. Constructor arguments are the keys of ``[environment]`` in a config.

    Where costs take long to compute ``open`` may have a fourth argument, which a study hands in: ``cache``, a Cache.
    """

    @property
    def n_actions(self) -> int:
        """Number of actions K."""
        ...

    @property
    def feature_names(self) -> tuple[str, ...]:
        """Names of the columns of the contexts, or ()."""
        ...

    @property
    def action_names(self) -> tuple[str, ...]:
        """Names of the actions, or ()."""
        ...

    def open(self, policies: PolicyClass, horizon: int, seed: int) -> Stream:
        """Return the stream of one seed; ``policies`` is the class that is competed with (and may be planted)."""
        ...


class ContextModel(ABC):
    """Model of future contexts, as a learner knows them; ``known`` if it has the true law, as guarantees assume."""

    known: ClassVar[bool] = True

    @abstractmethod
    def attach(self, oracle: Any, horizon: int | None) -> None:
        """Check that the model fits a learner's oracle, whose rows it counts, and its horizon; raises InputError."""

    def observe(self, t: int, row: int) -> None:
        """Note the ``row`` that round ``t`` (0-based) shows, before its future is drawn; may raise InputError."""
        del t, row  # most models know all there is to know

    @abstractmethod
    def future(self, t: int, horizon: int, rate: float, rng: np.random.Generator) -> Ints:
        """Return (m,) counts: of the rounds after ``t`` (0-based), each kept with probability ``rate``."""

    def future_rounds(self, t: int, horizon: int, rate: float, rng: np.random.Generator) -> tuple[Ints, Ints]:
        """Return the kept rounds (n,) after ``t`` in order, and the row (n,) that each shows.

        This default puts the counts of ``future`` in random order, which is right for i.i.d. contexts.
        """
        counts = self.future(t, horizon, rate, rng)
        rows = rng.permutation(np.repeat(np.arange(len(counts)), counts))
        rounds = rng.choice(horizon - t - 1, len(rows), replace=False, shuffle=False)
        return t + 1 + np.sort(rounds), rows

    def state(self) -> dict[str, Any]:
        """Return what the model has learnt about contexts so far, as plain data."""
        return {}

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from a saved state, as ``state`` returned it."""
        del state
