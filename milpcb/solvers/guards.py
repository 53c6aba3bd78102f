"""Where a vendor's failures become one line."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from milpcb.errors import MilpcbError, SolverFailedError


@contextmanager
def one_line(solver: str) -> Iterator[None]:
    """Turn whatever a vendor raises inside the block into SolverFailedError, the cause kept.

    Vendors share no base class: PySCIPOpt raises Exception itself, PuLP passes on what a solver's process, its output
    or the solver's own package raises.
    """
    try:
        yield
    except MilpcbError:
        raise
    except Exception as error:
        reason = " ".join(f"{type(error).__name__}: {error}".split())
        raise SolverFailedError(
            f"{solver} ended without an answer: {reason}; run again, or name another solver"
        ) from error
