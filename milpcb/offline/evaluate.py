"""The worth of a policy that was fixed beforehand: values, gains and parts, with intervals.

*Adaptive intervals* are for a log that a learner made, and one policy, fixed in advance or by earlier rows: there the
spread of the scores changes by chance, and the usual interval holds too seldom. So the scores are made a martingale of
nearly constant spread (Hadad, Hirshberg, Zhan, Wager & Athey 2021; Bibaut, Chambaz, Dimakopoulou, Kallus & van der Laan
2021):

    Gamma_t(k) = m_t(k) + 1[a_t = k] / q_t(k) (y_t - m_t(k)),    m_t(k) the mean outcome of k in *earlier* rows,

with the weights h_t = 1 / sqrt(v_t), v_t the mean of 1 / q(the action of the policy) in recent earlier rows. In short
logs the rare large squares in the standard error are missing; so the standard error is at least the one computed from
the mean square of y - m, where the policy was followed, and the known q, raised to at least 1 / sqrt(n).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from scipy.stats import norm

from milpcb.core.checks import choice, flag
from milpcb.core.decimals import number, percent
from milpcb.data.actions import played
from milpcb.errors import InputError
from milpcb.offline.intervals import UNKNOWN, IntervalEstimate, at_level, check_level, mean_of
from milpcb.offline.log import Log, chances
from milpcb.offline.overlap import in_parts, rows_of_actions
from milpcb.offline.reference import Reference, best_reference, matching
from milpcb.offline.scores import Scores, check_scores
from milpcb.offline.settled import means_before
from milpcb.types import Bools, Floats, Ints

ADAPTIVE = "adaptive"  # the kind of interval for logs of learners
INTERVALS = ("normal", ADAPTIVE)


@dataclass(frozen=True)
class LeafValue:
    """The worth of one ``part`` of a policy, with the ``share`` (0..1) of the rows, and an ``action``, by ``name``.

    The mean outcome there is ``value``; ``gain`` is how much better the action is there than the reference.
    """

    part: int
    action: int
    name: str
    share: float
    value: IntervalEstimate
    gain: IntervalEstimate


@dataclass(frozen=True)
class Evaluation:
    """The worth of a policy; a value that no rows show is NaN. Gains are positive where the policy is better.

    Attributes
    ----------
    value : of the policy, in the unit and sign of the log
    constants, gain_over : by name of action, the value of always playing it, and the gain over it
    best_constant : the name of the constant with the best estimate, among known ones if there are any
    reference, reference_value : the best allowed way that does not look at people, and its value
    gain : over the reference, with ends that hold for whichever lottery is the best in truth
    logged, gain_over_logged : the value of the log's actions, and the gain over it
    leaves : the parts of the policy in which there are rows; () where the policy has no parts
    interval, level, maximise : kind of the intervals, how often each holds, and whether a larger value is better
    in_sample : whether the policy was chosen on these rows: its intervals, and those of its gains, then do not hold

    """

    value: IntervalEstimate
    constants: Mapping[str, IntervalEstimate]
    best_constant: str
    reference: Reference = field(compare=False)
    reference_value: IntervalEstimate
    gain_over: Mapping[str, IntervalEstimate]
    gain: IntervalEstimate
    logged: IntervalEstimate
    gain_over_logged: IntervalEstimate
    leaves: tuple[LeafValue, ...]
    interval: str
    level: float
    maximise: bool
    in_sample: bool = False

    def words(self) -> list[str]:
        """Return the findings, a sentence each."""
        best, other, level = self.constants[self.best_constant], self.reference.name, percent(self.level)
        ways = f"Always '{self.best_constant}', the best constant, gives {best}; {level} interval in brackets."
        if not best.known:
            ways = "The value of no constant action is known: for each of them, part of the log has no rows of it."
        if not self.value.known:
            return ["The value of the policy is not known: it plays actions where the log has no rows of them.", ways]
        if self.in_sample:
            worth = number(self.value.estimate, self.value.standard_error)
            looks = f"The policy looks worth {worth} on the rows that it was chosen on, which is too good"
            return [f"{looks}; no interval on these rows holds for it.", ways]
        return [
            f"The policy gives {self.value}.",
            ways,
            _compared("the best constant" if self.reference.constant == self.best_constant else other, self.gain),
            _compared("what was done", self.gain_over_logged),
        ]


def over_best(
    gain: IntervalEstimate, each: Mapping[Any, IntervalEstimate], at_once: Mapping[Any, IntervalEstimate]
) -> IntervalEstimate:
    """Return the gain over the reference, with an interval for the gain over the lottery that is truly the best.

    It is the least of the gains over any one, so the least lower end of ``each`` is too high only if that over the best
    is. Every upper end is one for the least gain; the least of them must hold ``at_once`` (Bonferroni).
    """
    lower, upper = min(one.lower for one in each.values()), min(one.upper for one in at_once.values())
    return replace(gain, lower=min(gain.lower, lower), upper=max(gain.estimate, upper))


def _compared(other: str, gain: IntervalEstimate) -> str:
    if gain.lower > 0:
        return f"It is better than {other}, by {gain}."
    if gain.upper < 0:
        return f"It is worse than {other}: it gains {gain}."
    return f"There is no evidence that it is better or worse than {other}: it gains {gain}."


def evaluate(
    scores: Scores,
    policy: Any,
    *,
    contexts: Any = None,
    interval: str = "normal",
    level: float = 0.95,
    reference: Reference | None = None,
    in_sample: bool = False,
) -> Evaluation:
    """Return the value of a policy that was fixed without these rows.

    Parameters
    ----------
    scores : see ``milpcb.offline.scores``
    policy : anything with ``predict(contexts)``, or the actions (n,) that it plays, by name (see milpcb.data.actions);
        or, of a policy that draws its actions, their probabilities: (n, K) in the order of ``scores.actions``, or by
        name. Where it has ``apply(contexts)``, the number of the part that each row is in, parts are evaluated too
    contexts : (n, d) the table that the policy reads; None: the features of the log
    interval : "normal"; "adaptive" for the log of a learner, whose rows are in their order, and a policy that was fixed
        by earlier rows or none: scores are then made anew, by earlier rows alone
    level : how often an interval covers the truth
    reference : the lottery that gains compare with, see ``best_reference``; None: the best constant
    in_sample : True where the policy was chosen on these rows; the result is marked

    """
    check_scores(scores)
    table, n, names = scores.log.features if contexts is None else contexts, len(scores.table), scores.actions
    drawn = _is_drawn(policy)
    assigned: Any = chances("probabilities", policy, names, n) if drawn else played(policy, table, names)
    if len(assigned) != n:
        raise InputError(f"the policy plays {len(assigned)} actions for {n} rows; give contexts of all")
    parts = np.asarray(policy.apply(table)) if hasattr(policy, "apply") and not drawn else np.full(n, -1)
    kind = choice("interval", interval, INTERVALS)
    if kind == ADAPTIVE and drawn:
        raise InputError('interval="adaptive" is for a policy that does not draw its actions')
    share = check_level(level)
    made = adapted(scores, assigned) if kind == ADAPTIVE else scores
    inside = {part: parts == part for part in np.unique(parts[made.weight > 0]).tolist() if part >= 0}
    other = best_reference(made) if reference is None else matching(reference, made)
    own, alike, logged = _got(made.table, assigned), other.played(made.table), scores.logged
    seen, seen_in_part, constants = _known(scores, assigned, parts)
    every = bool(seen.all())

    def mean(numbers: Floats, known: bool = True, here: Any = 1.0, sure: float = share) -> IntervalEstimate:
        return mean_of(numbers, made.weight * here, sure, scores.log.group) if known else UNKNOWN

    def leaf(part: int, here: Bools) -> LeafValue:
        action, shown = int(assigned[here][0]), bool(seen_in_part[here].all())
        size = float(scores.weight[here].sum() / scores.weight.sum())
        gain = mean(made.sign * (own - alike), shown, here)
        return LeafValue(part, action, names[action], size, mean(own, shown, here), gain)

    gain = mean(made.sign * (own - alike), every)
    if every:
        lotteries = [other.lottery] if other.candidates is None else other.candidates
        rivals = [made.sign * (own - other.ways.mixed(lottery, made.table)) for lottery in lotteries]
        levels = share, 1 - (1 - share) / len(rivals)
        gain = over_best(gain, *({i: mean(each, sure=sure) for i, each in enumerate(rivals)} for sure in levels))
    value = mean(own, every)
    if kind == ADAPTIVE and every:
        value = adaptive_value(made, assigned, share)
    return Evaluation(
        value=value,
        constants={name: mean(made.table[:, k], constants[k]) for k, name in enumerate(names)},
        best_constant=names[made.best_action],
        reference=other,
        reference_value=mean(alike),
        gain_over={
            name: mean(made.sign * (own - made.table[:, k]), constants[k] and every) for k, name in enumerate(names)
        },
        gain=gain,
        # what was done changed as the learner learnt: all rows count alike there
        logged=scores.mean(logged, share),
        gain_over_logged=scores.mean(made.sign * (own - logged), share) if every else UNKNOWN,
        leaves=tuple(leaf(part, here) for part, here in inside.items()),
        interval=kind,
        level=share,
        maximise=scores.maximise,
        in_sample=flag("in_sample", in_sample),
    )


def _is_drawn(policy: Any) -> bool:
    """Return whether a policy is given by probabilities: a mapping, or a table of two dimensions."""
    table = np.array(policy, dtype=object) if isinstance(policy, list) else policy
    return isinstance(policy, Mapping) or (not hasattr(policy, "predict") and len(getattr(table, "shape", ())) == 2)


def _got(table: Floats, assigned: Ints | Floats) -> Floats:
    """Return the entry (n,) of a table (n, K) at columns ``assigned`` (n,), or its mean by probabilities (n, K)."""
    if assigned.ndim == 1:
        return np.asarray(table[np.arange(len(table)), assigned])
    return np.asarray((assigned * table).sum(axis=1))


def _known(scores: Scores, assigned: Ints | Floats, parts: Ints) -> tuple[Bools, Bools, Bools]:
    """Return in which rows (n,) the log shows the policy's value, and that of its part; and which actions' (K,)."""
    seen = np.asarray((_got(scores.unseen.astype(float), assigned) == 0) | (scores.weight == 0))
    constants = ~np.asarray(scores.unseen[scores.weight > 0].any(axis=0))
    if assigned.ndim == 2 or scores.overlap == "ignore":
        return seen, seen, constants
    column = assigned.astype(np.int64)
    by_rows = rows_of_actions(scores.log, scores.weight)
    empty, lacking = in_parts(column, np.where(parts < 0, column, parts), *by_rows)
    return seen & ~lacking, seen & ~lacking & ~empty, constants


FORGETS = 20  # rows that "lately" is: from 5 to 100 make little difference


def adapted(scores: Scores, assigned: Ints) -> Scores:
    """Return scores by earlier rows alone, weighted for a policy that plays ``assigned`` (n,); raises InputError."""
    log, (law, q) = scores.log, _chances(scores.log, assigned)
    taken = log.action[:, None] == np.arange(len(log.actions))
    inverse = np.divide(taken, law, out=np.zeros(taken.shape), where=taken)
    every = (np.cumsum(log.outcome) - log.outcome) / np.maximum(1, np.arange(len(log)))  # in earlier rows
    mean = means_before(log.action, log.outcome, len(log.actions), every[:, None])
    table = mean + inverse * (log.outcome[:, None] - mean) + scores.charge
    return replace(scores, table=table, regression=mean + scores.charge, weight=scores.weight * _steadying(1 / q))


def adaptive_value(scores: Scores, assigned: Ints, level: float) -> IntervalEstimate:
    """Return the value of a policy that plays ``assigned`` (n,), from the scores that ``adapted`` returned for it."""
    rows, log, h = np.arange(len(assigned)), scores.log, scores.weight
    own = scores.table[rows, assigned]
    value = float(h @ own / h.sum())
    residuals = (scores.logged - scores.regression[rows, log.action])[log.action == assigned]
    seen = h**2 @ (own - value) ** 2
    # of rarer ones no row is likely to be missing, and few logs show their spread
    q = np.maximum(_chances(log, assigned)[1], len(rows) ** -0.5)
    known = (h**2 / q).sum() * np.mean(residuals**2) if len(residuals) else np.inf
    return at_level((value, float(np.sqrt(max(seen, known)) / h.sum())), float(norm.ppf((1 + level) / 2)))


def _chances(log: Log, assigned: Ints) -> tuple[Floats, Floats]:
    """Return the probabilities (n, K) of the learner of a log, and those of the actions ``assigned`` (n,)."""
    if log.propensity is None or log.shares or log.group is not None:
        raise InputError(
            'interval="adaptive" needs rows in the order in which they came, without group=, and the probability with '
            "which the learner drew each action: read_log(..., propensity=...)"
        )
    q = log.propensity[np.arange(len(log)), assigned]
    if not (q > 0).all():
        raise InputError(
            f"in row {int(np.argmin(q > 0))} the policy plays an action of probability 0 there, or one that the log "
            "lacks: take the log of a learner that explores"
        )
    return log.propensity, np.asarray(q)


def _steadying(inverse: Floats) -> Floats:
    """Return the weight (n,) of each row, from what 1 / q was in the rows before it."""
    lately, found = 1.0, []
    for t, each in enumerate(inverse.tolist()):
        found.append(lately**-0.5)
        lately += max(1 / FORGETS, 1 / (t + 1)) * (each - lately)
    return np.array(found)
