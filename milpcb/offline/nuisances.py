"""The models of outcomes and of propensities behind scores, cross-fitted: none predicts a row it was fitted to."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from milpcb.core.checks import whole, whole_array
from milpcb.data.columns import as_numbers
from milpcb.errors import InputError, clipped, needs, shown
from milpcb.offline.log import Log
from milpcb.rng import child
from milpcb.types import Floats, Ints

OUTCOME, PROPENSITY = "model_outcome", "model_propensity"
NEEDS = {OUTCOME: "a regression of outcomes", PROPENSITY: "a model of propensities"}
SMALL = 500  # rows of the rarest action: with fewer, the default regression in a randomised trial is the mean
Progress = Callable[[int, int], None]  # called with how much is done, and how much there is


def folds_of(log: Log, cv: Any, seed: int) -> Ints:
    """Return the number of the fold (n,) of each row: ``cv`` if it is that, else dealt out; InputError for too few."""
    fold = whole_array("cv", cv) if hasattr(cv, "__len__") else _dealt(log, whole("cv", cv, 2), seed)
    if fold.shape != (len(log),):
        raise InputError(f"cv must be a number of folds, or the fold of each of the {len(log)} rows, got {shown(cv)}")
    for k, name in enumerate(log.actions):
        own = fold[log.action == k]
        if len(np.unique(own)) < 2:
            raise InputError(
                f"action '{name}' must be in two folds, and its {len(own)} rows are in one: merge rare actions, such "
                "as levels of a dose, or give more rows or groups"
            )
    return fold


def _dealt(log: Log, cv: int, seed: int) -> Ints:
    """Deal every action out evenly, in random order; groups go whole, by the action of their first row."""
    members, first = log.members, np.unique(log.members, return_index=True)[1]
    if len(first) < cv:
        what = "rows" if log.group is None else "groups"
        raise InputError(f"the log has {len(first)} {what} for {cv} folds; give more {what}, or a smaller cv")
    rng, K = child(seed, "offline", "folds"), len(log.actions)
    dealt = np.concatenate([rng.permutation(np.flatnonzero(log.action[first] == k)) for k in range(K)])
    fold = np.empty(len(first), dtype=np.int64)
    fold[dealt] = np.arange(len(first)) % cv
    return np.asarray(fold[members])


@dataclass(frozen=True, eq=False)
class Fits:
    """Copies of a model of outcomes for each action, or of one model of propensities, by the fold left out."""

    role: str
    copies: Sequence[Mapping[int, Any]]
    outcomes: Floats  # the distinct ones, of which a classifier predicts the number

    def predict(self, features: Any, fold: Ints) -> Floats:
        """Return the predictions (n, K) of rows, each by the models that were not fitted to its ``fold`` (n,)."""
        from sklearn.utils import _safe_indexing
        from threadpoolctl import threadpool_limits  # scikit-learn brings it

        places, found = {number: np.flatnonzero(fold == number) for number in np.unique(fold).tolist()}, list[Floats]()
        with threadpool_limits(1):
            for number, rows in places.items():
                here = _safe_indexing(features, rows)
                found.append(np.column_stack([self._predicted(own[number], here) for own in self.copies]))
        return np.asarray(np.concatenate(found)[np.argsort(np.concatenate([*places.values()]))])

    def _predicted(self, copy: Any, features: Any) -> Any:
        from sklearn.base import is_classifier

        with _named(self.role, copy):
            if self.role == PROPENSITY:
                return copy.predict_proba(features)
            if is_classifier(copy):
                return copy.predict_proba(features) @ self.outcomes[copy.classes_]
            return copy.predict(features)


def cross_fitted(role: str, log: Log, model: Any, seed: int, fold: Ints, progress: Progress | None = None) -> Floats:
    """Return the predictions (n, K) of each row of a log, by models that were fitted to the other folds."""
    template, features = (model, log.features) if model is not None else default(role, log, seed)
    return fitted(role, log, features, template, fold, np.unique(fold), progress).predict(features, fold)


def fitted(
    role: str, log: Log, features: Any, model: Any, fold: Ints, left_out: Ints, progress: Progress | None = None
) -> Fits:
    """Return copies of a model that reads ``features``, for each fold ``left_out``; one thread gives equal bytes."""
    with needs("learn", NEEDS[role]):
        from sklearn.base import clone, is_classifier
        from sklearn.utils import _safe_indexing
        from threadpoolctl import threadpool_limits
    outcomes, number = np.unique(log.outcome, return_inverse=True)
    with _named(role, model):
        target: Any = log.action if role == PROPENSITY else number if is_classifier(model) else log.outcome
    by_action = [log.action == k for k in range(len(log.actions))]
    parts = by_action if role == OUTCOME else [np.ones(len(log), dtype=bool)]
    copies = [dict[int, Any]() for _ in parts]
    for done, (part, own) in enumerate(zip(parts, copies, strict=True), 1):
        for each in left_out:
            rows = np.flatnonzero(part & (fold != each))
            with _named(role, model), threadpool_limits(1):
                own[each] = clone(model).fit(_safe_indexing(features, rows), target[rows])
        if progress is not None:
            progress(done, len(parts))
    return Fits(role, copies, outcomes)


def default(role: str, log: Log, seed: int) -> tuple[Any, Floats]:
    """Return the default model of a role, and the numbers (n, d) that it reads; raises InputError."""
    from sklearn.compose import make_column_transformer
    from sklearn.dummy import DummyRegressor
    from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
    from sklearn.pipeline import make_pipeline

    if role == OUTCOME and log.randomised and np.bincount(log.action).min() < SMALL:
        return DummyRegressor(), np.zeros((len(log), 1))
    boosted = HistGradientBoostingRegressor if role == OUTCOME else HistGradientBoostingClassifier
    drawn = child(seed, "offline", role.removeprefix("model_")).integers(2**31)
    boosting = boosted(random_state=int(drawn), **BOOSTING)
    return make_pipeline(make_column_transformer(("passthrough", _known)), boosting), _numbers(log)


def _numbers(log: Log) -> Floats:
    """Return features as numbers, strings by the alphabet of all rows."""
    try:
        return as_numbers(log.columns.values()) if log.columns else np.asarray(log.features, dtype=float)
    except (TypeError, ValueError) as error:
        raise InputError(
            "the default models read numbers, strings, booleans and what is missing, and some feature holds other "
            "objects; turn them into numbers, or give models that read them"
        ) from error


def _known(features: Floats) -> list[int]:
    """Return the columns that are not missing in all rows of a fit, on which boosting fails."""
    return np.flatnonzero(~np.isnan(features).all(axis=0)).tolist()


BOOSTING = {"max_iter": 50, "learning_rate": 0.1, "max_leaf_nodes": 8}  # scikit-learn's own defaults fit the noise


@contextmanager
def _named(role: str, model: Any) -> Iterator[None]:
    try:
        yield
    except (AttributeError, TypeError, ValueError) as error:
        reason = clipped(str(error), 300)
        raise InputError(f"{role} {type(model).__name__} cannot be fitted to this log: {reason}") from error
