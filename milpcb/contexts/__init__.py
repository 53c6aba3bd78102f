"""Models of future contexts."""

from milpcb.contexts.models import Empirical, FinitePool, Sampler, Transductive

__all__ = ["Empirical", "FinitePool", "Sampler", "Transductive"]
