"""Warm starts for solvers where they branch, as under side constraints: the best policy of the class's own search.

A start is a point and claims nothing. Its labels show that it keeps the constraints, the program shows that it is a
policy of the class, and that nothing is better is for the solver to prove. scripts/benchmarks/constraints.py measures
what this saves. Three variants were measured and save nothing: an objective cutoff as well, policies found by Lagrange
multipliers of the constraints (for classes whose search knows no constraints), and HiGHS without its other heuristics.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from milpcb.constraints import SideConstraint
from milpcb.errors import InfeasibleError, SearchTooLargeError
from milpcb.oracles.opened import OpenedUnder
from milpcb.protocols import Encoding, InvertibleEncoding, Opened, Policy, Search
from milpcb.types import Floats, Ints

# Smaller programs take a solver about 10 ms a query: to load a compiled search takes as long as fifty of them. This
# is about columns and rows: big-M programs have few columns.
FEWEST_COLUMNS = 500


@dataclass(frozen=True)
class Start:
    """A policy that keeps the side constraints, its total cost, and its point (n_columns,) of the program."""

    policy: Policy
    total: float
    x: Floats


def open_starts(opened: Opened, encoding: Encoding, sides: Sequence[SideConstraint]) -> Starts | None:
    """Return the starts of a class under ``sides``, None where it has none or its programs are quick without."""
    program = encoding.program
    quick = max(program.n_columns, program.n_rows) < FEWEST_COLUMNS or (program.integral and not sides)
    if quick or not {"search", "constraints"} <= opened.capabilities:
        return None
    return Starts(opened, encoding, sides) if isinstance(encoding, InvertibleEncoding) else None


class Starts:
    """The search of a class under ``sides``, opened by the first query, and the points of its policies."""

    def __init__(self, opened: Opened, encoding: InvertibleEncoding, sides: Sequence[SideConstraint]) -> None:
        self._opened, self._encoding, self._sides = opened, encoding, sides

    @cached_property
    def _search(self) -> Search:
        return OpenedUnder(self._opened, self._sides).search()

    def at(self, costs: Floats) -> Start | None:
        """Return the search's best policy for ``costs`` (g, K), None where it finds none that keeps the sides."""
        try:
            _, policy = self._search.minimise(costs)
        except (InfeasibleError, SearchTooLargeError):
            return None
        labels, x = policy.predict(self._opened.contexts), self._encoding.encode(policy)
        kept = all(side.keeps(labels) for side in self._sides) and self._is_point(x, labels, costs)
        total = float(costs[np.arange(len(labels)), labels].sum())
        return Start(policy, total, x) if kept else None

    def _is_point(self, x: Floats, labels: Ints, costs: Floats) -> bool:
        """Return whether ``x`` (n_columns,) is a whole point of the class's program that stands for ``labels`` (g,)."""
        program = self._encoding.program
        activity = program.matrix @ x
        inside = (program.row_lower <= activity) & (activity <= program.row_upper)
        whole = (x == np.rint(x)) & (program.column_lower <= x) & (x <= program.column_upper)
        meant = self._encoding.decode(x, costs).predict(self._opened.contexts) == labels
        return bool(inside.all() and whole.all() and meant.all())
