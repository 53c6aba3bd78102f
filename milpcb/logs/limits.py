"""Limits on a policy: the text of ``--no-worse``, and whether a policy keeps all that was asked for."""

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from math import isnan
from typing import Any

import numpy as np

from milpcb.constraints.by_names import Always, Never, RateParity, ShareAtMost, groups
from milpcb.core.decimals import fixed, percent
from milpcb.data.actions import places
from milpcb.data.columns import Values, as_number
from milpcb.data.conditions import holds
from milpcb.data.schema import read_columns
from milpcb.errors import InputError, UnknownNameError
from milpcb.logs.sections import Unit
from milpcb.logs.source import ScoredRows
from milpcb.offline import NoWorseThan, no_worse_for_each, no_worse_than
from milpcb.types import Bools, Floats

TODAY = "today"  # what was done
FEWEST = 200  # draws, where no claims are asked for
SIDES = {"<=": "most", ">=": "least"}
FORM = (
    "write COLUMN at most WHAT, or COLUMN at least WHAT; WHAT is a number, an action or today, perhaps + a margin, and "
    "perhaps for each COLUMN"
)
_SIDE = re.compile(r"\s+at (most|least)\s+|\s*(<=|>=)\s*")
_EACH = re.compile(r"^(.+?)\s+for each\s+(.+)$")
_MARGIN = re.compile(r"^(.+?)\s+([+-])\s+([\d.eE+-]+)$")


@dataclass(frozen=True)
class Limit:
    """A limit on a column, in each group of ``each`` if that names one; see milpcb.offline.no_worse_than."""

    text: str
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
    return _parts(text)[0]


def limit_of(text: str, actions: Sequence[str]) -> Limit:
    """Return the limit that a string describes; raises InputError, UnknownNameError."""
    column, side, what = _parts(text)
    maximise = side == "least"
    margin, each = 0.0, ""
    if what not in actions and (by := _EACH.match(what)):
        what, each = by.groups()
    found = None if what in actions else _MARGIN.match(what)
    if found:
        what, sign, amount = found.groups()
        margin = _number(amount, text) * (1 if (sign == "+") != maximise else -1)
    return Limit(text, column, maximise, _than(what, actions, text), margin, each)


def _parts(text: str) -> tuple[str, str, str]:
    sides = list(_SIDE.finditer(text.strip()))
    column, what = (text.strip()[: sides[0].start()], text.strip()[sides[0].end() :]) if sides else ("", "")
    if len(sides) != 1 or not (column and what):
        raise InputError(f"cannot read --no-worse '{text}': {FORM}")
    return column, sides[0][1] or SIDES[sides[0][2]], what


def _than(what: str, actions: Sequence[str], text: str) -> float | str | None:
    if what in actions:
        return what
    if what == TODAY:
        return None
    if as_number(what) is None:
        raise UnknownNameError("action of --no-worse", what, [*actions, TODAY])
    return _number(what, text)


def _number(number: str, text: str) -> float:
    found = as_number(number)
    if found is None or not math.isfinite(found):
        raise InputError(f"cannot read --no-worse '{text}': '{number}' is no finite number; {FORM}")
    return float(found)


CLOSE = 1e-9  # shares that differ by less are equal
TOO_FEW = "too few events of this outcome in the log for any confidence"
WAYS = {"more": "down", "less": "up"}  # where the action never goes as a column grows
USED_UP = 0.0005  # of all rows: with less to spare, a limit is called used up


Kept = tuple[str, str, str]  # what was asked, what the policy does, and whether and how closely that keeps it


@dataclass(frozen=True)
class _Played:
    """Actions played in some rows: names (n,), the columns of the rows, and their weight (n,)."""

    names: Values
    values: Mapping[str, Values]
    weight: Floats

    def rate(self, action: Any, where: Bools | None = None) -> float:
        """Return the share of the rows (or of those ``where``) that get an action; NaN where there are none."""
        here = np.ones(len(self.names), dtype=bool) if where is None else where
        whole = self.weight[here].sum()
        return float(self.weight[here & (self.names == action)].sum() / whole) if whole else float("nan")


