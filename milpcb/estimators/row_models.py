"""Models of outcomes that a pass over a log asks about every row: they were fitted to a sample of the rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from milpcb.core.checks import whole
from milpcb.data.columns import Value, alphabet
from milpcb.estimators.inputs import Features
from milpcb.estimators.layout import Read
from milpcb.offline.log import Log
from milpcb.offline.sampled_models import SampledModels, fit_to_sample
from milpcb.types import Bools, Floats, Ints

MODEL_ROWS = 100_000  # of the sample, that models are fitted to


@dataclass(frozen=True, eq=False)
class RowModels:
    """The models, and how they read rows.

    Attributes
    ----------
    models : for each fold and action
    names : of the columns that they read
    codes : of each column the numbers that stand for its strings; None for one of numbers

    """

    models: SampledModels
    names: tuple[str, ...]
    codes: tuple[Mapping[Value, float] | None, ...]

    def predict(self, frame: Any, values: Read, numbers: Ints) -> Floats:
        """Return the predictions (n, K) of rows with these ``numbers`` in the log, by no model that has seen them.

        Models of somebody's own read the data ``frame``, others ``values`` as numbers.
        """
        features = frame[list(self.names)] if self.models.own else self._numbers(values)
        return self.models.predict(features, numbers)

    def _numbers(self, values: Read) -> Floats:
        columns = []
        for name, codes in zip(self.names, self.codes, strict=True):
            distinct, place = values[name]
            known = distinct if codes is None else [codes.get(value, np.nan) for value in distinct.tolist()]
            column = np.array(known, dtype=float)
            columns.append(column if place is None else column[place])
        return np.column_stack(columns)


def fit_row_models(
    log: Log, features: Features, frame: Any, numbers: Ints, kept: Bools, model: Any, **options: Any
) -> RowModels:
    """Return models that are fitted to a sample of a log.

    Parameters
    ----------
    log : the sample
    features, frame : its columns, for the default model and for a ``model`` of somebody's own
    numbers : (n,) of its rows in the whole log
    kept : (n,) the rows that may be used
    options : ``cv``, ``seed``, and ``rows``, to how many the models are fitted

    """
    cv, most = whole("cv", options["cv"], 2), whole("model_rows", options["rows"], 2)
    chosen = np.flatnonzero(kept)
    if len(chosen) > most:
        chosen = chosen[np.linspace(0, len(chosen) - 1, most).astype(np.int64)]
    read = features.numbers() if model is None else frame
    models = fit_to_sample(replace(log, features=read).take(chosen), numbers[chosen], cv, model, options["seed"])
    codes: Sequence[Any] = [alphabet(column) for column in features.values.values()]
    return RowModels(models, features.names, tuple(codes))
