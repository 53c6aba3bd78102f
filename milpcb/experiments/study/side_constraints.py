"""Side constraints as sections of a config: the functions of milpcb.constraints with settings that can be written down."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from milpcb import constraints
from milpcb.constraints import LabelConstraint
from milpcb.errors import InputError, UnknownNameError
from milpcb.types import Floats


def share_at_most(contexts: Floats, n_actions: int, action: int, share: float) -> tuple[LabelConstraint, ...]:
    """At most ``share`` (0..1) of the contexts receive ``action``."""
    return (constraints.share_at_most(action, share, len(contexts), n_actions),)


def never_play(contexts: Floats, n_actions: int, action: int, rows: tuple[int, ...]) -> tuple[LabelConstraint, ...]:
    """``action`` is played on none of the context ``rows``."""
    return (constraints.never_play(rows, action, len(contexts), n_actions),)


def must_play(contexts: Floats, n_actions: int, action: int, rows: tuple[int, ...]) -> tuple[LabelConstraint, ...]:
    """``action`` is played on all of the context ``rows``."""
    return (constraints.must_play(rows, action, len(contexts), n_actions),)


def mean_at_most(
    contexts: Floats, n_actions: int, costs: tuple[tuple[float, ...], ...], bound: float
) -> tuple[LabelConstraint, ...]:
    """A second outcome is at most ``bound`` on average; ``costs`` has one row per context, or one row for all of them."""
    try:
        outcome = np.broadcast_to(np.array(costs, dtype=float), (len(contexts), n_actions))
    except ValueError as error:
        raise InputError(
            f"costs of mean_at_most need {n_actions} numbers a row, and 1 or {len(contexts)} rows of equal length"
        ) from error
    return (constraints.mean_at_most(outcome, bound),)


def parity(
    contexts: Floats, n_actions: int, feature_names: Sequence[str], action: int, feature: int | str, delta: float
) -> tuple[LabelConstraint, ...]:
    """The rates of ``action`` in two groups differ by at most ``delta``; ``feature`` is the 0/1 column that tells them apart."""
    column = _column(feature, feature_names, contexts.shape[1])
    groups = contexts[:, column]
    if not np.isin(groups, (0.0, 1.0)).all():
        raise InputError(f"feature {feature!r} of parity must be 0 or 1 on every context; name a column that is")
    return constraints.parity(action, groups, delta, n_actions)


def _column(feature: int | str, names: Sequence[str], n_columns: int) -> int:
    if isinstance(feature, str):
        if feature not in names:
            raise UnknownNameError("feature", feature, names or [f"0 to {n_columns - 1}, as numbers"])
        return list(names).index(feature)
    if not 0 <= feature < n_columns:
        raise InputError(f"feature {feature} of parity is not one of the columns 0..{n_columns - 1}")
    return feature
