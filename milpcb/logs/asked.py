"""The limits on a policy in words: what each asks for, what the policy does, and whether it is kept."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import isnan
from typing import Any

import numpy as np
import polars as pl

from milpcb.constraints.by_names import Always, Never, RateParity, ShareAtMost, groups
from milpcb.core.decimals import fixed, number
from milpcb.data.actions import places
from milpcb.data.columns import Values
from milpcb.data.conditions import holds
from milpcb.data.schema import read_columns
from milpcb.offline import NoWorseThan
from milpcb.types import Bools, Floats

CLOSE = 1e-9  # shares that differ by less are equal
TOO_FEW = "too few events of this outcome in the log for any confidence"
USED_UP = 0.0005  # of all rows: with less to spare, a limit is called used up


@dataclass(frozen=True)
class Kept:
    """One thing that was asked, what the policy does, whether that keeps it, None for not known, and how closely."""

    asked: str
    does: str
    kept: bool | None
    closely: str

    @property
    def verdict(self) -> str:
        """Whether it is kept, and how closely."""
        words = "not known" if self.kept is None else "kept" if self.kept else "not kept"
        return f"{words}; {self.closely}"


@dataclass(frozen=True)
class _Played:
    """What is played in some rows: names (n,), the columns of the rows, and their weight (n,)."""

    names: Values
    values: Mapping[str, Values]
    weight: Floats

    def rate(self, action: Any, where: Bools | None = None) -> float:
        """Return the share of the rows (or of those ``where``) that get an action; NaN where there are none."""
        here = np.ones(len(self.names), dtype=bool) if where is None else where
        whole = self.weight[here].sum()
        return float(self.weight[here & (self.names == action)].sum() / whole) if whole else float("nan")


def what_is_kept(constraints: Any, policy: Any, frame: pl.DataFrame, weight: Floats) -> list[Kept]:
    """Return for each of the named constraints what a policy does in the rows of ``frame``, with their ``weight``."""
    names = np.asarray(policy.predict_names(frame), dtype=object)
    played = _Played(names, read_columns(frame, frame.columns, frame.columns), weight)
    return [KINDS[type(constraint)](constraint, played) for constraint in constraints]


def _share(asked: ShareAtMost, played: _Played) -> Kept:
    rate = played.rate(asked.action)
    return Kept(
        f"'{asked.action}' for at most {100 * asked.share:.4g} % of the rows",
        f"gives it to {rate:.1%}",
        rate <= asked.share + CLOSE,
        _spare(asked.share - rate, "the limit"),
    )


def _parity(asked: RateParity, played: _Played) -> Kept:
    every = {
        value: played.rate(asked.action, where) for value, where in groups(played.values[str(asked.group)]).items()
    }
    rates = {value: rate for value, rate in every.items() if not isnan(rate)}  # of groups that have rows
    apart = max(rates.values()) - min(rates.values())
    each = ", ".join(f"{value} {rate:.1%}" for value, rate in rates.items())
    return Kept(
        f"rates of '{asked.action}' by {asked.group} within {100 * asked.delta:.4g} points of each other",
        f"{each}: {100 * apart:.1f} points apart",
        apart <= asked.delta + CLOSE,
        _spare(asked.delta - apart, "the limit"),
    )


def _never(asked: Never, played: _Played) -> Kept:
    where = holds(str(asked.where), played.values)
    right = (played.names == asked.action) == asked.other
    broken, rows = int((where & ~right & (played.weight > 0)).sum()), int(where.sum())
    others = "others" if asked.other else "it"
    return Kept(
        f"'{asked.action}' {'always' if asked.other else 'never'} where {asked.where}",
        f"gives {others} in {fixed(broken, 0)} of the {fixed(rows, 0)} rows there" if rows else "there is no such row",
        not broken,
        "in every row" if not broken else f"broken in {fixed(broken, 0)} rows",
    )


def _no_worse(asked: NoWorseThan, played: _Played) -> Kept:
    labels = places("action of the policy", played.names, asked.outcome.actions)
    own = float(np.average(asked.outcome.table[np.arange(len(labels)), labels], weights=played.weight))
    error = float(asked.outcome.table.std() / np.sqrt(len(labels)))
    sign = 1.0 if asked.outcome.maximise else -1.0
    other = sign * float(np.average(asked.base(None), weights=played.weight))
    return Kept(
        asked.name,
        f"gives {number(own, error)} by the log, beside {number(other, error)}",
        True if asked.enough_events else None,
        f"among all such people, with {100 * asked.confidence:.10g} % confidence" if asked.enough_events else TOO_FEW,
    )


def _spare(left: float, limit: str) -> str:
    points = 100 * abs(left)
    if left < -CLOSE:
        return f"{points:.1f} points beyond {limit}"
    return f"{limit} is used up" if left < USED_UP else f"{points:.1f} points to spare"


KINDS: dict[type, Callable[[Any, _Played], Kept]] = {
    ShareAtMost: _share,
    RateParity: _parity,
    Never: _never,
    Always: _never,
    NoWorseThan: _no_worse,
}
