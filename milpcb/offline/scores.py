"""Scores: an estimated outcome for each action in each row of a log.

The score of action k in row j, with the logged action a_j, its outcome y_j and its propensity e_j, is

    Gamma_j(k) = m_j(k) + 1[a_j = k] / e_j * (y_j - m_j(k))

with m = 0 ("ips", Horvitz and Thompson 1952), the self-normalised mean sum(y / e) / sum(1 / e) over the rows of the
action ("snips", Hajek), or a cross-fitted regression ("dr", Robins, Rotnitzky and Zhao 1994; "dm", this alone).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from milpcb.constraints import LabelConstraint
from milpcb.core.checks import choice, instance, number_array, real
from milpcb.data.actions import by_action, matched, place
from milpcb.errors import InputError
from milpcb.offline import overlap as overlaps
from milpcb.offline.diagnostics import Diagnostics, diagnose
from milpcb.offline.intervals import IntervalEstimate, mean_of
from milpcb.offline.log import Log, check_log
from milpcb.offline.nuisances import OUTCOME, PROPENSITY, Progress, cross_fitted, folds_of
from milpcb.types import Bools, Floats, Ints

METHODS = ("dr", "ips", "snips", "dm")


@dataclass(frozen=True, eq=False)
class Scores:
    """Estimated outcome of each action in each row, in the unit and sign of the log; a policy's value is the mean.

    Attributes
    ----------
    table : (n, K) the scores, treatment cost included
    log : the log
    method : "dr", "ips", "snips" or "dm"
    weight : (n,) weight of each row in every mean
    fold : (n,) number of the fold of cross-fitting that each row is in
    regression : (n, K) the m of the formula above, treatment cost included
    charge : (n, K) the amounts that treatment costs add to outcomes, below 0 for rewards
    diagnostics : how far the table can be trusted
    unseen : (n, K) where the log has no rows of an action, so that no policy may play it
    overlap : "required", or "ignore"

    """

    table: Floats
    log: Log
    method: str
    weight: Floats
    fold: Ints
    regression: Floats
    charge: Floats
    diagnostics: Diagnostics
    unseen: Bools
    overlap: str = "required"

    @property
    def maximise(self) -> bool:
        """Whether larger scores are better."""
        return self.log.maximise

    @property
    def actions(self) -> tuple[str, ...]:
        """The K names of the actions."""
        return self.log.actions

    @property
    def logged(self) -> Floats:
        """(n,) the observed outcomes, treatment cost included: their mean is the value of the log's actions."""
        return self.log.outcome + self.charge[np.arange(len(self.charge)), self.log.action]

    @property
    def sign(self) -> float:
        """1 where larger scores are better, else -1."""
        return 1.0 if self.maximise else -1.0

    @property
    def gains(self) -> Floats:
        """(n, K) the table with its sign turned so that larger is better."""
        return self.table if self.maximise else -self.table

    @property
    def best_action(self) -> int:
        """The action that is best when always played, among those with rows everywhere if there are any."""
        values = self.weight @ self.gains
        known = ~self.unseen.any(axis=0)
        return int(np.where(known | ~known.any(), values, -np.inf).argmax())

    @property
    def costs(self) -> Floats:
        """(n, K) weighted costs for an oracle: the policy of least total cost is the best one."""
        return -self.gains * self.weight[:, None]

    def mean(self, numbers: Floats, level: float = 0.95) -> IntervalEstimate:
        """Return the weighted mean of ``numbers`` (n,) over the rows, with a normal interval."""
        return mean_of(numbers, self.weight, level, self.log.group)

    def columns(self, actions: Sequence[str]) -> Ints:
        """Return the columns (K,) of the table that belong to ``actions``, by name; raises InputError."""
        return matched("the scores", self.actions, actions or self.actions)

    def by(self, actions: Sequence[str]) -> Self:
        """Return the scores with a column for each of ``actions``, by name; as they are where there are no names."""
        order = self.columns(actions)
        if tuple(actions or self.actions) == self.actions:
            return self
        tables = {name: getattr(self, name)[:, order] for name in ("table", "regression", "charge", "unseen")}
        return replace(self, log=self.log.by(tuple(actions), order), **tables)

    def take(self, rows: Ints) -> Self:
        """Return the scores of some rows; the diagnostics stay those of all."""
        names = ("table", "weight", "fold", "regression", "charge", "unseen")
        return replace(self, log=self.log.take(rows), **{name: getattr(self, name)[rows] for name in names})

    @property
    def support(self) -> list[LabelConstraint]:
        """The side constraint that actions are played only where the log has rows of them; [] for none."""
        return overlaps.rules_on(self.unseen)


