"""Dependency injection by argument name: constructors and functions get the objects that their arguments name."""

from collections.abc import Callable, Collection, Mapping
from functools import lru_cache
from inspect import Parameter, cleandoc, isfunction, signature
from typing import Any, get_type_hints

from milpcb.core.text import listed
from milpcb.errors import InputError, MilpcbError, cause, did_you_mean

NAMED = (Parameter.POSITIONAL_OR_KEYWORD, Parameter.KEYWORD_ONLY)


@lru_cache(maxsize=256)
def arguments(make: Callable[..., Any]) -> Mapping[str, Parameter]:
    """Return the arguments of a class or function by name; raises InputError where they are not all named."""
    try:
        if not isinstance(make, type):
            found: Mapping[str, Parameter] = signature(make).parameters
        elif make.__init__ is object.__init__:  # type: ignore[misc]  # then __new__ may pass anything on
            found = {name: shown for name, shown in signature(make).parameters.items() if shown.kind in NAMED}
        else:  # of a class, Python 3.11.2 shows an inherited __new__ before an inherited constructor
            found = dict(list(signature(make.__init__).parameters.items())[1:])  # type: ignore[misc]
    except (TypeError, ValueError) as error:
        raise InputError(f"{_name(make)} does not declare which arguments it takes: {error}") from error
    for name, parameter in found.items():
        if parameter.kind not in NAMED:
            raise InputError(
                f"{_name(make)} must name all its arguments, so that they can be options; '{name}' takes any number"
            )
    return found


def options(make: Callable[..., Any], supplied: Collection[str] = ()) -> dict[str, Parameter]:
    """Return the arguments that a user may set: those that the runtime does not supply."""
    return {name: parameter for name, parameter in arguments(make).items() if name not in supplied}


def types(make: Callable[..., Any], supplied: Collection[str] = ()) -> dict[str, Any]:
    """Return the types of the arguments by name, evaluated; raises InputError where an option has no readable one."""
    written = make if isfunction(make) else make.__init__
    try:
        hints = get_type_hints(written, include_extras=True)
    except Exception as error:  # annotations are expressions, and may raise anything
        raise InputError(f"the annotations of {_name(make)} cannot be read: {cause(error)}") from error
    for name in options(make, supplied):
        if name not in hints:
            raise InputError(
                f"{_name(make)} does not declare the type of its argument '{name}'; annotate it, as in {name}: int"
            )
    return hints


def asks(make: Callable[..., Any], argument: str) -> bool:
    """Return whether a class or function names an argument."""
    return argument in arguments(make)


def make(what: Callable[..., Any], supplied: Mapping[str, Any], settings: Mapping[str, Any] | None = None) -> Any:
    """Call ``what`` with ``settings``, and all of ``supplied`` that it names; its errors become InputError."""
    own, settings = options(what, supplied), settings or {}
    for key in settings:
        if key not in own:
            raise InputError(f"{_name(what)} has no option '{key}'{did_you_mean(key, own)}")
    if missing := [name for name, shown in own.items() if shown.default is Parameter.empty and name not in settings]:
        raise InputError(f"{_name(what)} needs {listed([repr(name) for name in missing])} as options")
    given = {name: value for name, value in supplied.items() if asks(what, name)}
    try:
        return what(**given, **settings)
    except (MilpcbError, MemoryError):
        raise
    except (Exception, SystemExit) as error:  # a constructor may raise anything, and try to exit
        raise InputError(f"{_name(what)} cannot be made: {cause(error)}") from error


def summary(what: Any) -> str:
    """Return the first sentence of a docstring on one line, '' where there is none of its own."""
    text = cleandoc(what.__doc__ or "").partition("\n\n")[0]
    return " ".join(text.split())


def _name(make: Callable[..., Any]) -> str:
    return getattr(make, "__name__", None) or type(make).__name__
