"""Scores: what each action would have given in each row of a log, estimated."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from milpcb.offline.log import Log
from milpcb.types import Floats, Ints


@dataclass(frozen=True)
class Diagnostics:
    """How far the scores can be trusted.

    Attributes
    ----------
    actions : K names
    least_propensity : (K,) the least propensity of the rows in which the action was taken, before clipping
    effective_size : (K,) how many rows taken with equal weights would be as informative as those of the action
    clipped : how many propensities of logged actions were below ``min_propensity`` and were raised to it
    calibration : (K,) mean of 1[a = k] / propensity, which is 1 but for chance where propensities are right
    calibration_error : (K,) its standard error
    outcome_r2 : (K,) the share of the variance of the outcome that the cross-fitted regression explains in the rows of
        each action; NaN where there is no regression

    """

    actions: tuple[str, ...]
    least_propensity: Floats
    effective_size: Floats
    clipped: int
    min_propensity: float
    calibration: Floats
    calibration_error: Floats
    outcome_r2: Floats

    def words(self) -> list[str]:
        """Return the warnings that follow, a sentence each; none where all is well."""
        raise NotImplementedError


@dataclass(frozen=True, eq=False)
class Scores:
    """What each action would have given in each row, in the unit and sign of the log; a policy's value is the mean.

    Attributes
    ----------
    table : (n, K); entry (j, k) estimates the outcome of action k in row j, less (rewards) or plus (costs) what the
        treatment costs
    log : the log
    method : "dr", "ips", "snips" or "dm"
    weight : (n,) weight of each row in every mean, 1 where none was given
    logged : (n,) the outcome as it was, treatment cost included: the value of what was done is its mean
    fold : (n,) number of the fold of cross-fitting that each row is in
    diagnostics : how far the table can be trusted

    """

    table: Floats
    log: Log
    method: str
    weight: Floats
    logged: Floats
    fold: Ints
    diagnostics: Diagnostics

    @property
    def maximise(self) -> bool:
        """Whether larger scores are better."""
        return self.log.maximise

    @property
    def actions(self) -> tuple[str, ...]:
        """The K names of the actions."""
        return self.log.actions

    @property
    def costs(self) -> Floats:
        """(n, K) weighted costs for an oracle: its least total is that of the best policy."""
        raise NotImplementedError

    def take(self, rows: Ints) -> Scores:
        """Return the scores of some rows."""
        raise NotImplementedError


def scores(
    log: Log,
    method: str = "dr",
    *,
    model_outcome: Any = None,
    model_propensity: Any = None,
    cv: int = 5,
    seed: int = 0,
    min_propensity: float = 0.01,
    treatment_cost: Mapping[Any, float] | Any = None,
    sample_weight: Any = None,
) -> Scores:
    """Return the scores of a log, cross-fitted: what is fitted never sees the row that it predicts.

    Parameters
    ----------
    log : see ``read_log``
    method : "dr" (doubly robust: regression plus weighted residual), "ips" (inverse propensity), "snips" (the same,
        self-normalised per action) or "dm" (regression alone)
    model_outcome : scikit-learn regressor, or a classifier where outcomes are 0 and 1, fitted once per action and fold;
        None: histogram gradient boosting, or the mean of each action where the log is a small randomised trial
    model_propensity : scikit-learn classifier, used where the log has no propensities; None: histogram gradient
        boosting
    cv : number of folds, >= 2, each with rows of every action
    seed : of the folds and of the default models
    min_propensity : smaller propensities are raised to it, and counted
    treatment_cost : what an action costs beside its outcome, in the unit of the outcome: (K,), (n, K), or a mapping
        from names of actions, 0 for those not named
    sample_weight : (n,) weights of the rows, none negative

    Raises
    ------
    InputError (method, options, tables that do not fit the log, models that cannot take the features),
    ExtraMissingError (scikit-learn is not installed)

    """
    raise NotImplementedError
