"""Merges identical rows and adds up their weights, to the same bits however often a row is repeated."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import fsum
from typing import Any

import numpy as np

from milpcb.constraints import LabelConstraint
from milpcb.core.decimals import spaced
from milpcb.errors import InfeasibleError, InputError
from milpcb.offline import NoWorseThan
from milpcb.offline.restrictions.monotone import ActionOrder
from milpcb.types import Answer, Floats, Ints

_SPLIT = 2.0**27 + 1  # Dekker's constant: splits a float into halves whose products are exact


@dataclass(frozen=True)
class Rows:
    """Weighted rows merged into distinct contexts (g, d), which are in lexicographic order."""

    contexts: Floats
    group: Ints  # (n,) the distinct context of each row
    weight: Floats  # (n,) its weight, above 0
    sizes: Floats  # (g,) total weights of the distinct contexts
    order: ActionOrder | None = None  # that policies have to keep

    @classmethod
    def merge(cls, contexts: Floats, weight: Floats) -> Rows:
        """Merge equal rows of ``contexts`` (n, d)."""
        order = np.lexsort(contexts.T[::-1])
        first = np.zeros(len(order), dtype=bool)
        first[0] = True
        for column in contexts.T:
            first[1:] |= column[order[1:]] != column[order[:-1]]
        group = np.empty(len(order), dtype=np.int64)
        group[order] = np.cumsum(first) - 1
        distinct = contexts[order[first]] + 0.0  # adding 0 makes -0 and 0 the same
        distinct.setflags(write=False)  # so that whoever opens a class on it need not copy it
        sizes = exact_sums(weight[:, None], np.ones_like(weight), group, len(distinct))[:, 0]
        return cls(distinct, group, weight, sizes)

    def total(self, table: Floats) -> Floats:
        """Return the weighted totals (g, k) of a table (n, k) at each distinct context, correctly rounded."""
        return exact_sums(table, self.weight, self.group, len(self.contexts))


def total_of(answer: Answer, rows: Rows, costs: Floats) -> float:
    """Return the total cost of a policy, rounded once, so that policies that play alike have equal totals."""
    policy: Any = answer.policy
    return fsum(costs[np.arange(len(costs)), policy.predict(rows.contexts)])


def whole_counts(weight: Floats) -> Ints:
    """Return weights as numbers of rows; raises InputError where they are not whole."""
    if not (weight == np.rint(weight)).all():
        raise InputError("a limit on rows counts them: give whole sample weights, or leave the limit out")
    return weight.astype(np.int64)


def exact_sums(table: Floats, weight: Floats, group: Ints, n_groups: int) -> Floats:
    """Return (n_groups, k): the sums of ``weight * table`` by group, each rounded once, whatever the order of rows.

    Products are exact pairs of floats (T. J. Dekker, Numer. Math. 18, 1971), their sums are math.fsum.
    """
    product, error = _exact_product(np.broadcast_to(weight[:, None], table.shape), table)
    sums = np.empty((n_groups, table.shape[1]))
    sums[group] = product
    order = np.argsort(group, kind="stable")
    counts = np.bincount(group, minlength=n_groups)
    ends = np.cumsum(counts)
    for g in np.flatnonzero(counts > 1).tolist():
        rows = order[ends[g] - counts[g] : ends[g]]
        sums[g] = [fsum(part) for part in np.concatenate([product[rows], error[rows]]).T.tolist()]
    return sums


def _exact_product(a: Floats, b: Floats) -> tuple[Floats, Floats]:
    """Return a * b rounded, and what rounding left out."""
    product = a * b
    (a_high, a_low), (b_high, b_low) = _halves(a), _halves(b)
    return product, ((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low


def _halves(x: Floats) -> tuple[Floats, Floats]:
    high = _SPLIT * x - (_SPLIT * x - x)
    return high, x - high


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

    ``ask`` is the oracle under constraints on the distinct contexts, as ``rules`` are. Raises InfeasibleError.
    """
    contexts = rows.contexts[rows.group]
    shown = [guard.rule(policies, contexts, actions=actions) for guard in guards]
    shown = [replace(rule, weights=summed(np.asarray(rule.weights), rows)) for rule in shown]
    asked = [[*rules, *shown]]
    for number, guard in enumerate(guards):
        labels = guard.labels(actions) if guard.margin >= 0 else None  # it is no worse than itself
        if labels is not None:
            others = [rule for other, rule in enumerate(shown) if other != number]
            barred = summed((labels[:, None] != np.arange(len(actions))).astype(float), rows)
            asked.append([*rules, *others, LabelConstraint(barred, 0.0, "as the policy that is compared with")])
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


def spread(rule: LabelConstraint, rows: Rows) -> LabelConstraint:
    """Return a rule on the distinct contexts as one on the n rows, by what each weighs."""
    share = rows.weight / rows.sizes[rows.group]
    return replace(rule, weights=np.asarray(rule.weights)[rows.group] * share[:, None])


def summed(table: Floats, rows: Rows) -> Floats:
    """Return the sums (g, K) of a table (n, K) at each distinct context."""
    return exact_sums(table, np.ones(len(table)), rows.group, len(rows.contexts))
