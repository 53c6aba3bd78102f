"""How far the scores of a log can be trusted, in numbers and in words.

*Rare, large outcomes* make means skew, and intervals and p-values of skew means do not hold. Cochran's rule (Sampling
Techniques, 1977, section 2.15) asks for more than 25 G^2 rows, with G the skewness of the numbers: then a 95 % interval
by the normal law is wrong in 6 % at most. n / G^2 is (sum x^2)^3 / (sum x^3)^2 over the n deviations x, the number of
losses where a few equal losses are all the noise: so 25 events are asked for. Differences of two actions are less skew
where losses strike under both alike, so their events are counted apart from those of values.
"""

import warnings
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from milpcb.core.checks import ROUNDING
from milpcb.core.decimals import fixed
from milpcb.errors import LogWarning
from milpcb.offline.intervals import mean_of
from milpcb.offline.log import Log
from milpcb.types import Bools, Floats, Ints

FEW = 30  # rows of equal weight, or groups, that a mean should rest on
RARE = 0.1  # of the propensity that all actions would share alike: one below is called rare
OFF = 0.01  # a calibration that is off by less changes nothing
LISTED = 3  # actions that a warning names one by one
EVENTS = 25  # that a mean should rest on
CERTAIN = 4.5  # standard errors, which chance reaches once in 150 000 logs


@dataclass(frozen=True, eq=False)
class Diagnostics:
    """How far the scores of K ``actions`` can be trusted.

    Attributes
    ----------
    least_propensity : (K,) the least known propensity of each action, before clipping
    effective_size : (K,) the number of rows of equal weight as informative as those in which the action was taken
    clipped, min_propensity : the number of propensities of logged actions that were raised to the latter
    calibration, calibration_error : (K,) mean of 1[a = k] / propensity in the rows where the action was possible, which
        is 1 but for chance where the propensities are right; and its standard error
    regression_only : whether the scores are predictions and nothing else (method "dm")
    events, value_events : numbers of events of equal size behind differences between two actions, and behind values of
        actions, by their skewness; the least of all, infinite without skewness
    rows, grouped : number of rows, of groups where rows belong together in groups, and whether they do
    given : whether the propensities were given, and not estimated or shares of the log
    unseen : sentences on the parts in which the log has no rows of some action, see milpcb.offline.overlap

    """

    actions: tuple[str, ...]
    least_propensity: Floats
    effective_size: Floats
    clipped: int
    min_propensity: float
    calibration: Floats
    calibration_error: Floats
    rows: int
    regression_only: bool = False
    events: float = np.inf
    value_events: float = np.inf
    grouped: bool = False
    given: bool = False
    unseen: tuple[str, ...] = ()

    @property
    def enough_events(self) -> bool:
        """Whether differences rest on enough events for claims to hold: False where a few rare outcomes decide."""
        return self.events > EVENTS

    @property
    def fits(self) -> bool:
        """Whether the propensities that were given fit the log: False where they are off beyond any chance."""
        return not (self.given and (self._off > CERTAIN).any())

    def words(self) -> list[str]:
        """Return the warnings, wrong propensities first, as the others depend on these."""
        wrong = self._uncalibrated()
        found = [*([] if self.fits else wrong), *self.unseen]
        few = "A few rare, large outcomes dominate: {} are as skewed as if only about {:.0f} of the {} rows varied, {}."
        rows = fixed(self.rows, 0)
        if not self.enough_events:
            more = "and intervals and p-values need more such events to hold"
            found.append(few.format("differences between actions", self.events, rows, more))
        elif self.value_events <= EVENTS:
            narrow = "so their intervals may be too narrow; the intervals of gains hold"
            found.append(few.format("values", self.value_events, rows, narrow))
        if self.grouped and self.rows < FEW:
            found.append(f"There are only {self.rows} groups of rows, so intervals may be too narrow.")
        if self.clipped:
            found.append(
                f"{self.clipped} propensities below {self.min_propensity:g} were raised to it: the values of policies "
                "that act there are biased (--min-propensity sets the limit)."
            )
        found += [*self._by_action(), *(wrong if self.fits else [])]
        if self.regression_only:
            found.append("Intervals of method 'dm' leave out the error of the regression: they are too narrow.")
        return found

    def _by_action(self) -> Iterator[str]:
        least, sizes = self.least_propensity, self.effective_size
        rare, few = self._named(least < RARE / len(least), least), self._named(sizes < FEW, sizes)
        if rare:
            yield f"In parts of the log an action was hardly ever taken (least propensity): {rare}."
        if few:
            yield f"Little is known of actions with few rows (effective sample size): {few}."

    def _named(self, wrong: Bools, numbers: Floats) -> str:
        """Return the actions that are ``wrong`` (K,) with their numbers, the least first; "" for none."""
        order = [k for k in np.argsort(numbers).tolist() if wrong[k]]
        named = [f"'{self.actions[k]}' ({numbers[k]:.3g})" for k in order[:LISTED]]
        return ", ".join([*named, *["..."][: len(order[LISTED:])]])

    @property
    def _off(self) -> Floats:
        """(K,) by how many standard errors propensities are off, 0 where that changes nothing."""
        off, error = np.abs(self.calibration - 1), self.calibration_error
        return np.divide(off, error, out=np.zeros(len(off)), where=(error > 0) & (off > OFF))

    def _uncalibrated(self) -> list[str]:
        worst = int(self._off.argmax())
        if self._off[worst] <= 2:
            return []
        found = (
            f"The propensities of '{self.actions[worst]}' do not fit the log: 1 / propensity of its rows adds up to "
            f"{self.calibration[worst]:.2f} times the number of rows where it may be done (standard error "
            f"{self.calibration_error[worst]:.2g}), which should be 1."
        )
        if not self.fits:
            found += " Give the probability of what was done, or a column for each action, in their order."
        return [found]


