"""Oracles: the least total cost of any policy, by several exact routes behind one interface."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, cast

from milpcb.constraints import Constraint, bind_for
from milpcb.core.checks import context_array
from milpcb.errors import InputError, clipped, did_you_mean, shown
from milpcb.oracles.base import Oracle
from milpcb.oracles.near_best import Opening
from milpcb.plugins import injection, registry
from milpcb.protocols import Opened, PolicyClass, open_class


def open_oracle(
    policies: PolicyClass | Opened,
    contexts: Any,
    kind: str = "milp",
    solver: str | None = None,
    constraints: Constraint | Sequence[Constraint] = (),
    **options: Any,
) -> Oracle:
    """Open the optimisation oracle of a policy class on fixed contexts (paper, equation (1)).

    Parameters
    ----------
    policies : a policy class, e.g. ``DecisionTrees(n_actions=3, depth=2)``, or the result of its ``on(contexts)``
    contexts : (m, d) finite numbers, an array or a data frame, rows may repeat
    kind : ``"milp"`` (a solver), ``"search"`` (the class's own exact search), ``"audited"`` (that search, a share of
        its answers re-proved by the solver) or ``"enumeration"`` (an explicit list of all policies)
    solver : for kinds ``"milp"`` and ``"audited"``: ``"highs"`` (None is that), ``"scip"``, ``"scipy"``, ``"gurobi"``,
        ``"cplex"``, ``"xpress"``, ``"copt"`` or ``"pulp:<PuLP solver name>"``
    constraints : side constraints that every policy must satisfy, such as ``milpcb.share_at_most`` or LabelConstraints
        (see milpcb.constraints); kinds ``"search"`` and ``"audited"`` hold them for classes with the capability
        "constraints", and guard-rails for all
    options : further options of the kind, in the docstring of its class: ``time_limit``, ``gap``, ``audit``

    Raises
    ------
    InputError (a wrong shape or number, an option that the kind does not have), UnknownNameError (no such kind or
    solver), SolverMissingError (it is not installed), InfeasibleError (no policy keeps the constraints)

    """
    given = options if solver is None else {"solver": solver, **options}
    cls = check_options(kind, given)
    if not isinstance(policies, (PolicyClass, Opened)):
        raise InputError(f"policies must be a policy class, as in DecisionTrees(n_actions=2), got {shown(policies)}")
    array = context_array(contexts) if isinstance(policies, Opened) else policies.read(contexts)
    opened = policies if isinstance(policies, Opened) else open_class(policies, contexts)
    rules = tuple(bind_for(constraints, opened, contexts))
    fixed = {"opened": opened, "contexts": array, "constraints": rules}
    oracle = cast("Oracle", injection.make(cls, fixed, given))
    again = partial(open_oracle, kind=kind, constraints=rules, **given)
    oracle.opening = Opening(opened.settings, opened, contexts, array, again)
    return oracle


def check_options(kind: str, given: Mapping[str, Any]) -> Any:
    """Return the class of a kind of oracle; raises InputError on an unknown option."""
    cls = registry.load("oracle", kind)
    own = injection.options(cls, registry.KINDS["oracle"].supplied)
    for key in given:
        if key not in own:
            raise InputError(unknown_option(kind, key))
    return cls


def unknown_option(kind: str, key: str) -> str:
    """Return the message on an option that a kind lacks: the kinds that have it, or the nearest option."""
    supplied = registry.KINDS["oracle"].supplied
    options = {name: injection.options(registry.load("oracle", name), supplied) for name in registry.names("oracle")}
    owners = [f"'{other}'" for other, own in options.items() if key in own]
    beyond = f"; leave it out, or take kind {' or '.join(owners)}"
    known = beyond if owners else did_you_mean(key, options[kind]) if options[kind] else ""
    return f"oracle kind '{kind}' has no option '{clipped(key)}'{known}"
