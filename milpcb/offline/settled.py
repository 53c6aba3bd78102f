"""Whether a trial may end: no policy of a class is better than the best-looking one by eps or more."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np

from milpcb.core.checks import ROUNDING, check_confidence, check_range, number_array, real
from milpcb.core.decimals import fixed, number, percent
from milpcb.data.actions import by_action, matched, own_names
from milpcb.errors import InputError
from milpcb.offline.log import Log
from milpcb.offline.scores import Scores
from milpcb.offline.trial import Refutation, TrialRows
from milpcb.oracles.growing import GrowingOracle
from milpcb.protocols import PolicyClass
from milpcb.types import Floats, FoundPolicy

SHOWN = 20  # rivals that are listed


@dataclass(frozen=True, eq=False)
class Settled:
    """Whether a trial may end, and with which policy.

    Attributes
    ----------
    settled : whether every rival is refuted: with the ``confidence``, whenever one looks, no policy of the class is
        better than ``policy`` by ``eps`` or more
    policy : the best-looking one
    refuted_eps : the least eps for which every rival is refuted, at once for all eps; infinite where there is none
    rivals : up to 20 policies that are not refuted, those with the least evidence against them first; () where settled
    eps, confidence, rows : what was asked, eps in the unit of the outcome

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

    That holds with the ``confidence`` however often and whenever one looks, for all ``eps`` at once. Contexts and what
    each action would cost are independent from row to row, of one law; how actions are drawn may follow from all rows
    before.

    Parameters
    ----------
    log_or_scores : a log with the propensities that actions were drawn with, in the order of its rows, or its scores by
        method "ips", with treatment costs. Estimated propensities will not do, nor will weighted rows, or groups
    policies : a policy class that is known before the first row: with explicit cut points, or of yes/no features
    eps : in the unit of the outcome, above 0
    confidence : how likely it is that a trial never ends with a policy to which another is better by eps
    contexts : (n, d) what policies read; None: the features of the log
    outcome_range : the least and the greatest outcome there can be, treatment costs included
    floor : the least probability of any action on any context, known before each row: (n,), or one number. None: that
        of the log, where propensities are the same in all rows
    expected : (n, K) what each action was expected to give in each row, by a model of earlier rows or of other data, in
        the order of the actions of the log or by name. None: the mean of each action in the rows before. The better it
        is, the sooner a trial ends; whatever it is, the confidence holds

    Raises
    ------
    InputError (a log that will not do, a class that the rows decide, numbers out of range), UnknownNameError

    """
    log, known, charge = _read(log_or_scores, policies)
    names = log.actions
    confidence = check_confidence(confidence)
    low, high = check_range("outcome_range", outcome_range)
    eps = real("eps", eps, "above 0 and finite, in the unit of the outcome", lambda value: value > 0)
    outcome = log.outcome + charge
    wrong = np.flatnonzero(~((low <= outcome) & (outcome <= high)))
    if len(wrong):
        raise InputError(
            f"the outcome of row {wrong[0]} is {outcome[wrong[0]]:g}, outside of outcome_range {(low, high)}; give the "
            "least and the greatest outcome there can be, as it was known before the trial"
        )
    oracle = GrowingOracle(policies)
    if np.isnan(oracle.log_union):
        raise InputError("cut points, and so the number of policies, are not known before all rows are: list them")
    context = oracle.rows(log.features if contexts is None else contexts)
    if len(context) != len(log):
        raise InputError(f"contexts have {len(context)} rows, and the log {len(log)}; give one for each")
    cost = _costs(outcome, low, high, maximise=log.maximise)
    if expected is not None:
        expected = _expected(expected, log_or_scores.actions, names, (low, high), maximise=log.maximise)
    chance = known[np.arange(len(log)), log.action]
    lowest = _floor(floor, known, randomised=log.randomised)
    rows = TrialRows.of(context, log.action, cost, chance, lowest, len(names), expected)
    found = Refutation(oracle, oracle.log_union, rows, confidence)
    done = found.refutes(eps / (high - low))
    rivals = () if done else tuple(islice(found.rivals(eps / (high - low)), SHOWN))
    return Settled(done, found.policy, (high - low) * found.least(), rivals, eps, confidence, len(log))


def _read(given: Any, policies: Any) -> tuple[Log, Floats, Floats]:
    """Return the log in the order of the class's actions, its propensities (n, K), and what treatments cost (n,)."""
    log, charge = given, np.zeros(1)
    if isinstance(given, Scores):
        if given.method != "ips" or np.ptp(given.weight):
            raise InputError(
                f"scores by method '{given.method}' are made of later rows too, or are weighted; give those of method "
                "'ips' without weights, or the log, and what a model of earlier rows expects as expected="
            )
        log, charge = given.log, given.logged - given.log.outcome
    if not isinstance(log, Log):
        raise InputError(f"give a log, as milpcb.offline.read_log makes it, or its scores, got {type(given).__name__}")
    if log.group is not None:
        raise InputError("rows of one group are not independent, and this is for rows that are; keep one of each group")
    if log.propensity is None or log.shares:
        raise InputError(
            "settled needs the probabilities that actions were drawn with, as in read_log(..., propensity=...): with "
            "estimated ones its confidence would not hold"
        )
    names = own_names(policies) or log.actions
    order = matched("the log", log.actions, names)
    return log.by(names, order), log.propensity[:, order], charge


def _floor(given: Any, known: Floats, *, randomised: bool) -> Floats:
    """Return the floor (n,); raises InputError where none is known, or a propensity is below it."""
    n = len(known)
    if given is None:
        if not randomised:
            raise InputError(
                "propensities differ from row to row; give floor=, the least that any action had on any context, known "
                "before each row: a number, or one for each row"
            )
        given = known.min()
    floor = number_array("floor", given)
    if floor.shape not in {(), (n,)} or not ((floor >= 0) & (floor <= 1)).all() or not floor.any():
        raise InputError(f"floor must be a number above 0 and at most 1, or {n} of them, got shape {floor.shape}")
    floor = np.array(np.broadcast_to(floor, n))
    below = np.flatnonzero((known < floor[:, None] * (1 - ROUNDING)).any(axis=1))
    if len(below):
        raise InputError(
            f"a propensity of row {below[0]} is below the floor of {floor[below[0]]:g}; it must be the least of all"
        )
    return floor


def _expected(
    given: Any, own: tuple[str, ...], names: tuple[str, ...], ends: tuple[float, float], *, maximise: bool
) -> Floats:
    """Return what actions are expected to cost (n, K), cut off at 0 and 1."""
    table = number_array("expected", by_action("expected", given, own))
    if table.ndim != 2 or table.shape[1] != len(own):
        raise InputError(f"expected must have a column for each of the {len(own)} actions, got shape {table.shape}")
    return np.clip(_costs(table[:, matched("expected", own, names)], *ends, maximise=maximise), 0.0, 1.0)


def _costs(outcome: Floats, low: float, high: float, *, maximise: bool) -> Floats:
    return np.asarray((high - outcome if maximise else outcome - low) / (high - low))
