"""Turns a vendor's failures into one line, discards the output of its library, and keeps foreign settings out."""

import ctypes
import os
import sys
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from typing import Any

from milpcb.core.surroundings import settings_here
from milpcb.errors import InputError, MilpcbError, SolverFailedError, SolverLicenceError

# Files that vendors' libraries read in the current folder, and have no option against: settings of any kind, with
# servers to connect to and files to write among them.
GUROBI_READS = ("gurobi.env",)  # https://docs.gurobi.com/projects/optimizer/en/current/reference/python/env.html
COPT_READS = ("client.ini", "license.dat")  # https://guide.coap.online/copt/en-doc/floating.html
XPRESS_READS = ("xpcalllog.cfg",)

# https://docs.gurobi.com/projects/optimizer/en/current/reference/numericcodes/errors.html : none, and too small a one
_GUROBI_LICENCE = {10009, 10010}
# https://guide.coap.online/copt/en-doc/capiref.html (return codes): "license", also where the free one is too small
_COPT_LICENCE = 4
# https://www.ibm.com/docs/en/icos/22.2.0?topic=codes-cpxerr-restricted-version : "problem size limits exceeded"
_CPLEX_TOO_LARGE = 1016
# "Problem has too many rows and columns": number 120 of the error codes, which only the message carries.
_XPRESS_TOO_LARGE = "?120 "


def check_folder(solver: str, reads: Collection[str]) -> None:
    """Raise InputError where the current folder has a file that a vendor's library would read as settings."""
    for name in settings_here(reads):
        raise InputError(
            f"{solver} would take settings from the file {name} of the current folder, which may be anybody's: "
            "move it away, start in another folder, or use highs"
        )


@contextmanager
def one_line(solver: str) -> Iterator[None]:
    """Turn every error of a vendor inside the block into SolverFailedError, or SolverLicenceError."""
    try:
        yield
    except MilpcbError:
        raise
    except Exception as error:
        words = " ".join(str(error).split())
        if _is_unlicensed(error):
            raise SolverLicenceError(
                f"{solver} refuses this program: {words.rstrip('.')}; use highs, or get a licence from the vendor"
            ) from error
        raise SolverFailedError(
            f"{solver} ended without an answer: {type(error).__name__}: {words}; run again, or name another solver"
        ) from error


def _is_unlicensed(error: Any) -> bool:
    """Return whether a vendor's error, of its own package or through PuLP, means that the licence does not reach."""
    return (
        getattr(error, "errno", None) in _GUROBI_LICENCE
        or getattr(error, "retcode", None) == _COPT_LICENCE
        or _CPLEX_TOO_LARGE in error.args
        or str(error).startswith((_XPRESS_TOO_LARGE, f"CPLEX Error {_CPLEX_TOO_LARGE}"))
    )


@contextmanager
def same_arithmetic() -> Iterator[None]:
    """Restore the processor's floating-point settings after the block (on Linux): they are the whole program's."""
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
    """Discard the output of C code in the block (not on Windows), for libraries with no setting for it."""
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
