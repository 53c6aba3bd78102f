"""One decorator for functions that are compiled to machine code, and the one line that is shown when it takes a while.

Numba compiles at the first call and keeps the machine code beside the source, in the user's cache folder, or in
NUMBA_CACHE_DIR, so that the next process loads it. Where none of these can be written, every process compiles again.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any, TypeVar, cast

from numba import njit
from numba.core import event

_Kernel = TypeVar("_Kernel", bound=Callable[..., Any])

KEPT = "milpcb: compiling to machine code, once on this machine (about 10 s)"
NOT_KEPT = (
    "milpcb: compiling to machine code (about 10 s), in every process, as no folder for machine code can be written: "
    "set NUMBA_CACHE_DIR to one that can"
)

# Environment variable: a file that several processes share, made by the first of them that writes the line.
ANNOUNCED = "MILPCB_COMPILING"


def compiled(flags: Collection[str] = ()) -> Callable[[_Kernel], _Kernel]:
    """Return a decorator that compiles a function at its first call; compiled functions may call each other.

    Parameters
    ----------
    flags
        What the compiler may assume of floating-point numbers, by LLVM's names ("nnan": no NaN occurs); none by
        default.
    """

    def decorate(kernel: _Kernel) -> _Kernel:
        fastmath = set(flags) or False
        try:
            dispatcher = njit(cache=True, fastmath=fastmath)(kernel)
        except RuntimeError:  # no folder can be written, not even the user's
            dispatcher = njit(fastmath=fastmath)(kernel)
            _notice.lines[id(dispatcher)] = NOT_KEPT
        else:
            _notice.lines[id(dispatcher)] = KEPT
        return cast("_Kernel", dispatcher)

    return decorate


class _Notice(event.Listener):  # type: ignore[misc]
    """Writes one line to standard error when a function of ours is about to be compiled.

    Of a process only the first is announced, and so of all processes that share the file of ANNOUNCED. Numba sends the
    event when it has found no machine code on disk. A call of what is already compiled costs nothing.
    """

    def __init__(self) -> None:
        self.lines: dict[int, str] = {}
        self._announced = False

    def on_start(self, event: Any) -> None:
        """Write the line of the dispatcher, a compiled function, that the event is about."""
        line = self.lines.get(id(event.data["dispatcher"]))
        if line is None or self._announced:
            return
        self._announced = True
        if _announced_elsewhere():
            return
        try:
            sys.stderr.write(f"{line}\n")
            sys.stderr.flush()
        except (AttributeError, OSError, ValueError):  # no standard error, or one that is closed: the work goes on
            return

    def on_end(self, event: Any) -> None:
        """Write nothing."""


def _announced_elsewhere() -> bool:
    """Return whether another process has written the line already; otherwise the others now know that this one does."""
    try:
        Path(os.environ[ANNOUNCED]).touch(exist_ok=False)
    except FileExistsError:
        return True
    except (KeyError, OSError):  # this process is on its own, or the run that shared the file is over
        return False
    return False


_notice = _Notice()
event.register("numba:compile", _notice)
