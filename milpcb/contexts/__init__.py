"""What a learner knows of future contexts, one model a file."""

from milpcb.contexts.finite_pool import FinitePool
from milpcb.contexts.sampler import Sampler
from milpcb.contexts.transductive import Transductive

__all__ = ["FinitePool", "Sampler", "Transductive"]
