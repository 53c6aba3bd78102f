"""Contextual bandits with worst-case guarantees over interpretable policies; a MILP solver is the oracle."""

from typing import TYPE_CHECKING, Any

from milpcb.bandit import Bandit, Decision
from milpcb.constraints import LabelConstraint, always, mean_at_most, never, parity, share_at_most
from milpcb.contexts import Empirical, FinitePool, Sampler, Transductive
from milpcb.core.extras import needs
from milpcb.oracles import open_oracle

if TYPE_CHECKING:
    from milpcb import policies
    from milpcb.experiments.results.curves import load
    from milpcb.experiments.run.play import play

    __version__: str

__all__ = [
    "Bandit",
    "Decision",
    "Empirical",
    "FinitePool",
    "LabelConstraint",
    "Sampler",
    "Transductive",
    "__version__",
    "always",
    "load",
    "mean_at_most",
    "never",
    "open_oracle",
    "parity",
    "play",
    "policies",
    "share_at_most",
]


def __getattr__(name: str) -> Any:
    """Find what a service need not load when it is asked for: ``load``, ``play``, ``policies``."""
    if name == "__version__":
        from importlib.metadata import version

        return version("milpcb")
    if name == "policies":
        import milpcb.policies as found

        return found
    if name == "load":
        with needs("studies", "milpcb.load"):
            from milpcb.experiments.results.curves import load

        return load
    if name == "play":
        from milpcb.experiments.run.play import play

        return play
    raise AttributeError(f"module 'milpcb' has no attribute '{name}'")


def __dir__() -> list[str]:
    """Return all names, those that are only found when they are asked for too."""
    return sorted({*globals(), *__all__})
