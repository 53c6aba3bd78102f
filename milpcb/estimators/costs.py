"""Estimators that learn from a table of what each action costs, or earns, in each row."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from milpcb.core.checks import flag
from milpcb.errors import InputError
from milpcb.estimators.base import PolicyEstimator
from milpcb.estimators.inputs import checked, read_features, read_targets, read_weights


@dataclass(eq=False, repr=False, kw_only=True)
class FromCosts(PolicyEstimator):
    """Learns from a table of values by action.

    Parameters
    ----------
    maximise : whether the table holds rewards, otherwise it holds costs

    """

    maximise: bool = False

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Find the optimal policy.

        Parameters
        ----------
        X : (n, d) array, or a data frame of pandas or polars; numbers, strings, booleans, and missing ones
        y : (n, K) what each action costs (or earns) in each row; the columns of a data frame name the actions. Or (n,)
            labels: a wrong one costs 1
        sample_weight : (n,) how much each row counts; to repeat a row is to double its weight

        Raises
        ------
        InputError, a ValueError; InfeasibleError where no policy keeps the constraints; OracleInexact where none was
        found in time

        """
        if y is None:
            raise InputError(f"{type(self).__name__} requires y to be passed, but the target y is None")
        features = read_features(self, checked(self, X, reset=True))
        targets, actions = read_targets(y, len(features), maximise=flag("maximise", self.maximise))
        return self._learn(
            features, targets, actions, read_weights(sample_weight, len(features)), maximise=self.maximise
        )

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the mean value of the policy on other rows, larger is better: minus the mean cost, or the mean reward.

        ``y`` as in ``fit``: with labels it is minus the share of wrong ones, or the share of right ones.
        """
        policy = self._policy()
        labels = policy.predict(checked(self, X, reset=False))
        targets, _ = read_targets(y, len(labels), maximise=self.maximise, actions=self.actions_)
        mean = np.average(targets[np.arange(len(labels)), labels], weights=read_weights(sample_weight, len(labels)))
        return float(mean if self.maximise else -mean)
