"""The two models behind scores, of outcomes and of propensities, cross-fitted: none predicts a row it was fitted to."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from milpcb.core.extras import needs
from milpcb.data.columns import as_numbers
from milpcb.errors import InputError, clipped
from milpcb.offline.log import Log, take_rows
from milpcb.rng import child
from milpcb.types import Bools, Floats, Ints

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


@dataclass(frozen=True, eq=False)
class Fit:
    """Copies of one model: of outcomes, each fitted to the rows of an action, or one classifier of all actions."""

    role: str
    copies: tuple[Any, ...]
    known: tuple[Bools | None, ...]  # columns with numbers in the rows of a fit; None for models of one's own

    def predict(self, features: Any) -> Floats:
        """Return the predictions (n, K) of rows: outcomes, or propensities; raises InputError."""
        pairs = zip(self.copies, self.known, strict=True)
        return np.column_stack([self._by(copy, _read(features, known)) for copy, known in pairs])

    def _by(self, copy: Any, features: Any) -> Any:
        from sklearn.base import is_classifier

        with _named(self.role, copy):
            if self.role == PROPENSITY:
                return np.asarray(copy.predict_proba(features), dtype=float)
            return copy.predict_proba(features) @ copy.classes_ if is_classifier(copy) else copy.predict(features)


def fit(role: str, log: Log, model: Any, seed: int, rows: Ints) -> Fit:
    """Return copies of ``model``, None for the default of its role, fitted to ``rows`` of a log; raises InputError."""
    with needs("learn", NEEDS[role]):
        from sklearn.base import clone
    template = _default(role, log, seed) if model is None else model
    by_action = [rows[log.action[rows] == k] for k in range(len(log.actions))]
    parts, target = (by_action, log.outcome) if role == OUTCOME else ([rows], log.action)
    copies, left = list[Any](), list[Bools | None]()
    for own in parts:
        features = take_rows(log.features, own)
        left.append(~np.isnan(features).all(axis=0) if model is None else None)
        with _named(role, template):
            copies.append(clone(template).fit(_read(features, left[-1]), target[own]))
    return Fit(role, tuple(copies), tuple(left))


def _read(features: Any, known: Bools | None) -> Any:
    """Return features with 0 in columns that were missing in all rows of a fit, on which boosting fails."""
    return features if known is None else np.where(known, features, 0.0)


def fits_by_fold(
    role: str, log: Log, model: Any, seed: int, fold: Ints, cv: int | None = None, progress: Progress | None = None
) -> dict[int, Fit]:
    """Return for each fold, of 0..cv - 1 or of those that have rows, the models that were fitted to all others.

    The models use one thread, so that the same log gives the same bytes; ``progress`` is called after each fold.
    """
    from threadpoolctl import threadpool_limits  # scikit-learn brings it

    numbers, found = list(range(cv)) if cv else np.unique(fold).tolist(), {}
    with threadpool_limits(1):
        for number in numbers:
            found[number] = fit(role, log, model, seed, np.flatnonzero(fold != number))
            if progress is not None:
                progress(len(found), len(numbers))
    return found


def predicted(fits: Mapping[int, Fit], features: Any, fold: Ints) -> Floats:
    """Return the predictions (n, K) of rows, each by the models of its ``fold`` (n,), which have not seen it."""
    from threadpoolctl import threadpool_limits  # scikit-learn brings it

    every = [(np.flatnonzero(fold == number), each) for number, each in fits.items()]
    with threadpool_limits(1):
        tables = [(rows, each.predict(take_rows(features, rows))) for rows, each in every if len(rows)]
    found = np.empty((len(fold), tables[0][1].shape[1]))
    for rows, table in tables:
        found[rows] = table
    return found


def cross_fitted(role: str, log: Log, model: Any, seed: int, fold: Ints, progress: Progress | None = None) -> Floats:
    """Return the predictions (n, K) of each row of a log, by models that were fitted to the other folds."""
    read = log if model is not None else _numbered(role, log)
    fits = fits_by_fold(role, read, model, seed, fold, progress=progress)
    return predicted(fits, read.features, fold)


def _numbered(role: str, log: Log) -> Log:
    """Return a log with its features as the numbers that default models read, strings by the alphabet of all rows."""
    if _by_means(role, log):
        return replace(log, features=np.zeros((len(log), 1)))
    try:
        return replace(log, features=np.asarray(log.features, dtype=float))
    except (TypeError, ValueError) as error:
        if columns := log.columns():
            return replace(log, features=as_numbers(columns.values()))
        raise InputError(
            "the default models read numbers, strings, booleans and what is missing, and some feature holds other "
            "objects; turn them into numbers, or give models that read them"
        ) from error


def _by_means(role: str, log: Log) -> bool:
    return role == OUTCOME and log.randomised and bool(np.bincount(log.action).min() < SMALL)


def _default(role: str, log: Log, seed: int) -> Any:
    from sklearn.dummy import DummyRegressor
    from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

    if _by_means(role, log):
        return DummyRegressor()
    boosted = HistGradientBoostingRegressor if role == OUTCOME else HistGradientBoostingClassifier
    drawn = child(seed, "offline", role.removeprefix("model_")).integers(2**31)
    return boosted(random_state=int(drawn), **BOOSTING)


BOOSTING = {"max_iter": 50, "learning_rate": 0.1, "max_leaf_nodes": 8}  # scikit-learn's own defaults fit the noise


@contextmanager
def _named(role: str, model: Any) -> Iterator[None]:
    try:
        yield
    except (AttributeError, TypeError, ValueError) as error:
        reason = clipped(str(error), 300)
        raise InputError(f"{role} {type(model).__name__} cannot be fitted to this log: {reason}") from error
