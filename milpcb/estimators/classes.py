"""The estimators, and their policy classes: parameters in scikit-learn's words where it has some."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any, ClassVar, cast

import numpy as np

from milpcb.constraints import LabelConstraint
from milpcb.core.checks import whole
from milpcb.errors import InfeasibleError, InputError, shown
from milpcb.estimators.base import PolicyEstimator
from milpcb.estimators.costs import FromCosts
from milpcb.estimators.docstrings import called
from milpcb.estimators.logged import FromLog
from milpcb.estimators.totals import Rows, total_of
from milpcb.plugins import registry
from milpcb.protocols import PolicyClass
from milpcb.types import Answer, Floats, Stop


@dataclass(eq=False, repr=False, kw_only=True)
class TreeSettings(PolicyEstimator):
    """Decision trees up to a depth.

    Parameters
    ----------
    max_depth : tests on the longest path; 0 is the best constant
    thresholds : cut points of each number: how many weighted quantiles, "all" between neighbouring values, one list for
        each feature, or a mapping from names of features to lists
    min_samples_leaf : each leaf holds at least this many rows, weights counted
    min_samples_action : of a log: each leaf holds at least this many rows of every action, by what was done
    max_leaves : most leaves, None for no limit

    """

    max_depth: int = 2
    thresholds: Any = 31
    min_samples_leaf: int = 1
    min_samples_action: int = 0
    max_leaves: int | None = None

    _words: ClassVar[Mapping[str, str]] = {
        "depth": "max_depth",
        "min_leaf_size": "min_samples_leaf",
        "min_action_rows": "min_samples_action",
    }

    @property
    def _counts_rows(self) -> bool:  # type: ignore[override]  # it depends on a parameter
        return whole("min_samples_leaf", self.min_samples_leaf, 1) > 1 or self._counts_actions

    @property
    def _counts_actions(self) -> bool:
        return whole("min_samples_action", self.min_samples_action, 0) > 0

    def _order(self) -> int:
        return whole("max_depth", self.max_depth, 0)

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

    def _policies_of(self, rows: Rows) -> PolicyClass:
        """Return the class of the fit, with what the log did in the order of ``rows``: the fit has it by merged rows.

        Which of the actions at equal contexts is whose does not matter: these rows are in one leaf.
        """
        fitted: Any = self.policies_
        if not self._counts_actions or len(fitted.logged_actions) != len(rows.contexts):
            return cast("PolicyClass", fitted)
        done = np.empty(len(rows.contexts), dtype=np.int64)
        merged = Rows.merge(rows.contexts, rows.weight)
        done[np.argsort(merged.group, kind="stable")] = fitted.logged_actions
        return cast("PolicyClass", replace(fitted, logged_actions=done.tolist()))

    def _policy_class(self, n_actions: int, thresholds: Any, rows: Rows) -> PolicyClass:
        limits: dict[str, Any] = {}
        if self._counts_actions:
            limits = {"min_action_rows": self.min_samples_action, "logged_actions": rows.listed_actions()}
        if whole("min_samples_leaf", self.min_samples_leaf, 1) > 1:
            limits["min_leaf_size"] = self.min_samples_leaf
        return _made(
            self._words,
            "decision_trees",
            n_actions=n_actions,
            depth=self.max_depth,
            thresholds=thresholds,
            max_leaves=self.max_leaves,
            **limits,
        )


@dataclass(eq=False, repr=False, kw_only=True)
class ThresholdSettings(PolicyEstimator):
    """Threshold rules: one number is cut into pieces, with an action for each.

    Parameters
    ----------
    max_cuts : most cuts
    thresholds : cut points of each number: how many weighted quantiles, "all" between neighbouring values, one list for
        each feature, or a mapping from names of features to lists

    """

    max_cuts: int = 1
    thresholds: Any = 31

    def _order(self) -> int:
        return 1

    def _policy_class(self, n_actions: int, thresholds: Any, rows: Rows) -> PolicyClass:
        del rows
        return _made({}, "threshold_rules", n_actions=n_actions, max_cuts=self.max_cuts, thresholds=thresholds)


@dataclass(eq=False, repr=False, kw_only=True)
class RuleListSettings(PolicyEstimator):
    """Lists of rules: if, else if, ..., else, with one test each.

    Parameters
    ----------
    max_rules : most tests
    thresholds : cut points of each number: how many weighted quantiles, "all" between neighbouring values, one list for
        each feature, or a mapping from names of features to lists

    """

    max_rules: int = 2
    thresholds: Any = 15

    def _order(self) -> int:
        return whole("max_rules", self.max_rules, 0)

    def _policy_class(self, n_actions: int, thresholds: Any, rows: Rows) -> PolicyClass:
        del rows
        return _made({}, "rule_lists", n_actions=n_actions, max_rules=self.max_rules, thresholds=thresholds)


@dataclass(eq=False, repr=False, kw_only=True)
class ScoringSettings(PolicyEstimator):
    """Scoring systems: tests with small whole points, and cut points on their sum.

    A test is age >= 40 for each of the cut points, region in {north, west}, or age is missing; a missing number is not
    40 or more. With more than two actions, a higher score means a later action.

    Parameters
    ----------
    max_weight : most points of a test, and fewest as -max_weight
    max_tests : most tests with points, None for no limit
    thresholds : cut points of each number: how many weighted quantiles, "all" between neighbouring values, one list for
        each feature, or a mapping from names of features to lists

    """

    max_weight: int = 2
    max_tests: int | None = 3
    thresholds: Any = 3

    _words: ClassVar[Mapping[str, str]] = {"max_features": "max_tests"}
    _adds_up = True

    def _order(self) -> int | None:
        return self.max_tests

    def _policy_class(self, n_actions: int, thresholds: Any, rows: Rows) -> PolicyClass:
        del thresholds, rows  # numbers are tests already
        return _made(
            self._words,
            "linear_rules",
            n_actions=n_actions,
            max_weight=self.max_weight,
            max_features=self.max_tests,
        )


@dataclass(eq=False, repr=False, kw_only=True)
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

    def _policy_class(self, n_actions: int, thresholds: Any, rows: Rows) -> PolicyClass:
        del rows
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


def _made(words: Mapping[str, str], name: str, **options: Any) -> PolicyClass:
    with called(words):
        return cast("PolicyClass", registry.load("policies", name)(**options))


@dataclass(eq=False, repr=False, kw_only=True)
class OptimalPolicy(FromCosts, AnySettings):
    """The optimal policy of any policy class."""


@dataclass(eq=False, repr=False, kw_only=True)
class OptimalPolicyTree(FromCosts, TreeSettings):
    """The optimal decision tree: of all trees up to a depth, the one with the best mean value."""


@dataclass(eq=False, repr=False, kw_only=True)
class OptimalThresholdRule(FromCosts, ThresholdSettings):
    """The optimal threshold rule: one number is cut into pieces, with an action for each."""


@dataclass(eq=False, repr=False, kw_only=True)
class OptimalRuleList(FromCosts, RuleListSettings):
    """The optimal list of rules: if, else if, ..., else, with one test each."""


@dataclass(eq=False, repr=False, kw_only=True)
class OptimalScoringRule(FromCosts, ScoringSettings):
    """The optimal scoring system: small whole weights, and cut points on their sum."""


@dataclass(eq=False, repr=False, kw_only=True)
class LoggedPolicy(FromLog, AnySettings):
    """The best policy of any policy class, by a log."""


@dataclass(eq=False, repr=False, kw_only=True)
class LoggedPolicyTree(FromLog, TreeSettings):
    """The best decision tree, by a log."""


@dataclass(eq=False, repr=False, kw_only=True)
class LoggedThresholdRule(FromLog, ThresholdSettings):
    """The best threshold rule, by a log."""


@dataclass(eq=False, repr=False, kw_only=True)
class LoggedRuleList(FromLog, RuleListSettings):
    """The best list of rules, by a log."""


@dataclass(eq=False, repr=False, kw_only=True)
class LoggedScoringRule(FromLog, ScoringSettings):
    """The best scoring system, by a log."""
