"""Linear rules (scoring systems) as programs: by big-M rows, or with a column for each row of support tables.

Policy class
    Integer weights w in {-B..B}^d with at most s non-zeros and cuts t_1 <= ... <= t_{K-1}; the action at x is the
    number of cuts at or below the score w.x. A column that is not all integers is first turned into the number of its
    cut points at or below the value, so scores are integers and "below the cut" means "at least 1 below". Columns that
    are equal up to sign and shift are one column of weight -rB..rB, r the number of them: any total splits among them.
Variables
    w[i]        integer weight of column i, measured from the first context (a shift of a column moves the cuts only)
    t[k]        cut, real: with integer scores t and ceil(t - 1/2) label alike
    u[j, k]     1 if score_j >= t_k, else 0
    n[i]        how many of the r features of column i have a weight; only when s limits
Constraints
    (1)  score_j - t_k + 1 <= M_j u[j, k]
    (2)  t_k - score_j <= M_j (1 - u[j, k])
    (3)  |w[i]| <= B n[i], 0 <= n[i] <= r_i, sum_i n[i] <= s     only when s limits
    (4)  t_k <= t_{k+1}, u[j, k] >= u[j, k+1]     K > 2
    M_j is the exact maximum over the box of w, t and (3): R_j + max_i R_i + 1 with R_j = B * (the s largest |x_j|).
    (4) cuts off no rule. The program is not integral.
Cost map
    A context costs costs[j, 0] + sum_k u[j, k] (costs[j, k] - costs[j, k-1]): linear and exact at every point.
Size
    d + (K-1)(g + 1) columns and 2g(K-1) big-M rows for g distinct contexts.

A score for each action
    w[i, a], a base c[a] (c[0] = 0) and y[j, a] in {0, 1}, sum_a y[j, a] = 1, which costs costs[j, a]; (1) and (2)
    become score_j[a] - score_j[b] >= [a > b] - M_j (1 - y[j, a]) for all b other than a.
"""

from functools import cached_property
from itertools import permutations

import numpy as np

from milpcb.listed import OneHotEncoding
from milpcb.program import Program, ProgramBuilder
from milpcb.protocols import Encoding, Objective
from milpcb.types import Floats, Ints
from policies.linear.geometry import Scored, ScoringRule
from policies.linear.labelings import LabelTable
from policies.linear.supports import Supports

# Solvers take 1e-6 for 0: a big M beyond this would let a label be wrong by more than a tenth of the margin.
LARGEST_BIG_M = 1e5


def beyond_tolerance(scored: Scored, big_m: Floats) -> str:
    """Return why a big M is too large for a solver's tolerances, and the remedy; "" when it is not."""
    big = float(big_m.max())
    if big <= LARGEST_BIG_M:
        return ""
    feature, _ = scored.columns[int(np.abs(scored.table()).max(axis=0).argmax())].members[0]
    return (
        f"scores may differ by {big:.0f}, where a solver resolves a difference of 1 only up to {LARGEST_BIG_M:.0f}: "
        f"give feature {scored.names.feature(feature)} in larger units or in classes, or lower max_weight"
    )


def reach_of(columns: Floats | Ints, scored: Scored) -> Floats:
    """Return R (g,), the largest possible score of each context, given its ``columns`` (g, columns)."""
    sizes = np.repeat(np.abs(columns), scored.copies, axis=1)
    return np.asarray(scored.max_weight * np.sort(sizes, axis=1)[:, sizes.shape[1] - scored.limit :].sum(axis=1))


class LinearEncoding(Encoding):
    """The polytope of (1)-(4) and its cost map."""

    @staticmethod
    def big_m(scored: Scored) -> Floats:
        """Return M (g,) of (1) and (2)."""
        reach = reach_of(scored.table(), scored)
        return np.asarray(reach + reach.max() + 1.0)

    def __init__(self, scored: Scored) -> None:
        self._scored, self._X = scored, scored.table()
        self.program = self._polytope()

    def objective(self, costs: Floats) -> Objective:
        coefficients = np.zeros(self.program.n_columns)
        coefficients[self._u] = np.diff(costs, axis=1)
        return Objective(coefficients, float(costs[:, 0].sum()))

    def decode(self, x: Floats, costs: Floats) -> ScoringRule:  # noqa: ARG002 - w and t alone determine the rule
        totals = np.rint(x[self._w])
        # Scores are at least t or at most t - 1, up to the solver's tolerance: halfway is the safe place.
        labels = ((self._X @ totals)[:, None] >= x[self._t] - 0.5).sum(axis=1)
        return self._scored.rule(totals, labels)

    def _polytope(self) -> Program:
        """Return the program; sets the columns w (d,), t (K-1,) and u (g, K-1)."""
        X, copies, limit = self._X, self._scored.copies, self._scored.limit
        cuts, reach = self._scored.n_actions - 1, reach_of(X, self._scored)
        big = self.big_m(self._scored)[:, None]
        b = ProgramBuilder()
        widest = (self._scored.max_weight * copies).astype(float)
        self._w = b.columns("w", (X.shape[1],), -widest, widest, integer=True)
        self._t = b.columns("t", (cuts,), -reach.max(), reach.max() + 1.0)
        self._u = b.columns("u", (len(X), cuts), upper=1.0, integer=True)
        for k in range(cuts):
            w, t, u = self._w[None], self._t[None, [k]], self._u[:, [k]]
            b.rows((w, X), (t, -1.0), (u, -big), upper=-1.0)  # (1)
            b.rows((w, -X), (t, 1.0), (u, big), upper=big[:, 0])  # (2)
        if limit < copies.sum():
            add_support(b, self._w[:, None], self._scored)
        if cuts > 1:
            b.rows((self._t[:-1, None], 1.0), (self._t[1:, None], -1.0), upper=0.0)  # (4)
            b.rows((self._u[:, :-1].reshape(-1, 1), 1.0), (self._u[:, 1:].reshape(-1, 1), -1.0), lower=0.0)
        return b.build()


