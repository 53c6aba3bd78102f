"""Optimal readable policies with the interface of scikit-learn: from a table of costs, or from a log."""

from milpcb.errors import needs

with needs("learn", "milpcb.estimators"):
    import narwhals as _narwhals  # noqa: F401 - both are there, or one line names the extra
    import sklearn as _sklearn  # noqa: F401 - see above

from milpcb.constraints import always, mean_at_most, never, parity, share_at_most
from milpcb.estimators.classes import (
    LoggedPolicy,
    LoggedPolicyTree,
    LoggedRuleList,
    LoggedScoringRule,
    LoggedThresholdRule,
    OptimalPolicy,
    OptimalPolicyTree,
    OptimalRuleList,
    OptimalScoringRule,
    OptimalThresholdRule,
)

__all__ = [
    "LoggedPolicy",
    "LoggedPolicyTree",
    "LoggedRuleList",
    "LoggedScoringRule",
    "LoggedThresholdRule",
    "OptimalPolicy",
    "OptimalPolicyTree",
    "OptimalRuleList",
    "OptimalScoringRule",
    "OptimalThresholdRule",
    "always",
    "mean_at_most",
    "never",
    "parity",
    "share_at_most",
]
