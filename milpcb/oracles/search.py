"""The oracle as the class's own exact search, without a solver."""

from __future__ import annotations

from milpcb.constraints import LabelConstraint
from milpcb.errors import InputError
from milpcb.oracles.base import Oracle
from milpcb.protocols import Policy, PolicyClass
from milpcb.types import Floats, Stop


class SearchOracle(Oracle):
    """Exact answers from ``policies.search(contexts)``; side constraints need kind "milp"."""

    def __init__(
        self,
        policies: PolicyClass,
        contexts: Floats,
        *,
        constraints: tuple[LabelConstraint, ...] = (),
    ) -> None:
        if constraints:
            raise InputError("kind 'search' cannot hold side constraints; open the oracle with kind 'milp'")
        self._search = policies.search(contexts)
        super().__init__(contexts, policies.n_actions, policies.log_size(contexts), self._search.group)
        if self._search.factorises:
            self.can |= {"action_weights"}

    def _minimise(self, costs: Floats) -> tuple[float, float, Policy, Stop]:
        value, policy = self._search.minimise(costs)
        return value, value, policy, Stop.OPTIMAL

    def _value(self, costs: Floats) -> float:
        return self._search.value(costs)

    def _profile(self, costs: Floats, row: int) -> Floats:
        return self._search.profile(costs, row)

    def _log_weights(self, costs: Floats, row: int, rate: float) -> Floats:
        return self._search.log_weights(costs, row, rate)
