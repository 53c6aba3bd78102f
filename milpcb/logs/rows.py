"""Some rows of a log with the scores that an estimator gives them, by the outcome or by another column."""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
import polars as pl

from milpcb.data.csv_pieces import Tick
from milpcb.logs.source import Source, counted_as, numbered, numbers_of
from milpcb.offline import Diagnostics, Scores
from milpcb.types import Floats, Ints


@dataclass(frozen=True, eq=False)
class ScoredRows:
    """Some rows of a log: their numbers, their features, and their scores, in which no other rows have a part.

    ``estimator`` is the one that estimated the scores.

    After one pass milpcb.offline.compressed.CompressedLog has its place, with the same five properties.
    """

    source: Source
    estimator: Any
    numbers: Ints
    frame: pl.DataFrame
    scores: Scores

    @property
    def n(self) -> int:
        """How many rows there are."""
        return len(self.numbers)

    @property
    def maximise(self) -> bool:
        """Whether larger outcomes are better."""
        return self.scores.maximise

    @property
    def counts(self) -> Floats:
        """(K,) rows in which each action was done."""
        return np.bincount(self.scores.log.action, minlength=len(self.scores.actions)).astype(float)

    @property
    def unseen(self) -> Floats:
        """(K,) in how many rows the log has none of an action."""
        found = self.scores.unseen
        return np.zeros(len(self.scores.actions)) if found is None else found.sum(axis=0).astype(float)

    @property
    def diagnostics(self) -> Diagnostics:
        """How far the scores can be trusted."""
        return self.scores.diagnostics

    @classmethod
    def of(cls, source: Source, estimator: Any, numbers: Ints, tick: Tick) -> Self:
        """Return the rows of these numbers, with their scores."""
        every = len(numbers) == len(source.log)
        log, frame = (source.log, source.frame) if every else (source.log.take(numbers), source.frame[numbers])
        counted = counted_as(source, estimator.treatment_cost, numbers)
        scores = estimator.estimate_scores(numbered(log), progress=tick, **counted)
        return cls(source, estimator, numbers, frame, replace(scores, log=log))  # the numbers are for models only

    def by_outcome(self, column: str, *, maximise: bool) -> Scores:
        """Return the scores of the same rows by another outcome."""
        other = copy(self.estimator)
        other.treatment_cost = None  # it is in the unit of the first outcome
        values = numbers_of(self.source, column)[self.numbers]
        log = replace(self.scores.log, outcome=values, maximise=maximise)
        found: Scores = other.estimate_scores(numbered(log), sample_weight=self.scores.weight)
        return replace(found, log=log)
