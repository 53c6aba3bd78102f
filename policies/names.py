"""What features and actions are called in printed rules."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Names:
    """Feature and action names; whatever has none is called x0, x1, ... and by its number."""

    features: tuple[str, ...] = ()
    actions: tuple[str, ...] = ()

    def feature(self, i: int) -> str:
        """Return the name of feature ``i``."""
        return self.features[i] if i < len(self.features) else f"x{i}"

    def action(self, a: int) -> str:
        """Return the name of action ``a``."""
        return self.actions[a] if a < len(self.actions) else f"action {a}"
