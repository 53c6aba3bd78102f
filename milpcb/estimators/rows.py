"""Rows and numbers that policies read: equal rows merged, with exact totals; weighted cut points, and their order."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from math import fsum
from typing import Any

import numpy as np

from milpcb.constraints import LabelConstraint
from milpcb.core.checks import number_array, several, whole
from milpcb.core.decimals import shortest_between, spaced
from milpcb.core.text import escaped
from milpcb.data.columns import Column, Number, Reached, Values
from milpcb.errors import InfeasibleError, InputError, UnknownNameError, shown
from milpcb.offline import NoWorseThan
from milpcb.offline.restrictions.monotone import ActionOrder, Joint
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
        distinct, found = np.unique(contexts + 0.0, axis=0, return_inverse=True)  # adding 0 makes -0 and 0 the same
        group = found.ravel()
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
    product, a_high, b_high = a * b, *(_SPLIT * x - (_SPLIT * x - x) for x in (a, b))
    a_low, b_low = a - a_high, b - b_high
    return product, ((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low


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
    """Return the best policy that is shown to keep all limits, or else the policy that a limit compares with.

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
        with suppress(InfeasibleError):
            found.append(ask(each))
    if not found:
        names = " and ".join(dict.fromkeys(guard.asked for guard in guards))
        more = "rows" if all(guard.outcome.log.group is None for guard in guards) else "groups"
        raise InfeasibleError(
            f"no policy of the class is shown by these {spaced(len(contexts))} rows to keep {names}; "
            f"allow a margin (margin=0.02, or + 0.02 behind --no-worse), ask for less confidence, or take more {more}"
        )
    return replace(min(found, key=lambda answer: answer.upper), lower=min(answer.lower for answer in found))


def row_by_row(
    rules: Sequence[LabelConstraint], guards: Sequence[NoWorseThan], rows: Rows, actions: Sequence[str]
) -> list[LabelConstraint]:
    """Return rules on the distinct contexts as rules on the n rows, by what each weighs, and limits by estimates."""
    share, contexts = (rows.weight / rows.sizes[rows.group])[:, None], rows.contexts[rows.group]
    own = [replace(rule, weights=np.asarray(rule.weights)[rows.group] * share) for rule in rules]
    return own + [guard.on_rows(contexts, actions) for guard in guards]


def summed(table: Floats, rows: Rows) -> Floats:
    """Return the sums (g, K) of a table (n, K) at each distinct context."""
    return exact_sums(table, np.ones(len(table)), rows.group, len(rows.contexts))


def explicit_cuts(thresholds: Any, columns: Sequence[Column], features: Sequence[str], rows: Rows) -> Any:
    """Return one list of cut points for each of ``columns``; "all" and None are returned as they are.

    ``thresholds`` is a number of quantiles, or cut points by feature, or one list for each of ``features``.
    """
    if thresholds is None or isinstance(thresholds, str):
        return thresholds
    if isinstance(thresholds, (int, np.integer)):
        count = whole("thresholds", thresholds, 1)
        return tuple(quantile_cuts(rows.contexts[:, i], rows.sizes, count) for i in range(len(columns)))
    given = _by_name(thresholds, features)
    return tuple(given.get(column.name, ()) if isinstance(column, Number) else (0.5,) for column in columns)


def as_tests(
    columns: Sequence[Column], thresholds: Any, features: Sequence[str], values: Mapping[str, Values], weight: Floats
) -> Iterator[Column]:
    """Yield ``columns``, with tests x >= cut, one for each cut point, in place of numbers that are not 0 or 1."""
    given = {} if isinstance(thresholds, (int, np.integer, str)) else _by_name(thresholds, features)
    for column in columns:
        if not isinstance(column, Number):
            yield column
            continue
        known = ~np.isnan(values[column.name])
        numbers = values[column.name][known]
        if known.all() and set(np.unique(numbers).tolist()) <= {0.0, 1.0}:
            yield column
        elif given:
            yield from (Reached(column.name, cut) for cut in given.get(column.name, ()))
        else:
            count = len(numbers) if thresholds == "all" else whole("thresholds", thresholds, 1)
            cuts = quantile_cuts(numbers, weight[known], count, from_below=True)
            yield from (Reached(column.name, cut) for cut in cuts)


