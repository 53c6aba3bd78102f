"""Limits on a second outcome that are kept in each of several groups at once, with confidence."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from math import ceil
from typing import Any

from milpcb.constraints.by_names import groups as rows_by_value
from milpcb.core.checks import ROUNDING, check_confidence
from milpcb.data.schema import read_columns
from milpcb.errors import InputError
from milpcb.offline.guarded import NoWorseThan, no_worse_than
from milpcb.offline.scores import Scores

MOST_GROUPS = 20  # of a limit that is kept in each


def no_worse_for_each(
    than: Any,
    groups: Any,
    *,
    outcome: Scores,
    confidence: float = 0.95,
    margin: float = 0.0,
    draws: int = 500,
    seed: int = 0,
    what: str = "a second outcome",
    by: str = "group",
) -> list[NoWorseThan]:
    """Return the limits that in each group a second outcome is no worse than something, with confidence in all at once.

    They are those of ``no_worse_than`` on the rows of each group alone, with a confidence that the chances of errors
    add up to (Bonferroni), and at least as many draws as that needs.

    Parameters
    ----------
    groups : (n,) the group of each row, such as a column of names, read as any column is; missing ones are a group
    by : what messages call the column of groups
    than, outcome, confidence, margin, draws, seed, what : see ``no_worse_than``

    Raises
    ------
    InputError, where there are more than 20 groups, and what ``no_worse_than`` raises

    """
    labels = list(groups)
    if len(labels) != len(outcome.table):
        raise InputError(f"groups must be one for each of the {len(outcome.table)} rows, got {len(labels)}")
    found = rows_by_value(read_columns([[label] for label in labels], (by,), (by,))[by])
    if len(found) > MOST_GROUPS:
        raise InputError(f"'{by}' has {len(found):,} different values, more than {MOST_GROUPS} groups; name another")
    sure = 1 - (1 - check_confidence(confidence)) / len(found)
    of_group = partial(no_worse_than, than, confidence=sure, margin=margin, seed=seed)
    enough = max(draws, ceil(sure / (1 - sure) - ROUNDING))
    return [
        of_group(
            outcome=replace(outcome, weight=outcome.weight * here), draws=enough, what=f"{what} where {by} = {name}"
        )
        for name, here in found.items()
    ]
