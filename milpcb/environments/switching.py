"""Switching: as planted, but another policy takes over at given fractions of the horizon."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise
from numbers import Real
from typing import Any

import numpy as np

from milpcb.environments.planted import Planted
from milpcb.errors import InputError
from milpcb.types import Ints


@dataclass(frozen=True)
class Switching(Planted):
    """Costs that are not i.i.d.: what was learnt before a switch is wrong after it.

    Breaks learners that stop exploring, or that never give up an early estimate: their regret against the best fixed
    policy of the whole run turns linear after the switch. It is no full adversary: a learner that tracks the changes
    may pay less than any fixed policy, so regret can be negative. Up to the first switch, a seed shows the same rounds
    as in ``Planted`` with the same settings. The stream names the policies, one a phase, in ``planted``.

    Parameters
    ----------
    n_actions, n_contexts, n_features, cost_right, cost_wrong : as in ``Planted``
    switch_at : increasing fractions f of the horizon, 0 < f < 1; a switch is at the first round t >= f * horizon

    Raises
    ------
    InputError (a setting out of range)

    """

    switch_at: tuple[float, ...] = (0.5,)

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "switch_at", _check_fractions(self.switch_at))

    def starts(self, horizon: int) -> Ints:
        """Return (P,): the round at which each phase starts, the first at 0."""
        # Rounded first, so that 0.07 * 100 = 7.000000000000001 does not become 8.
        return np.array([0, *(math.ceil(round(f * horizon, 6)) for f in self.switch_at)], dtype=np.int64)


def _check_fractions(fractions: Any) -> tuple[float, ...]:
    if not isinstance(fractions, (list, tuple)) or not fractions or not all(map(_is_fraction, fractions)):
        raise InputError(f"switch_at must list fractions between 0 and 1, such as [0.5], got {fractions!r}")
    if any(later <= earlier for earlier, later in pairwise(fractions)):
        raise InputError(f"switch_at must be strictly increasing, got {fractions!r}; sort it and drop repeats")
    return tuple(float(f) for f in fractions)


def _is_fraction(value: Any) -> bool:
    return isinstance(value, Real) and 0 < float(value) < 1
