"""The base class of all oracles: arguments are checked, and queries counted and timed, in one place."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import cached_property
from time import perf_counter
from typing import Any, cast

import numpy as np

from milpcb.constraints import LabelConstraint, SideConstraint
from milpcb.core.checks import choice, context_array, cost_array, index, real
from milpcb.core.decimals import spaced
from milpcb.data.actions import by_action, own_names
from milpcb.errors import InputError, OracleInexact
from milpcb.oracles.near_best import NearBest, Opening
from milpcb.oracles.totals import CostTable, normalised
from milpcb.protocols import Listing, Opened, Policy, PolicyClass, Within
from milpcb.protocols.oracles import NOISE, Table
from milpcb.types import Answer, Floats, Ints

MOST_SCALED = 1e200  # rate times costs: at such rates all weight is on the least total cost


class Oracle(ABC):
    """Answers "what is the least total cost of any policy?" on fixed contexts (paper, equation (1)).

    ``calls`` counts the queries (a profile is one query) and ``seconds`` the time spent on them; ``capabilities`` names
    the queries that this kind answers.
    """

    capabilities: frozenset[str] = frozenset({"value", "minimise", "profile"})
    opening: Opening | None = None  # how it was opened; set by open_oracle
    _solver = ""  # the name of the solver, of kinds that ask one
    _closed = False
    # Changes by queries: all that a copy has beyond what it is opened from.
    _counters: tuple[str, ...] = ("calls", "seconds", "_closed")

    def __init__(self, opened: Opened, contexts: Floats) -> None:
        """Take a class that is opened on ``contexts`` (m, d)."""
        self.contexts = contexts
        self.n_contexts = len(contexts)
        self.n_actions = opened.n_actions
        self._opened_class = opened
        self.calls = 0
        self.seconds = 0.0
        self._grouping = _Grouping(opened.group)

    def __reduce__(self) -> Any:
        """Be copied, and pickled, as the class, the contexts with their names, and the options it was opened with."""
        if self.opening is None:  # it was made by its constructor
            return super().__reduce__()
        counted = {name: vars(self)[name] for name in self._counters if name in vars(self)}
        return self.opening.again, self.opening.source(), counted

    def __repr__(self) -> str:
        by = f", solver {self._solver}" if self._solver else ""
        name = self._opened_class.class_name or type(self._opened_class).__name__
        return f"<{type(self).__name__}: {name}, {self.n_contexts} contexts, {self.n_actions} actions{by}>"

    def explain(self) -> str:
        """Return some lines on the policies and contexts, the route to answers and its reason, and the constraints."""
        opened = self._opened_class
        name = opened.class_name or type(opened).__name__
        distinct = f"{spaced(self.n_contexts)}, {spaced(len(opened.contexts))} of them different to policies"
        lines = [
            f"policies: {name}, at most {_count_of(self.log_size)} on these contexts",
            f"contexts: {distinct}; {self.n_actions} actions",
        ]
        return "\n".join([*lines, *self.route()])

    def read_costs(self, costs: Any) -> Floats:
        """Return costs (m, K), columns of a data frame by the class's names of actions; raises InputError."""
        if not isinstance(costs, np.ndarray):
            costs = by_action("costs", costs, own_names(self._opened_class))
        return cost_array(costs, self.n_contexts, self.n_actions)

    @abstractmethod
    def route(self) -> list[str]:
        """Return the lines of ``explain`` on the route of a query in this kind of oracle."""

    @property
    def settles_ties(self) -> bool:
        """Whether queries are fast enough to choose between equally cheap policies by further queries."""
        return True

    def close(self) -> None:
        """Free the resources of a solver. Every query after this raises InputError; closing again does nothing."""
        self._closed = True

    def rows(self, contexts: Any) -> Ints:
        """Return the row (n,) of each of ``contexts`` (n, d): the first that is labelled alike; raises InputError."""
        known, first = self._known
        return np.asarray(first[known.find(contexts)])

    @cached_property
    def _known(self) -> tuple[KnownRows, Ints]:
        """Return the numbers of the contexts that policies may label differently, and the first row of each."""
        opened = self._opened_class
        known = KnownRows(opened.fixed() if "fixed" in opened.capabilities else None)
        _, first = np.unique(known.add(self.contexts), return_index=True)
        return known, first

    @property
    def opened(self) -> Opened:
        """The policy class, opened on the contexts; in a search under side constraints, with these."""
        return self._opened_class

    def context(self, row: int) -> Floats:
        """Return the context (d,) of a row."""
        return np.asarray(self.contexts[index("row", row, self.n_contexts)])

    @property
    def log_size(self) -> float:
        """Natural log of the number of policies, as the class states it; computed at first use."""
        return self._opened_class.log_size

    @property
    def log_union(self) -> float:
        """``log_size``, unless contexts or constraints were not known before the first round."""
        union = self._opened_class.log_union
        return self.log_size if union is None else union

    def minimise(self, costs: Any) -> Answer:
        """Return bounds, a policy and the reason why the search stopped; ``costs`` is (m, K), any sign."""
        start = perf_counter()
        costs = self._checked(costs)
        lower, upper, policy, stop = self._answer(costs)
        return Answer(lower, upper, policy, stop, self.count(start))

    def value(self, costs: Any) -> float:
        """Return the proved minimum; raises OracleInexact when the solver could not prove it."""
        return float(self.ask("value", self._checked(costs)))

    def profile(self, costs: Any, row: int) -> Floats:
        """Return (K,): the least total cost of the policies that play a on ``row``, inf where none does."""
        return np.asarray(self.ask("profile", self._checked(costs), self._group_of(row)))

    def near_best(self, costs: Any, slack: float) -> NearBest:
        """Return all policies of total cost at most the least plus ``slack``; raises InputError, OracleInexact."""
        within = real("slack", slack, "finite and not negative", lambda number: number >= 0)
        table = self.read_costs(costs).copy()  # answers come later, the costs may change
        return NearBest(self, table, self._checked(table), within)

    def ask(self, query: str, costs: Floats, *place: Any, by: Oracle | None = None) -> Any:
        """Return the answer of ``_query``, by the oracle ``by``, to costs (g, K) by context; counted and timed here."""
        self._check_open()
        start = perf_counter()
        found = getattr(self if by is None else by, f"_{query}")(costs, *place)
        self.count(start)
        return found

    @property
    def group(self) -> Ints:
        """The number (m,) of the distinct context of each row."""
        return self._grouping.group

    def action_weights(self, costs: Any, row: int, rate: float) -> Floats:
        """Return (K,): the Exp4 distribution at ``row``, the normalised sums of exp(-rate * total cost) by action."""
        grouped = self._checked(costs)
        if type(rate) is not float or not 0.0 <= rate < np.inf:
            rate = real("rate", rate, "finite and not negative", lambda number: number >= 0)
        if rate > 1.0 and (size := float(np.abs(grouped).sum())) > 1.0:  # so that no product overflows
            rate = min(rate, MOST_SCALED / size)
        return normalised(self.ask("log_weights", grouped, self._group_of(row), rate))

    def table(self, noise: str | None = "contexts") -> Table:
        """Return an empty table of total costs kept from round to round, with ``noise`` on "contexts" or "columns".

        Columns are those of a solver's program or the leaf totals of a search; raises InputError where there are none.
        Without noise it is the quickest table.
        """
        if noise is None:
            return self._noiseless_table()
        if choice("noise", noise, NOISE) == "columns":
            return self._column_table()
        _, first = np.unique(self._opened_class.group, return_index=True)
        return CostTable(self, np.sort(first))

    def _noiseless_table(self) -> Table:
        return CostTable(self, np.zeros(0, dtype=np.int64))

    def _column_table(self) -> Table:
        raise InputError(
            f"{type(self).__name__} has no columns to put noise on: open the oracle with kind 'milp', or with kind "
            "'search' for a class that keeps leaf totals, or set noise_on = \"contexts\""
        )

    @property
    def log_derivations(self) -> float:
        """Natural log of the number of derivations (ways to write a policy) that ``action_weights`` sums over."""
        nothing = self._checked(np.zeros((self.n_contexts, self.n_actions)))
        return float(np.logaddexp.reduce(self._log_weights(nothing, 0, 0.0)))

    def _log_weights(self, costs: Floats, row: int, rate: float) -> Floats:
        del costs, row, rate
        raise InputError(
            "action weights need a class that factorises: open the oracle with kind 'search' or 'enumeration'"
        )

    def _bound(self, constraints: Sequence[LabelConstraint]) -> list[SideConstraint]:
        return [constraint.bound(self.n_contexts, self.n_actions, self._checked) for constraint in constraints]

    def _group_of(self, row: int) -> int:
        if type(row) is not int or not 0 <= row < self.n_contexts:
            row = index("row", row, self.n_contexts)
        return int(self._grouping.group[row])

    @abstractmethod
    def _answer(self, costs: Floats) -> tuple[float, float, Any, Any]:
        """Return lower, upper, policy and stop for costs (g, K) on the distinct contexts."""

    @abstractmethod
    def _value(self, costs: Floats) -> float:
        """Return the proved minimum for costs (g, K) on the distinct contexts."""

    @abstractmethod
    def _profile(self, costs: Floats, row: int) -> Floats:
        """Return V[a] for the distinct context ``row``."""

    def _profiles(self, costs: Floats, rows: Sequence[int]) -> Floats:
        return np.array([self._profile(costs, row) for row in rows])

    def listing(self, asked: Within) -> Listing | None:
        """Return the policies within a bound, for costs (g, K), where the class has a list of its own; else None."""
        del asked
        return None

    def _best_policy(self, costs: Floats) -> Policy:
        _, _, policy, stop = self._answer(costs)
        if policy is None:
            raise OracleInexact(f"the solver stopped with '{stop}' before it found a policy: give it more time")
        return cast("Policy", policy)

    def _checked(self, costs: Any) -> Floats:
        self._check_open()
        return self._grouping.add_up(self.read_costs(costs))

    def _check_open(self) -> None:
        if self._closed:
            raise InputError("this oracle was closed: open another one, by milpcb.open_oracle")

    def count(self, start: float) -> float:
        """Count a query that began at ``start``, on the clock of time.perf_counter; return how long it took."""
        seconds = perf_counter() - start
        self.calls += 1
        self.seconds += seconds
        return seconds


