"""Errors a user can mend: each message is one line that names what is wrong and how to mend it."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class MilpcbError(Exception):
    """Base of every error raised on purpose; the command line prints it as one line and exits with 2."""

    def __init__(self, message: object = "") -> None:
        super().__init__(" ".join(str(message).split()))


class InputError(MilpcbError, ValueError):
    """An argument, a file or a config key is wrong."""


class UnknownNameError(InputError):
    """A name that no registry entry or key carries."""

    def __init__(self, kind: str, name: object, known: Iterable[str]) -> None:
        text = shown(name) if not isinstance(name, str) else f"'{cut(name)}'"
        super().__init__(f"unknown {kind} {text}{did_you_mean(name, known)}")


class SolverMissingError(MilpcbError):
    """The solver that the config names cannot run here; the message says how to install it."""


class SolverFailedError(MilpcbError):
    """The solver stopped without an answer, for a reason outside the model."""


class OracleInexact(MilpcbError):  # noqa: N818 - the name is fixed by the contract
    """A value was asked for that the solver did not prove."""


class OracleDisagreement(MilpcbError):  # noqa: N818 - a sibling of OracleInexact
    """Two exact routes to the same value gave different answers: one of them is wrong."""


class InfeasibleError(MilpcbError):
    """No policy of the class satisfies the side constraints."""


class RunError(MilpcbError):
    """A run directory cannot be read, written or continued."""


def did_you_mean(name: object, known: Iterable[str]) -> str:
    """Return '; did you mean ...?' when a known name is near, else the list of all known names."""
    names = sorted(known)
    by_lower = {known_name.lower(): known_name for known_name in names}
    near = difflib.get_close_matches(cut(name).lower(), by_lower, n=1, cutoff=0.5) if isinstance(name, str) else []
    return f"; did you mean '{by_lower[near[0]]}'?" if near else f"; known: {', '.join(names)}"


def shown(value: object) -> str:
    """Return a value as messages show it: its repr on one line, cut where it is long."""
    try:
        return cut(" ".join(repr(value).split()))
    except Exception:  # noqa: BLE001 - a number of 5 000 digits, or a repr that fails: the message must be had
        return f"a {type(value).__name__}"


def cut(text: str, most: int = 100) -> str:
    """Return the text, its end replaced by '...' where it has more than ``most`` characters."""
    return text if len(text) <= most else text[: most - 3] + "..."
