"""Restrictions of a policy and their prices: the loss from forbidding a feature, or from treating groups alike."""

from milpcb.offline.question import Question
from milpcb.offline.restrictions.prices import FrontPoint, GainBand, Price, gain_band, pareto, prices

__all__ = ["FrontPoint", "GainBand", "Price", "Question", "gain_band", "pareto", "prices"]
