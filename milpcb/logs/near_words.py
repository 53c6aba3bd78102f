"""The rules that do as well as the best, in sentences."""

from __future__ import annotations

from milpcb.core.decimals import fixed
from milpcb.core.text import listed
from milpcb.logs.findings import Findings
from milpcb.logs.near import AsGood
from milpcb.logs.unit import Unit


def near(found: Findings) -> list[str]:
    """Return how many rules do as well, what they all read, and where they differ; [] where it was not asked."""
    if found.near is None:
        return []
    return [_how_many(found, found.near), _needed(found.near), _contested(found.near)]


def no_near(found: Findings) -> str:
    """Return why there are no such rules; "" where there are."""
    if found.near is not None:
        return ""
    if found.own_way:
        return "Other rules are not compared with one by --no-worse, --monotone or --objective guaranteed."
    return "Not asked (--draws 0): --near AMOUNT counts the rules that look worth so much less at most."


def _how_many(found: Findings, near: AsGood) -> str:
    if near.slack is None:
        which = f"of this kind are not shown to be worse than the best of them ({found.questions.level:.0%} confidence)"
    else:
        which = f"of this kind look worth at most {Unit.of(found).gain(near.slack)} less than the best of them"
    if near.count is None:
        return f"How many rules {which} was not counted, as the log has too many different rows."
    if near.exact and near.count == 1:
        return f"No other rules {which}."
    only = " These data do not distinguish them; which of them looks best may be chance." if near.slack is None else ""
    return f"{'' if near.exact else 'More than '}{fixed(near.count, 0)} rules {which}.{only}"


def _needed(near: AsGood) -> str:
    if not near.needed:
        return "No column is needed: whichever one is left out, some of these rules remain."
    names = [f"'{name}'" for name in near.needed]
    without = "it" if len(names) == 1 else "one of these"
    return f"All of them read {listed(names)}: without {without} no rule does as well."


def _contested(near: AsGood) -> str:
    if not near.contested:
        return f"They all do the same in all of the {fixed(near.looked_at, 0)} rows that were looked at."
    share = f"{near.contested / near.looked_at:.1%}"
    contested, seen = fixed(near.contested, 0), fixed(near.looked_at, 0)
    return f"They do not all do the same in {contested} of the {seen} rows looked at ({share})."
