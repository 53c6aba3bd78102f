"""Forbidden actions as a penalty: playing one costs more than the totals of any two policies differ.

This works for every class and every recursion. A least total that contains a penalty means that no policy avoids the
forbidden actions. Penalties are integers if the costs are, so integer costs are answered exactly as long as penalties
and costs add up to less than 2^52; in sums of weights a penalty underflows to 0.
"""

from __future__ import annotations

import numpy as np

from milpcb.errors import InfeasibleError
from milpcb.protocols import Policy, RestrictedTerms, Search, Terms
from milpcb.types import Bools, Floats, Ints

# A weight of e^-2000 is none, as no class that can be searched has e^1000 derivations.
NO_WEIGHT = 2000.0
NOBODY = "no policy of the class avoids the forbidden actions"


class AvoidingSearch(Search):
    """The ``search`` over the policies that play no cell of ``forbidden`` (g, K)."""

    def __init__(self, search: Search, forbidden: Bools) -> None:
        self._search, self._forbidden = search, forbidden

    def value(self, costs: Floats) -> float:
        """Return the least total cost, infinite where no policy is left."""
        price, most = _price(costs)
        value = self._search.value(costs + price * self._forbidden)
        return value if value <= most else np.inf

    def minimise(self, costs: Floats) -> tuple[float, Policy]:
        """Return the least total cost and a policy that attains it."""
        price, most = _price(costs)
        value, policy = self._search.minimise(costs + price * self._forbidden)
        if value > most:
            raise InfeasibleError(NOBODY)
        return value, policy

    def profile(self, costs: Floats, row: int) -> Floats:
        """Return (K,): the least total cost by the action at ``row``."""
        price, most = _price(costs)
        profile = self._search.profile(costs + price * self._forbidden, row)
        return np.where(profile <= most, profile, np.inf)

    def log_weights(self, costs: Floats, row: int, rate: float) -> Floats:
        """Return (K,): log of the summed exp(-rate * total cost) by the action at ``row``."""
        scaled = rate * costs
        most = float(scaled.max(axis=1).sum())
        price = NO_WEIGHT + most - float(scaled.min(axis=1).sum())
        logs = self._search.log_weights(scaled + price * self._forbidden, row, 1.0)
        return np.where(logs < -most - NO_WEIGHT / 2, -np.inf, logs)


class AvoidingTerms(RestrictedTerms):
    """The ``terms`` with the recursion over the policies that play no cell of ``forbidden`` (n, K) at ``contexts``."""

    def __init__(self, terms: Terms, contexts: Floats, forbidden: Bools) -> None:
        super().__init__(terms)
        self._forbidden = terms.totals(contexts, forbidden.astype(float)) > 0.0

    def profile(self, totals: Floats, place: Ints) -> Floats:
        """Return (K,): the least total by the action at ``place``."""
        priced, most = self._priced(totals)
        profile = self.terms.profile(priced, place)
        return np.where(profile <= most, profile, np.inf)

    def minimise(self, totals: Floats) -> tuple[float, Policy]:
        """Return the least total and a policy that attains it."""
        priced, most = self._priced(totals)
        value, policy = self.terms.minimise(priced)
        if value > most:
            raise InfeasibleError(NOBODY)
        return value, policy

    def log_weights(self, totals: Floats, place: Ints, rate: float) -> Floats:
        """Return (K,): log of the summed exp(-rate * total) by the action at ``place``."""
        scaled = rate * totals
        most = float(np.abs(scaled).sum())
        logs = self.terms.log_weights(scaled + (2.0 * most + NO_WEIGHT) * self._forbidden, place, 1.0)
        return np.where(logs < -most - NO_WEIGHT / 2, -np.inf, logs)

    def _priced(self, totals: Floats) -> tuple[Floats, float]:
        """Return totals with the price on forbidden terms, and a bound on the total of whoever has none of these."""
        size = float(np.abs(totals).sum()) or 1.0
        return totals + (3.0 * size) * self._forbidden, size


def _price(costs: Floats) -> tuple[float, float]:
    """Return the price of a cell, and a bound that only totals with a price are above.

    The price is at least twice the range of all totals, in the unit of the costs, and whole where these are.
    """
    highest = float(costs.max(axis=1).sum())
    price = 2.0 * (highest - float(costs.min(axis=1).sum())) or abs(highest) or 1.0
    return price, highest + price / 4.0
