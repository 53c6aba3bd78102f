"""Oracles: the least total cost of any policy, by several exact routes behind one interface."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from milpcb import registry
from milpcb.checks import context_array
from milpcb.constraints import LabelConstraint
from milpcb.oracles.base import Oracle
from milpcb.protocols import PolicyClass


def open_oracle(
    policies: PolicyClass,
    contexts: Any,
    kind: str = "milp",
    solver: str = "highs",
    constraints: Sequence[LabelConstraint] = (),
    time_limit: float | None = None,
) -> Oracle:
    """Open the optimisation oracle of a policy class on fixed contexts (paper, equation (1)).

    Parameters
    ----------
    policies : a policy class, e.g. ``DecisionTrees(n_actions=3, depth=2)``
    contexts : (m, d) finite numbers, rows may repeat
    kind : ``"milp"`` (a solver) or ``"enumeration"`` (an explicit list of all policies)
    solver : for kind ``"milp"``: ``"highs"`` or ``"pulp:<PuLP solver name>"``
    constraints : side constraints that every policy must satisfy
    time_limit : seconds for one solve; an answer that ran into it carries bounds, and asking for its value raises

    Raises
    ------
    InputError (wrong shapes, NaN), UnknownNameError, SolverMissingError, InfeasibleError

    """
    oracle = registry.load("oracle", kind)(
        policies, context_array(contexts), solver=solver, constraints=tuple(constraints), time_limit=time_limit
    )
    return cast("Oracle", oracle)
