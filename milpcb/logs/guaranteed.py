"""The rule of the greatest guaranteed gain, beside the one that looks best, for the page."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from milpcb.types import Floats


@dataclass(frozen=True)
class Guaranteed:
    """Two rules: how each looks, and the lower end of its gain over treating all alike; both ends hold at once.

    ``rules`` is the rule that looks best, in words; ``differ`` whether it plays otherwise anywhere.
    """

    rules: str
    differ: bool
    looks: Floats
    lower: Floats
    other: str


def guaranteed(estimator: Any, frame: pl.DataFrame, level: float, draws: int) -> Guaranteed | None:
    """Return both rules of an estimator that was fitted to ``frame``; None where it went by estimates alone."""
    if estimator.objective != "guaranteed" or not draws:
        return None
    labels = [np.asarray(rule.predict(frame)) for rule in (estimator.policy_, estimator.by_value_)]
    ends = estimator.lower_ends_
    looks, lower = np.array(ends.of(labels, level, draws)).T
    differ = bool((labels[0] != labels[1]).any())
    return Guaranteed(str(estimator.by_value_), differ, looks, lower, ends.reference.name)
