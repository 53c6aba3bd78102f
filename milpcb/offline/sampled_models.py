"""Models of outcomes for a log that does not fit memory: fitted to a sample of its rows, asked about all of them.

As in milpcb.offline.nuisances no model predicts a row that it was fitted to: every row has a fold, which follows from
its number in the log, and is predicted by the models that were fitted to rows of the sample in the other folds.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any

import numpy as np

from milpcb.errors import InputError
from milpcb.offline.hashing import folds_of
from milpcb.offline.log import Log, take_rows
from milpcb.offline.nuisances import OutcomeFit, fit_outcomes
from milpcb.types import Floats, Ints


@dataclass(frozen=True, eq=False)
class SampledModels:
    """A model of the outcome for each fold and each action.

    Attributes
    ----------
    cv, seed : number of folds, and what draws them
    digest : of what the models predict for the sample: others have another one
    own : whether the models are somebody's own, which read the columns as they are; others read numbers
    fits : of each fold, from the features of rows (n, d) to their predictions (n, K)

    """

    cv: int
    seed: int
    digest: str
    own: bool
    fits: tuple[OutcomeFit, ...] = field(repr=False)

    def predict(self, features: Any, numbers: Ints) -> Floats:
        """Return the predictions (n, K) of rows with these numbers in the log, by models that have not seen them."""
        fold = folds_of(numbers, self.cv, self.seed)
        return _predicted(self.fits, features, fold)


def fit_to_sample(log: Log, numbers: Ints, cv: int, model: Any, seed: int) -> SampledModels:
    """Return models that are fitted to the rows of a sample with these ``numbers`` (n,) in the log.

    ``model`` is a regressor of scikit-learn, or a classifier, None for that of milpcb.offline.scores. Raises InputError
    where a fold leaves no row of some action, or a model cannot be fitted.
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
