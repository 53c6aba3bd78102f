"""The base class of classes with readable rules: names of their features and actions."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any

from milpcb.protocols import Opened, PolicyClass
from milpcb.types import Floats
from policies.names import Names


class NamedClass(PolicyClass):
    """A class whose rules call features and actions by names; a data frame of contexts brings those of the features."""

    feature_names: Sequence[str] | None
    action_names: Sequence[str] | None

    @property
    def names(self) -> Names:
        """The names that were given, checked."""
        return Names.of(self.feature_names, self.action_names)

    def on(self, contexts: Any) -> Opened:
        """Return the class on ``contexts`` (m, d), an array or a data frame; raises InputError."""
        names, array = self.names.on(contexts, self.n_actions)
        opened = self._on(array, names)
        if isinstance(opened, Opened):  # constraints are written in the names of its class
            object.__setattr__(opened, "class_name", type(self).__name__)  # it may be a frozen dataclass
            object.__setattr__(opened, "settings", self)
        return opened

    def read(self, contexts: Any) -> Floats:
        """Return the columns of the named features of a data frame, all columns of an array; raises InputError."""
        return self.names.on(contexts, self.n_actions)[1]

    @abstractmethod
    def _on(self, contexts: Floats, names: Names) -> Opened:
        """Return the class on contexts that are checked, with the names that go with them."""
