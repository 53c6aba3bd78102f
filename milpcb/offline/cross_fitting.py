"""The gain of learning, on rows that were not learnt from, and a p-value that holds where many policies look alike.

Rows of one fold choose the policy of another and the other way round: where nothing but chance decides which policy is
learnt, the mean gain is up to one and a half times as spread as its standard error. So the law of the whole procedure
is simulated: the gains of each row are given a random sign, by which no policy gains anything, and policies are learnt
and evaluated again, fold by fold. The p-value is at least the share of such draws whose mean is as many standard errors
above 0. Draws end with the tenth that is as good: then 10 divided by their number is a p-value (Besag and Clifford
1991).

Where the p-value is within a factor of ``NEAR`` of 1 - level, rows are dealt into folds ``SPLITS`` times, all but once
in an order that follows from their contents, and the split of the median p-value counts. Twice the median is a p-value
(Meinshausen, Meier and Buhlmann 2009); the median itself is wrong twice as often at most, and here less often than a
single split, as the law that is simulated is that of one split.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.random import Generator
from scipy.stats import norm

from milpcb.data.columns import as_numbers
from milpcb.errors import InputError
from milpcb.offline.band import Claim, Progress, least_favourable
from milpcb.offline.nuisances import stratified_folds
from milpcb.offline.question import Question
from milpcb.offline.reference import Reference, against
from milpcb.offline.scores import Scores
from milpcb.types import Floats, Ints

SURELY = 0.5  # from this p-value on nothing is simulated
ENOUGH = 10  # draws that are as good as what was found
SPLITS = 5
NEAR = 6.0


def held_out(question: Question, costs: Floats, fold: Ints) -> Ints:
    """Return what is played in each row (n,) by the best policy of the other folds; ``costs`` are (n, K).

    The rows of the fold cost nothing, so that one oracle answers.
    """
    played = np.empty(len(fold), dtype=np.int64)
    for each in np.unique(fold):
        own = fold == each
        found = question.best(np.where(own[:, None], 0.0, costs)).policy
        played[own] = found.predict(question.oracle.contexts[own])
    return played


@dataclass(frozen=True, eq=False)
class Learning:
    """The gain of learning over a ``reference``, on rows that were not learnt from."""

    question: Question
    scores: Scores
    reference: Reference
    level: float

    def claim(self, draws: int, rng: Generator, progress: Progress | None) -> Claim:
        """Return the least favourable claim over all lotteries that may be best, with a p-value of the simulated law.

        ``progress`` is called after each draw, of at most ``draws`` for every lottery.
        """
        first = self._of_split(self.scores.fold)
        splits = [(first, self.scores.fold)]
        if (1 - self.level) / NEAR < first.p_value < NEAR * (1 - self.level):
            splits += [(self._of_split(fold), fold) for fold in _other_splits(self.scores)]
        claim, fold = sorted(splits, key=lambda split: split[0].p_value)[len(splits) // 2]
        worst = claim.p_value
        if worst >= SURELY:
            return claim
        t, lotteries = float(norm.isf(worst)), against(self.reference)
        for number, lottery in enumerate(lotteries):
            reached, draw = 0, 0
            for draw, is_good in zip(range(1, draws + 1), self._signed(lottery, t, fold, rng), strict=False):
                reached += is_good
                if progress is not None:
                    progress(number * draws + draw, len(lotteries) * draws)
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
            found = signed[rows, held_out(self.question, -signed, fold)]
            sums = np.bincount(members, found)
            yield bool(sums.sum() >= t * np.sqrt(np.square(sums).sum()))

    def _of_split(self, fold: Ints) -> Claim:
        """Return the claim by one split, by the normal law."""
        scores = self.scores
        played = held_out(self.question, scores.costs, fold)
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
    order = np.lexsort(as_numbers([log.outcome, log.action.astype(float), *log.columns().values()]).T[::-1])
    for seed in range(1, SPLITS):
        fold = np.empty(len(log), dtype=np.int64)
        try:
            fold[order] = stratified_folds(log.take(order), len(np.unique(scores.fold)), seed)
        except InputError:
            return []
        found.append(fold)
    return found
