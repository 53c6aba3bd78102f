"""Rules with a score for each action by big-M rows: the program where their support tables are too large.

Policy class
    Integer weights w_a in {-B..B}^d for each action a, not all 0 on at most s features, and integer bases c_a. The
    score of a is c_a + w_a.x, and the action of the highest score is played, of equal scores the one of the lowest
    number. Columns are those of program_bigm.py: integers, and one for all that are equal up to sign and shift.
Variables
    w[i, a]     integer weight of column i, measured from the first context
    c[a]        integer base, a = 1..K-1; that of action 0 is 0 (in a file c_0 is a = 1)
    y[j, a]     whether action a is played at context j
    n[i]        how many of the r features of column i have a weight; only when s limits
Constraints
    (1)  sum_a y[j, a] = 1
    (2)  score_a(j) - score_b(j) >= [a > b] - M_j (1 - y[j, a])     for each pair of actions a, b
    (3)  |w[i, a]| <= B n[i], 0 <= n[i] <= r_i, sum_i n[i] <= s     only when s limits
    M_j = 2 R_j + D + 1 is the most by which (2) can fail, with R_j = B * (the s largest |x_j|) and the bases at most
    D = (K - 1)(2 max_i R_i + 1) apart: those of a labeling can be so chosen (each_tables.py). Not integral.
Cost map
    y[j, a] costs costs[j, a]; linear and exact, with side constraints too.
Size
    dK + (K-1) + gK columns and g (K (K-1) + 1) rows for g distinct contexts.
"""

from __future__ import annotations

from itertools import permutations

import numpy as np

from milpcb.program import Program, ProgramBuilder
from milpcb.protocols import InvertibleEncoding, Objective
from milpcb.types import Floats
from policies.linear.each_rule import HighestScore, bases_of
from policies.linear.geometry import Scored, ScoringRule
from policies.linear.program_bigm import add_support, reach_of


class EachEncoding(InvertibleEncoding):
    """The polytope of (1)-(3) and its cost map."""

    def __init__(self, scored: Scored, why: str) -> None:
        self.why, self._scored = why, scored
        self._X = scored.whole_table()  # bases are integers, so no common factor is taken out
        self.program = self._polytope()

    def objective(self, costs: Floats) -> Objective:
        """Return the costs themselves, on y."""
        coefficients = np.zeros(self.program.n_columns)
        coefficients[self._y] = costs
        return Objective(coefficients)

    def decode(self, x: Floats, costs: Floats) -> ScoringRule:  # noqa: ARG002 - weights and bases determine the rule
        """Return the rule with the weights and bases of ``x``, rounded."""
        totals = np.rint(x[self._w])
        bases = np.append(0.0, np.rint(x[self._c]))
        return self._scored.rule(totals, (self._X @ totals + bases).argmax(axis=1))

    def encode(self, policy: HighestScore) -> Floats:
        """Return the point of a rule: its total weights, and the least bases that give its labels."""
        totals = np.array([self._scored.totals(own) for own in policy.weights]).reshape(-1, self._X.shape[1]).T
        labels = policy.predict(self._scored.contexts)
        bases = bases_of(self._X @ totals, labels)
        x = np.zeros(self.program.n_columns)
        x[self._w], x[self._c] = totals, bases[1:] - bases[0]
        x[self._y] = labels[:, None] == np.arange(len(bases))
        if self._n is not None:
            x[self._n] = np.ceil(np.abs(totals).max(axis=1) / self._scored.max_weight)
        return x

    def _polytope(self) -> Program:
        """Return the program; sets the columns w (d, K), c (K-1,), y (g, K), and n (d,) or None."""
        X, scored = self._X.astype(float), self._scored
        K, big, copies = scored.n_cuts + 1, big_m(scored), scored.copies
        b = ProgramBuilder()
        widest = np.repeat((scored.max_weight * copies).astype(float)[:, None], K, axis=1)
        self._w = b.columns("w", widest.shape, -widest, widest, integer=True)
        self._c = b.columns("c", (K - 1,), -_apart(scored), _apart(scored), integer=True)
        self._y = b.columns("y", (len(X), K), upper=1.0, integer=True)
        b.rows((self._y, 1.0), lower=1.0, upper=1.0)
        for a, other in permutations(range(K), 2):
            parts = [(self._w[:, a][None], X), (self._w[:, other][None], -X), (self._y[:, [a]], -big[:, None])]
            parts += [(self._c[None, [k - 1]], np.full((1, 1), sign)) for k, sign in ((a, 1.0), (other, -1.0)) if k]
            b.rows(*parts, lower=(a > other) - big)
        self._n = None
        if scored.limit < copies.sum():
            self._n = add_support(b, self._w, copies, scored.max_weight, scored.limit)
        return b.build()


def _apart(scored: Scored) -> float:
    """Return D: how far apart bases may be."""
    return scored.n_cuts * (2.0 * float(reach_of(scored.whole_table(), scored).max()) + 1.0)


def big_m(scored: Scored) -> Floats:
    """Return M (g,)."""
    return 2.0 * reach_of(scored.whole_table(), scored) + _apart(scored) + 1.0
