"""Restrictions of a policy and their prices: to forbid a feature, to ask another question first, to treat groups alike.

The price of a restriction is the least total cost of the policies that keep it, less that of the whole class. Each
class of such policies is the class again with fewer columns, other options or a further side constraint, so a price is
one exact query (two for every cut, for the first question of a tree), asked of the oracles that are there.
"""

from milpcb.offline.question import Question
from milpcb.offline.restrictions.monotone import InOrder, Monotone
from milpcb.offline.restrictions.prices import (
    FrontPoint,
    GainBand,
    Price,
    gain_band,
    pareto,
    prices,
)
from milpcb.offline.restrictions.restriction import First, Option, Restriction, Under, Without, keep

__all__ = [
    "First",
    "FrontPoint",
    "GainBand",
    "InOrder",
    "Monotone",
    "Option",
    "Price",
    "Question",
    "Restriction",
    "Under",
    "Without",
    "gain_band",
    "keep",
    "pareto",
    "prices",
]
