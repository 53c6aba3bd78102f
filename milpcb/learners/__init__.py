"""Learners, one a file. None of them sees a policy class, a program or a solver."""

from milpcb.learners.bistro_plus import BistroPlus
from milpcb.learners.hedge import Hedge
from milpcb.learners.uniform import Uniform

__all__ = ["BistroPlus", "Hedge", "Uniform"]
