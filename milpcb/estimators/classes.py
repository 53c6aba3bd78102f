"""The estimators, and their policy classes: parameters in scikit-learn's words where it has some."""

from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass, replace
from typing import Any, ClassVar, Self, cast

import numpy as np

from milpcb.constraints import LabelConstraint
from milpcb.core.checks import flag, whole
from milpcb.errors import InfeasibleError, InputError, shown
from milpcb.estimators.base import PolicyEstimator
from milpcb.estimators.inputs import checked, read_features, read_targets, read_weights, warn_of_alike
from milpcb.estimators.logged import FromLog
from milpcb.estimators.rows import Rows, total_of
from milpcb.plugins import registry
from milpcb.protocols import PolicyClass
from milpcb.types import Answer, Floats, Stop


class FromCosts(PolicyEstimator):
    """Learns from a table of values by action.

    Parameters
    ----------
    maximise : whether the table holds rewards, otherwise it holds costs

    """

    maximise: bool = False

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Find the optimal policy.

        ``X`` is an array (n, d) or a data frame of pandas or polars, of numbers, strings, booleans, and missing ones.
        ``y`` (n, K) is the cost (or reward) of each action in each row, where the columns of a data frame name the
        actions; or (n,) labels, of which a wrong one costs 1. ``sample_weight`` (n,) are weights of rows.
        Raises InputError, InfeasibleError (no policy keeps the constraints), OracleInexact (none is found in time).
        """
        if y is None:
            raise InputError(f"{type(self).__name__} requires y to be passed, but the target y is None")
        features = read_features(self, checked(self, X, reset=True))
        targets, actions = read_targets(y, len(features), maximise=flag("maximise", self.maximise))
        warn_of_alike(actions)
        weight = read_weights(sample_weight, len(features))
        return self._learn(features, targets, actions, weight, maximise=self.maximise)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the mean value on other rows, larger is better: minus the mean cost, or the mean reward."""
        policy = self._policy()
        labels = policy.predict(checked(self, X, reset=False))
        targets, _ = read_targets(y, len(labels), maximise=self.maximise, actions=self.actions_)
        mean = np.average(targets[np.arange(len(labels)), labels], weights=read_weights(sample_weight, len(labels)))
        return float(mean if self.maximise else -mean)


class CutSettings(PolicyEstimator):
    """Classes that cut numbers.

    Parameters
    ----------
    thresholds : cut points of each number: how many weighted quantiles, "all" between neighbouring values, one list for
        each feature, or a mapping from names of features to lists

    """

    thresholds: Any = 31


class TreeSettings(CutSettings):
    """Decision trees up to a depth.

    Parameters
    ----------
    max_depth : tests on the longest path; 0 is the best constant
    min_samples_leaf : each leaf holds at least this many rows, weights counted
    max_leaves : most leaves, None for no limit

    """

    max_depth: int = 2
    min_samples_leaf: int = 1
    max_leaves: int | None = None

    _class_name = "decision_trees"
    _words: ClassVar[Mapping[str, str]] = {"depth": "max_depth", "min_leaf_size": "min_samples_leaf"}
    _tested = "max_depth"

    @property
    def _counts_rows(self) -> bool:  # type: ignore[override]  # it depends on a parameter
        return whole("min_samples_leaf", self.min_samples_leaf, 1) > 1

    def _optimise(self, policies: Any, rows: Rows, costs: Floats, rules: Sequence[LabelConstraint]) -> Answer:
        """Return the oracle's answer; of the optimal trees it is one of the least depth."""
        answer = super()._optimise(policies, rows, costs, rules)
        if len(answer.policy.leaf_actions) == 1:
            return answer
        for depth in range(self.max_depth - 1, 0, -1) if answer.stop == Stop.OPTIMAL else ():
            try:
                lesser = super()._optimise(replace(policies, depth=depth), rows, costs, rules)
            except InfeasibleError:
                break
            if lesser.stop != Stop.OPTIMAL or total_of(lesser, rows, costs) > total_of(answer, rows, costs):
                break
            answer = replace(answer, policy=lesser.policy)
        return answer

    def _class_options(self) -> dict[str, Any]:
        limit = {"min_leaf_size": self.min_samples_leaf} if self._counts_rows else {}
        return {"depth": self.max_depth, "max_leaves": self.max_leaves, **limit}


