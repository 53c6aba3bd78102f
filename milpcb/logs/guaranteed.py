"""The rule of the greatest guaranteed gain, beside the one that looks best, for the page."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from milpcb.core.decimals import percent
from milpcb.logs.amounts import Unit
from milpcb.logs.sections import PageSection, PageText, rule_text
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


def guaranteed_section(both: Guaranteed | None, unit: Unit, level: float) -> PageSection:
    """Return what the rule by what is guaranteed is beside the one that looks best."""
    heading = "What is guaranteed, and what looks best"
    if both is None:
        return PageSection(heading)
    own, other = (unit.gain(end) for end in both.lower)
    sure = f"{percent(level)} confidence"
    chosen = f"The rule was chosen by what is guaranteed: it gains at least {own} over {both.other} ({sure})."
    if not both.differ:
        return PageSection(heading, [chosen, "It is the rule that looks best, too."])
    looks = f"its estimated gain is {unit.gain(both.looks[1])} instead of {unit.gain(both.looks[0])}"
    words = [chosen, f"The rule that looks best is guaranteed to gain only {other}, though {looks}."]
    return PageSection(heading, words, texts=[PageText("The rule that looks best", rule_text(both.rules))])
