"""Two outcomes at once: the rules that are the best for some weighting of both, as ``milpcb learn --front`` asks."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from milpcb.errors import InputError
from milpcb.estimators.base import Problem
from milpcb.logs.limits import second_scores
from milpcb.logs.source import Source
from milpcb.offline import Scores
from milpcb.offline.arguing import Question, supported
from milpcb.types import Ints

MOST_POINTS = 100
FORM = "write COLUMN less or COLUMN more, as less or more of it is better"
_TEXT = re.compile(r"(.+?)\s+(less|more)")


@dataclass(frozen=True)
class Balance:
    """One rule of the front: what it looks worth in both outcomes, and the rule as it prints."""

    first: float
    second: float
    rules: str


@dataclass(frozen=True)
class Front:
    """The rules that are the best for some weighting, the best by the first outcome first.

    ``column`` is the second outcome, ``maximise`` whether more of it is better, ``binary`` whether it is 0 or 1.
    """

    column: str
    maximise: bool
    binary: bool
    points: tuple[Balance, ...]


def column_of(text: str) -> str:
    """Return the column that ``--front`` names; raises InputError."""
    return _parts(text)[0]


def front(
    text: str,
    source: Source,
    estimator: Any,
    problem: Problem,
    scores: Scores,
    rows: Ints,
    progress: Callable[[int, int], None],
) -> Front:
    """Return the front of the first outcome, whose scores on the ``rows`` are given, and the one that a text names.

    Raises InputError where there are more than 100 rules on it.
    """
    column, way = _parts(text)
    second = second_scores(source, estimator, scores, rows, column, maximise=way == "more")
    question = Question(problem.policies, problem.contexts, problem.constraints, problem.kind)
    weight = scores.weight.sum()
    tables = scores.costs / weight, second.costs / weight
    try:
        found = supported(question, *tables, most=MOST_POINTS, progress=progress)
    except InputError as error:
        raise InputError(f"--front '{text}': {error}; take fewer --thresholds, or less --depth") from error
    signs = [-1.0 if each.maximise else 1.0 for each in (scores, second)]
    points = tuple(
        Balance(signs[0] * point.a, signs[1] * point.b, str(in_words(point.policy, estimator.policy_)))
        for point in found
    )
    binary = set(np.unique(second.log.outcome).tolist()) <= {0.0, 1.0}
    return Front(column, second.maximise, binary, points)


def _parts(text: str) -> tuple[str, str]:
    found = _TEXT.fullmatch(text.strip())
    if found is None:
        raise InputError(f"cannot read --front '{text}': {FORM}")
    return found[1], found[2]


def in_words(policy: Any, printed: Any) -> Any:
    """Return a policy with the names of columns and actions that the printed one has."""
    return replace(policy, names=printed.names) if hasattr(printed, "names") else policy


def of_numbers(printed: Any) -> Any:
    """Return the policy that is printed as one of numbers, as which it was searched for."""
    return replace(printed, names=type(printed.names)()) if hasattr(printed, "names") else printed
