"""The interface of an environment: opened for a horizon and a seed it is a stream of contexts and costs."""

from __future__ import annotations

from typing import Any, Protocol

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
    """Where a study keeps what an environment computed for one horizon and seed, so that it is computed once."""

    def load(self) -> Any:
        """Return what ``save`` was given for the same settings, None where nothing whole is kept."""
        ...

    def save(self, data: Any) -> None:
        """Keep plain data (JSON-able)."""
        ...


class Environment(Protocol):
    """A process of contexts and costs. Constructor arguments are the keys of ``[environment]`` in a config.

    One whose costs take long to compute may name a fourth argument of ``open``: ``cache: Cache | None = None``. A study
    hands it in.
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
