"""The evidence of a trial against all rivals of the best-looking policy at once, by one query a stake.

The difference of two policies is tested by betting (statement T1 of milpcb/theory/trials.md): with e_s(a) an unbiased
estimate of the cost of action a in row s, X_s = e_s(pi(x_s)) - e_s(p(x_s)), and a stake l_s >= 0 that is known before
the row, the product of 1 + l_s (X_s + eps) has a mean of at most 1 if pi is better than p by eps or more. Its logarithm
is a sum over entries (context, action). So whether it is above N G / delta for all rivals pi at once, N the number of
leaders p and G that of stakes, is one query a stake. Where no stake refutes all rivals, those left by one are
listed, and each is refuted by any stake.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from math import log, log1p
from typing import Any, NamedTuple, Self, cast

import numpy as np

from milpcb.core.checks import ROUNDING, check_confidence, check_range, number_array, real
from milpcb.core.decimals import fixed, number, percent
from milpcb.data.actions import by_action, matched, own_names
from milpcb.errors import InputError
from milpcb.offline.log import Log
from milpcb.offline.scores import Scores
from milpcb.oracles.growing import GrowingOracle
from milpcb.oracles.near_best import NearBest
from milpcb.protocols import PolicyClass
from milpcb.types import Floats, FoundPolicy, Ints

STAKES = tuple(2.0**-step for step in range(7))
INSIDE = 1 - 1e-6  # of the greatest stake there may be, so that no factor is 0
CLOSE = 0.01  # how close the least eps that is refuted is found, as a part of it
MOST = 1000  # rivals that further stakes are tried on


class TrialRows(NamedTuple):
    """Rows of a trial as the test reads them; nothing of a later row enters an earlier one."""

    context: Ints  # (n,) number of the context of each row
    estimates: Floats  # (n, K) unbiased estimates of all costs, which are in [0, 1]
    most: Floats  # (n,) the greatest stake by which no factor is 0, known before the row

    @classmethod
    def of(
        cls, context: Ints, action: Ints, cost: Floats, chance: Floats, floor: Floats, K: int, expected: Any = None
    ) -> Self:
        """Return the rows by the ``action`` (n,), its ``cost`` in [0, 1] and its probability, ``chance``.

        The ``floor`` (n,) is the least probability of any action on any context, known before the row. Costs (n, K) are
        ``expected`` to be those, in [0, 1]; None: the mean cost of each action in the rows before.
        """
        reach: Any = 1.0  # known before the row: a cost is expected to be at most this, and at least 1 less this
        if expected is None:
            expected = means_before(action, cost, K)
            reach = np.maximum(expected.max(axis=1), 1 - expected.min(axis=1))
        each, estimates = np.arange(len(cost)), expected.copy()
        estimates[each, action] += (cost - expected[each, action]) / chance
        return cls(context, estimates, INSIDE * floor / reach)


def means_before(action: Ints, cost: Floats, K: int, prior: Any = 0.5) -> Floats:
    """Return the mean cost (n, K) of each action in the rows before each, and one further row of the cost ``prior``."""
    taken = action[:, None] == np.arange(K)
    paid = taken * cost[:, None]
    return np.asarray((np.cumsum(paid, axis=0) - paid + prior) / (np.cumsum(taken, axis=0) - taken + 1.0))


class Refutation:
    """The evidence of rows against all rivals of their leader, by stake."""

    def __init__(self, oracle: Any, log_size: float, rows: TrialRows, confidence: float) -> None:
        """Take an oracle whose contexts the rows are on, for a class of exp(log_size) policies."""
        self._oracle, self._rows = oracle, rows
        self.enough = log_size + log(len(STAKES)) - log1p(-confidence)
        greatest, estimates = rows.most.max(), rows.estimates
        stakes = [stake for stake in STAKES if stake == STAKES[-1] or stake / 2 < greatest]
        self._stakes = [np.minimum(stake, rows.most)[:, None] for stake in stakes]
        self.policy: FoundPolicy = oracle.minimise(self._table(estimates)).policy
        played = np.asarray(self.policy.predict(oracle.contexts))[rows.context]
        self._more = estimates - estimates[np.arange(len(played)), played][:, None]

    def refutes(self, eps: float) -> bool:
        """Return whether every policy is refuted, by any stake, that would be better than the leader by ``eps``."""
        tables = self._evidence(eps)
        least = [self._oracle.value(table) for table in tables]
        if max(least) >= self.enough:
            return True
        if any(self._holds(tables, self._oracle.minimise(table).policy) for table in tables):
            return False
        near = self._near(tables, least)
        few = near.count <= MOST and near.exact
        return few and not any(self._holds(tables, policy) for policy in near.policies())

    def least(self) -> float:
        """Return the least such eps, or little more; infinite where it would be above 1."""
        low, high = 0.0, 1.0
        if not self.refutes(high):
            return np.inf
        while high - low > CLOSE * high:
            middle = (low + high) / 2 if low else high / 4
            low, high = (low, middle) if self.refutes(middle) else (middle, high)
        return high

    def rivals(self, eps: float) -> Iterator[FoundPolicy]:
        """Yield the policies that no stake refutes, those with the least evidence against them first."""
        tables = self._evidence(eps)
        near = self._near(tables, [self._oracle.value(table) for table in tables])
        yield from (policy for policy in near.policies() if self._holds(tables, policy))

    def _evidence(self, eps: float) -> list[Floats]:
        """Return the evidence against rivals by context and action, a table for each stake."""
        return [self._table(np.log1p(stake * (self._more + eps))) for stake in self._stakes]

    def _near(self, tables: list[Floats], least: list[float]) -> NearBest:
        best = int(np.argmax(least))
        return cast("NearBest", self._oracle.near_best(tables[best], max(0.0, self.enough - least[best])))

    def _holds(self, tables: list[Floats], policy: FoundPolicy) -> bool:
        played = np.asarray(policy.predict(self._oracle.contexts))
        each = np.arange(len(played))
        return all(table[each, played].sum() < self.enough for table in tables)

    def _table(self, by_row: Floats) -> Floats:
        """Return the sums (m, K) by context of numbers (n, K) by row."""
        m = self._oracle.n_contexts
        return np.stack([np.bincount(self._rows.context, column, m) for column in by_row.T], axis=1)


SHOWN = 20  # rivals that are listed


@dataclass(frozen=True, eq=False)
class Settled:
    """Whether a trial may end, and with which policy.

    It is ``settled`` where every rival of ``policy``, the best-looking one, is refuted: with the ``confidence``,
    whenever one looks, no policy of the class is better by ``eps`` or more, in the unit of the outcome. The least such
    eps is ``refuted_eps``, infinite where there is none. Otherwise ``rivals`` are up to 20 policies that are not
    refuted after so many ``rows``, those with the least evidence against them first.
    """

    settled: bool
    policy: FoundPolicy
    refuted_eps: float
    rivals: tuple[FoundPolicy, ...]
    eps: float
    confidence: float
    rows: int

    def words(self) -> str:
        """Return the finding, in a sentence."""
        after = f"After {fixed(self.rows, 0)} rows, with {percent(self.confidence)} confidence"
        if self.settled:
            return f"{after}, no policy is better than this one by {self.eps:g} or more: the trial may end."
        if self.refuted_eps == np.inf:
            return f"{after}, nothing is known yet of how much better than this one a policy of the class may be."
        least = number(self.refuted_eps, self.refuted_eps / 10)
        return f"{after}, no policy is better than this one by {least} or more; {self.eps:g} is not reached: go on."


def settled(
    log_or_scores: Any,
    policies: PolicyClass,
    eps: float = 0.02,
    confidence: float = 0.95,
    *,
    contexts: Any = None,
    outcome_range: tuple[float, float] = (0.0, 1.0),
    floor: Any = None,
    expected: Any = None,
) -> Settled:
    """Return whether a trial may end: no policy is better than the best-looking one by ``eps`` or more.

    The answer holds with the ``confidence`` for any number of looks at any times, for all ``eps`` at once. Contexts and
    the costs of all actions are i.i.d.; how actions are drawn may follow from all rows before. Raises InputError.

    Parameters
    ----------
    log_or_scores : a log with the propensities that actions were drawn with, in the order of its rows, or its scores by
        method "ips", with treatment costs
    policies : a policy class that is known before the first row: with explicit cut points, or of yes/no features
    eps, confidence : an amount of the outcome, and the probability that a trial never ends with a policy worse by it
    contexts : (n, d) the table that policies read; None: the features of the log
    outcome_range : the least and the greatest outcome there can be, treatment costs included
    floor : the least probability of any action on any context, known before each row: (n,), or one number. None: that
        of the log, where propensities are the same in all rows
    expected : (n, K) the outcome of each action by a model of earlier rows or of other data, in the order of the
        actions of the log or by name. None: the mean of each action in the rows before. The confidence holds with any

    """
    log, known, charge = _read(log_or_scores, policies)
    confidence = check_confidence(confidence)
    eps = real("eps", eps, "above 0 and finite, in the unit of the outcome", lambda value: value > 0)
    cost = unit_costs(log.outcome + charge, outcome_range, maximise=log.maximise)
    width = outcome_range[1] - outcome_range[0]
    oracle = GrowingOracle(policies)
    context = oracle.rows(log.features if contexts is None else contexts)
    if len(context) != len(log):
        raise InputError(f"contexts have {len(context)} rows, and the log {len(log)}; give one for each")
    if expected is not None:
        own: tuple[str, ...] = log_or_scores.actions
        table = number_array("expected", by_action("expected", expected, own))
        if table.shape != known.shape:
            raise InputError(f"expected must have a column for each of the {len(own)} actions, got shape {table.shape}")
        table = table[:, matched("expected", own, log.actions)]
        expected = np.clip(_costs_within(outcome_range, table, maximise=log.maximise), 0.0, 1.0)
    chance = known[np.arange(len(log)), log.action]
    lowest = _floor(floor, known, randomised=log.randomised)
    rows = TrialRows.of(context, log.action, cost, chance, lowest, len(log.actions), expected)
    found = Refutation(oracle, oracle.log_union, rows, confidence)
    done = found.refutes(eps / width)
    rivals = () if done else tuple(islice(found.rivals(eps / width), SHOWN))
    return Settled(done, found.policy, width * found.least(), rivals, eps, confidence, len(log))


def _read(given: Any, policies: Any) -> tuple[Log, Floats, Floats]:
    """Return the log in the order of the class's actions, its propensities (n, K), and what treatments cost (n,)."""
    log, charge = given, np.zeros(1)
    if isinstance(given, Scores) and given.method == "ips" and not np.ptp(given.weight):
        log, charge = given.log, given.logged - given.log.outcome
    if not isinstance(log, Log) or log.group is not None or log.propensity is None or log.shares:
        raise InputError(
            "settled takes a log without groups and with the true probabilities of its actions, as in "
            "read_log(..., propensity=...), or its scores by method 'ips' without weights: with estimates its "
            "confidence would not hold; predictions by a model of earlier rows are handed over as expected="
        )
    names = own_names(policies) or log.actions
    order = matched("the log", log.actions, names)
    return log.by(names, order), log.propensity[:, order], charge


