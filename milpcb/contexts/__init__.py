"""Models of future contexts, one a file."""

from milpcb.contexts.empirical import Empirical
from milpcb.contexts.finite_pool import FinitePool
from milpcb.contexts.sampler import Sampler
from milpcb.contexts.transductive import Transductive

__all__ = ["Empirical", "FinitePool", "Sampler", "Transductive"]
