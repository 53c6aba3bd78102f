"""Limits on a policy: the text of ``--no-worse``, and whether a policy keeps all limits and constraints."""

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import numpy as np

from milpcb.constraints.by_names import Always, Never, RateParity, ShareAtMost
from milpcb.core.decimals import fixed, percent
from milpcb.data.actions import places
from milpcb.data.columns import Values, as_number, groups
from milpcb.data.conditions import holds
from milpcb.data.schema import read_columns
from milpcb.errors import InputError, UnknownNameError
from milpcb.logs.sections import Unit
from milpcb.logs.source import ScoredRows
from milpcb.offline import NoWorseThan, no_worse_for_each, no_worse_than
from milpcb.types import Floats

TODAY = "today"  # what was done
FEWEST = 200  # draws, where no claims are asked for
FORM = (
    "write COLUMN at most WHAT, or COLUMN at least WHAT; WHAT is a number, an action or today, perhaps + a margin, and "
    "perhaps for each COLUMN"
)
LIMIT = re.compile(
    r"(?P<column>.+?)(?P<side> at most | at least | ?<= ?| ?>= ?)(?P<than>.+?)"
    r"( (?P<sign>[+-]) (?P<margin>[\d.eE+-]+))?( for each (?P<each>.+))?"
)


@dataclass(frozen=True)
class Limit:
    """A limit on a column, for each group of the column ``each`` if there is one; see milpcb.offline.no_worse_than."""

    column: str
    maximise: bool
    than: float | str | None
    margin: float = 0.0
    each: str = ""

    def guards(self, rows: ScoredRows, **options: Any) -> list[NoWorseThan]:
        """Return the limit on some rows, one for each group; ``options``: ``confidence``, ``draws``, ``seed``."""
        second = rows.by_outcome(self.column, maximise=self.maximise)
        asked = {"outcome": second, "margin": self.margin, "what": f"'{self.column}'", **options}
        if not self.each:
            return [no_worse_than(self.than, **asked)]
        groups = rows.source.table[self.each][rows.numbers].to_list()
        return no_worse_for_each(self.than, groups, by=self.each, **asked)


def column_of(text: str) -> str:
    """Return the column that a limit is on; raises InputError."""
    return _matched(text)["column"]


def limit_of(text: str, actions: Sequence[str]) -> Limit:
    """Return the limit that a string describes; raises InputError, UnknownNameError."""
    found = _matched(text)
    than, maximise = found["than"], found["side"].strip() in {"at least", ">="}
    margin = _number(found["margin"] or "0", text) * (1 if (found["sign"] == "+") != maximise else -1)
    if than not in (*actions, TODAY) and as_number(than) is None:
        raise UnknownNameError("action of --no-worse", than, [*actions, TODAY])
    of = than if than in actions else None if than == TODAY else _number(than, text)
    return Limit(found["column"], maximise, of, margin, found["each"] or "")


def _matched(text: str) -> dict[str, str]:
    found = LIMIT.fullmatch(" ".join(text.split()))
    if found is None:
        raise InputError(f"cannot read --no-worse '{text}': {FORM}")
    return found.groupdict()


def _number(number: str, text: str) -> float:
    found = as_number(number)
    if found is None or not math.isfinite(found):
        raise InputError(f"cannot read --no-worse '{text}': '{number}' is no finite number; {FORM}")
    return float(found)


CLOSE = 1e-9  # shares that differ by less are equal
TOO_FEW = "too few events of this outcome in the log for any confidence"
WAYS = {"more": "down", "less": "up"}  # where the action never goes as a column grows
Kept = tuple[str, str, str]  # what was asked, what the policy does, and whether and how closely that keeps it


@dataclass(frozen=True)
class _Played:
    """Actions played in some rows: names (n,), the columns of the rows, and their weight (n,)."""

    names: Values
    values: Mapping[str, Values]
    weight: Floats

    def rate(self, action: Any, where: Any = True) -> float:
        """Return the share of the rows (or of those ``where``) that get an action; NaN where there are none."""
        weight = self.weight * where
        return float(weight[self.names == action].sum() / weight.sum()) if weight.any() else float("nan")


