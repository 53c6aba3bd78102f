"""Games small enough to enumerate: policies as labelings of a few contexts, a law of contexts, K, L and a horizon."""

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import chain, combinations, product

Labelings = tuple[tuple[int, ...], ...]
Law = tuple[Fraction, ...]

UNIFORM: Law = (Fraction(1, 2), Fraction(1, 2))
SKEWED: Law = (Fraction(3, 4), Fraction(1, 4))
POINT: Law = (Fraction(1), Fraction(0))


@dataclass(frozen=True)
class Game:
    """``labelings`` (N, m), the ``law`` (m,) of contexts, K actions, L and the longest horizon that is looked at."""

    labelings: Labelings
    law: Law
    n_actions: int
    scale: Fraction
    horizon: int

    @cached_property
    def actions(self) -> range:
        """0..K-1."""
        return range(self.n_actions)

    @cached_property
    def playing(self) -> list[list[list[int]]]:
        """The numbers of the policies that play action i at context x, as ``playing[x][i]``."""
        columns = list(zip(*self.labelings, strict=True))
        return [[[n for n, label in enumerate(column) if label == i] for i in self.actions] for column in columns]

    def __str__(self) -> str:
        law = ", ".join(map(str, self.law))
        return f"labelings {[list(labels) for labels in self.labelings]}, contexts ({law}), L = {self.scale}"


def classes(n_actions: int, n_contexts: int) -> list[Labelings]:
    """Return every nonempty set of labelings."""
    labelings = list(product(range(n_actions), repeat=n_contexts))
    return list(chain.from_iterable(combinations(labelings, size) for size in range(1, len(labelings) + 1)))


THREE_ACTIONS: list[Labelings] = [
    ((0, 0), (1, 2)),
    ((0, 0), (1, 1), (2, 2)),
    ((0, 1), (1, 2), (2, 0)),
    ((0, 0), (0, 1), (2, 1)),
]


def quick_games() -> list[Game]:
    """Return the games of ``--quick``: all classes of two actions at the smallest and largest L, two rounds at most."""
    two = [Game(labelings, UNIFORM, 2, Fraction(L), 2) for labelings in classes(2, 2) for L in (2, 4, 20)]
    three = [Game(labelings, UNIFORM, 3, Fraction(L), 1) for labelings in THREE_ACTIONS for L in (3, 4, 20)]
    return two + three


def all_games() -> list[Game]:
    """Return the games of ``milpcb verify``."""
    two = [Game(labelings, UNIFORM, 2, Fraction(L), 3) for labelings in classes(2, 2) for L in (2, 3, 4, 5, 20)]
    other = [
        Game(labelings, law, 2, Fraction(L), 2)
        for labelings in classes(2, 2)
        for law in (SKEWED, POINT)
        for L in (4, 20)
    ]
    three = [Game(labelings, UNIFORM, 3, Fraction(L), 2) for labelings in THREE_ACTIONS for L in (3, 4, 20)]
    return two + other + three
