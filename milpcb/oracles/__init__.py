"""Oracles: the least total cost of any policy, by several exact routes behind one interface."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import numpy as np

from milpcb import registry
from milpcb.checks import context_array
from milpcb.constraints import LabelConstraint
from milpcb.errors import InputError
from milpcb.oracles.base import Oracle
from milpcb.protocols import Opened, PolicyClass


def open_oracle(
    policies: PolicyClass | Opened,
    contexts: Any,
    kind: str = "milp",
    solver: str = "highs",
    constraints: Sequence[LabelConstraint] = (),
    time_limit: float | None = None,
    gap: float = 0.0,
    audit: float = 0.01,
) -> Oracle:
    """Open the optimisation oracle of a policy class on fixed contexts (paper, equation (1)).

    Parameters
    ----------
    policies : a policy class, e.g. ``DecisionTrees(n_actions=3, depth=2)``, or what its ``on(contexts)`` returned, to be
        shared by several oracles
    contexts : (m, d) finite numbers, an array or a data frame, rows may repeat
    kind : ``"milp"`` (a solver), ``"search"`` (the class's own exact search), ``"audited"`` (that search, a share of
        its answers re-proved by the solver) or ``"enumeration"`` (an explicit list of all policies)
    solver : for kinds ``"milp"`` and ``"audited"``: ``"highs"``, ``"scip"``, ``"scipy"`` or ``"pulp:<PuLP solver name>"``
    constraints : side constraints that every policy must satisfy (see milpcb.constraints); ``"milp"`` and
        ``"enumeration"``
    time_limit : seconds for one solve, None for no limit; an answer that ran into it carries bounds, and asking for its
        value raises. 0 asks for what is known at once
    gap : for kind ``"milp"``: an absolute gap between the bounds, in the units of the costs, at which the solver may stop;
        such an answer carries bounds too
    audit : for kind ``"audited"``: the share of the questions, 0 < audit <= 1, that the solver answers too: the first and
        then every round(1 / audit)-th. Other kinds ignore it

    Raises
    ------
    InputError (wrong shapes, NaN), UnknownNameError, SolverMissingError, InfeasibleError; from an audited oracle's
    questions also OracleDisagreement

    """
    array = context_array(contexts) if isinstance(policies, Opened) else policies.read(contexts)
    opened = policies if isinstance(policies, Opened) else policies.on(contexts)
    oracle = registry.load("oracle", kind)(
        opened,
        array,
        solver=solver,
        constraints=tuple(constraints),
        time_limit=_seconds(time_limit),
        gap=_gap(gap),
        audit=audit,
    )
    return cast("Oracle", oracle)


def _seconds(time_limit: float | None) -> float | None:
    if time_limit is None or time_limit == np.inf:
        return None
    if isinstance(time_limit, bool) or not isinstance(time_limit, (int, float)) or not time_limit >= 0:
        raise InputError(f"time_limit must be seconds, 0 or more, or None for no limit; got {time_limit!r}")
    return float(time_limit)


def _gap(gap: float) -> float:
    if isinstance(gap, bool) or not isinstance(gap, (int, float)) or not 0 <= gap < np.inf:
        raise InputError(f"gap must be an absolute gap in units of the costs, 0 or more and finite; got {gap!r}")
    return float(gap)
