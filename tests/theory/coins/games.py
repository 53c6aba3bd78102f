"""Games small enough to play every history: policies as labelings of a few contexts, the rounds, vectors of noise."""

from dataclasses import dataclass
from fractions import Fraction
from typing import cast

import numpy as np

from milpcb.oracles import open_oracle
from milpcb.oracles.search import EnumerationOracle
from milpcb.plugins import registry
from tests.theory.coins.draws import Coins

Vectors = tuple[tuple[float, ...], ...]


@dataclass(frozen=True)
class CoinGame:
    """``labelings`` (N, m), the ``rows`` of the contexts of all rounds, and ``noise`` by context and action (n, m K).

    Every vector of noise, and minus it, has the same chance.
    """

    labelings: tuple[tuple[int, ...], ...]
    rows: tuple[int, ...]
    noise: Vectors

    def oracle(self) -> EnumerationOracle:
        """Return the oracle that lists the policies."""
        labelings = np.array(self.labelings)
        policies = registry.load("policies", "finite_class")(labelings, labelings.max() + 1)
        contexts = np.arange(float(labelings.shape[1]))[:, None]
        return cast("EnumerationOracle", open_oracle(policies, contexts, kind="enumeration"))

    def coins(self) -> Coins:
        """Return the law of the noise."""
        both = [*self.noise, *(tuple(-x for x in vector) for vector in self.noise)]
        return Coins(both, [Fraction(1, len(both))] * len(both))

    def __str__(self) -> str:
        return (
            f"labelings {[list(labels) for labels in self.labelings]}, rounds on {list(self.rows)}, noise {self.noise}"
        )


ALL_FOUR = ((0, 0), (0, 1), (1, 0), (1, 1))
OPPOSITE = ((0,), (1,))
THREE_ACTIONS = ((0, 1), (1, 1), (2, 0), (0, 0), (2, 2))

QUICK_GAMES = [
    CoinGame(OPPOSITE, (0, 0, 0), ((1.0, -1.0),)),
    CoinGame(OPPOSITE, (0, 0), ((100.0, 0.0),)),
    CoinGame(ALL_FOUR, (0, 1, 0), ((0.4, 0.0, 0.0, 0.4),)),
]
ALL_GAMES = [
    *QUICK_GAMES,
    CoinGame(OPPOSITE, (0, 0, 0, 0), ((1.0, -1.0),)),
    CoinGame(OPPOSITE, (0, 0, 0, 0), ((0.3, 0.0),)),
    CoinGame(OPPOSITE, (0, 0, 0), ((3.0, 0.0), (1.0, 0.0))),
    CoinGame(ALL_FOUR, (0, 1, 0), ((2.0, 0.0, 1.0, 0.0), (-1.0, 0.0, 3.0, 0.0))),
    CoinGame(ALL_FOUR, (0, 1, 0, 0), ((0.4, 0.0, 0.0, 0.4),)),
    CoinGame(THREE_ACTIONS, (1, 0, 1), ((2.0, 0.0, -1.0, 0.0, 1.0, 0.0), (0.0, 1.0, 0.0, -2.0, 0.0, 1.0))),
]
