"""The enumeration oracle: an explicit list of all labelings, the reference that others are tested against."""

from typing import Any

import numpy as np

from milpcb.constraints import LabelConstraint, conflict
from milpcb.core.decimals import spaced
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

    def __init__(self, opened: Opened, contexts: Floats, *, constraints: tuple[LabelConstraint, ...] = ()) -> None:
        super().__init__(opened, contexts, constraints=constraints)

    def route(self) -> list[str]:
        return [
            f"answers: by the totals of all {spaced(len(self.labelings))} different policies that keep the constraints"
        ]

    def totals(self, costs: Any) -> Floats:
        """Return the total cost (N,) of every labeling; ``costs`` is (m, K)."""
        return self._search.totals(self._checked(costs))

    def _open(self, opened: Opened, constraints: tuple[LabelConstraint, ...]) -> ListedSearch:
        every, sides = _list(opened), self._bound(constraints)
        kept = every.under(sides)
        if not len(kept.labels):
            raise InfeasibleError(
                conflict(constraints, lambda numbers: bool(every.keep([sides[i] for i in numbers]).any()))
            )
        self.labelings = kept.labels[:, opened.group]
        return kept

    def listing(self, asked: Within) -> Listing:
        return self._search.near(asked)


def _list(opened: Opened) -> ListedSearch:
    """Return the search through one policy for each distinct labeling."""
    opened.require("policies")
    too_many = InputError(
        f"more than {LARGEST} policies cannot be enumerated; use oracle kind 'milp', or fewer literals"
    )
    # log_size bounds the list from above, loosely; far beyond the limit there is no need to begin.
    if opened.log_size > np.log(LARGEST) + 8:
        raise too_many
    distinct: dict[bytes, tuple[Policy, Ints]] = {}
    for number, policy in enumerate(opened.policies()):
        if number == LARGEST:
            raise too_many
        labels = np.asarray(policy.predict(opened.contexts), dtype=np.int64)
        distinct.setdefault(labels.tobytes(), (policy, labels))
    policies = [policy for policy, _ in distinct.values()]
    return ListedSearch(policies, np.array([labels for _, labels in distinct.values()]), opened.n_actions)