def scores(
    log: Log,
    method: str = "dr",
    *,
    model_outcome: Any = None,
    model_propensity: Any = None,
    cv: int | Ints = 5,
    seed: int = 0,
    min_propensity: float = 0.01,
    treatment_cost: Mapping[Any, float] | Any = None,
    sample_weight: Any = None,
    overlap: str = "required",
    progress: Progress | None = None,
) -> Scores:
    """Return the scores of a log, cross-fitted: no model predicts a row that it has seen.

    Parameters
    ----------
    log : see ``read_log``
    method : "dr", "ips", "snips" or "dm", see milpcb/offline/README.md
    model_outcome : scikit-learn regressor, or a classifier where outcomes are 0 and 1, fitted once per action and fold;
        None: histogram gradient boosting, or the mean of each action where the log is a small randomised trial
    model_propensity : scikit-learn classifier, where the log has no propensities; None: histogram gradient boosting
    cv, seed : number of folds, >= 2, or the number of the fold (n,) of each row; and seed of folds and default models
    min_propensity : smaller propensities are raised to it, and counted, but not in a randomised trial
    treatment_cost : the cost of an action beside its outcome, in the unit of the outcome: (K,), (n, K), or a mapping
        from names of actions to numbers or columns (n,), 0 for those not named
    sample_weight : (n,) weights of the rows, none negative: in every mean, in the shares of a randomised trial and in
        the means of "snips", but not in folds and models
    overlap : "required": no policy may play an action where the log has no rows of it; "ignore": its score there is
        extrapolated from rows elsewhere
    progress : called as ``progress(done, total)`` after the regression of each action

    """
    check_log(log)
    choice("method", method, METHODS)
    ignored = choice("overlap", overlap, overlaps.KINDS) == "ignore"
    least = real("min_propensity", min_propensity, "at least 0 and below 1", lambda value: 0 <= value < 1)
    fold = folds_of(log, cv, seed)
    charge = _charge(treatment_cost, log)
    weight = _row_weights(sample_weight, log)
    propensity = _propensities(log, weight, model_propensity, fold, seed)
    taken = log.action[:, None] == np.arange(len(log.actions))
    logged = propensity[taken]
    clipped = logged if log.randomised else np.maximum(logged, least)
    if len(wrong := np.flatnonzero(~(clipped > 0))):
        raise InputError(
            f"by model_propensity the action in row {wrong[0]} has a propensity of {clipped[wrong[0]]:g}; give "
            "min_propensity, to which it is raised, or another model"
        )
    inverse = taken / clipped[:, None]
    regression = _regression(log, method, weight[:, None] * inverse, model_outcome, fold, seed, progress)
    table = regression + inverse * (log.outcome[:, None] - regression) * (method != "dm")
    counts, expected = overlaps.rows_of_actions(log, weight)
    tests = list(overlaps.column_tests(log.columns))
    parts = overlaps.parts_without(tests, log.action, counts.sum(axis=1), expected, least)
    cells, zero = overlaps.cells_without(log, parts), overlaps.impossible(log).sum(axis=0)
    named = [(part.action, part.words) for part in parts]
    table, regression = table + charge, regression + charge
    facts: dict[str, Any] = {
        "clipped": int((logged < clipped).sum()),
        "min_propensity": least,
        "regression_only": method == "dm",
        "given": log.propensity is not None,
        "unseen": tuple(overlaps.sentences(log.actions, named, zero, ignored=ignored)),
    }
    known = propensity if ignored else np.where(cells, np.nan, propensity)
    trust = diagnose(log, weight, known, inverse, table, ~cells, **facts)
    return Scores(table, log, method, weight, fold, regression, charge, trust, cells & (not ignored), overlap)


def _propensities(log: Log, weight: Floats, model: Any, fold: Ints, seed: int) -> Floats:
    """Return the propensities (n, K), NaN where they are not known; shares of the log are shares of the weight."""
    if log.shares:
        shares = np.bincount(log.action, weight, len(log.actions)) / weight.sum()
        return np.asarray(np.broadcast_to(shares, (len(log), len(shares))))
    return cross_fitted(PROPENSITY, log, model, seed, fold) if log.propensity is None else log.propensity


def _regression(
    log: Log, method: str, inverse: Floats, model: Any, fold: Ints, seed: int, progress: Progress | None
) -> Floats:
    """Return m (n, K) of the method; ``inverse`` (n, K) has the weight of each row in the mean of its action."""
    if method == "ips":
        return np.zeros(inverse.shape)
    if method == "snips":
        return np.tile(log.outcome @ inverse / inverse.sum(axis=0), (len(log), 1))
    return cross_fitted(OUTCOME, log, model, seed, fold, progress)


def _charge(treatment_cost: Any, log: Log) -> Floats:
    """Return what is added to scores (n, K): less than 0 for rewards."""
    shape = (len(log), len(log.actions))
    if treatment_cost is None:
        return np.zeros(shape)
    array = treatment_costs(treatment_cost, log.actions)
    if array.shape not in {shape[1:], shape}:
        raise InputError(f"treatment_cost must be finite numbers, {shape[1:]} by action or {shape}, got {array.shape}")
    return np.broadcast_to(-array if log.maximise else array, shape)


def treatment_costs(treatment_cost: Any, actions: tuple[str, ...]) -> Floats:
    """Return the costs of actions as an array, 0 where a mapping does not name them; raises InputError."""
    if isinstance(treatment_cost, Mapping):
        named = {place("action in treatment_cost", name, actions): price for name, price in treatment_cost.items()}
        treatment_cost = {name: named.get(k, 0.0) for k, name in enumerate(actions)}
    array = number_array("treatment_cost", by_action("treatment_cost", treatment_cost, actions))
    if not np.isfinite(array).all():
        raise InputError("treatment_cost must be finite numbers, for every row where they are columns")
    return array


def _row_weights(sample_weight: Any, log: Log) -> Floats:
    n = len(log)
    if sample_weight is None:
        return np.ones(n)
    weight = number_array("sample_weight", sample_weight)
    if weight.shape != (n,) or not (np.isfinite(weight) & (weight >= 0)).all():
        raise InputError(f"sample_weight must be {n} numbers, none negative")
    if not (totals := np.bincount(log.action, weight, len(log.actions))).all():
        name = log.actions[int(totals.argmin())]
        raise InputError(f"all rows with action '{name}' have a sample_weight of 0; leave them and the action out")
    return weight


def check_scores(scores: Any, what: str = "scores") -> None:
    """Raise InputError on anything but scores."""
    instance(what, scores, Scores, "the Scores of milpcb.offline.scores")
