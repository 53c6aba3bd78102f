"""The reference that policies are compared with: the best allowed *lottery* that ignores the features.

Rows in which the constraints forbid the same actions outright are a *stratum*, with a lottery of its own. The lotteries
that keep all other constraints on average are a polytope, and a value is linear in the lottery: some vertex is best.
Claims are made against every vertex, and the least favourable counts (an intersection-union test, Berger 1982): it is
wrong only if the claim against the true best is.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations, product
from math import comb, prod
from typing import Any

import numpy as np

from milpcb.constraints import Constraint, LabelConstraint, bind_to
from milpcb.constraints.linear import merged, reduced
from milpcb.core.checks import instance
from milpcb.core.text import listed
from milpcb.data.actions import matched
from milpcb.errors import InputError, OracleInexact
from milpcb.offline.scores import Scores, check_scores
from milpcb.types import Bools, Floats, Ints

MOST_BASES = 20_000  # that are gone through to list all vertices
CLOSE = 1e-9  # probabilities that differ by less are equal
NONE = 1e-6  # a probability below is rounding


@dataclass(frozen=True, eq=False)
class Lotteries:
    """All allowed lotteries on the rows of a log."""

    # (n,) number of the stratum of each row: rows in which the constraints forbid the same actions outright
    stratum: Ints
    playable: Bools  # (S, K) actions that may be played in a stratum
    # totals, upper: (m, S, K) and (m,): a lottery p (S, K) is allowed if sum(totals[i] * p) <= upper[i] for all i
    totals: Floats
    upper: Floats
    # False where no lottery keeps the constraints; they are then left out, but for what they forbid outright
    allowed: bool = True

    def best(self, values: Floats) -> Floats:
        """Return the lottery (S, K) of greatest sum(values * p); ``values`` is (S, K)."""
        if not len(self.upper):
            best = np.where(self.playable, values, -np.inf).argmax(axis=1)
            return np.asarray(np.eye(self.playable.shape[1])[best])
        found = self.solved(values)
        if found is None:
            raise OracleInexact("the linear program of the best lottery was not solved; scale the constraints")
        return found

    def solved(self, values: Floats) -> Floats | None:
        """Return the best lottery by a linear program; None where there is none."""
        from scipy.optimize import linprog

        (strata, K), (rows, upper) = self.playable.shape, self._scaled
        solved = linprog(
            -values.ravel() / (float(np.abs(values).max()) or 1.0),
            A_ub=rows.reshape(len(upper), -1),
            b_ub=upper,
            A_eq=np.kron(np.eye(strata), np.ones(K)),
            b_eq=np.ones(strata),
            bounds=[(0.0, 1.0 if playable else 0.0) for playable in self.playable.ravel()],
        )
        return _lottery(solved.x.reshape(strata, K)) if solved.status == 0 else None

    @property
    def _scaled(self) -> tuple[Floats, Floats]:
        scale = np.maximum(np.abs(self.totals).max(axis=(1, 2)), np.finfo(float).tiny)
        return self.totals / scale[:, None, None], self.upper / scale

    def vertices(self) -> Floats | None:
        """Return all vertices (R, S, K); None where they are too many to list."""
        strata, m = len(self.playable), len(self.upper)
        choices = [np.flatnonzero(row) for row in self.playable]
        if not m:
            if prod(map(len, choices)) > MOST_BASES:
                return None
            return np.array([np.eye(self.playable.shape[1])[list(actions)] for actions in product(*choices)])
        n_cells = int(self.playable.sum())
        tight = range(min(m, n_cells - strata) + 1)
        if sum(comb(m, r) * comb(n_cells, strata + r) for r in tight) > MOST_BASES:
            return None
        found = np.concatenate([self._bases(rows) for r in tight for rows in combinations(range(m), r)])
        _, first = np.unique(np.round(found, 9).reshape(len(found), -1), axis=0, return_index=True)
        return found[np.sort(first)]

    def _bases(self, tight: tuple[int, ...]) -> Floats:
        """Return the allowed basic solutions (R, S, K) in which the rows ``tight`` hold with equality."""
        cells, (totals, upper) = np.argwhere(self.playable), self._scaled
        rows = totals[:, cells[:, 0], cells[:, 1]]
        once = (cells[:, 0] == np.arange(len(self.playable))[:, None]).astype(float)
        left, right = np.vstack([once, rows[list(tight)]]), np.append(np.ones(len(once)), upper[list(tight)])
        bases = np.array(list(combinations(range(len(cells)), len(left))))
        systems = left.T[bases].transpose(0, 2, 1)
        regular = np.abs(np.linalg.det(systems)) > CLOSE
        bases, systems = bases[regular], systems[regular]
        points = np.zeros((len(bases), len(cells)))
        if len(bases):
            solved = np.linalg.solve(systems, np.broadcast_to(right[:, None], (len(bases), len(right), 1)))[..., 0]
            np.put_along_axis(points, bases, solved, axis=1)
        kept = (points >= -CLOSE).all(axis=1) & (points @ rows.T <= upper + CLOSE).all(axis=1)
        found = np.zeros((int(kept.sum()), *self.playable.shape))
        found[:, cells[:, 0], cells[:, 1]] = points[kept]
        return _lottery(found)

    def mixed(self, lottery: Floats, table: Floats) -> Floats:
        """Return the mean (n,) in each row of a ``table`` (n, K) under a lottery (S, K)."""
        if len(lottery) == 1:
            return np.asarray(table @ lottery[0])
        return np.asarray(np.einsum("jk,jk->j", table, lottery[self.stratum]))

    def sums(self, table: Floats) -> Floats:
        """Return the totals (S, K) of a ``table`` (n, K) by stratum."""
        if len(self.playable) == 1:
            return np.asarray(table.sum(axis=0)[None])
        return np.array([np.bincount(self.stratum, column, len(self.playable)) for column in table.T]).T


def lotteries(constraints: Sequence[LabelConstraint], n: int, n_actions: int) -> Lotteries:
    """Return the lotteries that keep the ``constraints`` on n rows."""
    sides = [constraint.bound(n, n_actions) for constraint in constraints]
    playable, left = reduced(merged(sides), (n, n_actions))
    patterns, stratum = np.ones((1, n_actions), bool), np.zeros(n, dtype=np.int64)
    if not playable.all():
        patterns, stratum = np.unique(playable, axis=0, return_inverse=True)
        stratum = stratum.ravel().astype(np.int64)
    free = Lotteries(stratum, patterns, np.zeros((0, *patterns.shape)), np.zeros(0))
    rows = [(free.sums(band.weights), band.lower, band.upper) for band in left]
    limits = [*((sums, upper) for sums, _, upper in rows), *((-sums, -lower) for sums, lower, _ in rows)]
    kept = [(sums, upper) for sums, upper in limits if np.where(patterns, sums, -np.inf).max(axis=1).sum() > upper]
    if not kept:
        return free
    found = Lotteries(stratum, patterns, np.array([sums for sums, _ in kept]), np.array([upper for _, upper in kept]))
    if found.solved(np.zeros(patterns.shape)) is None:
        return Lotteries(stratum, patterns, free.totals, free.upper, allowed=False)
    return found


def _lottery(points: Floats) -> Floats:
    """Return points (..., K) as probabilities: none below 0 or next to it, sums 1."""
    kept = np.where(points > NONE, points, 0.0)
    return np.asarray(kept / kept.sum(axis=-1, keepdims=True))


@dataclass(frozen=True, eq=False)
class Reference:
    """The best allowed lottery that does not look at people, by a log.

    Among all such ``ways`` over ``actions`` (K names) it is the ``lottery``, by which a row gets an action with one of
    the ``probabilities``; its ``value`` is an estimate in the unit and sign of the log. Each of the ``candidates`` may
    be the best one in truth.
    """

    actions: tuple[str, ...]  # K names
    ways: Lotteries
    lottery: Floats  # (S, K) probabilities by stratum
    value: float
    probabilities: dict[str, float]  # by name of action, with which a row gets it, 0 left out
    candidates: Floats | None  # (R, S, K) lotteries; None where they are too many to list

    @property
    def allowed(self) -> bool:
        """Whether the reference keeps the constraints; False only where no way that treats all alike does."""
        return self.ways.allowed

    @property
    def constant(self) -> str | None:
        """The name of the action that everybody gets; None where people get different ones."""
        return next(iter(self.probabilities)) if len(self.probabilities) == 1 else None

    @property
    def allowed_first(self) -> str:
        """The order of actions, in words, of which each row gets the first that is allowed; "" for no such order."""
        chosen, left, order = self.lottery.argmax(axis=1), (self.lottery.max(axis=1) == 1), []
        while left.any():
            firsts = (k for k in chosen[left].tolist() if (chosen[left & self.ways.playable[:, k]] == k).all())
            if (first := next(firsts, None)) is None:
                return ""
            order.append(f"'{self.actions[first]}'")
            left &= chosen != first
        if len(order) < 2 or self.lottery.max(axis=1).min() < 1:
            return ""
        return f"{order[0]} where it is allowed, else {', else '.join(order[1:])}"

    @property
    def name(self) -> str:
        """Description in words, to follow "than"."""
        if self.constant is not None:
            return f"always '{self.constant}'"
        if self.allowed_first:
            return self.allowed_first
        if len(self.lottery) == 1:
            return f"a lottery ({self.shares})"
        return f"the best lottery over the actions allowed to each ({self.shares})"

    @property
    def shares(self) -> str:
        """The number of people of 100 who get each action, in words."""
        shares = [f"'{name}' for {100 * share:.3g}" for name, share in self.probabilities.items()]
        return f"{listed(shares)} of 100"

    def words(self) -> str:
        """Return a sentence on the reference that policies are compared with."""
        if self.allowed:
            return f"Gains are over {self.name}, the best allowed way that treats all alike."
        return f"No way that treats all alike keeps the constraints, so gains are over {self.name}, which breaks them."

    def is_played(self, labels: Ints) -> bool:
        """Return whether the reference plays the actions ``labels`` (n,), with probability 1."""
        return bool((self.lottery[self.ways.stratum, labels] == 1).all())

    def played(self, table: Floats) -> Floats:
        """Return the mean (n,) of a ``table`` (n, K) under the reference in each row."""
        return self.ways.mixed(self.lottery, table)


def matching(reference: Any, scores: Scores) -> Reference:
    """Return a reference with its actions in the order of the scores, by name; raises InputError for other rows."""
    instance("reference", reference, Reference, "a Reference, as milpcb.offline.best_reference makes it")
    found: Reference = reference
    if len(found.ways.stratum) != len(scores.table):
        raise InputError(
            f"the reference is of {len(found.ways.stratum)} rows, and there are {len(scores.table)}: "
            "give best_reference the scores of the same rows"
        )
    if found.actions == scores.actions:
        return found
    order = matched("the reference", found.actions, scores.actions)
    named = dict(zip((found.actions[k] for k in order), scores.actions, strict=True))
    return replace(
        found,
        actions=scores.actions,
        ways=replace(found.ways, playable=found.ways.playable[:, order], totals=found.ways.totals[..., order]),
        lottery=found.lottery[:, order],
        probabilities={named[name]: share for name, share in found.probabilities.items()},
        candidates=None if found.candidates is None else found.candidates[..., order],
    )


def best_reference(scores: Scores, constraints: Sequence[Constraint] = ()) -> Reference:
    """Return the best allowed lottery that does not look at people.

    Parameters
    ----------
    scores : see ``milpcb.offline.scores``
    constraints : side constraints on the n rows, see ``milpcb.constraints``; of an estimator, those of ``problem(X)``

    """
    check_scores(scores)
    rules = bind_to(constraints, scores.log.features, (), scores.actions)
    n, K = scores.table.shape
    ways = lotteries([*rules, *scores.support], n, K)
    weight = scores.weight / scores.weight.sum()
    values = ways.sums(weight[:, None] * scores.gains)
    lottery = ways.best(values)
    shares = np.bincount(ways.stratum, weight, len(lottery)) @ lottery
    order = sorted(np.flatnonzero(shares > CLOSE).tolist(), key=lambda k: -shares[k])
    return Reference(
        actions=scores.actions,
        ways=ways,
        lottery=lottery,
        value=scores.sign * float((values * lottery).sum()),
        probabilities={scores.actions[k]: float(shares[k]) for k in order},
        candidates=ways.vertices(),
    )


def against(reference: Reference) -> list[Floats]:
    """Return the lotteries that claims compare with; raises InputError where they are too many to list."""
    if reference.candidates is None:
        raise InputError(
            "these constraints allow too many ways to treat all alike, each of which may be the best, for claims about "
            "gains over it: take fewer actions or constraints, or ask for no claims (--draws 0)"
        )
    return list(reference.candidates)
