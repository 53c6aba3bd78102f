"""What ``milpcb solve --near`` prints of the policies that cost nearly as little as the best."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
from rich.table import Table

from milpcb.errors import InputError

if TYPE_CHECKING:
    from milpcb.oracles.near_best import NearBest
    from milpcb.types import Floats

SHOWN = 3  # policies side by side


def lines(found: NearBest) -> Iterator[str]:
    """Yield how many policies there are, on how many contexts their actions differ, and which features they need."""
    more = "" if found.exact else "more than "
    are = "policy costs" if found.exact and found.count == 1 else "different policies cost"
    yield f"near: {more}{found.count:,} {are} at most {found.slack:g} more than the least"
    contested = int((~found.agreed).sum())
    yield f"contested: on {contested:,} of {len(found.agreed):,} contexts they do not all play the same action"
    yield f"needed: {_needed(found)}"


def _needed(found: NearBest) -> str:
    """Return which features all of them read, and how much dearer the best policy without each is."""
    try:
        prices = found.features
    except InputError:
        return "policies of a list read no features"
    needed = [f"{name} ({_dearer(prices[name])} without it)" for name in found.needed]
    return f"{', '.join(needed)}; no other feature is" if needed else "no feature; each of them can be left out"


def _dearer(price: float) -> str:
    return f"{price:g} more" if price < np.inf else "no policy"


def beside(found: NearBest, contexts: Floats, costs: Floats) -> Table:
    """Return the best policy and those that differ most from it, side by side."""
    policies = found.different(SHOWN)
    totals = [float(costs[np.arange(len(costs)), policy.predict(contexts)].sum()) for policy in policies]
    table = Table(*(f"cost {total:.12g}" for total in totals))
    table.add_row(*map(str, policies))
    return table
