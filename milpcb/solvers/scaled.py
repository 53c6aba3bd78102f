"""Scaling of objectives: tolerances of solvers are absolute, so each objective is brought to one size first.

Units are powers of two, so no digit of an objective changes.
"""

from __future__ import annotations

from inspect import signature
from math import frexp
from typing import Any

import numpy as np

from milpcb.errors import InputError
from milpcb.protocols import Session
from milpcb.types import Floats, Solution

# The largest coefficient that a solver sees is between 2**13 and 2**14: there what solvers take for 0, 1e-7 or 1e-6,
# and the 1e-5 by which CBC wants an incumbent improved, are below 1e-9 of it.
_EXPONENT = 14
_LEAST = -1074  # smaller units are 0


class ScaledSession:
    """A session that scales every objective before it asks another one, and the answer back.

    It may be closed any number of times. What is asked of it then raises InputError, whatever the solver: of a model
    that was freed some answer "infinite, and optimal".
    """

    def __init__(self, session: Session) -> None:
        self._session = session
        self._closed = False
        self._begins = takes_start(session)

    def solve(
        self,
        objective: Floats,
        *,
        gap: float = 0.0,
        time_limit: float | None = None,
        primal: bool = True,
        start: Floats | None = None,
    ) -> Solution:
        """Ask about the objective in its unit."""
        self._check_open()
        unit = _unit(objective)
        begin: dict[str, Any] = {"start": start} if self._begins else {}
        found = self._session.solve(objective / unit, gap=gap / unit, time_limit=time_limit, primal=primal, **begin)
        return Solution(found.stop, found.objective * unit, found.bound * unit, found.x)

    def add_rows(self, matrix: Floats, lower: Floats, upper: Floats) -> None:
        """Add rows, which have units of their own."""
        self._check_open()
        self._session.add_rows(matrix, lower, upper)

    def close(self) -> None:
        """Free what the solver holds."""
        if not self._closed:
            self._closed = True
            self._session.close()

    def _check_open(self) -> None:
        if self._closed:
            raise InputError("this oracle was closed, and its solver's model is gone: open another one")


def takes_start(session: Session) -> bool:
    """Return whether a session can begin at a point; those that cannot may lack the argument."""
    return "start" in signature(session.solve).parameters


def _unit(objective: Floats) -> float:
    largest = float(np.abs(objective).max(initial=0.0))
    return 2.0 ** max(frexp(largest)[1] - _EXPONENT, _LEAST) if largest else 1.0
