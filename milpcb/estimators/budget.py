"""Value against budget: the best policy for each share of the rows that may get an action."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone

from milpcb.constraints import share_at_most
from milpcb.core.checks import instance, several
from milpcb.data.actions import action_name, place
from milpcb.errors import InputError
from milpcb.estimators.base import PolicyEstimator
from milpcb.estimators.inputs import read_weights


@dataclass(frozen=True)
class BudgetPoint:
    """The best policy where at most ``share`` (0..1) of the rows get the action.

    ``value`` is its mean value on the rows of the fit, too good where it was chosen by what was estimated on them;
    ``lower_bound`` is what is proved of it on these rows (see PolicyEstimator), ``optimal`` whether they are equal.
    ``used`` (0..1) is the share that it gives the action to; ``estimator`` is fitted.
    """

    share: float
    used: float
    value: float
    lower_bound: float
    optimal: bool
    estimator: Any


def budget_curve(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    action: Any,
    shares: Sequence[float] = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0),
    **fit_params: Any,
) -> list[BudgetPoint]:
    """Return a point for each of ``shares``, each a proved optimum unless a time limit or a gap is set.

    Parameters
    ----------
    estimator : any of milpcb.estimators; it is cloned, and its own constraints are kept too
    X, y, fit_params : as its ``fit`` takes them
    action : name of the action that is scarce
    shares : largest shares of the rows, weights counted, that may get it

    """
    instance("estimator", estimator, PolicyEstimator, "an estimator, as in OptimalPolicyTree()")
    listed = estimator.constraints if isinstance(estimator.constraints, (list, tuple)) else [estimator.constraints]
    shares = several("shares", shares, object, "shares from 0 to 1")
    if not shares:
        raise InputError("shares must hold at least one share, from 0 to 1")
    points = []
    for share in shares:
        fitted = clone(estimator).set_params(constraints=[*listed, share_at_most(action, share)])
        fitted.fit(X, y, **fit_params)
        weight = read_weights(fit_params.get("sample_weight"), len(X))
        scarce = place("action of a budget", action, [action_name(each) for each in fitted.actions_.tolist()])
        used = float(np.average(fitted.policy_.predict(X) == scarce, weights=weight))
        points.append(BudgetPoint(share, used, fitted.policy_value_, fitted.lower_bound_, fitted.optimal_, fitted))
    return points
