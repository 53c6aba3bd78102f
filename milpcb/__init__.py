"""Contextual bandits with worst-case guarantees over interpretable policies; a MILP solver is the oracle."""

from typing import TYPE_CHECKING, Any

from milpcb.bandit import Bandit
from milpcb.constraints import LabelConstraint
from milpcb.contexts import Empirical, FinitePool, Sampler, Transductive
from milpcb.extras import needs
from milpcb.oracles import open_oracle

if TYPE_CHECKING:
    from milpcb.experiments.results.curves import load
    from milpcb.experiments.run.playing import play

__all__ = [
    "Bandit",
    "Empirical",
    "FinitePool",
    "LabelConstraint",
    "Sampler",
    "Transductive",
    "load",
    "open_oracle",
    "play",
]


def __getattr__(name: str) -> Any:
    """Find ``load``, which needs a package for tables, and ``play`` when they are asked for."""
    if name == "load":
        with needs("studies", "milpcb.load"):
            from milpcb.experiments.results.curves import load

        return load
    if name == "play":
        from milpcb.experiments.run.playing import play

        return play
    raise AttributeError(f"module 'milpcb' has no attribute '{name}'")