class KnownRows:
    """Numbers contexts: contexts that all policies of a ``fixed`` class label alike are one, else equal ones."""

    def __init__(self, fixed: PolicyClass | None) -> None:
        self._fixed = fixed
        self._rows: dict[bytes, int] = {}
        self._n_columns: int | None = None

    def read(self, contexts: Any) -> Floats:
        """Return contexts as an array (n, d); raises InputError unless it has the columns of earlier contexts."""
        array = context_array(contexts) if self._fixed is None else self._fixed.read(contexts)
        if self._n_columns not in (None, array.shape[1]):
            raise InputError(f"contexts have {array.shape[1]} columns, those before had {self._n_columns}")
        return array

    def add(self, contexts: Floats) -> Ints:
        """Return the row (n,) of each of ``contexts`` (n, d); new ones get the next numbers, from 0 up."""
        rows = [self._rows.setdefault(key, len(self._rows)) for key in self._keys(contexts)]
        self._n_columns = contexts.shape[1]
        return np.array(rows, dtype=np.int64)

    def find(self, contexts: Any) -> Ints:
        """Return the row (n,) of each of ``contexts`` (n, d); raises InputError where one is unknown."""
        rows = [self._rows.get(key, -1) for key in self._keys(self.read(contexts))]
        if -1 in rows:
            raise InputError(
                f"context {rows.index(-1)} is none of those that the oracle was opened on; "
                "where contexts arrive later, ask a GrowingOracle (milpcb.oracles.growing)"
            )
        return np.array(rows, dtype=np.int64)

    def _keys(self, contexts: Floats) -> list[bytes]:
        patterns = np.asarray(contexts if self._fixed is None else self._fixed.patterns(contexts))
        if patterns.dtype != np.int64:
            patterns = patterns + 0  # so that -0.0 is 0.0
        return [pattern.tobytes() for pattern in patterns]


def _count_of(log: float) -> str:
    """Return the number with this natural log: in digits up to a million, else to one digit."""
    if log < np.log(1e6):
        return spaced(round(np.exp(log)))
    digits = log / np.log(10.0)
    return f"{10 ** (digits % 1):.0f}e{int(digits)}"


class _Grouping:
    def __init__(self, group: Ints) -> None:
        self.group = group
        self._order = np.argsort(group, kind="stable")
        self._starts = np.searchsorted(group[self._order], np.arange(group.max(initial=-1) + 1))
        self._trivial = len(self._starts) == len(group) and bool((self._order == np.arange(len(group))).all())

    def add_up(self, costs: Floats) -> Floats:
        """Return (g, K) sums of the rows (m, K) of each group."""
        return costs if self._trivial else np.add.reduceat(costs.take(self._order, axis=0), self._starts)
