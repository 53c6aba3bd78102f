"""Learners, one or one family a file. None of them sees a policy class, a program or a solver."""

from milpcb.learners.around import Doubling, Guarded
from milpcb.learners.base import Learner
from milpcb.learners.bistro_plus import BistroPlus
from milpcb.learners.comparators import BestInHindsight, Uniform
from milpcb.learners.conservative import Conservative
from milpcb.learners.enumerated import Exp4P, Hedge, PolicyElimination
from milpcb.learners.exp4 import Exp4, Forgetting
from milpcb.learners.fixed_share import FixedShare
from milpcb.learners.ftpl import ContextualFTPL
from milpcb.learners.greedy import EpochGreedy, EpsilonGreedy, ExploreThenCommit
from milpcb.learners.low_variance import ILoveToConBandits, RandomizedUCB
from milpcb.learners.rivals import VW, ContextualBandits

__all__ = [
    "VW", "BestInHindsight", "BistroPlus", "Conservative", "ContextualBandits", "ContextualFTPL", "Doubling",
    "EpochGreedy", "EpsilonGreedy", "Exp4", "Exp4P", "ExploreThenCommit", "FixedShare", "Forgetting", "Guarded",
    "Hedge", "ILoveToConBandits", "Learner", "PolicyElimination", "RandomizedUCB", "Uniform",
]  # fmt: skip
