"""Prices of wishes about a policy: to forbid a feature, to ask another question first, to treat groups alike.

The price of a wish is the least total cost of the policies that grant it, less that of the whole class. Each class of
such policies is the class again with fewer columns, other options or a further side constraint, so a price is one exact
query (two for every cut, for the first question of a tree), asked of the oracles that are there.
"""

from milpcb.offline.arguing.first_question import First
from milpcb.offline.arguing.monotone import InOrder, Monotone
from milpcb.offline.arguing.pareto import FrontPoint, pareto, supported
from milpcb.offline.arguing.prices import GainBand, Price, banded_prices, gain_band, price_intervals, prices
from milpcb.offline.arguing.question import Option, Question, Under, Wish, Without, alike, keep

__all__ = [
    "First",
    "FrontPoint",
    "GainBand",
    "InOrder",
    "Monotone",
    "Option",
    "Price",
    "Question",
    "Under",
    "Wish",
    "Without",
    "alike",
    "banded_prices",
    "gain_band",
    "keep",
    "pareto",
    "price_intervals",
    "prices",
    "supported",
]
