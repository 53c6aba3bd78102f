"""Verdicts by slacks and by chances, each at the place where it is worst."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

ROUNDING = 1e-9  # of means that are sums of floats


@dataclass(frozen=True)
class SlackVerdict:
    """The least slacks by what they are called, and where each is least."""

    name: str
    names: tuple[str, ...]
    slacks: tuple[float, ...]
    places: tuple[str, ...]
    rounding: float = ROUNDING

    @property
    def passes(self) -> bool:
        """Whether nothing is violated."""
        return not self.violations()

    def violations(self) -> list[str]:
        """Return what is violated and where, one line each."""
        return [
            f"{what} is {slack:.4f} for {place}"
            for what, slack, place in zip(self.names, self.slacks, self.places, strict=True)
            if slack < -self.rounding
        ]


class At(NamedTuple):
    """A game, and a statement in it that has ``allowed``, the chance of being wrong, which is called ``delta``."""

    game: Any
    stated: Any


@dataclass(frozen=True)
class ChanceVerdict:
    """Chances of being wrong less what is allowed, by what they are called, each where it is largest."""

    name: str
    names: tuple[str, ...]
    excess: tuple[Fraction, ...]
    places: tuple[At, ...]

    @property
    def passes(self) -> bool:
        """Whether nothing is wrong more often than it may be."""
        return not self.violations()

    def violations(self) -> list[str]:
        """Return what is violated and where, one line each."""
        return [
            f"P[{what}] is {float(excess):.4f} above {at.stated.delta:g}, of {at.stated} for {at.game}"
            for what, excess, at in zip(self.names, self.excess, self.places, strict=True)
            if excess > 0
        ]


def largest_of(name: str, names: tuple[str, ...], found: Iterable[tuple[At, Sequence[Fraction]]]) -> ChanceVerdict:
    """Return the verdict on chances that were found at several places."""
    table = [(at, [chance - at.stated.allowed for chance in chances]) for at, chances in found]
    worst = [max(table, key=lambda row: row[1][which]) for which in range(len(names))]
    excess = tuple(row[1][which] for which, row in enumerate(worst))
    return ChanceVerdict(name, names, excess, tuple(row[0] for row in worst))


def least_of(
    name: str, names: tuple[str, ...], found: Iterable[tuple[str, Sequence[float]]], rounding: float = ROUNDING
) -> SlackVerdict:
    """Return the verdict on slacks that were found at several places."""
    places, slacks = zip(*found, strict=True)
    table = np.array(slacks)
    worst = tuple(places[place] for place in table.argmin(axis=0).tolist())
    return SlackVerdict(name, names, tuple(table.min(axis=0).tolist()), worst, rounding)
