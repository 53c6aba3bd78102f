"""Contexts as columns of integers: all data on them that a class of scoring rules needs."""

from dataclasses import dataclass

import numpy as np

from milpcb.errors import InputError
from milpcb.types import Floats, Ints
from policies.cuts import Distinct, Thresholds, cut_points
from policies.linear.each_rule import HighestScore, bases_of
from policies.linear.labelings import ScoreKind
from policies.linear.rule import LinearRule, Steps, points_of
from policies.names import Names

ScoringRule = LinearRule | HighestScore

# Sums of this many such integers times small weights are exact in float64.
LARGEST_WHOLE = 2.0**40


class Scored:
    """The distinct contexts as columns of integers, and the rules that weights on those columns make.

    ``group`` (m,) and ``contexts`` (g, d) are those of Opened, ``points`` (g, d) the integers, ``steps`` how they
    come from contexts. ``columns`` are the columns in which contexts differ, those equal up to sign and shift merged,
    and ``copies`` the number of features of each; at most ``limit`` features have a weight, in [-max_weight,
    max_weight].
    """

    def __init__(
        self,
        contexts: Floats,
        kind: ScoreKind,
        max_weight: int,
        max_features: int | None,
        thresholds: Thresholds,
        names: Names,
    ) -> None:
        """Take contexts (m, d), and the ``kind`` of scores of the rules; ``max_features`` None is no limit."""
        self.steps = steps_of(contexts, thresholds)
        points = points_of(contexts, self.steps)
        distinct = Distinct.rows(points)
        self.group = distinct.group
        self.contexts = contexts[distinct.first]
        self.points = points[distinct.first]
        self.names, self.kind, self.n_actions, self.max_weight = names, kind, kind.n_actions, max_weight
        self.columns = _columns(self.points)
        self.copies: Ints = np.array([len(column.members) for column in self.columns], dtype=np.int64)
        features = int(self.copies.sum())
        self.limit = features if max_features is None else min(max_features, features)

    def whole_table(self) -> Ints:
        """Return the columns side by side (g, columns)."""
        values = [column.values for column in self.columns]
        return np.array(values, dtype=np.int64).reshape(len(values), len(self.points)).T

    def table(self) -> Floats:
        """Return ``whole_table`` without the common factor of all its entries, which scales scores and cuts alike."""
        table = self.whole_table()
        return (table // max(1, int(np.gcd.reduce(table, axis=None)))).astype(float)

    def columns_of(self, contexts: Floats) -> list[Floats]:
        """Return the values (n,) that contexts (n, d) have in each of ``columns``."""
        shifted = points_of(contexts, self.steps) - self.points[0]
        return [sign * shifted[:, feature] for feature, sign in (column.members[0] for column in self.columns)]

    def rule(self, totals: Floats | Ints, labels: Ints) -> ScoringRule:
        """Return the rule with total weights (columns,), or (columns, K), that gives the contexts ``labels`` (g,)."""
        return self.labelled(self._split(totals if np.ptp(labels) else 0 * totals), labels)

    def labelled(self, weights: Ints, labels: Ints) -> ScoringRule:
        """Return the rule with these weights (d,), or (d, K), of the features that gives the contexts ``labels``."""
        if weights.ndim == 2:
            bases = bases_of(self.points @ weights, labels)
            return HighestScore(tuple(map(tuple, weights.T.tolist())), bases, self.steps, self.names)
        weights = weights // max(1, int(np.gcd.reduce(weights)))
        scores = self.points @ weights
        cuts = (int(scores[labels > k].min(initial=scores.max() + 1)) for k in range(self.n_actions - 1))
        return self.rule_of(weights, tuple(cuts))

    def rule_of(self, weights: Ints, cuts: tuple[int, ...]) -> LinearRule:
        """Return the rule with these weights (d,) of the features."""
        return LinearRule(tuple(weights.tolist()), cuts, self.steps, self.names)

    def _split(self, totals: Floats | Ints) -> Ints:
        """Return the weights (d,), or (d, K), of features; those of one column are filled one after the other."""
        weights = np.zeros((len(self.steps), *totals.shape[1:]), dtype=np.int64)
        for total, column in zip(totals, self.columns, strict=True):
            for filled, (feature, sign) in enumerate(column.members):
                left = np.clip(np.abs(total) - filled * self.max_weight, 0, self.max_weight)
                weights[feature] = sign * np.sign(total) * left
        return weights


@dataclass(frozen=True)
class ScoredColumn:
    """Integers (g,) that are 0 at the first context, and the (feature, sign) pairs of the features equal to them."""

    values: Ints
    members: list[tuple[int, int]]


def _columns(points: Floats) -> list[ScoredColumn]:
    """Return the columns that are not constant, those equal up to sign and shift merged, which loses no rule."""
    found: dict[bytes, ScoredColumn] = {}
    for i, column in enumerate((points - points[0]).astype(np.int64).T):
        if column.any():
            sign = int(np.sign(column[column != 0][0]))
            values = sign * column
            found.setdefault(values.tobytes(), ScoredColumn(values, [])).members.append((i, sign))
    return list(found.values())


def steps_of(contexts: Floats, thresholds: Thresholds) -> Steps:
    """Return the cut points, increasing, of each column that is not all integers."""
    integers = (contexts == np.rint(contexts)).all(axis=0)
    large = np.flatnonzero(integers & (np.abs(contexts).max(axis=0) > LARGEST_WHOLE))
    if len(large):
        raise InputError(f"feature {large[0]} has integers beyond {LARGEST_WHOLE:.0f}; give it in larger units")
    # x >= t is -x <= -t: the cut points of -x are those of x, less those that leave all contexts on one side of x >= t.
    mirrored = tuple(tuple(-t for t in cuts) for cuts in thresholds) if isinstance(thresholds, tuple) else thresholds
    cuts = cut_points(-contexts, mirrored)
    return tuple(None if integers[i] else tuple(np.sort(0.0 - cuts[i]).tolist()) for i in range(contexts.shape[1]))
