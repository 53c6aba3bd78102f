"""Verdicts: by how much each statement is violated, at the place where that is most."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

ROUNDING = 1e-9  # of means that are sums of floats


class Judged(NamedTuple):
    """A learner that is judged, or a mutant of it, by name: ``kind`` makes it, or is its class.

    ``part`` makes that by which it goes: its ledger, blocks or floor. ``late`` is whether it learns a round late.
    """

    name: str
    kind: Any
    part: Any = None
    late: bool = False


@dataclass(frozen=True)
class Verdict:
    """Statements by ``names``, by how much each is violated at most (NaN for one that is not made), and where.

    An excess of ``rounding`` or less is none.
    """

    names: tuple[str, ...]
    excess: tuple[Any, ...]
    places: tuple[str, ...]
    rounding: float

    @property
    def passes(self) -> bool:
        """Whether nothing is violated."""
        return not self.violations()

    def violations(self) -> list[str]:
        """Return what is violated and where, one line each."""
        return [
            f"{what} is violated by {float(excess):.4f} for {place}"
            for what, excess, place in zip(self.names, self.excess, self.places, strict=True)
            if excess > self.rounding
        ]


def worst_of(names: tuple[str, ...], found: Iterable[tuple[str, Sequence[Any]]], rounding: float = 0.0) -> Verdict:
    """Return the verdict on excesses that were found at several places."""
    table = list(found)
    worst = [max(table, key=lambda row: row[1][which]) for which in range(len(names))]
    excess = tuple(row[1][which] for which, row in enumerate(worst))
    return Verdict(names, excess, tuple(place for place, _ in worst), rounding)
