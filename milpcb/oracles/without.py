"""A policy class that may not read some columns of its contexts, and an oracle that is opened on it again."""

from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from typing import Any

from milpcb.data.frames import table_names
from milpcb.errors import InputError, shown
from milpcb.protocols import Opened, PolicyClass, ValueOracle
from milpcb.types import Floats


def without_columns(policies: PolicyClass, contexts: Floats, columns: Collection[int]) -> tuple[PolicyClass, Floats]:
    """Return the class on contexts (m, d) where no policy distinguishes rows by ``columns``, and these contexts.

    Raises InputError for a class whose policies do not read columns.
    """
    if not policies.reads_columns:
        raise InputError(f"policies of a list have no columns to leave out: {shown(policies)}")
    settings: Any = policies
    if hasattr(policies, "with_cuts_of") and isinstance(settings.thresholds, tuple):  # the same rows, maybe a million
        left = tuple(() if number in columns else points for number, points in enumerate(settings.thresholds))
        return replace(settings, thresholds=left), contexts
    constant = contexts.copy()
    constant[:, list(columns)] = 0.0
    return policies, constant


@dataclass(frozen=True, eq=False)
class Opening:
    """How an oracle was opened: a class, ``opened`` on contexts (m, d), by ``again``, a function of the two.

    ``policies`` is None where the settings of the class are not known; ``table`` is what was handed in as contexts.
    """

    policies: PolicyClass | None
    opened: Opened
    table: Any
    contexts: Floats
    again: Callable[[PolicyClass, Floats], ValueOracle]

    def names(self) -> list[str]:
        """Return the names of the columns: x0, x1, ... where there are none."""
        names = getattr(self.policies, "feature_names", None) or table_names(self.table)
        return list(names) or [f"x{i}" for i in range(self.contexts.shape[1])]

    def without(self, columns: Collection[int]) -> ValueOracle:
        """Return the oracle of the policies that do not read ``columns``.

        Raises InfeasibleError where none of them keeps the side constraints, InputError where policies read no columns.
        """
        if self.policies is None:
            raise InputError("the oracle does not know its class by its settings: open it on the class itself")
        explicit = "fixed" in self.opened.capabilities and self.policies.reads_columns
        policies = self.opened.fixed() if explicit else self.policies
        return self.again(*without_columns(policies, self.contexts, columns))
