"""The oracles without a solver: the class's own exact search, and a list of all labelings, the reference for tests."""

from collections.abc import Iterable, Sequence
from typing import Any, cast

import numpy as np

from milpcb.constraints import LabelConstraint, conflict
from milpcb.core.checks import check_time_limit
from milpcb.core.decimals import spaced
from milpcb.errors import InfeasibleError, InputError
from milpcb.listed import ListedSearch
from milpcb.oracles.base import Oracle
from milpcb.oracles.chain import Chain, OpenedUnder
from milpcb.oracles.totals import TermTable
from milpcb.protocols import Listing, Opened, Policy, Search, Table, Within
from milpcb.types import Floats, Ints, Stop


class SearchOracle(Oracle):
    """Exact answers from the class's own search, under side constraints too (see milpcb.oracles.chain).

    Constraints mean the same as to a solver, tolerance included. Forbidding actions at contexts is possible for every
    class that has a search; all else needs the capability "constraints".

    Parameters
    ----------
    opened, contexts, constraints : see milpcb.open_oracle
    time_limit : seconds for one search, None for no limit; an answer that ran into it carries bounds, not a value. For
        classes with the capability "time_limit", as decision trees, without constraints

    """

    def __init__(
        self,
        opened: Opened,
        contexts: Floats,
        *,
        constraints: tuple[LabelConstraint, ...] = (),
        time_limit: float | None = None,
    ) -> None:
        super().__init__(opened, contexts)
        self._limit = check_time_limit(time_limit)
        self._search = self._open(opened, constraints)

    def _open(self, opened: Opened, constraints: tuple[LabelConstraint, ...]) -> Search:
        opened.require("search")
        under = self._under(opened, constraints)
        if constraints:
            self._opened_class = under
        self.capabilities |= self._opened_class.capabilities & {"action_weights"}
        if "totals" in self._opened_class.capabilities:
            self.capabilities |= {"columns"}
        if self._limit is not None:
            self.capabilities -= {"action_weights", "columns"}
        return under.search().opened()

    def route(self) -> list[str]:
        lines = cast("Chain", self._search).lines()
        if "columns" in self.capabilities:
            lines.append(f"running totals: {'leaf totals' if self._keeps_leaf_totals() else 'costs'}")
        return lines

    def _under(self, opened: Opened, constraints: tuple[LabelConstraint, ...]) -> OpenedUnder:
        sides = self._bound(constraints)

        def under(numbers: Iterable[int]) -> OpenedUnder:
            return OpenedUnder(opened, [sides[number] for number in numbers], self._limit)

        every = under(range(len(sides)))
        if self._limit is not None:
            (every if constraints else opened).require("time_limit")
        if constraints and not every.feasible():
            raise InfeasibleError(conflict(constraints, lambda numbers: under(numbers).feasible()))
        return every

    @property
    def log_derivations(self) -> float:
        return self._opened_class.terms().log_derivations if "columns" in self.capabilities else super().log_derivations

    def _column_table(self) -> Table:
        if "columns" not in self.capabilities:
            self._opened_class.require("totals")
            self._check_unlimited()
            raise InputError("a list has no columns; use oracle kind 'search' or 'milp', or put noise on contexts")
        return TermTable(self._opened_class.terms(), self)

    def _noiseless_table(self) -> Table:
        return self._column_table() if self._keeps_leaf_totals() else super()._noiseless_table()

    def _keeps_leaf_totals(self) -> bool:
        return "columns" in self.capabilities and self._opened_class.keeps_totals

    def _answer(self, costs: Floats) -> tuple[float, float, Policy | None, Stop]:
        return self._search.answer(costs)

    def _value(self, costs: Floats) -> float:
        return float(self._search.value(costs))

    def _profile(self, costs: Floats, row: int) -> Floats:
        return np.asarray(self._search.profile(costs, row))

    def _profiles(self, costs: Floats, rows: Sequence[int]) -> Floats:
        return np.asarray(self._search.profiles(costs, rows))

    def listing(self, asked: Within) -> Listing | None:
        return self._opened_class.near(asked)

    def _log_weights(self, costs: Floats, row: int, rate: float) -> Floats:
        if "action_weights" not in self.capabilities:
            self._opened_class.require("action_weights")
            self._check_unlimited()
        return self._search.log_weights(costs, row, rate)

    def _check_unlimited(self) -> None:
        if self._limit is not None:
            raise InputError(
                "action weights and running totals go through all policies, whatever the time_limit: leave it out"
            )


MOST_LISTED = 500_000  # policies of a list


class EnumerationOracle(SearchOracle):
    """A list of one policy for each labeling, (N, m) in ``labelings``, that keeps the side constraints."""

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
    opened.require("policies")
    too_many = InputError(
        f"more than {MOST_LISTED} policies cannot be enumerated; use oracle kind 'milp', or fewer literals"
    )
    # log_size bounds the list from above, loosely; far beyond the limit there is no need to begin.
    if opened.log_size > np.log(MOST_LISTED) + 8:
        raise too_many
    distinct: dict[bytes, tuple[Policy, Ints]] = {}
    for number, policy in enumerate(opened.policies()):
        if number == MOST_LISTED:
            raise too_many
        labels = np.asarray(policy.predict(opened.contexts), dtype=np.int64)
        distinct.setdefault(labels.tobytes(), (policy, labels))
    policies = [policy for policy, _ in distinct.values()]
    return ListedSearch(policies, np.array([labels for _, labels in distinct.values()]), opened.n_actions)
