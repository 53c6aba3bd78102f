"""Restrictions of a policy and their prices: what it costs to forbid a feature, or to treat groups alike."""

from milpcb.offline.question import Question
from milpcb.offline.restrictions.prices import FrontPoint, GainBand, Price, gain_band, pareto, prices

__all__ = ["FrontPoint", "GainBand", "Price", "Question", "gain_band", "pareto", "prices"]
