"""What a pass adds up of each row of a log."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from milpcb.estimators.coded_parts import barred
from milpcb.estimators.layout import Layout
from milpcb.estimators.row_models import RowModels
from milpcb.estimators.sample import LoggedBatch, LoggedColumns
from milpcb.offline.moments import Codes, Known, Moments


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

    def add(self, moments: Moments, codes: Codes, known: Known) -> None:
        """Add rows to the sums."""
        moments.add_rows(codes, known, 0.0 if self.columns.randomised else self.min_propensity)
