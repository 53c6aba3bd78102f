"""Intervals from logs of learners that adapt, for one policy that was fixed by earlier rows, or none.

Where a learner made the log, the probability of what a policy plays follows from what was seen before. Then scores are
still right on average, but their spread changes by chance, and the usual interval of their mean holds too seldom. So
the scores are made a martingale of nearly constant spread, to which the central limit theorem applies (Hadad,
Hirshberg, Zhan, Wager & Athey 2021; Bibaut, Chambaz, Dimakopoulou, Kallus & van der Laan 2021):

    Gamma_t(k) = m_t(k) + 1[a_t = k] / q_t(k) (y_t - m_t(k)),    m_t(k) the mean outcome of k in *earlier* rows,

with the weights h_t = 1 / sqrt(v_t), v_t what 1 / q(what the policy plays) was in earlier rows, lately. So h_t is a
function of earlier rows, but one of the policy, too: it is no factor of a row, and has no part in a search. Of the
squares that add up to the standard error the rare large ones are missing in short logs; so it is at least what the mean
square of y - m, where the policy was followed, makes with the known q, of which none counts as less than 1 / sqrt(n).
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy.stats import norm

from milpcb.errors import InputError
from milpcb.offline.intervals import IntervalEstimate
from milpcb.offline.log import Log
from milpcb.offline.scores import Scores
from milpcb.types import Floats, Ints

FORGETS = 20  # rows that "lately" is: from 5 to 100 make little difference


def adapted(scores: Scores, assigned: Ints) -> Scores:
    """Return scores by earlier rows alone, weighted for a policy that plays ``assigned`` (n,); raises InputError."""
    log, law = scores.log, _law(scores.log)
    taken = log.action[:, None] == np.arange(len(log.actions))
    inverse = np.divide(taken, law, out=np.zeros(taken.shape), where=taken)
    mean = _means_before(log)
    table = mean + inverse * (log.outcome[:, None] - mean) + scores.charge
    return replace(
        scores,
        table=table,
        regression=mean + scores.charge,
        weight=scores.weight * _steadying(1 / _chances(law, assigned)),
    )


def adaptive_value(scores: Scores, assigned: Ints, level: float) -> IntervalEstimate:
    """Return the value of a policy that plays ``assigned`` (n,), from what ``adapted`` returned for it."""
    rows, log, h = np.arange(len(assigned)), scores.log, scores.weight
    own, q = scores.table[rows, assigned], _chances(_law(log), assigned)
    value = float(h @ own / h.sum())
    followed = log.action == assigned
    residuals = (scores.logged - scores.regression[rows, log.action])[followed]
    seen = h**2 @ (own - value) ** 2
    q = np.maximum(q, len(q) ** -0.5)  # of rarer ones no row is likely to be missing, and few logs show their spread
    known = (h**2 / q).sum() * np.mean(residuals**2) if len(residuals) else np.inf
    error = float(np.sqrt(max(seen, known)) / h.sum())
    reach = float(norm.ppf((1 + level) / 2)) * error
    return IntervalEstimate(value, error, value - reach, value + reach)


def _law(log: Log) -> Floats:
    """Return the probabilities (n, K) that the learner drew by; raises InputError without them."""
    if log.propensity is None or log.shares or log.group is not None:
        raise InputError(
            'interval="adaptive" needs rows in the order in which they came, without group=, and the probability with '
            "which the learner drew each action: read_log(..., propensity=...)"
        )
    return log.propensity


def _chances(law: Floats, assigned: Ints) -> Floats:
    """Return the probability (n,) of what a policy plays; raises InputError where it had none."""
    q = law[np.arange(len(law)), assigned]
    if not (q > 0).all():
        raise InputError(
            f"in row {int(np.argmin(q > 0))} the policy plays what had no chance there, or none that the log has: it "
            "shows nothing of its value; take the log of a learner that explores"
        )
    return np.asarray(q)


def _means_before(log: Log) -> Floats:
    """Return the mean outcome (n, K) of each action in earlier rows, with the mean of all of them counted once."""
    taken = (log.action[:, None] == np.arange(len(log.actions))).astype(float)
    paid = taken * log.outcome[:, None]
    count, total = np.cumsum(taken, axis=0) - taken, np.cumsum(paid, axis=0) - paid
    every = total.sum(axis=1) / np.maximum(1.0, count.sum(axis=1))
    return np.asarray((total + every[:, None]) / (count + 1))


def _steadying(inverse: Floats) -> Floats:
    """Return the weight (n,) of each row, from what 1 / q was in the rows before it."""
    lately, found = 1.0, []
    for t, each in enumerate(inverse.tolist()):
        found.append(lately**-0.5)
        lately += max(1 / FORGETS, 1 / (t + 1)) * (each - lately)
    return np.array(found)
