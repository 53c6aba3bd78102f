"""Sums of a pass over the rows of a log."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from milpcb.core.checks import whole
from milpcb.data.columns import Value, alphabet
from milpcb.estimators.inputs import Features
from milpcb.estimators.layout import Layout, Read, barred
from milpcb.estimators.sample import LoggedBatch, LoggedColumns
from milpcb.offline.log import Log
from milpcb.offline.sampled_models import SampledModels, fit_to_sample
from milpcb.offline.sufficient_statistics import Codes, Known, Statistics
from milpcb.types import Bools, Floats, Ints


@dataclass(frozen=True)
class RowCounter:
    """How rows are counted.

    Attributes
    ----------
    layout : what is counted where
    columns : of what was done, what came of it, and its probability
    min_propensity : propensities are raised to it
    models : of outcomes, where the scores are doubly robust
    shares : (K,) of the actions in the log, where they are propensities that the scores need beforehand

    """

    layout: Layout
    columns: LoggedColumns
    min_propensity: float
    models: RowModels | None = None
    shares: tuple[float, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """The columns that are read."""
        features = () if self.models is None else self.models.names
        return tuple(dict.fromkeys([*self.columns.names, *(column.name for column in self.layout.columns), *features]))

    def read(self, frame: Any, start: int) -> tuple[Codes, Known]:
        """Return the bins (d, n) of the rows of a data frame, the first of which has number ``start``, and the rest.

        Raises InputError with the number of the first wrong row.
        """
        batch = LoggedBatch.of(frame, self.columns, self.layout, () if self.models is None else self.models.names)
        propensity = np.array(self.shares)[batch.action] if self.shares else batch.propensity
        regression = None
        if self.models is not None:
            regression = self.models.predict(frame, batch.values, np.arange(start, start + len(frame)))
        codes = self.layout.codes(batch.values)
        cells = barred(self.layout.parts, codes, batch.every_chance(len(self.layout.actions)))
        return codes, Known(batch.action, batch.outcome, propensity, regression, batch.chances, cells)

    def add(self, sums: Statistics, codes: Codes, known: Known) -> None:
        """Add rows to the sums."""
        sums.add_rows(codes, known, 0.0 if self.columns.randomised else self.min_propensity)


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