def quantile_cuts(column: Floats, weight: Floats, count: int, *, from_below: bool = False) -> tuple[float, ...]:
    """Return ``count`` weighted quantile cuts of a column, or all that divide it where these are no more.

    A cut is the shortest decimal between a quantile and the next value; it divides by <=, or >= if ``from_below``.
    """
    values, group = np.unique(column, return_inverse=True)
    if len(values) <= 2 and set(values.tolist()) <= {0.0, 1.0}:
        return (0.5,)
    below = np.arange(len(values) - 1)
    if len(below) > count:
        weights = exact_sums(weight[:, None], np.ones_like(weight), group.ravel(), len(values))[:, 0]
        reached = np.cumsum(weights)
        levels = np.arange(1, count + 1) / (count + 1) * reached[-1]
        below = np.unique(np.searchsorted(reached, levels))
        below = below[below < len(values) - 1]
    cuts = []
    for low, high in zip(values[below].tolist(), values[below + 1].tolist(), strict=True):
        middle = low + (high - low) / 2
        neighbours = not low < middle < high  # among floats
        own = high if from_below else low
        cuts.append(own if neighbours else shortest_between(low, high, middle, low_included=not from_below))
    return tuple(cuts)


def _by_name(thresholds: Any, features: Sequence[str]) -> dict[str, tuple[float, ...]]:
    if not isinstance(thresholds, Mapping):
        listed = several("thresholds", thresholds, object, "cut points, a list for each feature")
        if len(listed) != len(features):
            raise InputError(
                f"thresholds list {len(listed)} features, but there are {len(features)}; give all, or by name"
            )
        thresholds = dict(zip(features, listed, strict=True))
    found = {}
    for name, cuts in thresholds.items():
        if name not in features:
            raise UnknownNameError("feature in thresholds", name, features)
        numbers = number_array(f"thresholds of '{name}'", cuts)
        if numbers.ndim != 1 or not np.isfinite(numbers).all():
            raise InputError(f"thresholds of '{name}' must be a list of finite numbers, got {shown(cuts)}")
        found[name] = tuple(np.unique(numbers).tolist())
    return found


WAYS = {"more": 1, "less": -1}


def joints_of(monotone: Any, columns: Sequence[Column], values: Mapping[str, Values], contexts: Floats) -> list[Joint]:
    """Return the values that the numbers of policies take together, with the order of ``monotone``; [] without it.

    ``values`` are the columns (n,) by name, ``contexts`` (n, d) are numbers made of them. Raises InputError.
    """
    if monotone is None:
        return []
    if not isinstance(monotone, Mapping) or not monotone or not all(way in WAYS for way in monotone.values()):
        raise InputError(f"monotone must map names of columns to 'more' or 'less', got {shown(monotone)}")
    names, found = tuple(dict.fromkeys(column.name for column in columns)), []
    for name in monotone:
        if name not in names:
            raise UnknownNameError("column of monotone", name, names)
    for name in names:
        places = tuple(place for place, column in enumerate(columns) if column.name == name)
        numbers, raw = contexts[:, places], values[name]
        if name not in monotone:
            found.append(Joint(places, np.unique(numbers, axis=0)))
            continue
        if raw.dtype == object:
            raise InputError(f"monotone is for columns of numbers, and '{escaped(name)}' holds strings or booleans")
        known = ~np.isnan(raw)
        _, first = np.unique(raw[known], return_index=True)
        rising = numbers[known][first][:: WAYS[monotone[name]]]
        found.append(Joint(places, np.concatenate([rising, numbers[~known][:1]]), len(rising)))
    return found
