"""Monotonicity: an action never goes down as a column grows; and the places where a policy breaks it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from math import ceil, prod
from typing import Any

import numpy as np

from milpcb.errors import InputError, shown
from milpcb.types import Floats

MOST_CELLS = 1_000_000  # of the tests of one policy
AT_ONCE = 100_000  # rows whose actions are compared at a time
Cuts = Mapping[int, "tuple[float, ...] | None"]


@dataclass(frozen=True, eq=False)
class Joint:
    """Numbers that are made of one column of a table: which they are, and what they may be together.

    Parameters
    ----------
    places : (k,) their numbers among the columns of the contexts
    values : (v, k) what they may be
    chain : of the first so many values none may get a higher action than a later one of them; 0 where all is allowed

    """

    places: tuple[int, ...]
    values: Floats
    chain: int = 0


@dataclass(frozen=True)
class Step:
    """Where a policy goes down: at a context (d,), between the values ``last`` and ``last + 1`` of a joint's chain."""

    context: Floats
    joint: int
    last: int
    before: int
    after: int


class ActionOrder:
    """The order that ``joints`` ask for, whatever the numbers of the other joints are; together they are all columns.

    Parameters
    ----------
    joints : of them some have a chain
    contexts : (m, d), the rows of the data: a policy is looked at there first

    """

    def __init__(self, joints: Sequence[Joint], contexts: Floats) -> None:
        self.joints = tuple(joints)
        self._contexts = contexts
        self._spread = contexts.std(axis=0) + (contexts.std(axis=0) == 0)

    def broken(self, policy: Any) -> Step | None:
        """Return a place where a policy plays a higher action before a lower one; None where it keeps the order."""
        cuts = getattr(policy, "cut_points", lambda: None)()
        if cuts is None:
            raise InputError(f"no order can be asked of policies that are no rules of columns: {shown(policy)}")
        for number, joint in enumerate(self.joints):
            starts = _starts(joint, cuts)
            if len(starts) > 1:
                for rows in self._looked_at(cuts, number):
                    if step := self._step(policy, number, starts, rows):
                        return step
        return None

    def _looked_at(self, cuts: Cuts, number: int) -> Iterator[Floats]:
        """Yield the contexts, and then one of each way in which the tests may come out, the joint ``number`` aside."""
        yield from np.array_split(self._contexts, ceil(len(self._contexts) / AT_ONCE))
        others = [joint for other, joint in enumerate(self.joints) if other != number]
        some = [(joint.places, found) for joint in others if len(found := _each_way(joint, cuts)) > 1]
        cells = prod(len(found) for _, found in some)
        if cells > MOST_CELLS:
            raise InputError(f"an order cannot be asked of policies with so many tests: {cells:,} ways; take fewer")
        grid = np.repeat(self._contexts[:1], cells, axis=0)
        for row, values in zip(grid, product(*(found for _, found in some)), strict=True):
            for (places, _), value in zip(some, values, strict=True):
                row[list(places)] = value
        yield grid

    def _step(self, policy: Any, number: int, starts: Sequence[int], rows: Floats) -> Step | None:
        """Return a step of ``rows`` that goes down: where most of them do, one from the middle of them."""
        joint = self.joints[number]
        every = np.repeat(rows, len(starts), axis=0)
        every[:, joint.places] = np.tile(joint.values[list(starts)], (len(rows), 1))
        played = np.asarray(policy.predict(every)).reshape(len(rows), len(starts))
        down = played[:, :-1] > played[:, 1:]
        if not down.any():
            return None
        at = int(down.sum(axis=0).argmax())
        here = np.flatnonzero(down[:, at])
        apart = np.abs(rows[here] - np.median(rows[here], axis=0)) / self._spread
        apart[:, joint.places] = 0.0
        row = here[apart.sum(axis=1).argmin()]
        return Step(rows[row], number, starts[at + 1] - 1, int(played[row, at]), int(played[row, at + 1]))


def distinguished(joints: Sequence[Joint], thresholds: Any) -> list[Joint]:
    """Return the joints with one of the values that no cut point divides; ``thresholds`` are one list a number."""
    if not isinstance(thresholds, tuple):
        return list(joints)
    cuts = {place: tuple(sorted(points)) for place, points in enumerate(thresholds)}
    found = []
    for joint in joints:
        rising = joint.values[_starts(joint, cuts)] if joint.chain else joint.values[:0]
        rest = Joint(joint.places, joint.values[joint.chain :])
        more = _each_way(rest, cuts) if len(rest.values) else rest.values
        found.append(Joint(joint.places, np.concatenate([rising, more]), len(rising)))
    return found


def _starts(joint: Joint, cuts: Cuts) -> list[int]:
    """Return the values of a chain at which some test comes out otherwise than before, and the first; () for none."""
    if not joint.chain:
        return []
    ways = _ways(joint, cuts)[: joint.chain]
    return [0, *(np.flatnonzero((np.diff(ways, axis=0) != 0).any(axis=1)) + 1).tolist()]


def _each_way(joint: Joint, cuts: Cuts) -> Floats:
    """Return one of the values (w, k) for each way in which the tests come out."""
    _, first = np.unique(_ways(joint, cuts), axis=0, return_index=True)
    return joint.values[first]


def _ways(joint: Joint, cuts: Cuts) -> Floats:
    """Return (v, k) numbers that are equal where all tests of a policy come out alike."""
    return np.column_stack(
        [_way(values, cuts.get(place, ())) for place, values in zip(joint.places, joint.values.T, strict=True)]
    )


def _way(values: Floats, cuts: tuple[float, ...] | None) -> Floats:
    if cuts is None:
        return values
    return (np.searchsorted(cuts, values) + np.searchsorted(cuts, values, side="right")).astype(float)
