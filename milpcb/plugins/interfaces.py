"""Check that a registered object implements the interface of its kind: a class, a function or a value."""

from dataclasses import dataclass
from functools import cache
from importlib import import_module
from inspect import isabstract
from types import FunctionType
from typing import Any, Literal


@dataclass(frozen=True)
class Kind:
    """Kind of entries: its name in messages, and the interface that each must fit, as ``module:Name``.

    A "class" inherits from it or, where it is a Protocol, has all its names; a "function" returns it; a "value" is an
    instance of it. ``supplied`` are the arguments that the runtime gives to those that name them.
    """

    called: str
    interface: str
    form: Literal["class", "function", "value"] = "class"
    supplied: tuple[str, ...] = ()


@cache
def mismatch(wanted: Kind, entry: Any) -> str:
    """Return how an entry fails the Protocol or base class of its kind; "" where it fits."""
    module, _, name = wanted.interface.partition(":")
    interface = getattr(import_module(module), name)
    if wanted.form == "value":
        return "" if isinstance(entry, interface) else f"is {_described(entry)}, and must be a {wanted.interface}"
    if isinstance(entry, type) and wanted.form == "class":
        return _lacking(entry, interface, wanted.interface)
    if wanted.form == "function":
        return "" if callable(entry) else f"is {_described(entry)}, and must be a function"
    return f"is {_described(entry)}, and must be a class that implements {wanted.interface}"


def _described(entry: Any) -> str:
    return "a function" if isinstance(entry, FunctionType) else f"a {type(entry).__name__}"


def _lacking(entry: type, interface: Any, called: str) -> str:
    """Return what a class lacks of a base class or a Protocol; "" where it lacks nothing."""
    if not getattr(interface, "_is_protocol", False):
        if not issubclass(entry, interface):
            return f"is a class that does not inherit from {called}"
        if isabstract(entry):
            return f"is not finished: {', '.join(sorted(vars(entry)['__abstractmethods__']))} of {called} is missing"
        return ""
    wanted = {*vars(interface), *getattr(interface, "__annotations__", ())}
    missing = [name for name in sorted(wanted) if not name.startswith("_") and not _sets(entry, interface, name)]
    return f"is a class without {', '.join(missing)} of {called}" if missing else ""


def _sets(entry: type, interface: Any, name: str) -> bool:
    """Return whether a class has a name: as an attribute, as an annotation, or set by its constructor."""
    if isinstance(vars(interface).get(name), (FunctionType, classmethod)):
        return callable(getattr(entry, name, None))
    if hasattr(entry, name):
        return True
    makers = [vars(cls)["__init__"] for cls in entry.__mro__ if isinstance(vars(cls).get("__init__"), FunctionType)]
    annotated = any(name in vars(cls).get("__annotations__", ()) for cls in entry.__mro__)
    return annotated or any(name in maker.__code__.co_names for maker in makers)
