"""Capabilities: what an opened policy class or an oracle can be asked, as data."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Self

from milpcb.core.renamed import by_new_names

_OLD_NAMES = {"can": "capabilities", "cannot": "unsupported"}
# Of the capabilities themselves, by old name.
_RENAMED = {"terms": "totals", "side_rows": "constraints"}


class Capabilities(frozenset[str]):
    """The names of what may be asked for; an old name stands for its new one, with a line that names that.

    What is added to it or left out of it may be any collection of names.
    """

    def __new__(cls, names: Iterable[str] = ()) -> Self:
        """Take names, old ones as the new."""
        return super().__new__(cls, by_new_names(dict.fromkeys(names), _RENAMED, "capabilities"))

    def __contains__(self, name: object) -> bool:
        """Return whether a name is among them."""
        if name in _RENAMED:
            (name,) = by_new_names({str(name): None}, _RENAMED, "capabilities")
        return super().__contains__(name)

    def __or__(self, others: Iterable[str]) -> Capabilities:  # type: ignore[override]  # always strings
        """Return these and others."""
        return Capabilities(self.union(others))

    def __and__(self, others: Iterable[str]) -> Capabilities:  # type: ignore[override]  # a view of a dict too
        """Return those that are among others."""
        return Capabilities(self.intersection(others))

    def __sub__(self, others: Iterable[str]) -> Capabilities:  # type: ignore[override]  # as above
        """Return those that are not among others."""
        return Capabilities(self.difference(others))


class _Renamed:
    """An old name of the attribute ``name``: reading and setting it is reading and setting that one."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __get__(self, owner: Any, cls: type) -> Any:
        return getattr(cls if owner is None else owner, self._name)

    def __set__(self, owner: Any, value: Any) -> None:
        object.__setattr__(owner, self._name, value)  # it may be a frozen dataclass


class Capable:
    """Has capabilities.

    Attributes
    ----------
    capabilities : the names of what may be asked for
    unsupported : for what is not among them the reason in words, where there is one beyond its absence
    can, cannot : the same two by the names that they had until version 0.1.0, for classes that still use these

    """

    capabilities: frozenset[str] = Capabilities()
    unsupported: Mapping[str, str] = MappingProxyType({})
    if TYPE_CHECKING:
        can: frozenset[str]
        cannot: Mapping[str, str]
    else:
        can, cannot = (_Renamed(name) for name in _OLD_NAMES.values())

    def __init_subclass__(cls, **options: Any) -> None:
        """Read what a class declares by an old name as declared by the new one."""
        super().__init_subclass__(**options)
        for old, new in _OLD_NAMES.items():
            if old in vars(cls):
                setattr(cls, new, vars(cls)[old])
                delattr(cls, old)
        if isinstance(declared := vars(cls).get("capabilities"), frozenset):
            cls.capabilities = Capabilities(declared)


def capabilities_of(oracle: Any) -> frozenset[str]:
    """Return the capabilities of an oracle, which may be no Capable and have them by their old name."""
    found: frozenset[str] = oracle.capabilities if hasattr(oracle, "capabilities") else oracle.can
    return found
