"""The wish that the action never goes down as a column grows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from milpcb.constraints import LabelConstraint
from milpcb.offline.arguing.question import Best, Granting, Question, check_columns, explicit
from milpcb.offline.arguing.wishes import check_pairs, ordered
from milpcb.types import Floats


@dataclass(frozen=True)
class Monotone:
    """The action never goes down (or, with -1, up) as a column grows, whatever the other columns of a row are.

    Every row is put at each place between the cuts of the column, where it costs nothing, and neighbouring places are
    ordered by side rows. The order of actions is that of their numbers.
    """

    columns: Mapping[int, int]
    name: str = "monotone"

    def of(self, question: Question) -> Granting:
        """Return the class under the order."""
        known = explicit(question)
        rows, n_actions = known.rows, known.policies.n_actions
        check_columns(tuple(self.columns), rows)
        contexts, pairs = [rows], []
        for column, sign in self.columns.items():
            places = _places(known, rows, column)
            distinct = _apart(known, rows, column)
            start = sum(map(len, contexts))
            grid = np.repeat(distinct, len(places), axis=0)
            contexts.append(np.insert(grid, column, np.tile(places, len(distinct)), axis=1))
            here = np.arange(start, start + len(grid)).reshape(len(distinct), len(places))
            steps = np.stack([here[:, :-1], here[:, 1:]], axis=-1).reshape(-1, 2)
            pairs += (steps if sign > 0 else steps[:, ::-1]).tolist()
        every = np.concatenate(contexts)
        check_pairs(pairs, n_actions)
        rules = [_padded(rule, len(every)) for rule in question.constraints]
        rules += ordered(pairs, len(every), n_actions, self.name)
        return _Padded(replace(known, contexts=every, constraints=tuple(rules)), len(rows))


@dataclass(frozen=True, eq=False)
class _Padded:
    """A question whose rows after the first n cost nothing."""

    question: Question
    n: int

    def best(self, costs: Floats) -> Best:
        """Return the least total cost and a policy."""
        more = np.zeros((len(self.question.rows) - self.n, costs.shape[1]))
        return self.question.best(np.vstack([costs, more]))


def _places(question: Question, rows: Floats, column: int) -> Floats:
    """Return a value of a column on each side of its cuts; all its values for a class without cuts."""
    cuts = getattr(question.policies, "thresholds", None)
    if not isinstance(cuts, tuple):
        return np.unique(rows[:, column])
    inside = np.unique(cuts[column])
    return np.append(inside, inside[-1] + 1.0) if len(inside) else rows[:1, column]


def _padded(rule: LabelConstraint, n: int) -> LabelConstraint:
    weights = np.asarray(rule.weights, dtype=float)
    return replace(rule, weights=np.vstack([weights, np.zeros((n - len(weights), weights.shape[1]))]))


def _apart(question: Question, rows: Floats, column: int) -> Floats:
    """Return rows without a column, one for each way in which policies distinguish the others."""
    cuts, others = getattr(question.policies, "thresholds", None), np.delete(rows, column, axis=1)
    if not isinstance(cuts, tuple):
        return np.unique(others, axis=0)
    left = [points for number, points in enumerate(cuts) if number != column]
    places = [np.searchsorted(points, values) for points, values in zip(left, others.T, strict=True)]
    _, first = np.unique(np.array(places).reshape(len(left), len(rows)), axis=1, return_index=True)
    return np.asarray(others[first])
