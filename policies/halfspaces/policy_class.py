"""The class of halfspaces: its settings, and the class on given contexts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import comb, log

import numpy as np

from milpcb.core.checks import whole
from milpcb.errors import InputError
from milpcb.listed import OneHotEncoding
from milpcb.program import ProgramBuilder
from milpcb.protocols import Encoding, Objective, Opened
from milpcb.types import Floats
from policies.cuts import Distinct, NamedClass
from policies.halfspaces.separator import HalfspaceRule, LabelSeparator, rule_of, scaled
from policies.names import Names


class LabelingEncoding(OneHotEncoding):
    """The simplex over all labelings of halfspaces."""

    def __init__(self, contexts: Floats, names: Names) -> None:
        self._contexts, self._names = contexts, names
        self._labels = LabelSeparator(contexts).labelings()
        super().__init__(len(self._labels))

    def objective(self, costs: Floats) -> Objective:
        return Objective(self._labels @ (costs[:, 1] - costs[:, 0]), float(costs[:, 0].sum()))

    def policy(self, number: int) -> HalfspaceRule:
        return rule_of(self._contexts, self._labels[number], self._names)


class HalfspaceEncoding(Encoding):
    """The polytope of the labels of halfspaces, by rows found when violated; or a column for each labeling.

    Policy class
        w in R^d and a cut t; action 1 where w.x >= t. A labeling counts when some rule makes it with every score, w.x -
        t, at least 1e-6 of the largest away from 0: solvers cannot determine the side of a closer one.
    Variables
        y[j] in {0, 1}      the label of distinct context j
    Constraints
        (1)  sum_{j in P} (1 - y_j) + sum_{j in N} y_j >= 1     for every minimal inseparable (P, N)
        (P, N) is minimal inseparable when no rule gives 1 to all of P and 0 to all of N, but some rule does without any
        one of them. A labeling is that of a rule exactly when it keeps (1). There are too many (P, N) to list:
        ``separator`` finds some that a point violates. (P, N) is inseparable when, with s_j = 1 on P and -1 on N,
            lambda >= 0,  sum_j lambda_j = 1,  sum_j s_j lambda_j (x_j, 1) = 0
        has a solution; its basic solutions have the minimal (P, N) as supports (Gleeson and Ryan, ORSA J. Comput. 2,
        1990). With lambda for both labels of every context one linear program serves all points y: its objective makes
        lambda small where 1 - y_j or y_j is large. Such rows as cuts: Codato and Fischetti, Oper. Res. 54, 2006.
    Cost map
        y_j costs costs[j, 1] - costs[j, 0], action 0 everywhere is the offset; linear, with side constraints too.

    Where features are few, so are labelings: LabelingEncoding has a column for each. Rows serve side constraints too.
    """

    def __init__(self, contexts: Floats, names: Names) -> None:
        self._contexts, self._names = contexts, names
        self.separator = LabelSeparator(contexts)
        b = ProgramBuilder()
        b.columns("y", (len(contexts),), upper=1.0, integer=True)
        self.program = b.build()

    def objective(self, costs: Floats) -> Objective:
        return Objective(costs[:, 1] - costs[:, 0], float(costs[:, 0].sum()))

    def decode(self, x: Floats, costs: Floats) -> HalfspaceRule:  # noqa: ARG002 - the labels alone determine the rule
        return rule_of(self._contexts, x > 0.5, self._names)


# Labelings whose rules are listed, at a linear program each.
MOST_LISTED = 10_000
# With fewer contexts rows are quick. From here on labelings are columns, as long as there are no more than these.
FEWEST_CONTEXTS = 25
MOST_COLUMNS = 100_000


@dataclass(frozen=True)
class Halfspaces(NamedClass):
    """Linear rules with real weights: action 1 where the weighted sum of the features reaches a cut, else action 0.

    The small linear programs that find rows of the program, and weights of a rule, are always solved by HiGHS.

    Parameters
    ----------
    n_actions : 2
    feature_names, action_names : used in printed rules

    """

    n_actions: int = 2
    feature_names: Sequence[str] | None = None
    action_names: Sequence[str] | None = None

    def __post_init__(self) -> None:
        if whole("n_actions", self.n_actions, 2) != 2:
            raise InputError(
                f"halfspaces have two sides: n_actions must be 2, got {self.n_actions}; "
                "linear_rules with integer weights take more"
            )

    def _on(self, contexts: Floats, names: Names) -> OpenedHalfspaces:
        return OpenedHalfspaces(contexts, names)


class OpenedHalfspaces(Opened):
    """Halfspaces on fixed contexts.

    ``log_size`` is the log of 2 sum_{k <= d} C(g-1, k), d the number of columns that are not constant, or of 2^g: at
    least the number of labelings, attained in general position (Cover, IEEE Trans. Electron. Comput. 1965).
    """

    n_actions = 2

    def __init__(self, contexts: Floats, names: Names) -> None:
        distinct = Distinct.rows(contexts)
        self.group, self.contexts = distinct.group, contexts[distinct.first]
        self._names = names
        g, d = len(self.contexts), int(np.ptp(self.contexts, axis=0).astype(bool).sum())
        self.log_size = log(min(2**g, 2 * sum(comb(g - 1, k) for k in range(d + 1))))
        self.unsupported = {
            "search": "halfspaces (linear rules with real weights) have no search; use oracle kind 'milp', or "
            "linear_rules with integer weights"
        }
        if self.log_size > log(MOST_LISTED):
            self.unsupported["policies"] = (
                f"{g} contexts may have more than {MOST_LISTED} labelings by halfspaces, too many to list: "
                "use oracle kind 'milp'"
            )
        self.capabilities = Opened.capabilities - self.unsupported.keys()

    def program(self, *, constrained: bool = False) -> Encoding:
        if not constrained and len(self.contexts) >= FEWEST_CONTEXTS and self.log_size <= log(MOST_COLUMNS):
            return LabelingEncoding(self.contexts, self._names)
        return HalfspaceEncoding(self.contexts, self._names)

    def policies(self) -> Iterator[HalfspaceRule]:
        self.require("policies")
        return (rule_of(self.contexts, labels, self._names) for labels in LabelSeparator(self.contexts).labelings())

    def draw(self, rng: np.random.Generator) -> HalfspaceRule:
        """Return a rule with the labels of normal weights on columns of one scale, cut between two of the contexts."""
        if len(self.contexts) == 1:
            return rule_of(self.contexts, rng.random(1) < 0.5, self._names)
        separator, points = LabelSeparator(self.contexts), scaled(self.contexts)[0]
        while True:
            scores = points @ rng.normal(size=points.shape[1])
            labels = scores > rng.choice(np.delete(scores, scores.argmax()))
            if separator.conflict(labels) is None:
                return rule_of(self.contexts, labels, self._names)
