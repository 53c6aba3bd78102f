"""Restrictions of a policy and their prices: what it costs to forbid a feature, or to treat groups alike."""

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
