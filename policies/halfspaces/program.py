"""Halfspaces: the polytope of their labels, by rows found as they are broken; or a column for each labeling.

Policy class
    w in R^d and a cut t; action 1 where w.x >= t. A labeling counts when some rule makes it with every score, w.x - t,
    at least 1e-6 of the largest away from 0: of what is closer, solvers cannot determine the side.
Variables
    y[j] in {0, 1}      the label of distinct context j
Constraints
    (1)  sum_{j in P} (1 - y_j) + sum_{j in N} y_j >= 1     for every minimal inseparable (P, N)
    (P, N) is minimal inseparable when no rule gives 1 to all of P and 0 to all of N, but some rule does without any one
    of them.
    A labeling is that of a rule exactly when it keeps (1). There are too many (P, N) to list: ``program`` has none, and
    ``separator`` finds some that a point breaks. (P, N) is inseparable when the convex hulls of P and N meet: when with
    s_j = 1 on P and -1 on N
        lambda >= 0,  sum_j lambda_j = 1,  sum_j s_j lambda_j (x_j, 1) = 0
    has a solution; its basic solutions have the minimal (P, N) as supports (Gleeson and Ryan, ORSA J. Comput. 2, 1990).
    With lambda for both labels of every context one linear program serves all points y: it is asked for little lambda
    where 1 - y_j or y_j is large. Such rows as cuts: Codato and Fischetti, Oper. Res. 54, 2006.
Cost map
    y_j costs costs[j, 1] - costs[j, 0], action 0 everywhere is the offset; linear and exact, with side constraints too.
Size
    One column per distinct context; a row has at most d + 2 entries. The rows found serve all later objectives.

Where features are few, so are labelings: at most 2 sum_{k <= d} C(g - 1, k). LabelingEncoding lists them (listing.py)
and has a column for each, of which one is 1: integral, and a query is a sum for each of them. Rows are better with few
contexts, and they serve side constraints.
"""

from __future__ import annotations

from milpcb.program import ProgramBuilder
from milpcb.protocols import Encoding, Objective
from milpcb.types import Floats
from policies.halfspaces.fitting import rule_of
from policies.halfspaces.rule import HalfspaceRule
from policies.halfspaces.separator import LabelSeparator
from policies.names import Names
from policies.one_hot import OneHotEncoding


class LabelingEncoding(OneHotEncoding):
    """The simplex over all labelings of halfspaces."""

    def __init__(self, contexts: Floats, names: Names) -> None:
        self._contexts, self._names = contexts, names
        self._labels = LabelSeparator(contexts).labelings()
        self.why = f"a column for each of {len(self._labels):,} labelings, as features are few"
        super().__init__(pick=(len(self._labels),))

    def objective(self, costs: Floats) -> Objective:
        """Return what each labeling costs more than label 0, which is the offset."""
        return Objective(self._labels @ (costs[:, 1] - costs[:, 0]), float(costs[:, 0].sum()))

    def policy(self, number: int, costs: Floats) -> HalfspaceRule:
        """Return the rule of the widest margin that labels so."""
        del costs  # the number names it
        return rule_of(self._contexts, self._labels[number], self._names)


class HalfspaceEncoding(Encoding):
    """The cube of the labels and its cost map; the separator cuts it down to the labelings of halfspaces."""

    def __init__(self, contexts: Floats, names: Names) -> None:
        self._contexts, self._names = contexts, names
        self.separator = LabelSeparator(contexts)
        self.why = "labels and inseparable sets, as weights are real numbers"
        b = ProgramBuilder()
        b.columns("y", (len(contexts),), upper=1.0, integer=True)
        self.program = b.build()

    def objective(self, costs: Floats) -> Objective:
        """Return what label 1 costs more than label 0, which is the offset."""
        return Objective(costs[:, 1] - costs[:, 0], float(costs[:, 0].sum()))

    def decode(self, x: Floats, costs: Floats) -> HalfspaceRule:  # noqa: ARG002 - the labels alone determine the rule
        """Return the rule of the widest margin that labels so."""
        return rule_of(self._contexts, x > 0.5, self._names)
