"""Policies in a list: exhaustive search, the reference for all other searches, and a program with a column for each."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence

import numpy as np

from milpcb.core.zobrist import first_of_each, key_tables, zobrist_hashes
from milpcb.errors import InfeasibleError
from milpcb.program import ProgramBuilder
from milpcb.protocols import Encoding, Listing, Policy, Search, SideConstraint, Within
from milpcb.types import Bools, Floats, Ints


class ListedSearch(Search):
    """Policies and their labels (N, g) on the distinct contexts, repeats included; of equal policies the first wins."""

    def __init__(self, policies: Sequence[Policy], labels: Ints, n_actions: int) -> None:
        self.policies, self.labels, self._n_actions = policies, labels, n_actions
        self._cell = n_actions * np.arange(labels.shape[1]) + labels

    def totals(self, costs: Floats) -> Floats:
        """Return the total cost (N,) of every policy."""
        return np.asarray(costs.ravel()[self._cell].sum(axis=1))

    def value(self, costs: Floats) -> float:
        return float(self.totals(costs).min(initial=np.inf))

    def minimise(self, costs: Floats) -> tuple[float, Policy]:
        """Return the first policy of least total; raises InfeasibleError where the list is empty."""
        if not self.policies:
            raise InfeasibleError("no policy of the list keeps the side constraints")
        totals = self.totals(costs)
        best = int(totals.argmin())
        return float(totals[best]), self.policies[best]

    def profile(self, costs: Floats, row: int) -> Floats:
        profile = np.full(self._n_actions, np.inf)
        np.minimum.at(profile, self.labels[:, row], self.totals(costs))
        return profile

    def log_weights(self, costs: Floats, row: int, rate: float) -> Floats:
        logs = np.full(self._n_actions, -np.inf)
        np.logaddexp.at(logs, self.labels[:, row], -rate * self.totals(costs))
        return logs

    def keep(self, rows: Sequence[SideConstraint]) -> Bools:
        """Return (N,): which policies keep all ``rows``."""
        kept = np.ones(len(self.labels), dtype=bool)
        for row in rows:
            kept &= row.holds(self.totals(row.weights))
        return kept

    def near(self, asked: Within) -> Listing:
        """Return the policies of the list within a bound; see Opened.near."""
        totals = self.totals(asked.costs)
        numbers = np.flatnonzero((totals <= asked.bound) & self.keep(asked.rows))
        own = zobrist_hashes([self.totals(table)[numbers] for table in key_tables(*asked.costs.shape)])
        numbers = numbers[first_of_each(own)]
        numbers = numbers[np.argsort(totals[numbers], kind="stable")]
        return Listing(totals[numbers], lambda i: self.policies[numbers[i]])

    def under(self, rows: Sequence[SideConstraint]) -> ListedSearch:
        kept = self.keep(rows)
        policies = [self.policies[i] for i in np.flatnonzero(kept).tolist()]
        return ListedSearch(policies, self.labels[kept], self._n_actions)


class OneHotEncoding(Encoding):
    """The simplex over a list of ``n_policies``, whose vertices are 0/1. ``objective`` is the total of each policy."""

    def __init__(self, n_policies: int) -> None:
        b = ProgramBuilder()
        b.rows((b.columns("x", (n_policies,), upper=1.0, integer=True)[None], 1.0), lower=1.0, upper=1.0)
        self.program = b.build(integral=True)

    def decode(self, x: Floats, costs: Floats) -> Policy:
        del costs  # the number names it
        return self.policy(int(x.argmax()))

    @abstractmethod
    def policy(self, number: int) -> Policy:
        """Return the policy of a column."""
