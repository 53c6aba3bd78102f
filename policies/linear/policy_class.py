"""The class of scoring rules with integer weights: its settings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from milpcb.core.checks import choice, whole
from milpcb.errors import InputError
from milpcb.protocols import Opened
from milpcb.types import Floats
from policies.cuts import Thresholds, check_thresholds
from policies.halfspaces import Halfspaces
from policies.linear.each_class import OpenedEach
from policies.linear.each_tables import each_score
from policies.linear.geometry import Scored
from policies.linear.labelings import one_score
from policies.linear.opened import OpenedLinear
from policies.named import NamedClass
from policies.names import Names

_KINDS = {"one": (one_score, OpenedLinear), "each": (each_score, OpenedEach)}


@dataclass(frozen=True)
class LinearRules(NamedClass):
    """Scoring rules with small integer weights.

    Parameters
    ----------
    n_actions : K >= 2; where there is one score they are ordered: a higher score plays a higher action
    max_weight : weights are integers in [-max_weight, max_weight]; None, or "real" in a config, is
        policies.Halfspaces, with two actions, without max_features and thresholds
    max_features : number of features that may have a weight; None for no limit
    thresholds : number of quantile cuts per feature, "all" for a cut between any two values of a feature, or one list
        of cut points per feature; a column of contexts that holds anything but integers counts for the number of its
        thresholds at or below the value; one of integers needs no thresholds and counts for itself
    feature_names, action_names : used in printed rules
    scores : "one" score with a cut between each action and the next; or, for actions without an order, "each" has a
        score of its own, with weights on the same at most max_features features and any base: the highest score plays,
        of equal ones that of the lowest number. The exact search is by support tables alone: for three actions up to
        three features of 0 and 1, for four actions two. What is larger is refused, and is for oracle kind "milp"

    """

    n_actions: int = 2
    max_weight: int | Literal["real"] | None = 5
    max_features: int | None = None
    thresholds: Thresholds = 3
    feature_names: Sequence[str] | None = None
    action_names: Sequence[str] | None = None
    scores: Literal["one", "each"] = "one"

    def __post_init__(self) -> None:
        whole("n_actions", self.n_actions, 2)
        choice("scores", self.scores, tuple(_KINDS))
        if isinstance(self.max_weight, str) and self.max_weight == "real":
            object.__setattr__(self, "max_weight", None)
        if self.max_weight is not None:
            object.__setattr__(self, "max_weight", whole("max_weight", self.max_weight, 1))
        if self.max_features is not None:
            whole("max_features", self.max_features, 1)
        if self.max_weight is None and (self.n_actions, self.max_features, self.scores) != (2, None, "one"):
            raise InputError(
                "max_weight = None, real weights, goes with n_actions = 2 and one score, without max_features; "
                "give a max_weight"
            )
        object.__setattr__(self, "thresholds", check_thresholds(self.thresholds))

    def _on(self, contexts: Floats, names: Names) -> Opened:
        """Return the class on these contexts; the class of halfspaces where weights are real numbers."""
        if not isinstance(self.max_weight, int):
            return Halfspaces(2, names.features or None, names.actions or None).on(contexts)
        scores, opened = _KINDS[self.scores]
        kind = scores(self.n_actions)
        return opened(Scored(contexts, kind, self.max_weight, self.max_features, self.thresholds, names))
