"""Running leaf totals under side constraints that change while the totals are kept."""

from __future__ import annotations

from milpcb.protocols import Policy, RestrictedTerms, Terms
from milpcb.types import Floats, Ints


class HeldTerms(RestrictedTerms):
    """The ``terms`` with the recursion of ``held``, the same terms under the constraints of the moment.

    Totals belong to the terms alone, so that those that were kept stay right when ``held`` is replaced.
    """

    def __init__(self, terms: Terms) -> None:
        super().__init__(terms)
        self.held = terms

    def profile(self, totals: Floats, place: Ints) -> Floats:
        """Return (K,): the least total of the policies held, by the action at ``place``."""
        return self.held.profile(totals, place)

    def minimise(self, totals: Floats) -> tuple[float, Policy]:
        """Return the least total of the policies held and a policy that attains it."""
        return self.held.minimise(totals)

    def log_weights(self, totals: Floats, place: Ints, rate: float) -> Floats:
        """Return (K,): log of the summed exp(-rate * total) of the policies held, by the action at ``place``."""
        return self.held.log_weights(totals, place, rate)