def add_support(b: ProgramBuilder, w: Ints, scored: Scored) -> None:
    """Add (3) for weights (columns, n) of which each is bounded."""
    n = b.columns("n", scored.copies.shape, upper=scored.copies.astype(float), integer=True)
    for own in w.T:
        for sign in (1.0, -1.0):
            b.rows((own[:, None], sign), (n[:, None], -scored.max_weight), upper=0.0)
    b.rows((n[None], 1.0), upper=scored.limit)


class EachEncoding(Encoding):
    """The polytope of rules with a score for each action, and its cost map."""

    @staticmethod
    def big_m(scored: Scored) -> Floats:
        """Return M (g,)."""
        return np.asarray(2.0 * reach_of(scored.whole_table(), scored) + _apart(scored) + 1.0)

    def __init__(self, scored: Scored) -> None:
        self._scored = scored
        self._X = scored.whole_table().astype(float)  # bases are integers, so no common factor is taken out
        self.program = self._polytope()

    def objective(self, costs: Floats) -> Objective:
        coefficients = np.zeros(self.program.n_columns)
        coefficients[self._y] = costs
        return Objective(coefficients)

    def decode(self, x: Floats, costs: Floats) -> ScoringRule:  # noqa: ARG002 - weights and bases determine the rule
        totals = np.rint(x[self._w])
        return self._scored.rule(totals, (self._X @ totals + np.rint(x[self._c])).argmax(axis=1))

    def _polytope(self) -> Program:
        """Return the program; sets the columns w (d, K), c (K,) and y (g, K)."""
        X, scored, K = self._X, self._scored, self._scored.n_actions
        big, apart = self.big_m(scored), np.array([0.0] + [_apart(scored)] * (K - 1))
        b = ProgramBuilder()
        widest = np.repeat((scored.max_weight * scored.copies).astype(float)[:, None], K, axis=1)
        self._w = b.columns("w", widest.shape, -widest, widest, integer=True)
        self._c = b.columns("c", (K,), -apart, apart, integer=True)
        self._y = b.columns("y", (len(X), K), upper=1.0, integer=True)
        b.rows((self._y, 1.0), lower=1.0, upper=1.0)
        for a, other in permutations(range(K), 2):
            w, v, c, d = self._w[None, :, a], self._w[None, :, other], self._c[None, [a]], self._c[None, [other]]
            b.rows((w, X), (c, 1.0), (v, -X), (d, -1.0), (self._y[:, [a]], -big[:, None]), lower=(a > other) - big)
        if scored.limit < scored.copies.sum():
            add_support(b, self._w, scored)
        return b.build()


def _apart(scored: Scored) -> float:
    """Return how far apart bases may be."""
    reach = reach_of(scored.whole_table(), scored)
    return (scored.n_actions - 1) * (2.0 * float(reach.max()) + 1.0)


# HiGHS takes 0.1 s a query at the most, where big-M rows take seconds or more; for so few contexts that big-M rows are
# quick, the break-even is at about so many columns for each of them.
MOST_COLUMNS = 200_000
COLUMNS_PER_CONTEXT = 4_000


def few_rows(supports: Supports) -> bool:
    """Return whether a program may have a column for each row of the tables."""
    return supports.n_rows <= min(MOST_COLUMNS, COLUMNS_PER_CONTEXT * len(supports.scored.contexts))


class TableEncoding(OneHotEncoding):
    """A choice of a support and a row of its table, where these are few; supports.py defines both.

    x[c] in {0, 1}: the rule is number c of all (support, row); exactly one is 1, so the polytope is a simplex. It
    costs as much as its row minus action 0 everywhere, which is the offset: linear, with side constraints too.
    """

    def __init__(self, supports: Supports) -> None:
        super().__init__(supports.n_rows)
        self._supports, self._plays = supports, [_plays(batch.table) for batch in supports.batches]

    def objective(self, costs: Floats) -> Objective:
        above, prices = (costs[:, 1:] - costs[:, :1]).T, []
        for batch, cells, plays in zip(self._supports.batches, self._cells, self._plays, strict=True):
            n_patterns, n = batch.places.shape
            each = [np.bincount(cells.ravel(), np.repeat(action, n), n * n_patterns) for action in above]
            prices.append(np.hstack([sums.reshape(n, n_patterns) for sums in each]) @ plays)
        return Objective(np.concatenate([rows.ravel() for rows in prices]), float(costs[:, 0].sum()))

    @cached_property
    def _cells(self) -> list[Ints]:
        """The cell (g, n) of each context on each support of a batch, out of all of its patterns."""
        codes = self._supports.codes_of(self._supports.scored.contexts)
        return [
            np.array([self._supports.patterns_of(batch, own) for own in codes])
            + len(batch.places) * np.arange(len(batch.supports))
            for batch in self._supports.batches
        ]

    def policy(self, number: int) -> ScoringRule:
        column = number
        for batch in self._supports.batches:
            support, row = divmod(column, len(batch.table.labels))
            if support < len(batch.supports):
                break
            column -= len(batch.supports) * len(batch.table.labels)
        return self._supports.rule(batch, batch.supports[support], row)


def _plays(table: LabelTable) -> Floats:
    actions = 1 + np.arange(int(table.labels.max()))[:, None]
    return np.asarray((table.labels[:, None] == actions).reshape(len(table.labels), -1).astype(float).T)
