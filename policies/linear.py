"""Linear rules (scoring systems): the class, its big-M formulation in dominant form, decode, enumeration.

There are two other programs, and ``formulate`` chooses: over the labelings of small supports (policies/linear_tables.py)
where they are few, and over the labels themselves (policies/linear_cuts.py) where weights are real numbers. The exact
searches are in policies/linear_search.py.

Policy class
    Integer weights w in {-B..B}^d with at most s non-zeros and cuts t_1 <= ... <= t_{K-1}; the action at x is the number
    of cuts at or below the score w.x. A column that is not all integers is first turned into the number of its cut
    points at or below the value, so scores are integers and "below the cut" means "at least 1 below". Columns that are
    equal up to sign and shift are one column of weight -rB..rB, r the number of them: any total splits among them.
Variables
    w[i]        integer weight of column i, measured from the first context (a shift of a column moves the cuts only)
    t[k]        cut, real: with integer scores t and ceil(t - 1/2) label alike
    u[j, k]     >= 1 if score_j >= t_k
    v[j, k]     >= 1 if score_j < t_k; constrained encodings have 1 - u in its place
    n[i]        how many of the r features of column i have a weight; only when s limits
Constraints
    (1)  score_j - t_k + 1 <= M_j u[j, k]
    (2)  t_k - score_j <= M_j v[j, k]
    (3)  |w[i]| <= B n[i], 0 <= n[i] <= r_i, sum_i n[i] <= s     only when s limits
    (4)  t_k <= t_{k+1}, u[j, k] >= u[j, k+1], v[j, k] <= v[j, k+1]     K > 2
    (5)  v[a] + v[b] + u[c] + u[d] >= 1 for contexts with x_a + x_b = x_c + x_d (a = b allowed)     K = 2
    M_j is the exact maximum over the box of w, t and (3): R_j + max_i R_i + 1 with R_j = B * (the s largest |x_j|).
    (4) and (5) cut off no rule; they make the solver faster, (5) four times on 32 binary contexts with d = 5.
    The program is not integral.
Cost map
    With d_jk = costs[j, k] - costs[j, k-1] a context costs costs[j, 0] + sum_k [score_j >= t_k] d_jk. Dominant form:
    u[j, k] costs max(d_jk, 0), v[j, k] costs max(-d_jk, 0), the rest is an offset. All coefficients are >= 0, so u and v
    fall to the indicators that (1) and (2) bound from below, and a row whose side is free drops out. Constrained
    encodings charge u with d_jk, exact at every feasible point.
Size
    d + (K-1)(2g + 1) columns and 2g(K-1) big-M rows for g distinct contexts; at most 60 rows (5) per context.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import combinations, combinations_with_replacement, pairwise, product
from math import comb, gcd, log
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from milpcb.checks import context_array, whole
from milpcb.errors import InputError
from milpcb.program import Program, ProgramBuilder
from milpcb.protocols import Encoding, Objective, PolicyClass
from milpcb.types import Floats, Ints
from policies.cuts import Distinct, Thresholds, check_names, check_thresholds, cut_points
from policies.names import Names

if TYPE_CHECKING:
    from policies.linear_branching import BranchingSearch
    from policies.linear_search import TableSearch

# Sums of this many such whole numbers times small weights are exact in float64.
LARGEST_WHOLE = 2.0**40
# Solvers take 1e-6 for 0: a big M beyond this would let a label be wrong by more than a tenth of the margin.
LARGEST_BIG_M = 1e5
# More rows (5) than two for each of this many parallelograms per context slow the solver down; above MOST_PAIRED
# contexts listing the pairs takes too much memory.
PARALLELOGRAMS = 30
MOST_PAIRED = 500

# The cut points that turn a column into points, or None for a column of integers, which is taken as it is.
Steps = tuple[tuple[float, ...] | None, ...]


@dataclass(frozen=True)
class LinearRule:
    """One scoring rule; prints as the score and the range of each action."""

    weights: tuple[float, ...]
    cuts: tuple[float, ...]
    steps: Steps
    names: Names = field(default=Names(), compare=False)

    def predict(self, contexts: Any) -> Ints:
        """Return the action of each context, (n, d) -> (n,)."""
        array = context_array(contexts)
        if array.shape[1] != len(self.weights):
            raise InputError(f"the rule scores {len(self.weights)} features, but the contexts have {array.shape[1]}")
        scores = _points(array, self.steps) @ np.array(self.weights, dtype=float)
        return np.asarray(np.searchsorted(self.cuts, scores, side="right"))

    def __str__(self) -> str:
        used = [i for i, weight in enumerate(self.weights) if weight]
        if not used:
            return f"play {self.names.action(sum(cut <= 0 for cut in self.cuts))}"
        score = " ".join(f"{self.weights[i]:+.12g}*{self._term(i)}" for i in used)
        points = [f"{self._term(i)} = {self._points_of(i)}" for i in used if self.steps[i] is not None]
        return "\n".join([f"score = {score}", *points, *self._plays()])

    def _term(self, i: int) -> str:
        name = self.names.feature(i)
        return name if self.steps[i] is None else f"points({name})"

    def _points_of(self, i: int) -> str:
        steps = self.steps[i] or ()
        each = "each of " if len(steps) > 1 else ""
        return f"1 point for {each}{self.names.feature(i)} >= {', '.join(f'{step:.6g}' for step in steps)}"

    def _plays(self) -> list[str]:
        play = [f"play {self.names.action(a)}" for a in range(len(self.cuts) + 1)]
        cuts = [f"{cut:.12g}" for cut in self.cuts]
        if len(cuts) == 1:
            return [f"{play[1]} if score >= {cuts[0]}, else {play[0]}"]
        ranges = pairwise(cuts)
        between = [f"{play[a]} if {low} <= score < {high}" for a, (low, high) in enumerate(ranges, 1) if low != high]
        return [f"{play[0]} if score < {cuts[0]}", *between, f"{play[-1]} if score >= {cuts[-1]}"]


@dataclass(frozen=True)
class LinearRules(PolicyClass):
    """Scoring rules with small integer weights, or with any weights.

    Parameters
    ----------
    n_actions : K >= 2, ordered: a higher score plays a higher action
    max_weight : weights are integers in [-max_weight, max_weight]; None, or "real" in a config, for real weights, that is,
        all halfspaces: two actions, no max_features, columns as they are, oracle kinds "milp" and, for few contexts, "enumeration"
    max_features : number of features that may have a weight; None for no limit
    thresholds : number of quantile cuts per feature, or one list of cut points per feature; a column of contexts that
        holds anything but integers counts for the number of its thresholds at or below the value; one of integers needs
        no thresholds and counts for itself
    feature_names, action_names : used in printed rules

    """

    n_actions: int = 2
    max_weight: int | Literal["real"] | None = 5
    max_features: int | None = None
    thresholds: Thresholds = 3
    feature_names: Sequence[str] | None = None
    action_names: Sequence[str] | None = None

    def __post_init__(self) -> None:
        whole("n_actions", self.n_actions, 2)
        if self.max_weight == "real":
            object.__setattr__(self, "max_weight", None)
        if self.max_weight is not None:
            object.__setattr__(self, "max_weight", whole("max_weight", self.max_weight, 1))
        if self.max_features is not None:
            whole("max_features", self.max_features, 1)
        if self.max_weight is None and (self.n_actions, self.max_features) != (2, None):
            raise InputError(
                "max_weight = None, real weights, goes with n_actions = 2 and without max_features; give a max_weight"
            )
        object.__setattr__(self, "thresholds", check_thresholds(self.thresholds))

    @property
    def names(self) -> Names:
        """Names for printing."""
        return Names(check_names(self.feature_names), check_names(self.action_names))

    def scored(self, contexts: Floats) -> tuple[Steps, Floats]:
        """Return how columns become points, and the points (m, d): whole numbers unless weights are real."""
        if self.max_weight is None:
            return (None,) * contexts.shape[1], contexts
        steps = _steps(contexts, self.thresholds)
        return steps, _points(contexts, steps)

    @property
    def largest_weight(self) -> int:
        """The largest integer weight; raises InputError when weights are real numbers."""
        if not isinstance(self.max_weight, int):
            raise InputError(
                "real weights (max_weight = None) have no search; use oracle kind 'milp', or give a max_weight"
            )
        return self.max_weight

    def formulate(self, contexts: Floats, *, constrained: bool = False) -> Encoding:
        """Return the encoding that fits the sizes; its ``why`` names it and says what it was chosen for.

        Raises InputError where only the big-M program is left, and scores span too much for a solver's tolerances.
        """
        from policies.linear_cuts import HalfspaceEncoding
        from policies.linear_tables import TableEncoding, small_enough

        if self.max_weight is None:
            return HalfspaceEncoding(self, contexts)
        scored = Scored(self, contexts)
        supports, obstacle = small_enough(scored)
        if not obstacle:
            return TableEncoding(supports)
        return LinearEncoding(scored, constrained=constrained, why=f"big-M rows, as {obstacle}")

    def search(self, contexts: Floats) -> TableSearch | BranchingSearch:
        """Return the search that fits the sizes, see policies/linear_search.py; ``describe()`` names it and says why.

        Raises InputError where none does, and for real weights.
        """
        from policies.linear_search import open_search

        return open_search(self, contexts)

    def log_size(self, contexts: Floats) -> float:
        """Return the log of an upper bound on the number of labelings, the least of four.

        With g distinct contexts and s of d columns: the weight vectors times the placements of K - 1 cuts among at most
        g + 1 places; K - 1 halfspaces on s columns, C(d, s) (2 sum_{k <= s} C(g-1, k))^(K-1) (Cover, IEEE Trans.
        Electron. Comput. 1965), also with s = d; K^g; and where support tables can be used, their rows, whatever the
        contexts are. With real weights, K^g or the halfspaces.
        """
        _, points = self.scored(contexts)
        distinct, cuts = len(Distinct.rows(points).first), self.n_actions - 1
        features = int(np.ptp(points, axis=0).astype(bool).sum())
        columns = features if self.max_weight is None else len(_columns(points))
        limit = self.limit(features)
        bounds = [self.n_actions**distinct]
        for size in (min(limit, columns), columns):
            halfspaces = 2 * sum(comb(distinct - 1, k) for k in range(size + 1))
            bounds.append(comb(columns, size) * halfspaces**cuts)
        if isinstance(self.max_weight, int):
            vectors = sum(comb(features, k) * (2 * self.max_weight) ** k for k in range(limit + 1))
            bounds.append(vectors * comb(distinct + cuts, cuts))
            bounds += self._rows_of_tables(contexts)
        return log(min(bounds))

    def _rows_of_tables(self, contexts: Floats) -> list[int]:
        from policies.linear_tables import Supports

        supports = Supports(Scored(self, contexts))
        return [] if supports.obstacle() else [supports.n_rows]

    def limit(self, features: int) -> int:
        """Return how many of so many features may have a weight."""
        return features if self.max_features is None else min(self.max_features, features)

    def policies(self, contexts: Floats) -> Iterator[LinearRule]:
        """List the rules, few features first: all weights in the box, all placements of the cuts among the scores.

        Constant columns get no weight, and weights with a common factor are left out: neither tells more contexts apart.
        With real weights, one rule for each labeling; raises InputError when there may be too many.
        """
        if self.max_weight is None:
            from policies.linear_cuts import every_rule

            yield from every_rule(self, contexts)
            return
        steps, points = self.scored(contexts)
        for weights in self._weights(points):
            for cuts in combinations_with_replacement(_places(points @ weights), self.n_actions - 1):
                yield LinearRule(tuple(weights.tolist()), cuts, steps, self.names)

    def _weights(self, points: Floats) -> Iterator[Ints]:
        box = range(-self.largest_weight, self.largest_weight + 1)
        values = sorted((w for w in box if w), key=lambda w: (abs(w), -w))
        features = np.flatnonzero(np.ptp(points, axis=0))
        for size in range(self.limit(len(features)) + 1):
            for support in combinations(features, size):
                primitive = (chosen for chosen in product(values, repeat=size) if gcd(*chosen) <= 1)
                yield from (_spread(points.shape[1], support, chosen) for chosen in primitive)

    def draw(self, contexts: Floats, rng: np.random.Generator) -> LinearRule:
        """Return a random rule that splits the contexts (any such rule can come), or a constant one if none does."""
        if self.max_weight is None:
            from policies.linear_cuts import drawn_rule

            return drawn_rule(self, contexts, rng)
        steps, points = self.scored(contexts)
        features = np.flatnonzero(np.ptp(points, axis=0))
        weights = _spread(points.shape[1], (), ())
        while len(features) and not np.ptp(points @ weights):
            support = rng.choice(features, rng.integers(1, self.limit(len(features)) + 1), replace=False)
            size = rng.integers(1, self.largest_weight + 1, len(support))
            weights = _spread(points.shape[1], support, size * rng.choice((-1, 1), len(support)))
        places = _places(points @ weights)
        splitting = rng.choice(places[1:-1] or places)  # the first place has no context below it, the last none above
        others = rng.choice(places, self.n_actions - 2)
        cuts = tuple(int(cut) for cut in sorted([splitting, *others]))
        return LinearRule(tuple(weights.tolist()), cuts, steps, self.names)


class Scored:
    """The distinct contexts as columns of whole numbers, and the rules that weights on those columns make.

    ``group`` and ``contexts`` are as in Encoding; ``columns`` are the columns that tell contexts apart, those equal up
    to sign and shift merged; ``limit`` of their features may have a weight.
    """

    def __init__(self, rules: LinearRules, contexts: Floats) -> None:
        self._steps, points = rules.scored(contexts)
        distinct = Distinct.rows(points)
        self.group = distinct.group
        self.contexts = contexts[distinct.first]
        self._points = points[distinct.first]
        self.names, self.n_cuts, self.max_weight = rules.names, rules.n_actions - 1, rules.largest_weight
        self.columns = _columns(self._points)
        self.copies: Ints = np.array([len(column.members) for column in self.columns], dtype=np.int64)
        self.limit = rules.limit(int(self.copies.sum()))

    def table(self) -> Floats:
        """Return the columns side by side (g, columns), see ``_table``."""
        return _table(self.columns, len(self._points))

    def rule(self, totals: Floats | Ints, labels: Ints) -> LinearRule:
        """Return the rule with these total weights of the columns that labels the contexts so: ``labels`` (g,).

        Its weights are primitive, and each cut is at a score that some context has.
        """
        weights = self._split(totals) if np.ptp(labels) else np.zeros(len(self._steps), dtype=np.int64)
        weights //= max(1, int(np.gcd.reduce(weights)))
        scores = self._points @ weights
        cuts = [int(scores[labels > k].min(initial=scores.max() + 1)) for k in range(self.n_cuts)]
        return LinearRule(tuple(weights.tolist()), tuple(cuts), self._steps, self.names)

    def _split(self, totals: Floats | Ints) -> Ints:
        """Return the weight (d,) of each feature; those of one column are filled one after the other."""
        weights = np.zeros(len(self._steps), dtype=np.int64)
        for total, column in zip(totals, self.columns, strict=True):
            filled = np.arange(len(column.members)) * self.max_weight
            parts = np.sign(total) * np.clip(abs(total) - filled, 0, self.max_weight)
            for (feature, sign), part in zip(column.members, parts, strict=True):
                weights[feature] = sign * part
        return weights


class LinearEncoding(Encoding):
    """The polytope of (1)-(5) and its cost map."""

    def __init__(self, scored: Scored, *, constrained: bool, why: str) -> None:
        self.why = why
        self._scored = scored
        self.group, self.contexts = scored.group, scored.contexts
        self._X = scored.table()
        self._constrained = constrained
        self.program = self._polytope()

    def objective(self, costs: Floats) -> Objective:
        """Return the coefficients of u and v; the offset is action 0 everywhere, less the charges on v when dominant."""
        rises = np.diff(costs, axis=1)
        coefficients = np.zeros(self.program.n_columns)
        if self._constrained:
            coefficients[self._u] = rises
            return Objective(coefficients, float(costs[:, 0].sum()))
        falls = np.maximum(-rises, 0.0)
        coefficients[self._u] = np.maximum(rises, 0.0)
        coefficients[self._below.columns] = falls
        return Objective(coefficients, float(costs[:, 0].sum() - falls.sum()))

    def decode(self, x: Floats, costs: Floats) -> LinearRule:  # noqa: ARG002 - w and t say it all
        """Round w and label by t."""
        totals = np.rint(x[self._w])
        # Scores are at least t or at most t - 1, up to the solver's tolerance: halfway is the safe place.
        labels = ((self._X @ totals)[:, None] >= x[self._t] - 0.5).sum(axis=1)
        return self._scored.rule(totals, labels)

    def _polytope(self) -> Program:
        """Return the program; sets the columns w (d,), t (K-1,), u (g, K-1) and what stands for v."""
        X, copies, limit = self._X, self._scored.copies, self._scored.limit
        cuts, max_weight = self._scored.n_cuts, self._scored.max_weight
        reach = max_weight * _largest(np.repeat(np.abs(X), copies, axis=1), limit)  # R_j
        highest = float(reach.max())
        self._check_tolerance(2.0 * highest + 1.0)

        b = ProgramBuilder()
        widest = (max_weight * copies).astype(float)
        self._w = b.columns("w", (X.shape[1],), -widest, widest, integer=True)
        self._t = b.columns("t", (cuts,), -highest, highest + 1.0)
        self._u = b.columns("u", (len(X), cuts), upper=1.0, integer=True)
        if self._constrained:
            self._below = _Below(self._u, sign=-1.0, constant=1.0)
        else:
            self._below = _Below(b.columns("v", (len(X), cuts), upper=1.0, integer=True), sign=1.0, constant=0.0)
        self._add_scores(b, reach + highest + 1.0)
        if limit < copies.sum():
            _add_support(b, self._w, copies, max_weight, limit)
        if cuts > 1:
            self._add_order(b)
        else:
            self._add_parallelograms(b)
        return b.build()

    def _add_scores(self, b: ProgramBuilder, big: Floats) -> None:
        """Add (1) and (2), ``big`` being M."""
        w, M = self._w[None], big[:, None]
        for k in range(len(self._t)):
            t, u, v = self._t[None, [k]], self._u[:, [k]], self._below.columns[:, [k]]
            b.rows((w, self._X), (t, -1.0), (u, -M), upper=-1.0)
            b.rows((w, -self._X), (t, 1.0), (v, -self._below.sign * M), upper=self._below.constant * big)

    def _add_order(self, b: ProgramBuilder) -> None:
        """Add (4). No rule is lost: the cuts are ordered by definition, and with them the indicators are nested."""
        b.rows((self._t[:-1, None], 1.0), (self._t[1:, None], -1.0), upper=0.0)
        b.rows((self._u[:, :-1].reshape(-1, 1), 1.0), (self._u[:, 1:].reshape(-1, 1), -1.0), lower=0.0)
        if not self._constrained:
            v = self._below.columns
            b.rows((v[:, :-1].reshape(-1, 1), 1.0), (v[:, 1:].reshape(-1, 1), -1.0), upper=0.0)

    def _add_parallelograms(self, b: ProgramBuilder) -> None:
        """Add (5). No rule is lost: of two pairs with equal sums of scores not one is above the cut, the other below."""
        pairs, others = parallelograms(self._X)
        if not len(pairs):
            return
        u, v, sign, constant = self._u[:, 0], self._below.columns[:, 0], self._below.sign, self._below.constant
        for one, other in ((pairs, others), (others, pairs)):
            p, q = _halves(one), _halves(other)
            b.rows((v[one], sign * p), (u[other], q), lower=1.0 - constant * p.sum(axis=1))

    def _check_tolerance(self, big: float) -> None:
        if big > LARGEST_BIG_M:
            feature, _ = self._scored.columns[int(np.abs(self._X).max(axis=0).argmax())].members[0]
            raise InputError(
                f"scores may differ by {big:.0f}, where a solver tells 1 apart only up to {LARGEST_BIG_M:.0f}: "
                f"give feature {self._scored.names.feature(feature)} in larger units or in classes, or lower max_weight"
            )


@dataclass(frozen=True)
class _Below:
    """The indicator of score_j < t_k as ``sign * x[columns] + constant``."""

    columns: Ints
    sign: float
    constant: float


@dataclass(frozen=True)
class Column:
    """Whole numbers (g,) that are 0 at the first context, and the (feature, sign) pairs that carry them."""

    values: Ints
    members: list[tuple[int, int]]


def _columns(points: Floats) -> list[Column]:
    """Return the columns that are not constant, those equal up to sign and shift merged.

    No rule is lost: a shift of a column moves every score, and so the cuts, by the same amount.
    """
    found: dict[bytes, Column] = {}
    for i, column in enumerate((points - points[0]).astype(np.int64).T):
        if column.any():
            sign = int(np.sign(column[column != 0][0]))
            values = sign * column
            found.setdefault(values.tobytes(), Column(values, [])).members.append((i, sign))
    return list(found.values())


def _table(columns: list[Column], n_rows: int) -> Floats:
    """Return X (g, columns) without the common factor of all its entries, which scales scores and cuts alike."""
    table = np.array([column.values for column in columns], dtype=np.int64).reshape(len(columns), n_rows).T
    return (table // max(1, int(np.gcd.reduce(table, axis=None)))).astype(float)


def parallelograms(X: Floats) -> tuple[Ints, Ints]:
    """Return pairs of contexts (n, 2) and (n, 2) with equal sums, x_a + x_b = x_c + x_d, the smallest ones.

    Of three contexts evenly spaced on a line the middle one is a pair with itself.
    """
    none = np.zeros((0, 2), dtype=np.int64)
    if len(X) > MOST_PAIRED or not X.shape[1]:
        return none, none
    pairs = np.column_stack(np.triu_indices(len(X)))
    length = np.abs(X[pairs[:, 0]] - X[pairs[:, 1]]).sum(axis=1)
    total = Distinct.rows(X[pairs].sum(axis=1)).group
    order = np.lexsort((length, total))
    pairs, length, total = pairs[order], length[order], total[order]
    most, size, found = PARALLELOGRAMS * len(X), 0, [none]
    for lag in range(1, len(pairs)):
        first = np.flatnonzero(total[:-lag] == total[lag:])
        found.append(np.column_stack([first, first + lag]))
        size += len(first)
        if not len(first) or size >= most:
            break
    both = np.concatenate(found)
    both = both[np.argsort(length[both].sum(axis=1), kind="stable")[:most]]
    return pairs[both[:, 0]], pairs[both[:, 1]]


def _halves(pairs: Ints) -> Floats:
    """Return coefficients (n, 2) that add up to 1 for each different context of a pair."""
    return np.where(pairs[:, :1] == pairs[:, 1:], 0.5, 1.0) * np.ones(2)


def _add_support(b: ProgramBuilder, w: Ints, copies: Ints, max_weight: int, limit: int) -> None:
    """Add (3)."""
    n = b.columns("n", w.shape, upper=copies.astype(float), integer=True)
    b.rows((w[:, None], 1.0), (n[:, None], -max_weight), upper=0.0)
    b.rows((w[:, None], -1.0), (n[:, None], -max_weight), upper=0.0)
    b.rows((n[None], 1.0), upper=limit)


def _steps(contexts: Floats, thresholds: Thresholds) -> Steps:
    """Return the cut points, increasing, of each column that is not all integers."""
    integers = (contexts == np.rint(contexts)).all(axis=0)
    large = np.flatnonzero(integers & (np.abs(contexts).max(axis=0) > LARGEST_WHOLE))
    if len(large):
        raise InputError(f"feature {large[0]} has whole numbers beyond {LARGEST_WHOLE:.0f}; give it in larger units")
    # x >= t is -x <= -t: the cut points of -x are those of x, less those that leave all contexts on one side of x >= t.
    mirrored = thresholds if isinstance(thresholds, int) else tuple(tuple(-t for t in cuts) for cuts in thresholds)
    cuts = cut_points(-contexts, mirrored)
    return tuple(None if integers[i] else tuple(np.sort(0.0 - cuts[i]).tolist()) for i in range(contexts.shape[1]))


def _points(contexts: Floats, steps: Steps) -> Floats:
    """Return (m, d): integer columns as they are, for others the number of cut points at or below the value."""
    points = contexts.copy()
    for i, cuts in enumerate(steps):
        if cuts is not None:
            points[:, i] = np.searchsorted(cuts, contexts[:, i], side="right")
    return points


def _places(scores: Floats) -> list[int]:
    """Return where a cut can be: at each score, or above all of them."""
    found = [int(score) for score in np.unique(scores)]
    return [*found, found[-1] + 1]


def _spread(size: int, support: Any, values: Any) -> Ints:
    weights = np.zeros(size, dtype=np.int64)
    weights[list(support)] = values
    return weights


def _largest(rows: Floats, size: int) -> Floats:
    """Return (g,): the sum of the ``size`` largest entries of each row."""
    return np.asarray(np.sort(rows, axis=1)[:, rows.shape[1] - size :].sum(axis=1))
