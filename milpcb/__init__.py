"""Contextual bandits with worst-case guarantees over interpretable policies; a MILP solver is the oracle."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from milpcb.bandit import Bandit, Decision
from milpcb.constraints import LabelConstraint, always, mean_at_most, never, parity, share_at_most
from milpcb.contexts import Empirical, FinitePool, Sampler, Transductive
from milpcb.errors import needs
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

# Names that a service need not load, and the modules that have them or are called so.
_LATER = {
    "load": "milpcb.experiments.results.curves",
    "play": "milpcb.experiments.run.play",
    "policies": "milpcb.policies",
}


def __getattr__(name: str) -> Any:
    """Find what a service need not load when it is asked for: ``load``, ``play``, ``policies``."""
    if name == "__version__":
        from importlib.metadata import version

        return version("milpcb")
    if name not in _LATER:
        raise AttributeError(f"module 'milpcb' has no attribute '{name}'")
    with needs("studies", f"milpcb.{name}"):
        module = import_module(_LATER[name])
    return getattr(module, name, module)


def __dir__() -> list[str]:
    """Return all names, those that are only found when they are asked for too."""
    return sorted({*globals(), *__all__})
