"""Claims about a policy that was chosen because it has the best estimate.

*Cross-fitted*: the rows of each fold are played by the best policy of the others. Where nothing but chance decides
which policy is learnt, their mean gain is up to one and a half times as spread as its standard error. So the law of the
whole procedure is simulated: the gains of each row are given a random sign, by which no policy gains anything, and
policies are learnt and evaluated again, fold by fold. The p-value is at least the share of such draws whose mean is as
many standard errors above 0. Draws end with the tenth that is as good: then 10 divided by their number is a p-value
(Besag and Clifford 1991).

Where the p-value is within a factor of ``NEAR`` of 1 - level, rows are dealt into folds ``SPLITS`` times, all but once
in an order that follows from their contents, and the split of the median p-value counts. Twice the median is a p-value
(Meinshausen, Meier and Buhlmann 2009); the median itself is wrong twice as often at most, and here less often than a
single split, as the law that is simulated is that of one split.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

import numpy as np
from numpy.random import Generator
from scipy.stats import norm

from milpcb.constraints import Constraint, LabelConstraint
from milpcb.core.checks import real, whole
from milpcb.core.decimals import number, percent
from milpcb.data.columns import as_numbers
from milpcb.errors import InputError
from milpcb.offline.band import Claim, Progress, affordable, band, fewest_draws, least_favourable
from milpcb.offline.diagnostics import Diagnostics
from milpcb.offline.intervals import IntervalEstimate, check_level
from milpcb.offline.nuisances import folds_of
from milpcb.offline.overlap import rows_of_actions, seen_everywhere
from milpcb.offline.question import Best, Question, asked_about
from milpcb.offline.reference import Reference, against, best_reference
from milpcb.offline.scores import Scores
from milpcb.protocols import FoundPolicy, Opened, PolicyClass
from milpcb.rng import child
from milpcb.types import Floats, Ints

SMALL = 0.1  # standard deviations of the outcome: a gain that is called small where no amount is given
SURELY = 0.5  # from this p-value on nothing is simulated
ENOUGH = 10  # draws that are as good as what was found
SPLITS = 5
NEAR = 6.0


SAME_WAY = 0.5  # the greatest gain of the class is above the median of its noise


class State(StrEnum):
    """Conclusion from a log on treating people differently.

    ``TARGET``: policies learnt on other rows show that some policy gives more than the best allowed way that does not
    look at people (their p-value is at most 1 - level), *and* the band points the same way (its p-value is at most
    ``SAME_WAY``): it is false no more often than the first claim, which is calibrated by itself.
    ``ALIKE``: they do not show it, *and* no policy of the class gains more than a stated small amount.
    ``EARLY``: neither; or a few rows decide, or the two claims do not agree.
    """

    TARGET = "target"
    ALIKE = "alike"
    EARLY = "early"


@dataclass(frozen=True, eq=False)
class Inference(Claim):
    """Claims about the best policy of a class, after the search for it.

    Attributes
    ----------
    gain : the apparent gain over ``reference``, too favourable, as the policy was chosen by it
    lower, upper : bounds on its gain, those of the band
    p_value : of "no policy of this class is better than the reference", the cross-fitted one
    policy : the best policy on the rows, or the given one
    reference : the best allowed way that does not look at people; every gain here is over this one
    band : bounds that hold for every policy of the class at once, so for the chosen one
    value : of ``policy``, with the band's ends: they hold although it was chosen on these rows
    most : no policy of the class gains more than this over ``reference``
    cross_fitted : the gain of learning on all folds but one, with its p-value; not that of ``policy``
    small : the gain up to which differences between people are called small, in the unit of the outcome
    level : how often each claim holds
    draws : the number of draws of the band
    diagnostics : whether enough rows carry the noise, and given propensities fit the log, without which no claim holds

    """

    policy: FoundPolicy
    reference: Reference
    band: Claim
    value: IntervalEstimate
    most: float
    cross_fitted: Claim
    small: float
    level: float
    draws: int
    diagnostics: Diagnostics

    @property
    def state(self) -> State:
        """The state in which both claims agree; a reference that breaks the constraints is never advised."""
        if not (self.diagnostics.enough_events and self.diagnostics.fits):
            return State.EARLY
        if self.cross_fitted.p_value <= 1 - self.level:
            return State.TARGET if self.band.p_value <= SAME_WAY else State.EARLY
        return State.ALIKE if self.most <= self.small and self.reference.allowed else State.EARLY

    def words(self) -> list[str]:
        """Return the conclusions, and what remains open, a sentence each."""
        other, level = self.reference.name, percent(self.level)
        looks, learnt = self._amount(self.gain), self._amount(self.cross_fitted.gain)
        ends = f"{self._amount(self.lower)} and {self._amount(self.upper)} ({level})"
        return [
            self.verdict(),
            f"The best policy of the class looks better than {other} by {looks}: too much, as it was chosen for it.",
            self._evidence(),
            f"Policies learnt on all folds but one gain {learnt} on the rest: expect about this gain.",
            f"The gain of this policy is between {ends}: this holds for all policies of the class at once.",
            f"No policy of the class gains more than {self._amount(self.most)} over {other} ({level}).",
        ]

    def _amount(self, gain: float) -> str:
        return number(gain, self.value.standard_error)

    def verdict(self) -> str:
        """Return the state in one sentence."""
        other = self.reference.name
        if self.state is State.TARGET:
            return f"Treat people differently: this gives more than {other}."
        if self.state is State.ALIKE:
            small = self._amount(self.small)
            return f"Treat all alike, by {other}: no policy of the class gains more than {small} over it."
        if not self.diagnostics.fits:
            return "Too early to decide: the propensities do not fit the log, so nothing that follows from them holds."
        if not self.diagnostics.enough_events:
            return "Too early to decide: the differences rest on too few rare, large outcomes."
        return f"Too early to decide whether treating people differently gives more than {other}."

    def _evidence(self) -> str:
        p = f"p = {self.p_value:.2g}"
        if self.p_value <= 1 - self.level and self.state is not State.TARGET:
            return f"Policies learnt on other rows gain more ({p}), which alone is not enough to decide."
        evidence = "evidence" if self.state is State.TARGET else "no evidence"
        return f"There is {evidence} that treating people differently gives more than {self.reference.name} ({p})."


def inference(
    policies: PolicyClass | Opened,
    contexts: Any,
    scores: Scores,
    *,
    draws: int = 1000,
    level: float = 0.95,
    seed: int = 0,
    kind: str = "search",
    constraints: Sequence[Constraint] = (),
    small: float | None = None,
    policy: FoundPolicy | None = None,
    progress: Progress | None = None,
) -> Inference:
    """Return the best policy, with claims on its value, and on its gain over treating all alike.

    Parameters
    ----------
    policies, contexts, kind, constraints : see ``milpcb.open_oracle``; contexts in the order of the rows of the log
    scores : see ``milpcb.offline.scores``; their folds are those of the cross-fitted claim
    draws : of the band, 2 queries each and 2 for every lottery compared with; at least 19 at 95 %. Fewer are made where
        queries are long
    level : how often each claim holds
    seed : of the resamples
    small : the gain that is not worth treating people differently for, in the unit of the outcome; None: a tenth of the
        standard deviation of the outcomes
    policy : the policy of the claims, which reads ``contexts``; None: it is searched for
    progress : called as ``progress(done, total)`` after every draw: first of the band, then of the cross-fitted claim,
        whose draws may end early

    Raises
    ------
    InputError, InfeasibleError (constraints)

    """
    question, scores = asked_about(policies, contexts, scores, constraints, kind, policy)
    share = check_level(level)
    asked = whole("draws", draws, least := fewest_draws(share))
    weight, outcome = scores.weight / scores.weight.sum(), scores.log.outcome
    limit = SMALL * float(np.sqrt(weight @ np.square(outcome - weight @ outcome)))
    limit = limit if small is None else real("small", small, "not negative", lambda value: value >= 0)
    reference = best_reference(scores, question.constraints)
    found: FoundPolicy = policy or _best_seen(question, scores)
    rng = child(seed, "offline", "band")
    chosen = np.asarray(found.predict(contexts))
    times = affordable(asked, least, len(weight), question.oracle, len(against(reference)))
    how: dict[str, Any] = {"draws": times, "level": share, "rng": rng, "progress": progress}
    bounds, ends, most = band(question.oracle, scores, chosen, reference, **how)
    crossed = Learning(question, scores, reference, share).claim(times, child(seed, "offline", "signs"), progress)
    own = scores.mean(scores.table[np.arange(len(chosen)), chosen])
    return Inference(
        gain=bounds.gain,
        lower=bounds.lower,
        upper=bounds.upper,
        p_value=crossed.p_value,
        policy=found,
        reference=reference,
        band=bounds,
        value=IntervalEstimate(own.estimate, own.standard_error, *ends),
        most=most,
        cross_fitted=crossed,
        small=limit,
        level=share,
        draws=times,
        diagnostics=scores.diagnostics,
    )


def _best_seen(question: Question, scores: Scores) -> FoundPolicy:
    def search(rules: list[LabelConstraint]) -> Best:
        return (question.under(rules) if rules else question).best(scores.costs)

    if scores.overlap == "ignore":
        return search([]).policy
    return seen_everywhere(search, question.contexts, *rows_of_actions(scores.log, scores.weight), None).policy


@dataclass(frozen=True, eq=False)
class Learning:
    """The gain of learning over a ``reference``, on rows apart from those learnt from."""

    question: Question
    scores: Scores
    reference: Reference
    level: float

    def claim(self, draws: int, rng: Generator, progress: Progress | None) -> Claim:
        """Return the least favourable claim over all lotteries, with a p-value by at most ``draws`` draws for each."""
        first = self._of_split(self.scores.fold)
        splits = [(first, self.scores.fold)]
        if (1 - self.level) / NEAR < first.p_value < NEAR * (1 - self.level):
            splits += [(self._of_split(fold), fold) for fold in _other_splits(self.scores)]
        claim, fold = sorted(splits, key=lambda split: split[0].p_value)[len(splits) // 2]
        worst = claim.p_value
        if worst >= SURELY:
            return claim
        t, lotteries = float(norm.isf(worst)), against(self.reference)
        for place, lottery in enumerate(lotteries):
            reached, draw = 0, 0
            for draw, is_good in zip(range(1, draws + 1), self._signed(lottery, t, fold, rng), strict=False):
                reached += is_good
                if progress is not None:
                    progress(place * draws + draw, len(lotteries) * draws)
                if reached == ENOUGH:
                    break
            worst = max(worst, ENOUGH / draw if reached == ENOUGH else (1 + reached) / (1 + draws))
        return replace(claim, p_value=min(1.0, worst))

    def _signed(self, lottery: Floats, t: float, fold: Ints, rng: Generator) -> Iterator[bool]:
        """Yield whether learning with random signs gains ``t`` standard errors over a lottery."""
        gains, weight, members = self.scores.gains, self.scores.weight, self.scores.log.members
        base, rows = self.reference.ways.mixed(lottery, gains), np.arange(len(fold))
        own = (weight / weight.sum())[:, None] * (gains - base[:, None])
        while True:
            signed = (rng.integers(0, 2, size=int(members.max()) + 1) * 2.0 - 1.0)[members][:, None] * own
            found = signed[rows, self.question.held_out(-signed, fold)]
            sums = np.bincount(members, found)
            yield bool(sums.sum() >= t * np.sqrt(np.square(sums).sum()))

    def _of_split(self, fold: Ints) -> Claim:
        """Return the claim by one split, by the normal law."""
        scores = self.scores
        played = self.question.held_out(scores.costs, fold)
        own = scores.gains[np.arange(len(played)), played]
        return least_favourable([self._over(own, lottery) for lottery in against(self.reference)])

    def _over(self, own: Floats, lottery: Floats) -> Claim:
        """Return the claim over one lottery; where the rows do not differ at all, nothing is gained."""
        gain = self.scores.mean(own - self.reference.ways.mixed(lottery, self.scores.gains), 2 * self.level - 1)
        p_value = float(norm.sf(gain.estimate / gain.standard_error)) if gain.standard_error else 1.0
        return Claim(gain.estimate, gain.lower, gain.upper, p_value)


def _other_splits(scores: Scores) -> list[Ints]:
    """Return further folds (n,), which neither seed nor order of rows change; [] for too few rows of an action."""
    log, found = scores.log, []
    order = np.lexsort(as_numbers([log.outcome, log.action.astype(float), *log.columns.values()]).T[::-1])
    for seed in range(1, SPLITS):
        fold = np.empty(len(log), dtype=np.int64)
        try:
            fold[order] = folds_of(log.take(order), len(np.unique(scores.fold)), seed)
        except InputError:
            return []
        found.append(fold)
    return found
