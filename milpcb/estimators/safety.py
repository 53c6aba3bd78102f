"""Limits that hold with confidence, as constraints of an estimator: see milpcb.offline.no_worse_than."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import fields, is_dataclass, replace
from typing import Any

import numpy as np

from milpcb.constraints import LabelConstraint
from milpcb.core.decimals import spaced
from milpcb.errors import InfeasibleError, InputError
from milpcb.estimators.totals import Rows, exact_sums
from milpcb.offline import NoWorseThan
from milpcb.types import Answer, Floats, Ints


def guards_of(constraints: Any) -> list[NoWorseThan]:
    """Return the limits that hold with confidence among an estimator's constraints."""
    every = constraints if isinstance(constraints, (list, tuple)) else [constraints]
    return [constraint for constraint in every if isinstance(constraint, NoWorseThan)]


def best_under(
    guards: Sequence[NoWorseThan],
    policies: Any,
    rows: Rows,
    rules: Sequence[LabelConstraint],
    ask: Callable[[list[LabelConstraint]], Answer],
    actions: Sequence[str],
) -> Answer:
    """Return the best policy that is shown to keep all limits, or that is the one that a limit compares with.

    The limits are on the rows of the fit, ``rules`` are other constraints on the distinct contexts, on which ``ask``
    returns the oracle's answer; ``actions`` are the K names of what policies play. Raises InfeasibleError where no
    policy is shown to keep the limits.
    """
    contexts = rows.contexts[rows.group]
    shown = [merged(guard.rule(without_counts(policies), contexts, actions=actions), rows) for guard in guards]
    asked = [[*rules, *shown]]
    for number, guard in enumerate(guards):
        labels = guard.labels(contexts, actions) if guard.margin >= 0 else None  # it is no worse than itself
        if labels is not None:
            others = [rule for other, rule in enumerate(shown) if other != number]
            asked.append([*rules, *others, _as_played(labels, rows, len(actions))])
    found = []
    for each in asked:
        try:
            found.append(ask(each))
        except InfeasibleError:
            continue
    if not found:
        names = " and ".join(dict.fromkeys(guard.asked for guard in guards))
        more = "rows" if all(guard.outcome.log.group is None for guard in guards) else "groups"
        raise InfeasibleError(
            f"no policy of the class is shown by these {spaced(len(contexts))} rows to keep {names}; "
            f"allow a margin (margin=0.02, or + 0.02 behind --no-worse), ask for less confidence, or take more {more}"
        )
    return replace(min(found, key=lambda answer: answer.upper), lower=min(answer.lower for answer in found))


def merged(rule: LabelConstraint, rows: Rows) -> LabelConstraint:
    """Return a rule on the n rows as one on the distinct contexts."""
    return replace(rule, weights=summed(np.asarray(rule.weights), rows))


def spread(rule: LabelConstraint, rows: Rows) -> LabelConstraint:
    """Return a rule on the distinct contexts as one on the n rows, by what each weighs."""
    share = rows.weight / rows.sizes[rows.group]
    return replace(rule, weights=np.asarray(rule.weights)[rows.group] * share[:, None])


def summed(table: Floats, rows: Rows) -> Floats:
    """Return the sums (g, K) of a table (n, K) at each distinct context."""
    return exact_sums(table, np.ones(len(table)), rows.group, len(rows.contexts))


def without_counts(policies: Any) -> Any:
    """Return the class without its limit on what a log did in each leaf, which goes by the order of merged rows."""
    if not is_dataclass(policies) or "min_action_rows" not in {field.name for field in fields(policies)}:
        return policies
    limits: dict[str, Any] = {"min_action_rows": None, "logged_actions": None}
    return replace(policies, **limits)  # type: ignore[type-var]  # a dataclass


def _as_played(labels: Ints, rows: Rows, n_actions: int) -> LabelConstraint:
    others = (labels[:, None] != np.arange(n_actions)).astype(float)
    return LabelConstraint(summed(others, rows), 0.0, "as the policy that is compared with")


def check_table_free(guards: Sequence[NoWorseThan]) -> None:
    """Raise InputError for a limit against a policy that would have to read the table of the fit."""
    for guard in guards:
        if hasattr(guard.than, "predict"):
            raise InputError(
                "a limit among the constraints of an estimator is against a number, an action, what was done, or what "
                "a policy plays in the rows: give no_worse_than(policy.predict_names(X), ...)"
            )
