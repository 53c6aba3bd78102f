"""Limits on a second outcome: from the text of ``milpcb learn --no-worse`` to a constraint of estimators."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass, replace
from typing import Any

from milpcb.data.columns import as_number
from milpcb.errors import InputError, UnknownNameError
from milpcb.logs.source import Source, numbered, numbers_of
from milpcb.offline import NoWorseThan, Scores, no_worse_than
from milpcb.types import Ints

TODAY = "today"  # what was done
FEWEST = 200  # draws, where no claims are asked for
FORM = "write COLUMN at most WHAT, or COLUMN at least WHAT; WHAT is a number, an action or today, perhaps + a margin"
_SIDE = re.compile(r"\s+at (most|least)\s+")
_MARGIN = re.compile(r"^(.+?)\s+([+-])\s+([\d.eE+-]+)$")


@dataclass(frozen=True)
class Limit:
    """A limit on a column: ``than`` and ``margin`` are those of milpcb.offline.no_worse_than."""

    text: str
    column: str
    maximise: bool
    than: float | str | None
    margin: float = 0.0

    def guard(self, source: Source, estimator: Any, scores: Scores, rows: Ints, **options: Any) -> NoWorseThan:
        """Return the limit on the ``rows`` of a log, whose scores for the first outcome are ``scores``.

        ``options`` are ``confidence``, ``draws`` and ``seed``.
        """
        second = second_scores(source, estimator, scores, rows, self.column, maximise=self.maximise)
        return no_worse_than(self.than, outcome=second, margin=self.margin, what=f"'{self.column}'", **options)


def second_scores(source: Source, estimator: Any, scores: Scores, rows: Ints, column: str, *, maximise: bool) -> Scores:
    """Return the scores of another outcome on the ``rows`` of a log, whose scores for the first are ``scores``."""
    values = numbers_of(source, column)[rows]
    other = copy(estimator)
    other.treatment_cost = None  # it is in the unit of the first outcome
    log = replace(scores.log, outcome=values, maximise=maximise)
    found: Scores = other.estimate_scores(numbered(log), sample_weight=scores.weight)
    return replace(found, log=log)


def column_of(text: str) -> str:
    """Return the column that a limit is on; raises InputError."""
    return _parts(text)[0]


def limit_of(text: str, actions: Sequence[str]) -> Limit:
    """Return the limit that a string describes; raises InputError, UnknownNameError."""
    column, side, what = _parts(text)
    maximise = side == "least"
    margin = 0.0
    found = None if what in actions else _MARGIN.match(what)
    if found:
        what, sign, amount = found.groups()
        margin = _number(amount, text) * (1 if (sign == "+") != maximise else -1)
    return Limit(text, column, maximise, _than(what, actions, text), margin)


def _parts(text: str) -> tuple[str, str, str]:
    parts = _SIDE.split(text.strip())
    if len(parts) != 3 or not (parts[0] and parts[2]):
        raise InputError(f"cannot read --no-worse '{text}': {FORM}")
    return parts[0], parts[1], parts[2]


def _than(what: str, actions: Sequence[str], text: str) -> float | str | None:
    if what in actions:
        return what
    if what == TODAY:
        return None
    if as_number(what) is None:
        raise UnknownNameError("action of --no-worse", what, [*actions, TODAY])
    return _number(what, text)


def _number(number: str, text: str) -> float:
    try:
        found = float(number)
    except ValueError as error:
        raise InputError(f"cannot read --no-worse '{text}': '{number}' is no number; {FORM}") from error
    if not math.isfinite(found):
        raise InputError(f"cannot read --no-worse '{text}': '{number}' is not finite; {FORM}")
    return found
