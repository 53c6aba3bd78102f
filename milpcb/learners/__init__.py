"""Learners, one a file, the greedy ones in one. None of them sees a policy class, a program or a solver."""

from milpcb.learners.base import Learner
from milpcb.learners.best_in_hindsight import BestInHindsight
from milpcb.learners.bistro_plus import BistroPlus
from milpcb.learners.conservative import Conservative
from milpcb.learners.contextualbandits import ContextualBandits
from milpcb.learners.doubling import Doubling
from milpcb.learners.exp4 import Exp4
from milpcb.learners.exp4p import Exp4P
from milpcb.learners.fixed_share import FixedShare
from milpcb.learners.ftpl import ContextualFTPL
from milpcb.learners.greedy import EpochGreedy, EpsilonGreedy, ExploreThenCommit
from milpcb.learners.guarded import Guarded
from milpcb.learners.hedge import Hedge
from milpcb.learners.ilovetoconbandits import ILoveToConBandits
from milpcb.learners.policy_elimination import PolicyElimination
from milpcb.learners.randomized_ucb import RandomizedUCB
from milpcb.learners.uniform import Uniform
from milpcb.learners.vw import VW

__all__ = [
    "VW",
    "BestInHindsight",
    "BistroPlus",
    "Conservative",
    "ContextualBandits",
    "ContextualFTPL",
    "Doubling",
    "EpochGreedy",
    "EpsilonGreedy",
    "Exp4",
    "Exp4P",
    "ExploreThenCommit",
    "FixedShare",
    "Guarded",
    "Hedge",
    "ILoveToConBandits",
    "Learner",
    "PolicyElimination",
    "RandomizedUCB",
    "Uniform",
]