def _floor(given: Any, known: Floats, *, randomised: bool) -> Floats:
    n = len(known)
    if given is None and not randomised:
        raise InputError(
            "propensities differ from row to row; give floor=, the least that any action had on any context, known "
            "before each row: a number, or one for each row"
        )
    floor = number_array("floor", known.min() if given is None else given)
    if floor.shape not in {(), (n,)} or not ((floor >= 0) & (floor <= 1)).all() or not floor.any():
        raise InputError(f"floor must be a number above 0 and at most 1, or {n} of them, got shape {floor.shape}")
    floor = np.array(np.broadcast_to(floor, n))
    below = np.flatnonzero((known < floor[:, None] * (1 - ROUNDING)).any(axis=1))
    if len(below):
        raise InputError(f"a propensity of row {below[0]} is below the floor of {floor[below[0]]:g}; lower the floor")
    return floor


def unit_costs(outcome: Floats, outcome_range: Any, *, maximise: bool) -> Floats:
    """Return outcomes (n,) as costs in [0, 1]; raises InputError on one that is out of the range."""
    low, high = check_range("outcome_range", outcome_range)
    wrong = np.flatnonzero(~((low <= outcome) & (outcome <= high)))
    if len(wrong):
        raise InputError(
            f"the outcome of row {wrong[0]} is {outcome[wrong[0]]:g}, outside of outcome_range {(low, high)}; give the "
            "least and the greatest outcome there can be"
        )
    return _costs_within((low, high), outcome, maximise=maximise)


def _costs_within(ends: tuple[float, float], outcome: Floats, *, maximise: bool) -> Floats:
    low, high = ends
    return np.asarray((high - outcome if maximise else outcome - low) / (high - low))
