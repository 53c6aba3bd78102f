"""The two models behind scores, of outcomes and of propensities, cross-fitted: none predicts a row it was fitted to."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from milpcb.data.columns import as_numbers
from milpcb.errors import InputError, clipped, needs
from milpcb.offline.log import Log
from milpcb.rng import child
from milpcb.types import Floats, Ints

OUTCOME, PROPENSITY = "model_outcome", "model_propensity"
NEEDS = {OUTCOME: "a regression of outcomes", PROPENSITY: "a model of propensities"}
SMALL = 500  # rows of the rarest action: with fewer, the default regression in a randomised trial is the mean
Progress = Callable[[int, int], None]  # called with how much is done, and how much there is


def stratified_folds(log: Log, cv: int, seed: int) -> Ints:
    """Return the number of the fold (n,) of each row; every action is dealt out evenly, in random order.

    Groups are dealt out whole, by the action of their first row. Raises InputError where there are too few rows.
    """
    members, first = log.members, np.unique(log.members, return_index=True)[1]
    counts = np.bincount(log.action, minlength=len(log.actions))
    if len(first) < cv:
        what = "rows" if log.group is None else "groups"
        raise InputError(f"the log has {len(first)} {what} for {cv} folds; give more {what}, or a smaller cv")
    rng = child(seed, "offline", "folds")
    dealt = np.concatenate([rng.permutation(np.flatnonzero(log.action[first] == k)) for k in range(len(counts))])
    fold = np.empty(len(first), dtype=np.int64)
    fold[dealt] = np.arange(len(first)) % cv
    rows = fold[members]
    for k, name in enumerate(log.actions):
        if len(np.unique(rows[log.action == k])) < 2:
            raise InputError(
                f"action '{name}' must be in two folds, and its {counts[k]} rows are in one: merge rare actions, such "
                "as levels of a dose, or give more rows or groups"
            )
    return rows


def cross_fitted(role: str, log: Log, model: Any, seed: int, fold: Ints, progress: Progress | None = None) -> Floats:
    """Return the predictions (n, K) of each row of a log, by models that were fitted to the other folds.

    ``model`` is None for the default of its role; a model of outcomes is fitted to the rows of each action. The models
    use one thread, so that the same log gives the same bytes; ``progress`` is called after each model.
    """
    with needs("learn", NEEDS[role]):
        from sklearn.base import is_classifier
        from sklearn.model_selection import cross_val_predict
        from threadpoolctl import threadpool_limits  # scikit-learn brings it
    template, features = _default(role, log, seed) if model is None else (model, log.features)
    found = list[Floats]()
    target: Any = log.outcome if role == OUTCOME else log.action
    by_action = [log.action == k for k in range(len(log.actions))]
    parts = by_action if role == OUTCOME else [np.ones(len(log), dtype=bool)]
    for part in parts:
        folds = [(np.flatnonzero(part & (fold != own)), np.flatnonzero(fold == own)) for own in np.unique(fold)]
        with _named(role, template), threadpool_limits(1):
            chances = role == PROPENSITY or is_classifier(template)
            method = "predict_proba" if chances else "predict"
            predicted = cross_val_predict(template, features, target, cv=folds, method=method)
        found.append(predicted @ np.unique(target) if role == OUTCOME and chances else predicted)
        if progress is not None:
            progress(len(found), len(parts))
    return np.column_stack(found)


def _default(role: str, log: Log, seed: int) -> tuple[Any, Floats]:
    """Return the default model of a role, and the numbers (n, d) that it reads."""
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
        return np.asarray(log.features, dtype=float)
    except (TypeError, ValueError) as error:
        if columns := log.columns():
            return as_numbers(columns.values())
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
