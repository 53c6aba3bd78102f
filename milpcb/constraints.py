"""Side constraints on the labels: one mechanism for every class, linear in the labels as costs are.

Every function below makes one LabelConstraint or several. Give any number of them to ``open_oracle``; every policy must
keep them all. The first functions define the kinds: a bounded mean, rates that are close, forbidden actions. The
others, and those by name in milpcb.named_constraints, only make the tables for these. They are also the registered
constraints of configs: arguments that a config cannot know (``contexts``, ``n_contexts``, ``n_actions``,
``feature_names``) are keyword-only, and the runtime passes them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import permutations
from math import fsum
from typing import Any

import numpy as np
import numpy.typing as npt

from milpcb.core.checks import context_array, number_array, real, whole
from milpcb.errors import InputError, UnknownNameError
from milpcb.side_constraints import LabelConstraint, Pair, conflict
from milpcb.types import Floats

__all__ = [
    "LabelConstraint",
    "bounded_mean",
    "close_rates",
    "conflict",
    "counted_at",
    "forbidden",
    "mean_at_most",
    "must_play",
    "never_play",
    "parity",
    "share_at_most",
    "unit_share",
]


def bounded_mean(table: Floats, bound: float, weight: float, name: str) -> LabelConstraint:
    """Return the rule that the mean of ``table`` (m, K), totals by row of rows of total ``weight``, is at most a bound.

    A share is the mean of a table of 0 and 1.
    """
    return LabelConstraint(table, float(bound) * weight, name)


def close_rates(tables: Mapping[str, Floats], delta: float, name: str) -> list[LabelConstraint]:
    """Return the rules that rates in any two groups differ by at most ``delta``, one for each ordered pair.

    Parameters
    ----------
    tables : for each group what counts, (m, K) and not negative; its rate is the share of the total that is played.
        Groups of total 0 have no rate, and are left out
    delta : largest difference
    name : of a rule, with places for ``{one}`` and ``{other}``

    """
    rates = {group: table / fsum(table.ravel()) for group, table in tables.items() if table.any()}
    numbered = enumerate(rates.items())
    return [
        LabelConstraint(of_one - of_other, float(delta), name.format(one=one, other=other), Pair(name, i, j))
        for (i, (one, of_one)), (j, (other, of_other)) in permutations(numbered, 2)
    ]


def forbidden(table: Floats, name: str) -> LabelConstraint:
    """Return the rule that no action is played where ``table`` (m, K), not negative, is above 0."""
    return LabelConstraint(table, 0.0, name)


def counted_at(weights: npt.ArrayLike, action: int, n_actions: int, *, others: bool = False) -> Floats:
    """Return a table (m, K) that is ``weights`` (m,) at an action and 0 elsewhere, or the other way round."""
    at = np.arange(n_actions) == action
    return np.where(at != others, np.asarray(weights, dtype=float)[:, None], 0.0)


def unit_share(name: str, value: float) -> float:
    """Return a share that was given, as a float; raises InputError outside 0..1."""
    return real(name, value, "between 0 and 1", lambda number: 0.0 <= number <= 1.0)


def share_at_most(
    action: int, share: float, *, n_contexts: int, n_actions: int, weights: npt.ArrayLike | None = None
) -> LabelConstraint:
    """Return the rule that at most ``share`` (0..1) of the contexts receive ``action``.

    Parameters
    ----------
    action : number of the action
    share : largest share of the contexts, from 0 to 1
    n_contexts, n_actions : m and K, the size of the table of costs
    weights : (m,), not negative, counts contexts unequally, e.g. by the probabilities of a FinitePool

    """
    _check_action(action, n_actions)
    unit_share("share", share)
    counted = _context_weights(weights, whole("n_contexts", n_contexts, 1))
    name = f"action {action} on at most {share:g} of the contexts"
    return bounded_mean(counted_at(counted, action, n_actions), share, float(counted.sum()), name)


def parity(
    action: int,
    delta: float,
    feature: int | str | None = None,
    *,
    n_actions: int,
    groups: npt.ArrayLike | None = None,
    contexts: npt.ArrayLike | None = None,
    feature_names: Sequence[str] = (),
) -> tuple[LabelConstraint, LabelConstraint]:
    """Return the two rules that the rates of ``action`` in two groups differ by at most ``delta`` (0..1).

    The rate of a group is the share of its contexts that receive the action. Either ``groups`` or ``feature`` is given.

    Parameters
    ----------
    action : number of the action
    delta : largest difference of the two rates, from 0 to 1
    feature : number or name of the column that is 0 in one group and 1 in the other
    n_actions : K
    groups : (m,), 0 or 1 for each context, both present
    contexts : (m, d), where ``feature`` is looked up
    feature_names : the names of their columns

    """
    _check_action(action, n_actions)
    unit_share("delta", delta)
    member = _groups(groups, feature, contexts, feature_names)
    if not 0 < member.sum() < len(member):
        raise InputError("groups must hold contexts of both groups, 0 and 1; without one of them there is no rate")
    tables = {"1": counted_at(member, action, n_actions), "0": counted_at(1.0 - member, action, n_actions)}
    name = f"rate of action {action} in group {{one}} at most {delta:g} above group {{other}}"
    first, second = close_rates(tables, delta, name)
    return first, second


def mean_at_most(
    costs: npt.ArrayLike,
    bound: float,
    *,
    n_contexts: int | None = None,
    n_actions: int | None = None,
    weights: npt.ArrayLike | None = None,
) -> LabelConstraint:
    """Return the rule that a second outcome is at most ``bound`` on average over the contexts.

    Parameters
    ----------
    costs : (m, K), the second outcome of each action, in its own unit, a row for each context, or one row for all
        where ``n_contexts`` is given
    bound : largest mean, in the unit of ``costs``
    n_contexts, n_actions : m and K, the size of the table of costs
    weights : (m,), not negative, makes the average a weighted one

    """
    outcome = _outcome(costs, n_contexts, n_actions)
    bound = real("the bound on the mean", bound, "finite", lambda _bound: True)
    counted = _context_weights(weights, len(outcome))
    return bounded_mean(outcome * (counted / counted.sum())[:, None], bound, 1.0, f"mean at most {bound:g}")


def must_play(action: int, rows: npt.ArrayLike, *, n_contexts: int, n_actions: int) -> LabelConstraint:
    """Return the rule that ``action`` is played on all ``rows``: row numbers, or one True or False per context.

    Parameters
    ----------
    action : number of the action
    rows : numbers of the contexts, from 0, or one true or false for each context
    n_contexts, n_actions : m and K, the size of the table of costs

    """
    return _at_rows("", action, rows, n_contexts, n_actions, others=True)


def never_play(action: int, rows: npt.ArrayLike, *, n_contexts: int, n_actions: int) -> LabelConstraint:
    """Return the rule that ``action`` is played on none of ``rows``: row numbers, or one True or False per context.

    Parameters
    ----------
    action : number of the action
    rows : numbers of the contexts, from 0, or one true or false for each context
    n_contexts, n_actions : m and K, the size of the table of costs

    """
    return _at_rows("never ", action, rows, n_contexts, n_actions, others=False)


def _at_rows(
    words: str, action: int, rows: npt.ArrayLike, n_contexts: int, n_actions: int, *, others: bool
) -> LabelConstraint:
    chosen = _rows(rows, n_contexts)
    _check_action(action, n_actions)
    table = counted_at(np.isin(np.arange(n_contexts), chosen), action, n_actions, others=others)
    where = f"row {chosen[0]}" if len(chosen) == 1 else f"{len(chosen)} rows"
    return forbidden(table, f"{words}action {action} on {where}")


def _check_action(action: int, n_actions: int) -> None:
    if whole("action", action, 0) >= whole("n_actions", n_actions, 2):
        raise InputError(f"action {action} is not one of the {n_actions} actions 0..{n_actions - 1}")


def _groups(
    groups: npt.ArrayLike | None, feature: int | str | None, contexts: npt.ArrayLike | None, names: Sequence[str]
) -> Floats:
    """Return 0 or 1 for each context (m,)."""
    if (groups is None) == (feature is None):
        raise InputError("parity needs either groups, one 0 or 1 per context, or the feature that holds them")
    if groups is not None:
        member = number_array("groups", groups)
        if member.ndim != 1 or not np.isin(member, (0.0, 1.0)).all():
            raise InputError("groups must be one 0 or 1 per context")
        return member
    if contexts is None or feature is None:
        raise InputError("parity by a feature needs the contexts that have it; give contexts, or groups")
    table = context_array(contexts)
    member = table[:, _column(feature, names, table.shape[1])]
    if not np.isin(member, (0.0, 1.0)).all():
        raise InputError(f"feature {feature!r} of parity must be 0 or 1 on every context; name a column that is")
    return member


def _column(feature: int | str, names: Sequence[str], n_columns: int) -> int:
    if isinstance(feature, str):
        if feature not in names:
            raise UnknownNameError("feature", feature, names or [f"0 to {n_columns - 1}, as numbers"])
        return list(names).index(feature)
    if whole("feature", feature, 0) >= n_columns:
        raise InputError(f"feature {feature} of parity is not one of the columns 0..{n_columns - 1}")
    return feature


def _outcome(costs: npt.ArrayLike, n_contexts: int | None, n_actions: int | None) -> Floats:
    """Return the second outcome (m, K); one row stands for all contexts where their number is known."""
    if n_contexts is not None:
        whole("n_contexts", n_contexts, 1)
    if n_actions is not None:
        whole("n_actions", n_actions, 2)
    wanted = "any number of" if n_contexts is None else f"1 or {n_contexts}"
    rows = f"{'equally many' if n_actions is None else n_actions} numbers a row, and {wanted} rows of equal length"
    try:
        outcome = number_array("costs", costs)
    except InputError as error:
        raise InputError(f"costs of mean_at_most need {rows}") from error
    if outcome.ndim != 2 or 0 in outcome.shape or (n_actions is not None and outcome.shape[1] != n_actions):
        raise InputError(f"costs of mean_at_most need {rows}, got shape {outcome.shape}")
    if not np.isfinite(outcome).all():
        raise InputError("costs of mean_at_most hold NaN or infinite numbers; give finite ones")
    if n_contexts is None or len(outcome) == n_contexts:
        return outcome
    if len(outcome) != 1:
        raise InputError(f"costs of mean_at_most need {rows}, got shape {outcome.shape}")
    return np.repeat(outcome, n_contexts, axis=0)


def _context_weights(weights: npt.ArrayLike | None, n_contexts: int) -> Floats:
    if weights is None:
        return np.ones(n_contexts)
    counted = number_array("weights of the contexts", weights)
    if counted.shape != (n_contexts,):
        raise InputError(f"weights have shape {counted.shape}; give one number per context: ({n_contexts},)")
    if not (np.isfinite(counted).all() and counted.min() >= 0.0 and counted.sum() > 0.0):
        raise InputError("weights of the contexts must be finite, not negative, and not all zero")
    return counted


def _rows(rows: npt.ArrayLike, n_contexts: int) -> npt.NDArray[np.int64]:
    """Return row numbers; raises InputError when there is none, or one that is not there."""
    whole("n_contexts", n_contexts, 1)
    given: Any = np.atleast_1d(np.asarray(rows))
    if given.dtype == bool:
        if given.shape != (n_contexts,):
            raise InputError(f"rows as True and False need one per context, {n_contexts}, got shape {given.shape}")
        given = np.flatnonzero(given)
    if given.ndim != 1 or not len(given):
        raise InputError("rows names no context; give row numbers, or one True or False per context")
    if not np.issubdtype(given.dtype, np.integer):
        raise InputError(f"rows must be row numbers, or True and False, got {given.dtype}")
    outside = given[(given < 0) | (given >= n_contexts)]
    if len(outside):
        raise InputError(f"row {outside[0]} is outside the {n_contexts} contexts; rows count from 0")
    return np.unique(given)
