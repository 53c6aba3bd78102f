"""The gate: the names in strings of an untrusted file, the places of its files, and the limits of its JSON texts.

These checks come before all imports, connections and writing. The page of rules is "Safety" in milpcb/README.md.
"""

import errno
import json
import os
import stat
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Any

from milpcb.errors import InputError, clipped

MOST_BYTES = 2**30  # of a file that is read whole
DEEPEST = 100  # brackets within brackets of a JSON text; policies and states nest to a dozen

_registered_only: ContextVar[str] = ContextVar("registered_only", default="")


# ------------------------------------------------------------------- names


def parse_name(text: object) -> tuple[str, str] | None:
    """Return module and attribute of ``module:A.B``, "" for both of a registered name; None for anything else."""
    if not isinstance(text, str):
        return None
    module, colon, attribute = text.partition(":")
    if not colon:
        return "", ""
    named = all(part.isidentifier() for part in [*module.split("."), *attribute.split(".")])
    return (module, attribute) if named else None


def named_classes(value: Any) -> Iterator[str]:
    """Yield every string of the form ``module:A.B`` in nested plain data, keys included, but for solvers and labels."""
    if isinstance(value, dict):
        for key, item in value.items():
            yield from named_classes(key)
            if not (key in {"solver", "label"} and isinstance(item, (str, list))):
                yield from named_classes(item)
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from named_classes(item)
    elif (name := parse_name(value)) and any(name):
        yield str(value)


def nests_deeply(data: Any) -> bool:
    """Return whether plain data nest deeper than DEEPEST, as the dotted keys of a TOML text may."""
    layer, depth = [data] if isinstance(data, (dict, list)) else [], 0
    while layer and depth <= DEEPEST:
        inner = (each.values() if isinstance(each, dict) else each for each in layer)
        layer = [item for items in inner for item in items if isinstance(item, (dict, list))]
        depth += 1
    return depth > DEEPEST


@contextmanager
def registered_only(what: str) -> Iterator[None]:
    """Within this block, in this thread, a name is loaded only if it is registered; messages call the file ``what``."""
    token = _registered_only.set(what)
    try:
        yield
    finally:
        _registered_only.reset(token)


def check_registered(kind: str, name: str) -> None:
    """Raise InputError where ``module:Class`` would load code that is not registered, within ``registered_only``."""
    if what := _registered_only.get():
        raise InputError(
            f"{what} names {kind} '{clipped(name)}', which is not registered, and its code is not run: "
            "only names that milpcb list shows are taken from a file"
        )


# ------------------------------------------------------------------- places


def inside(root: Path, *parts: str) -> Path:
    """Return the path below ``root`` of plain names; raises InputError where one may lead elsewhere, as a link."""
    path = root
    for part in parts:
        path = path / plain_name(part)
        if path.is_symlink():
            raise InputError(f"{path} is a link, and nothing is read or written through one here")
    return path


def plain_name(text: str) -> str:
    """Return a string that is the name of one file or folder, on every system; raises InputError for any other."""
    if text in {"", ".", ".."} or not text.isprintable() or set(text) & set('/\\:*?"<>|'):
        raise InputError(f"'{clipped(text)}' cannot be the name of a file")
    return text


def read_bytes(path: Path, *, follow: bool = False) -> bytes:
    """Return the content of a plain file of at most MOST_BYTES; raises OSError for anything else.

    A pipe would be waited for, a device has no end; links are followed only where the user wrote the path.
    """
    if path.is_symlink() and not follow:
        raise OSError(errno.ELOOP, "it is a link, which is not followed here", str(path))
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | (0 if follow else getattr(os, "O_NOFOLLOW", 0))
    with open(os.open(path, flags), "rb") as file:  # noqa: PTH123 - of a descriptor
        state = os.fstat(file.fileno())
        if not stat.S_ISREG(state.st_mode):
            raise OSError(errno.EINVAL, "it is no plain file", str(path))
        content = file.read(MOST_BYTES + 1)
    if len(content) > MOST_BYTES:
        raise OSError(errno.EFBIG, f"it is larger than {MOST_BYTES // 2**20} MB", str(path))
    return content


# ------------------------------------------------------------------- contents


def read_json(content: bytes | str, *, finite: bool = True) -> Any:
    """Return the data of a JSON text, numbers ``finite``; raises ValueError, also on a double key and deep nesting."""
    checks: dict[str, Any] = {"parse_constant": _no_number, "parse_float": _finite} if finite else {}
    text = content if isinstance(content, str) else content.decode()
    try:
        found = json.loads(text, object_pairs_hook=_distinct, **checks)
    except RecursionError as error:
        raise ValueError("it nests too deeply") from error
    if nests_deeply(found):
        raise ValueError(f"it nests deeper than {DEEPEST}")
    return found


def _no_number(text: str) -> float:
    raise ValueError(f"{text} is no number")


def _finite(text: str) -> float:
    number = float(text)
    if number in {float("inf"), float("-inf")}:
        raise ValueError(f"{clipped(text)} is beyond the largest number")
    return number


def _distinct(pairs: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    listed = list(pairs)
    found = dict(listed)
    if len(found) < len(listed):
        names = [name for name, _ in listed]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"'{clipped(twice)}' occurs twice in one table")
    return found