def what_is_kept(estimator: Any, rows: ScoredRows, *, guarded: bool = True) -> tuple[Kept, ...]:
    """Return what a rule keeps in some rows; limits on other outcomes are of the rows learnt from, ``guarded`` ones."""
    names = np.asarray(estimator.policy_.predict_names(rows.frame), dtype=object)
    columns = read_columns(rows.frame, rows.frame.columns, rows.frame.columns)
    played = _Played(names, columns, rows.scores.weight)
    rules = [rule for rule in estimator.constraints if not isinstance(rule, NoWorseThan)]
    limits = [rule for rule in estimator.constraints if isinstance(rule, NoWorseThan) and guarded]
    together = groupby(limits, key=lambda rule: rule.asked)
    order = [
        (f"'{name}' {way}", f"never goes {WAYS[way]} in the order of the actions", "kept; whatever the others are")
        for name, way in (estimator.monotone or {}).items()
    ]
    kept = (KINDS[type(rule)](rule, played) for rule in rules)
    return (*kept, *(_no_worse(list(each), played) for _, each in together), *order)


def _share(asked: ShareAtMost, played: _Played) -> Kept:
    rate, limit = played.rate(asked.action), f"'{asked.action}' for at most {percent(asked.share)} of the rows"
    return limit, f"gives it to {percent(rate, 1)}", _closely(asked.share - rate)


def _parity(asked: RateParity, played: _Played) -> Kept:
    parts = groups(played.values[str(asked.group)]).items()
    every = {value: played.rate(asked.action, where) for value, where in parts}
    rates = {value: rate for value, rate in every.items() if not isnan(rate)}  # of groups that have rows
    apart = max(rates.values()) - min(rates.values())
    each = ", ".join(f"{value} {percent(rate, 1)}" for value, rate in rates.items())
    limit = f"rates of '{asked.action}' by {asked.group} within {100 * asked.delta:.4g} points of each other"
    return limit, f"{each}: {100 * apart:.1f} points apart", _closely(asked.delta - apart)


def _closely(left: float) -> str:
    points = f"{100 * abs(left):.1f} points"
    if left < -CLOSE:
        return f"not kept; {points} beyond the limit"
    return "kept; the limit is used up" if left < USED_UP else f"kept; {points} to spare"


def _never(asked: Never, played: _Played) -> Kept:
    where = holds(str(asked.where), played.values)
    right = (played.names == asked.action) == asked.other
    broken, rows = int((where & ~right & (played.weight > 0)).sum()), int(where.sum())
    limit = f"'{asked.action}' {'always' if asked.other else 'never'} where {asked.where}"
    if not rows:
        return limit, "there is no such row", "kept; in every row"
    does = f"gives {'others' if asked.other else 'it'} in {fixed(broken, 0)} of the {fixed(rows, 0)} rows there"
    return limit, does, f"not kept; broken in {fixed(broken, 0)} rows" if broken else "kept; in every row"


def _no_worse(asked: Sequence[NoWorseThan], played: _Played) -> Kept:
    first, enough = asked[0], all(each.enough_events for each in asked)
    found = [(each.group, *_beside(each, played)) for each in asked]
    sure = f"{first.sure}{' each' if first.by else ''}"
    does = f"gives {found[0][1]} by the log, beside {found[0][2]}"
    if first.by:
        does = "gives by the log " + "; ".join(f"{own} beside {other} ({group})" for group, own, other in found)
    return first.asked, does, f"kept; among all such people, {sure}" if enough else f"not known; {TOO_FEW}"


def _beside(asked: NoWorseThan, played: _Played) -> tuple[str, str]:
    labels = places("action of the policy", played.names, asked.outcome.actions)
    outcome, weight = asked.outcome, asked.outcome.weight  # 0 outside a group
    own = float(np.average(outcome.table[np.arange(len(labels)), labels], weights=weight))
    other = float(np.average(asked.base(), weights=weight)) * (1 if outcome.maximise else -1)
    unit = Unit.of_scores("", outcome, error=float(outcome.table.std() / np.sqrt((weight > 0).sum())))
    return unit.value(own), unit.value(other) + (" of 100" if unit.binary else "")


KINDS: dict[type, Callable[[Any, _Played], Kept]] = {
    ShareAtMost: _share,
    RateParity: _parity,
    Never: _never,
    Always: _never,
}
