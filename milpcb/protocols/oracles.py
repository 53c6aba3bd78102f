"""The interface of an oracle, as learners see it."""

from __future__ import annotations

from typing import Protocol

from milpcb.protocols.tables import Table
from milpcb.types import Answer, Floats


class ValueOracle(Protocol):
    """All that an oracle-based learner sees of a policy class (see milpcb.oracles.base for the meaning of each).

    ``capabilities`` lists which of the queries below it answers; "enumerate" stands for the list ``labelings`` (N, m).
    """

    n_contexts: int
    n_actions: int

    @property
    def capabilities(self) -> frozenset[str]:
        """Return the names of the queries that are answered."""
        ...

    @property
    def log_union(self) -> float:
        """Return the log of the number of policies, known before the first round; NaN where contexts decide it."""
        ...

    @property
    def log_size(self) -> float:
        """Return the natural log of the number of policies, exactly or as an upper bound."""
        ...

    @property
    def contexts(self) -> Floats:
        """Return the contexts (n_contexts, d) that rows are numbers of."""
        ...

    def minimise(self, costs: Floats) -> Answer:
        """Return bounds on the least total cost and a policy; ``costs`` is (m, K)."""
        ...

    def value(self, costs: Floats) -> float:
        """Return the proved least total cost; ``costs`` is (m, K)."""
        ...

    def profile(self, costs: Floats, row: int) -> Floats:
        """Return V[a] (K,), the least total cost of the policies that play a on ``row``."""
        ...

    def action_weights(self, costs: Floats, row: int, rate: float) -> Floats:
        """Return the Exp4 distribution (K,) at ``row``."""
        ...

    def table(self, noise: str | None = "contexts") -> Table:
        """Return an empty table of total costs kept from round to round, with ``noise`` on "contexts" or "columns"."""
        ...
