"""Where a solver starts under side constraints: at the best policy that the class's own search finds.

A start is a point and claims nothing. That it keeps the constraints is seen from its labels, that it is a policy of the
class from the program, and that nothing is better is what the solver proves. With one row on trees, HiGHS takes a half
of the time so, and a tenth in the worst case (scripts/benchmarks/oracles.py). Policies that Lagrange multipliers of the
rows lead to, for classes whose search knows no rows, were measured too: they save nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from milpcb.errors import InfeasibleError
from milpcb.oracles.opened_under import OpenedUnder
from milpcb.oracles.side_rows import SideRow
from milpcb.protocols import Encoding, Opened, Policy, Search, Session
from milpcb.solvers import load_solver
from milpcb.solvers.lazy import open_session
from milpcb.types import Floats, Ints

# Smaller programs take a solver about 10 ms a question: loading a compiled search takes as long as fifty of them.
FEWEST_COLUMNS = 1_000


@dataclass(frozen=True)
class Start:
    """A policy that keeps the side constraints, its labels (g,), and its point (n_columns,) of the program."""

    policy: Policy
    labels: Ints
    x: Floats


def open_starts(opened: Opened, encoding: Encoding, sides: Sequence[SideRow]) -> Starts | None:
    """Return the starts of a class under ``sides``, None where it has none or its programs are quick without."""
    program = encoding.program
    if not sides or "side_rows" not in opened.can or not program.integral or program.n_columns < FEWEST_COLUMNS:
        return None
    return Starts(opened, encoding, sides)


class Starts:
    """The search of a class under ``sides``, and its integral program without them, which turns labels into points.

    Both are opened by the first question.
    """

    def __init__(self, opened: Opened, encoding: Encoding, sides: Sequence[SideRow]) -> None:
        self._opened, self._encoding, self._sides = opened, encoding, sides

    @cached_property
    def _search(self) -> Search:
        return OpenedUnder(self._opened, self._sides).search()

    @cached_property
    def _session(self) -> Session:
        return open_session(load_solver("highs"), self._encoding.program, None)

    def at(self, costs: Floats) -> Start | None:
        """Return the search's best policy for ``costs`` (g, K), None where it is no policy that keeps the sides."""
        try:
            _, policy = self._search.minimise(costs)
        except InfeasibleError:
            return None
        labels = policy.predict(self._opened.contexts)
        if not all(side.keeps(labels) for side in self._sides):
            return None
        x = self._point(labels)
        return None if x is None else Start(policy, labels, x)

    def _point(self, labels: Ints) -> Floats | None:
        """Return a point whose policy plays ``labels`` (g,): one at which all other labels cost 1, and the total is 0.

        None where there is no such policy.
        """
        others = np.ones((len(labels), self._opened.n_actions))
        others[np.arange(len(labels)), labels] = 0.0
        objective = self._encoding.objective(others)
        solution = self._session.solve(objective.coefficients)
        if solution.x is None:
            return None
        x = np.rint(solution.x)
        return x if objective.coefficients @ x + objective.offset == 0.0 else None
