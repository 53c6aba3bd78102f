"""Arguments and keys that have new names: the old ones work for one version, with a line that names the new one."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from typing import Any

from milpcb.errors import InputError

UNTIL = "0.2"


def by_new_names(
    given: Mapping[str, Any], new: Mapping[str, str], where: str, remark: Callable[[str, str], None] | None = None
) -> dict[str, Any]:
    """Return what is given by its new names; raises InputError where something is given by both.

    Parameters
    ----------
    given : values by name
    new : new name of each old one
    where : what has these names, for people
    remark : takes an old name and a line on it, for each that is given; a FutureWarning without one

    """
    for old in [name for name in new if name in given]:
        if new[old] in given:
            raise InputError(f"{old} is the old name of {new[old]} in {where}; leave it out")
        (remark or _warn)(old, f"{old} in {where} is called {new[old]} now; its old name works until {UNTIL}")
    return {new.get(name, name): value for name, value in given.items()}


def _warn(_old: str, line: str) -> None:
    warnings.warn(line, FutureWarning, stacklevel=4)
