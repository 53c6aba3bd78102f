"""Turns a vendor's failures into one line, and discards what its library prints."""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from milpcb.errors import MilpcbError, SolverFailedError, SolverLicenceError


@contextmanager
def one_line(solver: str, unlicensed: Callable[[Exception], bool] | None = None) -> Iterator[None]:
    """Turn whatever a vendor raises inside the block into SolverFailedError, the cause kept.

    Vendors share no base class: PySCIPOpt raises Exception itself, PuLP passes on what a solver's process, its output
    or the solver's own package raises. Where ``unlicensed(error)``, the error is SolverLicenceError.
    """
    try:
        yield
    except MilpcbError:
        raise
    except Exception as error:
        words = " ".join(str(error).split())
        if unlicensed is not None and unlicensed(error):
            raise SolverLicenceError(
                f"{solver} refuses this program: {words.rstrip('.')}; use highs, or get a licence from the vendor"
            ) from error
        raise SolverFailedError(
            f"{solver} ended without an answer: {type(error).__name__}: {words}; run again, or name another solver"
        ) from error


@contextmanager
def same_arithmetic() -> Iterator[None]:
    """Put the processor's floating-point settings back after the block (on Linux): they are the whole program's.

    A library that is loaded may take digits away from all that is computed after it by other C code, such as SQLite's
    reading of decimals.
    """
    if sys.platform != "linux":
        yield
        return
    library, settings = ctypes.CDLL(None), ctypes.create_string_buffer(256)  # fenv_t has 8 to 32 bytes
    library.fegetenv(settings)
    try:
        yield
    finally:
        library.fesetenv(settings)


@contextmanager
def silenced() -> Iterator[None]:
    """Send what C code prints in the block to nowhere (not on Windows), for libraries with no setting for it."""
    if sys.platform == "win32":
        yield
        return
    sys.stdout.flush()
    kept, nowhere = os.dup(1), os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    try:
        yield
    finally:
        ctypes.CDLL(None).fflush(None)
        os.dup2(kept, 1)
        os.close(kept)
        os.close(nowhere)