class ThresholdSettings(CutSettings):
    """Threshold rules: one number is cut into pieces, with an action for each.

    Parameters
    ----------
    max_cuts : most cuts

    """

    max_cuts: int = 1

    _class_name = "threshold_rules"
    _words: ClassVar[Mapping[str, str]] = {"max_cuts": "max_cuts"}
    _tested = 1


class RuleListSettings(CutSettings):
    """Lists of rules: if, else if, ..., else, with one test each.

    Parameters
    ----------
    max_rules : most tests

    """

    max_rules: int = 2
    thresholds: Any = 15

    _class_name = "rule_lists"
    _words: ClassVar[Mapping[str, str]] = {"max_rules": "max_rules"}
    _tested = "max_rules"


class ScoringSettings(CutSettings):
    """Scoring systems: tests with small whole points, and cut points on their sum.

    A test is age >= 40 for each of the cut points, region in {north, west}, or age is missing; a missing number is not
    40 or more. With more than two actions, a higher score means a later action.

    Parameters
    ----------
    max_weight : most points of a test, and fewest as -max_weight
    max_tests : most tests with points, None for no limit

    """

    max_weight: int = 2
    max_tests: int | None = 3
    thresholds: Any = 3

    _class_name = "linear_rules"
    _words: ClassVar[Mapping[str, str]] = {"max_weight": "max_weight", "max_features": "max_tests"}
    _tested = "max_tests"
    _adds_up = True


class AnySettings(PolicyEstimator):
    """Any policy class.

    Parameters
    ----------
    policies : a policy class, such as ``BoxRules(n_actions=2)``, or its registered name; the number of actions is that
        of the table, and a number of thresholds means weighted quantiles

    """

    policies: Any = "decision_trees"

    def _thresholds(self) -> Any:
        return getattr(self._named(2), "thresholds", None)

    @property
    def _adds_up(self) -> bool:  # type: ignore[override]  # it depends on a parameter
        return isinstance(self._named(2), registry.load("policies", "linear_rules"))

    def _policy_class(self, n_actions: int, thresholds: Any) -> PolicyClass:
        policies = self._named(n_actions)
        if not is_dataclass(policies):
            return policies
        own = {"n_actions": n_actions, "feature_names": None, "action_names": None, "thresholds": thresholds}
        known = {field.name for field in fields(policies)}
        return cast("PolicyClass", replace(policies, **{name: own[name] for name in own if name in known}))

    def _named(self, n_actions: int) -> PolicyClass:
        if isinstance(self.policies, str):
            return cast("PolicyClass", registry.load("policies", self.policies)(n_actions))
        if not isinstance(self.policies, PolicyClass):
            raise InputError(f"policies must be a policy class or the name of one, got {shown(self.policies)}")
        return self.policies


class OptimalPolicy(FromCosts, AnySettings):
    """The optimal policy of any policy class."""


class OptimalPolicyTree(FromCosts, TreeSettings):
    """The optimal decision tree: of all trees up to a depth, the one with the best mean value."""


class OptimalThresholdRule(FromCosts, ThresholdSettings):
    """The optimal threshold rule: one number is cut into pieces, with an action for each."""


class OptimalRuleList(FromCosts, RuleListSettings):
    """The optimal list of rules: if, else if, ..., else, with one test each."""


class OptimalScoringRule(FromCosts, ScoringSettings):
    """The optimal scoring system: small whole weights, and cut points on their sum."""


class LoggedPolicy(FromLog, AnySettings):
    """The best policy of any policy class, by a log."""


class LoggedPolicyTree(FromLog, TreeSettings):
    """The best decision tree, by a log."""


class LoggedThresholdRule(FromLog, ThresholdSettings):
    """The best threshold rule, by a log."""


class LoggedRuleList(FromLog, RuleListSettings):
    """The best list of rules, by a log."""


class LoggedScoringRule(FromLog, ScoringSettings):
    """The best scoring system, by a log."""