def warn_of(diagnostics: Diagnostics) -> None:
    """Issue all warnings about a log as one LogWarning; none where all is well."""
    found = diagnostics.words()
    if found:
        warnings.warn(" ".join(found), LogWarning, stacklevel=3)


def diagnose(
    log: Log,
    weight: Floats,
    propensity: Floats,
    inverse: Floats,
    table: Floats,
    there: Bools,
    **known: object,
) -> Diagnostics:
    """Return how far scores can be trusted.

    ``propensity`` (n, K) is NaN where it is not known or does not matter, ``inverse`` (n, K) is 1 / propensity where an
    action was taken, clipped, and 0 elsewhere; ``there`` (n, K) is where the log has rows of an action.
    """
    fits = [mean_of(inverse[:, k], weight * there[:, k], 0.95, log.group) for k in range(len(log.actions))]
    weighted, constants = weight[:, None] * inverse, weight @ table / weight.sum()
    events, value_events = _events(log.members, weight[:, None] * (table - constants))
    return Diagnostics(
        actions=log.actions,
        least_propensity=np.nanmin(propensity, axis=0),
        effective_size=weighted.sum(axis=0) ** 2 / (weighted**2).sum(axis=0),
        calibration=np.array([fit.estimate for fit in fits]),
        calibration_error=np.array([fit.standard_error for fit in fits]),
        events=events,
        value_events=value_events,
        rows=len(np.unique(log.members)),
        grouped=log.group is not None,
        **known,  # type: ignore[arg-type]
    )


def _events(members: Ints, deviations: Floats) -> tuple[float, float]:
    """Return on how many events differences of columns (n, K) rest, and columns; rows of a group are added up."""
    own = np.array([np.bincount(members, column) for column in deviations.T]).T
    own /= np.abs(own).max() or 1.0
    squares, mixed = own.T @ own, np.square(own).T @ own
    second, third = np.diag(squares), np.diag(mixed)
    spread = second[:, None] + second - 2 * squares
    skew = third[:, None] - third - 3 * mixed + 3 * mixed.T
    return _fewest(spread, skew), _fewest(second, third)


def _fewest(spread: Floats, skew: Floats) -> float:
    """Return the least of spread^3 / skew^2, by sums of squares and of cubes."""
    known = np.abs(skew) > ROUNDING * spread**1.5
    return float(np.min(spread[known] ** 3 / skew[known] ** 2, initial=np.inf))