def what_is_kept(estimator: Any, rows: ScoredRows) -> tuple[Kept, ...]:
    """Return the limits and constraints with the rule's values in the rows that it was learnt from."""
    names = np.asarray(estimator.policy_.predict_names(rows.frame), dtype=object)
    columns = read_columns(rows.frame, rows.frame.columns, rows.frame.columns)
    played = _Played(names, columns, rows.scores.weight)
    rules = [rule for rule in estimator.constraints if not isinstance(rule, NoWorseThan)]
    limits = [rule for rule in estimator.constraints if isinstance(rule, NoWorseThan)]
    together = groupby(limits, key=lambda rule: rule.asked)
    order = [
        (f"'{name}' {way}", f"never goes {WAYS[way]} in the order of the actions", "kept")
        for name, way in (estimator.monotone or {}).items()
    ]
    kept = (KINDS.get(type(rule), _other)(rule, played) for rule in rules)
    return (*kept, *(_no_worse(list(each), played) for _, each in together), *order)


def _share(asked: ShareAtMost, played: _Played) -> Kept:
    rate, limit = played.rate(asked.action), f"'{asked.action}' for at most {percent(asked.share)} of the rows"
    return limit, f"gives it to {percent(rate, 1)}", _closely(asked.share - rate)


def _parity(asked: RateParity, played: _Played) -> Kept:
    parts = groups(played.values[str(asked.group)]).items()
    every = {value: played.rate(asked.action, where) for value, where in parts}
    rates = {value: rate for value, rate in every.items() if not math.isnan(rate)}  # of groups that have rows
    apart = max(rates.values()) - min(rates.values())
    each = ", ".join(f"{value} {percent(rate, 1)}" for value, rate in rates.items())
    limit = f"rates of '{asked.action}' by {asked.group} within {100 * asked.delta:.4g} points of each other"
    return limit, f"{each}: {100 * apart:.1f} points apart", _closely(asked.delta - apart)


def _closely(left: float) -> str:
    points = f"{100 * abs(left):.1f} points"
    return f"not kept; {points} beyond the limit" if left < -CLOSE else f"kept; {points} to spare"


def _never(asked: Never, played: _Played) -> Kept:
    where = holds(str(asked.where), played.values)
    right = (played.names == asked.action) == asked.other
    broken, rows = int((where & ~right & (played.weight > 0)).sum()), int(where.sum())
    limit = f"'{asked.action}' {'always' if asked.other else 'never'} where {asked.where}"
    does = f"gives {'others' if asked.other else 'it'} in {fixed(broken, 0)} of the {fixed(rows, 0)} rows there"
    return limit, does, "not kept" if broken else "kept; in every row"


def _other(asked: Any, _played: _Played) -> Kept:
    own = ", ".join(f"{name} = {value}" for name, value in vars(asked).items() if value is not None)
    return f"{type(asked).__name__} ({own})", "", "kept"


def _no_worse(asked: Sequence[NoWorseThan], played: _Played) -> Kept:
    first, enough = asked[0], all(each.enough_events for each in asked)
    does = "; ".join(f"{_beside(each, played)}{f' ({each.group})' if each.by else ''}" for each in asked)
    kept = f"kept; among all such people, {first.sure}{' each' if first.by else ''}"
    return first.asked, f"gives by the log {does}", kept if enough else f"not known; {TOO_FEW}"


def _beside(asked: NoWorseThan, played: _Played) -> str:
    labels = places("action of the policy", played.names, asked.outcome.actions)
    outcome, weight = asked.outcome, asked.outcome.weight  # 0 outside a group
    own = float(np.average(outcome.table[np.arange(len(labels)), labels], weights=weight))
    other = float(np.average(asked.base(), weights=weight)) * (1 if outcome.maximise else -1)
    unit = Unit.of_scores("", outcome, error=float(outcome.table.std() / np.sqrt((weight > 0).sum())))
    return f"{unit.value(own)} beside {unit.value(other)}{' of 100' if unit.binary else ''}"


KINDS: dict[type, Callable[[Any, _Played], Kept]] = {
    ShareAtMost: _share,
    RateParity: _parity,
    Never: _never,
    Always: _never,
}
