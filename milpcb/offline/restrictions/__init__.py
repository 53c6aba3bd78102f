"""Restrictions of a policy and their prices: what it costs to forbid a feature, or to treat groups alike."""

from milpcb.offline.question import Question
from milpcb.offline.restrictions.prices import (
    FrontPoint,
    GainBand,
    Price,
    gain_band,
    pareto,
    prices,
)
from milpcb.offline.restrictions.restriction import First, Option, Restriction, Under, Without

__all__ = [
    "First",
    "FrontPoint",
    "GainBand",
    "Option",
    "Price",
    "Question",
    "Restriction",
    "Under",
    "Without",
    "gain_band",
    "pareto",
    "prices",
]
