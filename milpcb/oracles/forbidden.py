"""Forbidden actions as a penalty: playing one costs more than the totals of any two policies differ.

This works for every class and every recursion. A least total that contains a penalty means that no policy avoids the
forbidden actions. Penalties are integers if the costs are, so integer costs are answered exactly as long as penalties
and costs add up to less than 2^52; in sums of weights a penalty underflows to 0.
"""

from __future__ import annotations

from abc import abstractmethod

import numpy as np

from milpcb.errors import InfeasibleError
from milpcb.oracles.query import LEAST_RANGE
from milpcb.protocols import Policy, Recursion, RestrictedTerms, Search, Terms
from milpcb.protocols.recursion import Place
from milpcb.types import Bools, Floats, Ints

# A weight of e^-2000 is none, as no class that can be searched has e^1000 derivations.
NO_WEIGHT = 2000.0
NOBODY = "no policy of the class avoids the forbidden actions"


class _Avoiding(Recursion[Place]):
    """The recursion ``asked`` over the policies that use none of the ``forbidden`` totals, an array like these."""

    _asked: Recursion[Place]
    _forbidden: Bools

    def value(self, totals: Floats) -> float:
        """Return the least total, infinite where no policy is left."""
        priced, most = self._priced(totals)
        value = self._asked.value(priced)
        return value if value <= most else np.inf

    def minimise(self, totals: Floats) -> tuple[float, Policy]:
        """Return the least total and a policy that attains it."""
        priced, most = self._priced(totals)
        value, policy = self._asked.minimise(priced)
        if value > most:
            raise InfeasibleError(NOBODY)
        return value, policy

    def profile(self, totals: Floats, place: Place) -> Floats:
        """Return (K,): the least total by the action at ``place``."""
        priced, most = self._priced(totals)
        profile = self._asked.profile(priced, place)
        return np.where(profile <= most, profile, np.inf)

    def log_weights(self, totals: Floats, place: Place, rate: float) -> Floats:
        """Return (K,): log of the summed exp(-rate * total) by the action at ``place``."""
        scaled = rate * totals
        least, most = self._range(scaled)
        logs = self._asked.log_weights(scaled + (NO_WEIGHT + most - least) * self._forbidden, place, 1.0)
        return np.where(logs < -most - NO_WEIGHT / 2, -np.inf, logs)

    @abstractmethod
    def _range(self, totals: Floats) -> tuple[float, float]:
        """Return bounds on the total of every policy, without any penalty."""

    def _priced(self, totals: Floats) -> tuple[Floats, float]:
        """Return totals with the penalties, and a bound that only totals with a penalty are above.

        A penalty is twice the range of all totals, or their size where they differ by little more than rounding: in the
        unit of the costs, and whole where these are.
        """
        least, most = self._range(totals)
        size = float(np.abs(totals).sum())
        price = 2.0 * (most - least) if most - least > LEAST_RANGE * size else size or 1.0
        return totals + price * self._forbidden, most + price / 4.0


class AvoidingSearch(_Avoiding[int], Search):
    """The ``search`` over the policies that play no cell of ``forbidden`` (g, K)."""

    def __init__(self, search: Search, forbidden: Bools) -> None:
        self._asked, self._forbidden = search, forbidden

    def _range(self, totals: Floats) -> tuple[float, float]:
        return float(totals.min(axis=1).sum()), float(totals.max(axis=1).sum())


class AvoidingTerms(_Avoiding[Ints], RestrictedTerms):
    """The ``terms`` with the recursion over the policies that play no cell of ``forbidden`` (n, K) at ``contexts``."""

    def __init__(self, terms: Terms, contexts: Floats, forbidden: Bools) -> None:
        super().__init__(terms)
        self._asked, self._forbidden = terms, terms.totals(contexts, forbidden.astype(float)) > 0.0

    def _range(self, totals: Floats) -> tuple[float, float]:
        size = float(np.abs(totals).sum())
        return -size, size
