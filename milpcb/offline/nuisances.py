"""The two models behind scores, of outcomes and of propensities, cross-fitted: none predicts a row it was fitted to.

For a log that does not fit memory models are fitted to a sample of its rows: every row has a fold, which follows from
its number in the log, and is predicted by the models that were fitted to rows of the sample in the other folds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from typing import Any

import numpy as np

from milpcb.core.extras import needs
from milpcb.data.columns import as_numbers
from milpcb.errors import InputError, clipped
from milpcb.offline.hashing import folds_of
from milpcb.offline.log import Log, take_rows
from milpcb.rng import child
from milpcb.types import Bools, Floats, Ints

SMALL = 500  # rows of the rarest action: with fewer, the default regression in a randomised trial is the mean
Progress = Callable[[int, int], None]  # called with how much is done, and how much there is
Fitted = Callable[[Ints, Ints], Floats]  # rows to fit on, rows (m,) to predict -> (m, K)


def stratified_folds(log: Log, cv: int, seed: int) -> Ints:
    """Return the number of the fold (n,) of each row; every action is dealt out evenly, in random order.

    Groups are dealt out whole, by the action of their first row. Raises InputError on fewer rows or groups than folds,
    and where an action would be missing outside of a fold.
    """
    members, first = log.members, np.unique(log.members, return_index=True)[1]
    counts = np.bincount(log.action, minlength=len(log.actions))
    if len(first) < cv:
        what = "rows" if log.group is None else "groups"
        raise InputError(f"the log has {len(first)} {what} for {cv} folds; give more {what}, or a smaller cv")
    if counts.min() < 2:
        raise InputError(
            f"action '{log.actions[counts.argmin()]}' is taken only {counts.min()} times; it must be in two folds: "
            "merge rare actions, such as levels of a dose, or leave their rows out"
        )
    rng = child(seed, "offline", "folds")
    dealt = np.concatenate([rng.permutation(np.flatnonzero(log.action[first] == k)) for k in range(len(counts))])
    fold = np.empty(len(first), dtype=np.int64)
    fold[dealt] = np.arange(len(first)) % cv
    rows = fold[members]
    for k, name in enumerate(log.actions):
        if len(np.unique(rows[log.action == k])) < 2:
            raise InputError(
                f"all rows with action '{name}' are in groups of one fold; give more groups, or another cv"
            )
    return rows


def cross_fitted(fitted: Fitted, fold: Ints, progress: Progress | None = None) -> Floats:
    """Return the predictions (n, K) of each row, by what was fitted on the other folds.

    The models use one thread: the same log gives the same bytes, and boosting on several is slower where cores are
    shared.
    """
    from threadpoolctl import threadpool_limits  # scikit-learn brings it

    everyone = np.arange(len(fold))
    parts = [(fold == number) for number in np.unique(fold)]
    tables = []
    with threadpool_limits(1):
        for part in parts:
            tables.append(fitted(everyone[~part], everyone[part]))
            if progress is not None:
                progress(len(tables), len(parts))
    return np.concatenate(tables)[np.argsort(np.concatenate([everyone[part] for part in parts]))]


@dataclass(frozen=True, eq=False)
class OutcomeFit:
    """A model of outcomes for each action: copies of one model, each fitted to the rows with its action."""

    copies: tuple[Any, ...]
    empty: tuple[Bools | None, ...]  # columns without any number in these rows; None where models read them as they are

    def predict(self, features: Any) -> Floats:
        """Return the predictions (n, K) of rows; raises InputError."""
        pairs = zip(self.copies, self.empty, strict=True)
        return np.column_stack([self._by(copy, features, empty) for copy, empty in pairs])

    def _by(self, copy: Any, features: Any, empty: Bools | None) -> Any:
        from sklearn.base import is_classifier

        with _named("model_outcome", copy):
            asked = _asked(features, empty)
            return copy.predict_proba(asked) @ copy.classes_ if is_classifier(copy) else copy.predict(asked)


def fit_outcomes(log: Log, model: Any, seed: int, rows: Ints) -> OutcomeFit:
    """Return copies of ``model``, None for the default, fitted to ``rows`` of a log; raises InputError."""
    with needs("learn", "a regression of outcomes"):
        from sklearn.base import clone
    template = _default_outcome(log, seed) if model is None else model
    copies, left = [], []
    for k in range(len(log.actions)):
        own = rows[log.action[rows] == k]
        known, empty = _known(log, model is None and template, own)
        with _named("model_outcome", template):
            copies.append(clone(template).fit(known, log.outcome[own]))
        left.append(empty)
    return OutcomeFit(tuple(copies), tuple(left))


def outcome_model(log: Log, model: Any, seed: int) -> Fitted:
    """Return what fits a copy of ``model`` to the rows of each action, and predicts every row by each of them."""
    read = log if model is not None else _numbered(log)
    return lambda train, rows: fit_outcomes(read, model, seed, train).predict(take_rows(read.features, rows))


def propensity_model(log: Log, model: Any, seed: int) -> Fitted:
    """Return what fits a copy of the classifier ``model`` to the actions, and predicts the probability of each."""
    with needs("learn", "a model of propensities"):
        from sklearn.base import clone
    template = _default_propensity(seed) if model is None else model
    read = log if model is not None else _numbered(log)

    def fitted(train: Ints, rows: Ints) -> Floats:
        known, empty = _known(read, model is None and template, train)
        asked = _asked(take_rows(read.features, rows), empty)
        with _named("model_propensity", template):
            return np.asarray(clone(template).fit(known, log.action[train]).predict_proba(asked), dtype=float)

    return fitted


def _numbered(log: Log) -> Log:
    """Return a log with its features as the numbers that default models read; as they are where nobody can read them.

    The codes of strings are those of the whole log: a fold of it may lack some.
    """
    try:
        return replace(log, features=np.asarray(log.features, dtype=float))
    except (TypeError, ValueError):
        columns = log.columns()
        return replace(log, features=as_numbers(columns.values())) if columns else log


def _known(log: Log, default: Any, train: Ints) -> tuple[Any, Bools | None]:
    """Return what a model is fitted on, for boosting by ``default`` numbers; then also which columns hold none.

    Boosting fails on a column that is missing in all rows of the fit: there it is 0, which no tree divides.
    """
    known = take_rows(log.features, train)
    if not (default and "max_leaf_nodes" in default.get_params()):
        return known, None
    known = _as_numbers(known)
    empty = np.asarray(np.isnan(known).all(axis=0))
    known[:, empty] = 0.0
    return known, empty


def _asked(features: Any, empty: Bools | None) -> Any:
    if empty is None:
        return features
    asked = _as_numbers(features)
    asked[:, empty] = 0.0
    return asked


def _as_numbers(features: Any) -> Floats:
    try:
        return np.array(features, dtype=float)
    except (TypeError, ValueError) as error:
        raise InputError(
            "the default models read numbers, strings, booleans and what is missing, and some feature holds other "
            "objects; turn them into numbers, or give models that read them"
        ) from error


def _default_outcome(log: Log, seed: int) -> Any:
    from sklearn.dummy import DummyRegressor
    from sklearn.ensemble import HistGradientBoostingRegressor

    if log.randomised and np.bincount(log.action).min() < SMALL:
        return DummyRegressor()
    return HistGradientBoostingRegressor(random_state=_model_seed(seed, "outcome"), **BOOSTING)


def _default_propensity(seed: int) -> Any:
    from sklearn.ensemble import HistGradientBoostingClassifier

    return HistGradientBoostingClassifier(random_state=_model_seed(seed, "propensity"), **BOOSTING)


BOOSTING = {"max_iter": 50, "learning_rate": 0.1, "max_leaf_nodes": 8}  # scikit-learn's own defaults fit the noise


def _model_seed(seed: int, name: str) -> int:
    return int(child(seed, "offline", name).integers(2**31))


@contextmanager
def _named(role: str, model: Any) -> Iterator[None]:
    try:
        yield
    except (AttributeError, TypeError, ValueError) as error:
        reason = clipped(str(error), 300)
        raise InputError(f"{role} {type(model).__name__} cannot be fitted to this log: {reason}") from error


@dataclass(frozen=True, eq=False)
class SampledModels:
    """A model of the outcome for each fold and each action."""

    # cv, seed: number of folds, and what draws them
    cv: int
    seed: int
    digest: str  # of what the models predict for the sample: others have another one
    own: bool  # whether the models are somebody's own, which read the columns as they are; others read numbers
    # of each fold, from the features of rows (n, d) to their predictions (n, K)
    fits: tuple[OutcomeFit, ...] = field(repr=False)

    def predict(self, features: Any, numbers: Ints) -> Floats:
        """Return the predictions (n, K) of rows with these numbers in the log, by models that have not seen them."""
        fold = folds_of(numbers, self.cv, self.seed)
        return _predicted(self.fits, features, fold)


def fit_to_sample(log: Log, numbers: Ints, cv: int, model: Any, seed: int) -> SampledModels:
    """Return models fitted to the rows of a sample with these ``numbers`` (n,) in the log; ``model`` as in ``scores``.

    Raises InputError where a fold leaves no row of some action, or a model cannot be fitted.
    """
    from threadpoolctl import threadpool_limits  # scikit-learn brings it

    fold = folds_of(numbers, cv, seed)
    for k, name in enumerate(log.actions):
        if len(np.unique(fold[log.action == k])) < 2:
            raise InputError(
                f"all rows of the sample with action '{name}' are in one fold; give more model_rows, or another cv"
            )
    with threadpool_limits(1):  # the same sample gives the same bytes
        fits = tuple(fit_outcomes(log, model, seed, np.flatnonzero(fold != number)) for number in range(cv))
    known = _predicted(fits, log.features, fold)
    return SampledModels(cv, seed, blake2b(known.tobytes(), digest_size=16).hexdigest(), model is not None, fits)


def _predicted(fits: tuple[OutcomeFit, ...], features: Any, fold: Ints) -> Floats:
    from threadpoolctl import threadpool_limits  # scikit-learn brings it

    tables, order = [], np.argsort(fold, kind="stable")
    with threadpool_limits(1):
        for number, fit in enumerate(fits):
            rows = np.flatnonzero(fold == number)
            if len(rows):
                tables.append(fit.predict(take_rows(features, rows)))
    found = np.empty((len(fold), tables[0].shape[1]))
    found[order] = np.concatenate(tables)
    return found
