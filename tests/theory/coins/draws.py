"""Noise of finitely many vectors, all of whose draws can be enumerated."""

from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from math import prod
from typing import Any, TypeVar

import numpy as np

from milpcb.learners.adaptive_noise import Noise
from milpcb.types import Floats

Outcome = TypeVar("Outcome")


class Coins(Noise):
    """A law of noise that is a list of vectors (n, size), each with a chance, the whole symmetric about 0.

    Draws are not random: within ``runs`` they go through all sequences of vectors, one for each run.
    """

    def __init__(self, vectors: Sequence[Sequence[float]] = (), chances: Sequence[Fraction] = ()) -> None:
        self.vectors: list[Floats] = [np.array(vector, dtype=float) for vector in vectors]
        self.chances = list(chances)
        self._script: list[int] = []  # which vector each draw of this run returns
        self._drawn = 0

    def draw(self) -> Floats:
        """Return the vector of this run's next draw."""
        if self._drawn == len(self._script):
            self._script.append(0)
        self._drawn += 1
        return self.vectors[self._script[self._drawn - 1]]

    def runs(self, call: Callable[[], Outcome]) -> Iterator[tuple[Fraction, Outcome]]:
        """Yield what ``call`` returns, with its chance, for every sequence of draws that it can make."""
        self._script = []
        while True:
            self._drawn = 0
            outcome = call()
            yield prod((self.chances[vector] for vector in self._script), start=Fraction(1)), outcome
            while self._script and self._script[-1] == len(self.vectors) - 1:
                self._script.pop()
            if not self._script:
                return
            self._script[-1] += 1

    def mean(self, value: Callable[[Floats], float]) -> float:
        """Return the mean of a function of one vector."""
        return sum(float(chance) * value(vector) for vector, chance in zip(self.vectors, self.chances, strict=True))

    def state(self) -> Any:
        """Return nothing: draws belong to ``runs``."""
        return None

    def restore(self, state: Any) -> None:
        """Go on; there is nothing to restore."""
