"""Contextual bandits with worst-case guarantees over interpretable policies; a MILP solver is the oracle."""

from milpcb.constraints import LabelConstraint
from milpcb.contexts import FinitePool, Sampler, Transductive
from milpcb.oracles import open_oracle

__all__ = ["FinitePool", "LabelConstraint", "Sampler", "Transductive", "open_oracle"]
