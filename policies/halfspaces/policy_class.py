"""The class of halfspaces: its settings, and what it is on given contexts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import comb, log

import numpy as np

from milpcb.core.checks import whole
from milpcb.errors import InputError
from milpcb.protocols import Encoding, Opened
from milpcb.types import Floats
from policies.cuts import Distinct
from policies.halfspaces.fitting import rule_of
from policies.halfspaces.geometry import scaled
from policies.halfspaces.program import HalfspaceEncoding, LabelingEncoding
from policies.halfspaces.rule import HalfspaceRule
from policies.halfspaces.separator import LabelSeparator
from policies.named import NamedClass
from policies.names import Names

# Labelings whose rules are listed, at a linear program each.
MOST_LISTED = 10_000
# With fewer contexts rows are quick. From here on labelings are columns, as long as there are no more than these.
FEWEST_CONTEXTS = 25
MOST_COLUMNS = 100_000


@dataclass(frozen=True)
class Halfspaces(NamedClass):
    """Linear rules with real weights: action 1 where the weighted sum of the features reaches a cut, else action 0.

    Whichever solver the oracle is opened with, it solves the main program; the small linear programs that find its
    rows, and the weights of the rule that is returned, are always solved by HiGHS.

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

    ``log_size`` is the log of 2 sum_{k <= d} C(g-1, k), d the number of columns that are not constant, or of 2^g where
    that is less: at least the number of labelings, which points in general position attain (Cover, IEEE Trans.
    Electron. Comput. 1965).
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
        """Return the polytope of labels, or the list of labelings where that is short and nothing constrains it."""
        if not constrained and len(self.contexts) >= FEWEST_CONTEXTS and self.log_size <= log(MOST_COLUMNS):
            return LabelingEncoding(self.contexts, self._names)
        return HalfspaceEncoding(self.contexts, self._names)

    def policies(self) -> Iterator[HalfspaceRule]:
        """List a rule for each labeling of the contexts by halfspaces; raises InputError when there may be too many."""
        self.require("policies")
        return (rule_of(self.contexts, labels, self._names) for labels in LabelSeparator(self.contexts).labelings())

    def draw(self, rng: np.random.Generator) -> HalfspaceRule:
        """Return a rule for the labels of normal weights on columns scaled alike, cut between two of the contexts."""
        if len(self.contexts) == 1:
            return rule_of(self.contexts, rng.random(1) < 0.5, self._names)
        separator, points = LabelSeparator(self.contexts), scaled(self.contexts)[0]
        while True:
            scores = points @ rng.normal(size=points.shape[1])
            labels = scores > rng.choice(np.delete(scores, scores.argmax()))
            if separator.conflict(labels) is None:
                return rule_of(self.contexts, labels, self._names)
