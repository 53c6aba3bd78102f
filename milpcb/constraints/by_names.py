"""Side constraints by names: what open_oracle, Bandit, estimators and ``[[constraints]]`` of a config take.

A constraint needs a few tables that are summed over the rows of a fit or the decisions so far (``tables``), and makes
LabelConstraints of the sums (``rules``). These hold on these rows; on other rows shares and means may differ.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, permutations
from math import fsum
from typing import Any, ClassVar, cast

import numpy as np
import numpy.typing as npt

from milpcb.constraints.linear import LabelConstraint, NamedConstraint, NamedRows, Pair, mean_rules
from milpcb.core.checks import number_array, real, several
from milpcb.data.columns import groups
from milpcb.data.conditions import holds
from milpcb.data.frames import named_rows, table_names
from milpcb.data.schema import read_columns
from milpcb.errors import InputError, shown
from milpcb.plugins import registry
from milpcb.types import Floats

Action = bool | int | float | str  # the name of an action, or its number
Weights = str | float | Sequence[float] | npt.NDArray[Any]  # the name of a column, or a number for each row


@dataclass(frozen=True)
class ShareAtMost(NamedConstraint):
    """At most a share of the rows get an action.

    Parameters
    ----------
    action : name of the action, or its number where actions have none
    share : from 0 to 1
    weights : counts rows unequally: a number for each row, or the name of a column; none is negative

    """

    action: Action
    share: float
    weights: Weights | None = None
    word: ClassVar[str] = "share_at_most"

    def __post_init__(self) -> None:
        _check_share("share", self.share)
        object.__setattr__(self, "weights", _plain_weights(self.weights))

    def tables(self, rows: NamedRows) -> dict[str, Floats]:
        """Return 1 for the action, times the weights."""
        return rows.weighted(rows.table(np.ones(len(rows)), self.action), self.weights)

    def rules(self, sums: Mapping[str, Floats], weight: float) -> list[LabelConstraint]:
        """Return the constraint."""
        return mean_rules(sums, self.share, weight, f"{called(self.action)} on at most {self.share:g} of the rows")


@dataclass(frozen=True)
class RateParity(NamedConstraint):
    """The rates of an action in any two groups differ by little.

    Parameters
    ----------
    action : name of the action, or its number where actions have none
    group : name or number of the column whose values are the groups, or a value for each row; missing is a group too
    delta : largest difference of two rates, from 0 to 1

    """

    action: Action
    group: str | int | Sequence[Action | None] | npt.NDArray[Any]
    delta: float
    word: ClassVar[str] = "parity"

    def __post_init__(self) -> None:
        _check_share("delta", self.delta)
        if not isinstance(self.group, str):
            object.__setattr__(self, "group", _plain_group(self.group))

    def tables(self, rows: NamedRows) -> dict[str, Floats]:
        """Return 1 for the action at the members of a group, for each group; missing is a group too."""
        if isinstance(self.group, (str, int)):
            column = rows.column(self.group)
        else:
            table = np.array(self.group)[:, None]
            column = rows.per_row("the values of a group", read_columns(table, ("group",), ("group",))["group"])
        return {group: rows.table(among, self.action) for group, among in groups(column).items()}

    def rules(self, sums: Mapping[str, Floats], weight: float) -> list[LabelConstraint]:
        """Return a constraint for each ordered pair of groups; those of total 0 are left out."""
        del weight
        rates = {group: table / fsum(table.ravel()) for group, table in sums.items() if table.any()}
        family, found = object(), []
        for (i, (one, of_one)), (j, (other, of_other)) in permutations(enumerate(rates.items()), 2):
            above = f"where {self._grouped} is {one} at most {self.delta:g} above where it is {other}"
            name, pair = f"rate of {called(self.action)} {above}", Pair(family, i, j)
            found.append(LabelConstraint(of_one - of_other, float(self.delta), name, pair))
        return found

    def bind(self, rows: NamedRows) -> list[LabelConstraint]:
        """Return the constraints on rows; raises InputError where there is one group only."""
        found = super().bind(rows)
        if not found:
            raise InputError(f"{self._grouped} has one value only, so parity has no two groups to compare")
        return found

    @property
    def _grouped(self) -> str:
        if isinstance(self.group, (str, int)):
            return self.group if isinstance(self.group, str) else f"column {self.group}"
        return "group"


@dataclass(frozen=True)
class MeanAtMost(NamedConstraint):
    """A second outcome, such as the part of a budget that an action uses, is bounded on average over the rows.

    Parameters
    ----------
    amounts : maps names of actions to their amounts: a number, the name of a column with one for each row, or a number
        for each row; actions that are not named use nothing. Or a table with a number for each action: one row, or one
        for each row
    bound : the largest mean
    weights : of a weighted mean, as of share_at_most

    """

    amounts: Mapping[Any, Any] | Sequence[Any] | npt.NDArray[Any]
    bound: float
    weights: Weights | None = None
    word: ClassVar[str] = "mean_at_most"

    def __post_init__(self) -> None:
        real("the bound on the mean", self.bound, "finite", lambda _number: True)
        object.__setattr__(self, "amounts", _plain_amounts(self.amounts))
        object.__setattr__(self, "weights", _plain_weights(self.weights))

    def tables(self, rows: NamedRows) -> dict[str, Floats]:
        """Return the amount of each action, times the weights."""
        amounts = self._by_action(rows.actions).items()
        each = [rows.table(rows.numbers("amounts", amount), action) for action, amount in amounts]
        return rows.weighted(np.sum(each, axis=0), self.weights)

    def rules(self, sums: Mapping[str, Floats], weight: float) -> list[LabelConstraint]:
        """Return the constraint."""
        of = f"of {', '.join(map(called, self.amounts))} " if isinstance(self.amounts, Mapping) else ""
        return mean_rules(sums, self.bound, weight, f"mean {of}at most {self.bound:g}")

    def named(self, actions: Sequence[Any]) -> set[int]:
        """Return the numbers of the actions that are named, by a table all."""
        return {NamedRows({}, actions).number(action) for action in self._by_action(actions)}

    def _by_action(self, actions: Sequence[Any]) -> Mapping[Any, Any]:
        if isinstance(self.amounts, Mapping):
            return self.amounts
        if len(self.amounts) != len(actions):
            raise InputError(f"amounts must have {len(actions)} columns, one for each action, got {len(self.amounts)}")
        return dict(zip(actions, self.amounts, strict=True))


@dataclass(frozen=True)
class Never(NamedConstraint):
    """No row at which a condition holds gets an action.

    Parameters
    ----------
    action : name of the action, or its number where actions have none
    where : the condition, such as ``"age > 45"``, see milpcb.data.conditions
    rows : instead of a condition: row numbers, or a boolean for each row

    """

    action: Action
    where: str | None = None
    rows: Sequence[int] | Sequence[bool] | npt.NDArray[Any] | None = field(default=None, kw_only=True)
    other: ClassVar[bool] = False  # whether it is the other actions that are forbidden
    word: ClassVar[str] = "never"

    def __post_init__(self) -> None:
        if (self.where is None) == (self.rows is None):
            raise InputError(f'{self.word} needs either a condition, such as where="age > 45", or rows=')
        if self.rows is not None:
            object.__setattr__(self, "rows", _plain_rows(self.rows))

    def tables(self, rows: NamedRows) -> dict[str, Floats]:
        """Return 1 in the cells that the constraint forbids."""
        where: Any = self.where
        here = holds(where, rows.values) if self.rows is None else rows.chosen(self.rows)
        return {"": rows.table(here, self.action, others=self.other)}

    def rules(self, sums: Mapping[str, Floats], weight: float) -> list[LabelConstraint]:
        """Return the constraint, none where the condition never holds."""
        del weight
        name = f"{self.word} {called(self.action)} {self._where}"
        return [LabelConstraint(table, 0.0, name) for table in sums.values() if table.any()]

    @property
    def _where(self) -> str:
        if self.rows is None:
            return f"where {self.where}"
        numbers = np.flatnonzero(self.rows) if isinstance(self.rows[0], bool) else np.unique(self.rows)
        return f"on row {numbers[0]}" if len(numbers) == 1 else f"on {len(numbers)} rows"


@dataclass(frozen=True)
class Always(Never):
    """Every row at which a condition holds gets an action.

    Parameters
    ----------
    action : name of the action, or its number where actions have none
    where : the condition, such as ``"age > 45"``, see milpcb.data.conditions
    rows : instead of a condition: row numbers, or a boolean for each row

    """

    other: ClassVar[bool] = True
    word: ClassVar[str] = "always"


share_at_most, parity, mean_at_most, never, always = ShareAtMost, RateParity, MeanAtMost, Never, Always
Constraint = NamedConstraint | LabelConstraint  # what open_oracle takes, and what a name in a config leads to
EVERY_KIND = (NamedConstraint, LabelConstraint)


def listed(constraints: Any, kinds: tuple[type, ...] = (NamedConstraint,)) -> list[Any]:
    """Return one constraint of certain kinds, or several, as a list; raises InputError on anything else."""
    wanted = ", ".join([*registry.BUILTIN["constraint"], *(kind.__name__ for kind in kinds[1:])])
    return [constraints] if isinstance(constraints, kinds) else several("constraints", constraints, kinds, wanted)


def bind_all(constraints: Any, rows: NamedRows) -> list[LabelConstraint]:
    """Return the label constraints of all ``constraints``; raises InputError on anything else."""
    return [rule for constraint in listed(constraints) for rule in constraint.bind(rows)]


def bind_to(constraints: Any, contexts: Any, names: Sequence[str], actions: Sequence[Any]) -> list[LabelConstraint]:
    """Return the label constraints of all ``constraints`` on contexts (m, d), each once: a table or a data frame.

    ``names`` are those of the columns; without any they are x0, x1, ... A data frame has its own, and so have contexts
    that are mappings by names; a name that one of these lacks is missing there. LabelConstraints stay as they are.
    """
    found = listed(constraints, EVERY_KIND)
    if not any(isinstance(each, NamedConstraint) for each in found):  # large contexts are not read for LabelConstraints
        return found
    rows = _rows_of(contexts, names, actions)
    return [rule for each in found for rule in ([each] if isinstance(each, LabelConstraint) else each.bind(rows))]


def bind_for(constraints: Any, policies: Any, contexts: Any) -> list[LabelConstraint]:
    """Return the constraints on contexts, by the names of features and actions of a policy class, opened or not."""
    settings = getattr(policies, "settings", policies)
    actions = getattr(settings, "action_names", None) or range(getattr(policies, "n_actions", 0))
    return bind_to(constraints, contexts, getattr(settings, "feature_names", None) or (), list(actions))


def _rows_of(contexts: Any, names: Sequence[str], actions: Sequence[Any]) -> NamedRows:
    columns, table = table_names(contexts) or tuple(names), contexts
    if rows := named_rows(contexts):
        columns = tuple(dict.fromkeys(chain.from_iterable(rows)))
        table = [{name: row.get(name) for name in columns} for row in rows]
    if not columns and len(shape := np.shape(contexts)) != 2:
        raise InputError(f"contexts must be a table (m, d) for constraints to read, got shape {shape}")
    columns = columns or tuple(f"x{i}" for i in range(np.shape(contexts)[1]))
    return NamedRows(read_columns(table, columns, columns), actions)


def as_document(rule: NamedConstraint) -> dict[str, Any]:
    """Return a constraint as plain data, for ``of_document``; raises InputError if it is not registered as ``word``."""
    known = registry.entries("constraint")
    if rule.word not in known or registry.load("constraint", rule.word) is not type(rule):
        raise InputError(f"a {type(rule).__name__} cannot be saved; of the constraints only {', '.join(known)} can")
    given = {name: value for name, value in vars(rule).items() if name != "weights" or value is not None}
    if isinstance(amounts := given.get("amounts"), Mapping):  # keys in JSON are strings, and actions may be numbers
        given["amounts"] = list(amounts.items())
    elif amounts is not None:
        given["amounts"] = {"table": np.transpose(amounts).tolist()}
    own = {"constraint": rule.word, **given}
    return dict(json.loads(json.dumps(own, default=np.generic.item)))


def of_document(document: Mapping[str, Any]) -> NamedConstraint:
    """Return the constraint of ``as_document``; raises LookupError, TypeError, MilpcbError on anything else."""
    own = {name: entry for name, entry in document.items() if name != "constraint"}
    if "amounts" in own:
        own["amounts"] = own["amounts"]["table"] if isinstance(own["amounts"], Mapping) else dict(own["amounts"])
    return cast("NamedConstraint", registry.load("constraint", document["constraint"])(**own))


def called(action: Any) -> str:
    """Return the name of an action in messages."""
    return action if isinstance(action, str) else f"action {action}"


def _check_share(name: str, given: Any) -> None:
    real(name, given, "between 0 and 1", lambda number: 0.0 <= number <= 1.0)


def _plain_group(given: Any) -> int | tuple[Any, ...]:
    array = np.array(given, dtype=object) if isinstance(given, (list, tuple)) else np.asarray(given)
    if array.ndim == 0 and np.issubdtype(array.dtype, np.integer):
        return int(array)
    entries = tuple(array.tolist()) if array.ndim == 1 else ()
    if not entries or not {list, tuple, dict, set}.isdisjoint(map(type, entries)):
        raise InputError(f"group must be the name or number of a column, or a value for each row, got {shown(given)}")
    return entries


def _plain_numbers(what: str, given: Any) -> str | float | tuple[float, ...]:
    if isinstance(given, str):
        return given
    numbers = number_array(what, given)
    if numbers.ndim > 1 or not numbers.size or not np.isfinite(numbers).all():
        wanted = "a finite number, a finite number for each row, or the name of a column that has one"
        raise InputError(f"{what} must be {wanted}, got {shown(given)}")
    return tuple(numbers.tolist()) if numbers.ndim else float(numbers)


def _plain_amounts(given: Any) -> dict[Any, Any] | list[Any]:
    if isinstance(given, Mapping) and given:
        return {action: _plain_numbers("an amount of mean_at_most", amount) for action, amount in given.items()}
    table = np.atleast_2d(number_array("amounts, by action or as a table,", given))
    if table.ndim != 2 or not np.isfinite(table).all():
        raise InputError(f"amounts must map names of actions to numbers or columns, or be a table, got {shown(given)}")
    return table[0].tolist() if len(table) == 1 else list(map(tuple, table.T.tolist()))


def _plain_weights(given: Any) -> str | float | tuple[float, ...] | None:
    weights = None if given is None else _plain_numbers("weights", given)
    if isinstance(weights, (float, tuple)) and (np.min(weights) < 0 or not np.any(weights)):
        raise InputError(f"weights must not be negative, nor all 0, got {shown(given)}")
    return weights


def _plain_rows(given: Any) -> tuple[int, ...] | tuple[bool, ...]:
    try:
        rows = np.atleast_1d(np.asarray(given))
    except ValueError:  # lists of several lengths
        rows = np.zeros(1)
    is_mask, listed = rows.dtype == bool, rows.ndim == 1 and len(rows)
    if not listed or not (rows.any() if is_mask else np.issubdtype(rows.dtype, np.integer) and rows.min() >= 0):
        wanted = "row numbers, which count from 0, or a boolean for each row, one of them True"
        raise InputError(f"rows must be {wanted}, got {shown(given)}")
    return tuple(rows.tolist())
