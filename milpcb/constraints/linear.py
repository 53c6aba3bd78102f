"""The one linear side constraint on policies: as written, and bound to the totals of a search or a solver.

A LabelConstraint is written on the rows of contexts. Bound to an oracle it is a SideConstraint, on the sums by distinct
context and action. A linear map takes that to other sums, such as leaf totals, and everything that keeps constraints
(programs, searches, lists, the reference of a log) reads the same object. A NamedConstraint makes LabelConstraints on
NamedRows.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import fsum
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from milpcb.core.checks import index, number_array, real
from milpcb.core.decimals import spaced
from milpcb.data.actions import action_name, place
from milpcb.data.columns import Values
from milpcb.errors import InputError, SearchTooLargeError, UnknownNameError
from milpcb.types import Bools, Floats, Ints

# "At most upper" allows for rounding: this share of the largest total that the weights can reach, in every oracle.
TOLERANCE = 1e-9
# Weights of parts of policies, in all constraints, that a search sorts: 800 MB, and seconds.
MOST_WEIGHED = 10**8
SORTING = "sorting parts of policies by the weights of side constraints"  # in lines of progress


@dataclass(frozen=True)
class Pair:
    """The numbers of two rates of a family, all of which are to be close: the constraint is on their difference."""

    family: object  # the same one in all pairs of the family, and in no others
    one: int
    other: int


@dataclass(frozen=True, eq=False)
class SideConstraint:
    """The rule ``lower <= total <= upper``, tolerance included, on the total of the weights that a policy uses."""

    weights: Floats  # (g, K) of pairs of a distinct context and an action, as costs are; or (n_terms,) of leaf totals
    lower: float = -np.inf
    upper: float = np.inf
    pair: Pair | None = None  # of rates, if it is a constraint on these

    def holds(self, totals: Floats) -> Bools:
        """Return for each of the totals whether it is within the bounds."""
        return np.asarray((self.lower <= totals) & (totals <= self.upper))

    def keeps(self, labels: Ints) -> bool:
        """Return whether a labeling (g,) keeps the constraint; the weights are (g, K)."""
        return bool(self.holds(self.weights[np.arange(len(labels)), labels].sum()))

    def mapped(self, add_up: Callable[[Floats], Floats]) -> SideConstraint:
        """Return the same rule on other sums, given the linear map from these weights to theirs."""
        return SideConstraint(add_up(self.weights).copy(), self.lower, self.upper)

    def narrowed(self, allowed: Bools) -> tuple[Bools, bool]:
        """Return the cells (g, K) that labelings of ``allowed`` cells use in keeping the rule, and if one breaks it."""
        least = np.where(allowed, self.weights, np.inf).min(axis=1)
        most = np.where(allowed, self.weights, -np.inf).max(axis=1)
        lightest, heaviest = least.sum(), most.sum()
        light = lightest + (self.weights - least[:, None]) <= self.upper
        heavy = heaviest + (self.weights - most[:, None]) >= self.lower
        return allowed & light & heavy, bool(heaviest > self.upper or lightest < self.lower)


@dataclass(frozen=True)
class LabelConstraint:
    """The rule ``sum_j weights[j, pi(x_j)] <= upper`` on a policy pi.

    Parameters
    ----------
    weights : (m, K) over the rows of the contexts, of any sign
    upper : the largest total; one counts as within it up to ``1e-9 * sum_j max_a |weights[j, a]|``
    name : of the constraint in the error when no policy can satisfy it
    pair : set by RateParity: of all these constraints on a family of rates, a solver needs fewer rows

    """

    weights: npt.ArrayLike
    upper: float
    name: str = ""
    pair: Pair | None = None

    def matrix(self, n_contexts: int, n_actions: int) -> Floats:
        """Return the weights as a float array; raises InputError on a wrong shape or a non-finite entry."""
        real("the upper bound of a constraint", self.upper, "a finite number", lambda _upper: True)
        weights = number_array(f"the weights of constraint {self.label}", self.weights)
        if weights.shape != (n_contexts, n_actions):
            fix = f"give one row per context and one column per action: {(n_contexts, n_actions)}"
            raise InputError(f"constraint {self.label} has weights of shape {weights.shape}; {fix}")
        if not np.isfinite(weights).all():
            raise InputError(f"constraint {self.label} has NaN or infinite numbers; give finite weights and bound")
        return weights

    def largest(self, weights: Floats) -> float:
        """Return the largest total that keeps the constraint, for ``weights`` (m, K) as ``matrix`` returns them."""
        return float(self.upper) + TOLERANCE * float(np.abs(weights).max(axis=1).sum())

    def bound(self, n_contexts: int, n_actions: int, add_up: Callable[[Floats], Floats] = np.asarray) -> SideConstraint:
        """Return the constraint on m = ``n_contexts`` contexts; ``add_up`` sums (m, K) by distinct context, (g, K)."""
        weights = self.matrix(n_contexts, n_actions)
        return SideConstraint(add_up(weights), upper=self.largest(weights), pair=self.pair)

    @property
    def label(self) -> str:
        """How messages call the constraint."""
        return f"'{self.name}'" if self.name else f"(upper = {self.upper:g})"


def check_rows(n_rows: int, n_each: int) -> None:
    """Raise SearchTooLargeError where a search cannot sort ``n_each`` parts by ``n_rows`` side constraints."""
    if n_rows * n_each > MOST_WEIGHED:
        what = f"the search sorts {spaced(n_each)} parts of policies by {spaced(n_rows)} weights of side constraints"
        raise SearchTooLargeError(f"{what}, too many; use oracle kind 'milp', fewer groups or a smaller class")


def merged(constraints: Sequence[SideConstraint]) -> list[SideConstraint]:
    """Return the constraints, each together with its negative and its repetitions."""
    found: dict[bytes, SideConstraint] = {}
    for side in constraints:
        key, negative = (side.weights + 0.0).tobytes(), (0.0 - side.weights).tobytes()  # where -0.0 is 0.0
        if negative in found:
            key, lower, upper = negative, -side.upper, -side.lower
        else:
            lower, upper = side.lower, side.upper
        held = found.get(key, SideConstraint(side.weights))
        found[key] = SideConstraint(held.weights, max(held.lower, lower), min(held.upper, upper))
    return list(found.values())


def reduced(constraints: Sequence[SideConstraint], shape: tuple[int, int]) -> tuple[Bools, list[SideConstraint]]:
    """Return the cells (g, K) that may be played, and the constraints that can be broken by playing only these.

    A cell forbidden by one constraint narrows the others, so they are gone through until nothing more is forbidden.
    """
    allowed, before = np.ones(shape, bool), np.zeros(shape, bool)
    breakable: list[SideConstraint] = []
    while (allowed != before).any():
        before, breakable = allowed, []
        for side in constraints:
            allowed, breaks = side.narrowed(allowed)
            if not allowed.any(axis=1).all():
                return allowed, []
            breakable += [side] * breaks
    return allowed, breakable


def conflict(constraints: Sequence[LabelConstraint], feasible: Callable[[list[int]], bool]) -> str:
    """Return the message on constraints that no policy satisfies together; it names a smallest set that conflicts.

    ``feasible(numbers)`` returns whether some policy satisfies the constraints of these numbers. Constraints are left
    out from the first on as long as the others conflict (deletion filter: Chinneck & Dravnieks, ORSA J. Comput. 1991),
    up to each that stays by bisection: those that stay conflict, and without any one of them do not.
    """
    kept: list[int] = []
    first, end = 0, len(constraints)
    while first < end and (not kept or feasible(kept)):
        without = bisect_left(range(first + 1, end), x=True, key=lambda start: feasible([*kept, *range(start, end)]))
        kept.append(first + without)
        first = kept[-1] + 1
    names = ", ".join(constraints[number].label for number in kept)
    if len(kept) == 1:
        return f"no policy of the class satisfies the side constraint {names}; loosen it"
    return f"no policy of the class satisfies the side constraints {names} together; loosen one of them"


@dataclass(frozen=True)
class NamedRows:
    """Rows of a table as constraints read them."""

    values: Mapping[str, Values]  # the columns (n,) by name, in their order
    actions: Sequence[Any]  # their names
    # ``weight`` (n,) of the rows, and ``total``, from a table (n, k) to its weighted sums (g, k) at distinct contexts
    merged: Any = None
    kept: Bools | None = None  # (m,) which of the m rows that were handed in are the n rows here; None for all

    def __len__(self) -> int:
        return len(next(iter(self.values.values())))

    def column(self, column: str | int) -> Values:
        """Return a column (n,) by its name or number; raises UnknownNameError, InputError."""
        names = list(self.values)
        name = column if isinstance(column, str) else names[index("the column of a constraint", column, len(names))]
        if name not in self.values:
            raise UnknownNameError("column of a constraint", name, map(str, names))
        return self.values[name]

    def per_row(self, what: str, given: Any) -> npt.NDArray[Any]:
        """Return the entries of ``given`` for the rows here (n, ...); it has one for each row that was handed in."""
        n = len(self) if self.kept is None else len(self.kept)
        if len(given) != n:
            raise InputError(f"{what} must have an entry for each of the {n} rows, got {len(given)}")
        entries = np.asarray(given)
        return entries if self.kept is None else entries[self.kept]

    def chosen(self, rows: Any) -> Bools:
        """Return which of the rows (n,) are those of ``rows``: row numbers, or a boolean for each row."""
        if isinstance(rows[0], bool):
            return self.per_row("the booleans of rows", rows)
        n = len(self) if self.kept is None else len(self.kept)
        if max(rows) >= n:
            raise InputError(f"row {max(rows)} is outside the {n} rows; rows count from 0")
        return self.per_row("the numbers of rows", np.isin(np.arange(n), rows))

    def numbers(self, what: str, given: Any) -> Floats:
        """Return a number for each row (n,): a number for all, one for each, or the column of this name."""
        if isinstance(given, tuple):
            return self.per_row(what, given)
        if not isinstance(given, str):
            return np.full(len(self), float(given))
        column = self.column(given)
        if column.dtype == object or np.isnan(column).any():
            raise InputError(f"column '{given}' must hold a number in every row for {what}")
        return column

    def number(self, action: Any) -> int:
        """Return the number of an action, matched by name; raises UnknownNameError."""
        return place("action of a constraint", action, [action_name(each) for each in self.actions])

    def table(self, weights: npt.ArrayLike, action: Any, *, others: bool = False) -> Floats:
        """Return a table (n, K) that is ``weights`` (n,) at an action and 0 elsewhere, or the other way round."""
        at = np.arange(len(self.actions)) == self.number(action)
        return np.where(at != others, np.asarray(weights, dtype=float)[:, None], 0.0)

    def weighted(self, table: Floats, weights: Any) -> dict[str, Floats]:
        """Return a table (n, K) times weights of the rows, as ``numbers`` reads them, and these; None are all 1."""
        if weights is None:
            return {"": table}
        each = np.repeat(self.numbers("weights", weights)[:, None], table.shape[1], axis=1)
        if (each < 0).any():
            raise InputError(f"weights must not be negative: column '{weights}' has a number below 0")
        return {"": table * each, "weights": each}


def mean_rules(sums: Mapping[str, Floats], bound: float, weight: float, name: str) -> list[LabelConstraint]:
    """Return the constraint that a mean, of sums of ``NamedRows.weighted``, is at most a bound; none without rows."""
    of = fsum(sums["weights"][:, 0]) if "weights" in sums else weight
    return [LabelConstraint(sums[""], float(bound) * of, name)] if sums else []


class NamedConstraint(ABC):
    """A side constraint that is bound to rows when these are known."""

    word: ClassVar[str] = ""  # the registered name, by which a file names it

    @abstractmethod
    def tables(self, rows: NamedRows) -> dict[str, Floats]:
        """Return named tables (n, K), whose sums over rows ``rules`` needs; raises InputError."""

    @abstractmethod
    def rules(self, sums: Mapping[str, Floats], weight: float) -> list[LabelConstraint]:
        """Return the constraints on contexts (g, K) with these sums of the tables, of rows of total ``weight``."""

    def bind(self, rows: NamedRows) -> list[LabelConstraint]:
        """Return the constraints on rows, or on the contexts that the rows are merged into."""
        tables = self.tables(rows)
        if rows.merged is None:
            return self.rules(tables, float(len(rows)))
        return self.rules({key: rows.merged.total(table) for key, table in tables.items()}, fsum(rows.merged.weight))

    def named(self, actions: Sequence[Any]) -> set[int]:
        """Return the numbers of the actions that the constraint names; raises UnknownNameError on an unknown one."""
        action = getattr(self, "action", None)
        return set() if action is None else {NamedRows({}, actions).number(action)}

    @property
    def by_row(self) -> str:
        """The name of an argument that has an entry for each row of one table; "" for none."""
        for name, value in vars(self).items():
            parts = value.values() if isinstance(value, Mapping) else value if isinstance(value, list) else [value]
            if any(isinstance(part, tuple) for part in parts):
                return name
        return ""
