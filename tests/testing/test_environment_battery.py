"""The battery of environments has teeth: a planted stream with one mistake fails the check that is there for it."""

from contextlib import nullcontext
from typing import Any

import numpy as np
import pytest

from milpcb import testing
from milpcb.environments.planted import Planted
from milpcb.protocols import PolicyClass, Stream
from milpcb.testing.environments import HORIZON
from milpcb.types import Floats


class Spoilt:
    """A stream handed on as it is."""

    def __init__(self, stream: Stream) -> None:
        self.stream, self.contexts, self.order, self.read = stream, stream.contexts, stream.order, 0
        self.table: dict[int, Floats] = {}

    def reveal(self, t: int) -> int:
        """Return the row."""
        return self.stream.reveal(t)

    def costs(self, t: int) -> Floats:
        """Return the costs."""
        return self.stream.costs(t)


def counting(self: Spoilt, t: int) -> Floats:
    """Let costs depend on how often they were read."""
    self.read += 1
    return np.clip(self.stream.costs(t) + (self.read % 7) / 7, 0.0, 1.0)


def own(self: Spoilt, t: int) -> Floats:
    """Hand out the very table that is read again."""
    return self.table.setdefault(t, self.stream.costs(t).copy())


class Writable(Spoilt):
    """Contexts can be written to."""

    def __init__(self, stream: Stream) -> None:
        super().__init__(stream)
        self.contexts = self.contexts.copy()


class Lying(Spoilt):
    """The order told is not the one shown."""

    def __init__(self, stream: Stream) -> None:
        super().__init__(stream)
        self.order = np.zeros(HORIZON, dtype=np.int64)


def spoilt(**methods: Any) -> type[Spoilt]:
    """Return the stream with other methods."""
    return type("Mistaken", (Spoilt,), methods)


MISTAKES = [
    ("rounds", spoilt(reveal=lambda self, t: np.int64(self.stream.reveal(t)))),
    ("rounds", spoilt(costs=lambda self, t: 2 * self.stream.costs(t))),
    ("rounds", spoilt(costs=lambda self, t: self.stream.costs(t)[:2])),
    ("rereadable", spoilt(costs=counting)),
    ("contexts", Writable),
    ("contexts", Lying),
    ("guarded", spoilt(costs=own)),
]


def checks(stream: type[Spoilt]) -> list[testing.Check]:
    """Return the checks of planted streams with a mistake."""

    class Environment(Planted):
        def open(self, policies: PolicyClass, horizon: int, seed: int) -> Any:
            return stream(super().open(policies, horizon, seed))

    return testing.battery("environment", Environment())


@pytest.mark.parametrize(("name", "stream"), MISTAKES)
def test_a_mistaken_stream_is_caught(name: str, stream: type[Spoilt]) -> None:
    """The check that is there for the mistake fails, and passes for a stream that is handed on."""
    for made, fails in ((Spoilt, False), (stream, True)):
        (check,) = (each for each in checks(made) if each.id == name)
        with pytest.raises(AssertionError) if fails else nullcontext():
            check.run()


def test_an_environment_that_forgets_its_seed_is_caught() -> None:
    """Opening twice with one seed must give the same bytes."""

    class Environment(Planted):
        opened = 0

        def open(self, policies: PolicyClass, horizon: int, seed: int) -> Any:
            Environment.opened += 1
            return super().open(policies, horizon, seed + Environment.opened)

    with pytest.raises(AssertionError):
        testing.run_all("environment", Environment())
