"""The enumeration oracle: an explicit list of all labelings, the reference that others are tested against."""

from __future__ import annotations

from itertools import islice
from typing import Any

import numpy as np

from milpcb.constraints import LabelConstraint, conflict
from milpcb.errors import InfeasibleError, InputError
from milpcb.listed import ListedSearch
from milpcb.oracles.search import SearchOracle
from milpcb.protocols import Listing, Opened, Policy, Within
from milpcb.types import Floats, Ints

LARGEST = 500_000


class EnumerationOracle(SearchOracle):
    """A search through a list: every policy of the class that keeps the side constraints, of equal ones the first.

    ``labelings`` (N, m) are what they play, one for each distinct labeling.
    """

    capabilities = SearchOracle.capabilities | {"action_weights", "enumerate"}
    labelings: Ints
    _search: ListedSearch

    def route(self) -> list[str]:
        """Return how long the list is."""
        return [f"answers: by the totals of all {len(self.labelings):,} different policies that keep the constraints"]

    def totals(self, costs: Any) -> Floats:
        """Return the total cost (N,) of every labeling; ``costs`` is (m, K)."""
        return self._search.totals(self._checked(costs))

    def _open(self, opened: Opened, constraints: tuple[LabelConstraint, ...]) -> ListedSearch:
        policies, labels = _list(opened)
        allowed = self._allowed(constraints, ListedSearch(policies, labels, opened.n_actions), len(labels))
        self.labelings = labels[allowed][:, opened.group]
        return ListedSearch([policies[i] for i in allowed], labels[allowed], opened.n_actions)

    def _listing(self, asked: Within) -> Listing:
        return self._search.near(asked)

    def _allowed(self, constraints: tuple[LabelConstraint, ...], listed: ListedSearch, n_listed: int) -> Ints:
        """Return the numbers of the policies that keep all constraints; raises InfeasibleError when there is none."""
        sides = self._bound(constraints)
        kept = np.array([side.holds(listed.totals(side.weights)) for side in sides]).reshape(len(sides), n_listed)
        allowed = np.flatnonzero(kept.all(axis=0))
        if not len(allowed):
            raise InfeasibleError(conflict(constraints, lambda numbers: bool(kept[numbers].all(axis=0).any())))
        return allowed


def _list(opened: Opened) -> tuple[list[Policy], Ints]:
    """Return one policy for each distinct labeling, and their labels (N, g) on the distinct contexts."""
    opened.require("policies")
    too_many = InputError(
        f"more than {LARGEST} policies cannot be enumerated; use oracle kind 'milp', or fewer literals"
    )
    # log_size bounds the list from above, loosely; far beyond the limit there is no need to begin.
    if opened.log_size > np.log(LARGEST) + 8:
        raise too_many
    distinct: dict[bytes, tuple[Policy, Ints]] = {}
    count = 0
    for policy in islice(opened.policies(), LARGEST + 1):
        labels = policy.predict(opened.contexts)
        distinct.setdefault(labels.tobytes(), (policy, labels))
        count += 1
    if count > LARGEST:
        raise too_many
    return [policy for policy, _ in distinct.values()], np.array([labels for _, labels in distinct.values()])
