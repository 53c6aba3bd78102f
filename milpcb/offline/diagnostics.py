"""How far the scores of a log can be trusted, in numbers and in words."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from milpcb.offline.intervals import Mean, estimates
from milpcb.offline.log import Log
from milpcb.types import Bools, Floats

FEW = 30  # rows of equal weight, or groups, that a mean should rest on
RARE = 0.05  # a propensity below is called rare
OFF = 0.01  # a calibration that is off by less changes nothing
LISTED = 3  # actions that a warning names one by one
EVENTS = 20  # rows that should carry the noise
HEAVY = 10  # how many times as many rows as carry the noise there may be


@dataclass(frozen=True, eq=False)
class Diagnostics:
    """How far the scores can be trusted.

    Attributes
    ----------
    actions : K names
    least_propensity : (K,) the least propensity of each action in the rows where it is known, before clipping
    effective_size : (K,) how many rows of equal weight would be as informative as those in which the action was taken
    clipped : how many propensities of what was done were below ``min_propensity``, and were raised to it
    calibration : (K,) mean of 1[a = k] / propensity, which is 1 but for chance where the propensities are right
    calibration_error : (K,) its standard error
    constants : (K,) the value of each action where it is always played
    calibrated : (K,) the same if every propensity of the action is multiplied by its calibration, so that they fit
    outcome_r2 : (K,) share of the variance of the outcome that the cross-fitted regression explains where the action
        was taken; NaN where there is no regression
    regression_only : whether the scores are predictions and nothing else (method "dm")
    events : how many rows of equal deviation would carry as much of the noise: (sum r^2)^2 / sum r^4 over the weighted
        residuals r. It is a third of the rows for a normal law; for a large loss of chance 0.02, the number of losses
    largest : (0..1) the share of a single row in the variance of the noise, the largest
    rows : number of rows, of groups where there are groups
    grouped : whether rows belong together in groups

    """

    actions: tuple[str, ...]
    least_propensity: Floats
    effective_size: Floats
    clipped: int
    min_propensity: float
    calibration: Floats
    calibration_error: Floats
    constants: Floats
    calibrated: Floats
    outcome_r2: Floats
    regression_only: bool
    events: float
    largest: float
    rows: int
    grouped: bool

    @property
    def enough_events(self) -> bool:
        """Whether enough rows carry the noise for claims to hold: False where a few rare, large outcomes decide."""
        return self.events >= EVENTS or self.events * HEAVY >= self.rows

    def words(self) -> list[str]:
        """Return the warnings that follow, a sentence or two each; none where all is well."""
        found = []
        if not self.enough_events:
            found.append(
                f"A few rare, large outcomes carry the noise: about {self.events:.0f} of {self.rows:,} rows, and the "
                f"largest alone has {self.largest:.0%} of the variance. That is too few such events for intervals and "
                "p-values to hold."
            )
        if self.grouped and self.rows < FEW:
            found.append(f"There are {self.rows} groups of rows: few. Intervals may be too narrow.")
        if self.clipped:
            found.append(
                f"{self.clipped} propensities below {self.min_propensity:g} were raised to it: the values of policies "
                "that act there are biased (--min-propensity sets the limit)."
            )
        found += [*self._by_action(), *self._uncalibrated()]
        if self.regression_only:
            found.append("Intervals of method 'dm' leave out the error of the regression: they are too narrow.")
        return found

    def _by_action(self) -> Iterator[str]:
        """Yield a sentence for each kind of trouble, whatever the number of actions that have it, worst first."""
        rare = self._named(self.least_propensity < RARE, self.least_propensity, "least propensity {:.3g}")
        if rare:
            yield f"Hardly ever taken somewhere: {rare}. What they would give there rests on few rows."
        few = self._named(self.effective_size < FEW, self.effective_size, "worth {:.0f} rows of equal weight")
        if few:
            yield f"Little is known of {few}."
        missed = self._named(self.outcome_r2 < -RARE, self.outcome_r2, "R2 {:.2f}")
        if missed:
            yield (
                f"The regression of outcomes predicts worse than their mean would, for {missed}: intervals are wider "
                'than they need be; method "snips" does without it (--method snips).'
            )

    def _named(self, wrong: Bools, numbers: Floats, words: str) -> str:
        """Return the actions that are ``wrong`` (K,), least number first, the first few by name; "" for none."""
        order = [k for k in np.argsort(numbers).tolist() if wrong[k]]
        named = [f"'{self.actions[k]}' ({words.format(numbers[k])})" for k in order[:LISTED]]
        return ", ".join(named) + (f" and {len(order) - LISTED} more actions" if order[LISTED:] else "")

    def _uncalibrated(self) -> list[str]:
        """Return a warning on actions whose propensities are off by two standard errors; the worst is named."""
        off = np.abs(self.calibration - 1)
        errors = np.divide(off, self.calibration_error, out=np.zeros(len(off)), where=self.calibration_error > 0)
        wrong = [k for k in np.argsort(-errors).tolist() if errors[k] > 2 and off[k] > OFF]
        if not wrong:
            return []
        worst, others = wrong[0], len(wrong) - 1
        also = f" Nor do those of {others} other actions; by chance one in twenty would not." if others else ""
        found = (
            f"The propensities of '{self.actions[worst]}' do not fit the log: 1 / propensity of its rows adds up to "
            f"{self.calibration[worst]:.2f} times the number of all rows (standard error "
            f"{self.calibration_error[worst]:.2g}), which should be 1. With propensities that fit, always "
            f"'{self.actions[worst]}' would be worth {self.calibrated[worst]:.4g}, not {self.constants[worst]:.4g}."
            f"{also}"
        )
        return [found]


def diagnose(
    log: Log, weight: Floats, propensity: Floats, inverse: Floats, table: Floats, regression: Floats, **known: object
) -> Diagnostics:
    """Return how far scores can be trusted.

    Parameters
    ----------
    log : the log
    weight : (n,) of the rows
    propensity : (n, K), NaN where it is not known
    inverse : (n, K) 1 / propensity where an action was taken, clipped; 0 elsewhere
    table, regression : (n, K) the scores and their regression
    known : clipped, min_propensity, outcome_r2, regression_only

    """
    columns = {k: Mean(inverse[:, k], weight, np.inf) for k in range(len(log.actions))}
    fits = estimates(columns, "normal", 0.95, seed=0, group=log.group)
    calibration = np.array([fit.value for fit in fits.values()])
    shares = weight / weight.sum()
    constants, modelled = shares @ table, shares @ regression
    rows = np.arange(len(log))
    residual = inverse[rows, log.action] * (log.outcome - regression[rows, log.action])
    noise = np.bincount(log.members, weight * residual)
    squares = np.square(noise / (np.abs(noise).max() or 1.0))
    size = float(squares.sum())
    return Diagnostics(
        actions=log.actions,
        least_propensity=np.nanmin(propensity, axis=0),
        effective_size=effective_sizes(weight[:, None] * inverse),
        calibration=calibration,
        calibration_error=np.array([fit.standard_error for fit in fits.values()]),
        constants=constants,
        calibrated=modelled + (constants - modelled) / calibration,
        events=size**2 / float(np.square(squares).sum()) if size else np.inf,
        largest=float(squares.max()) / size if size else 0.0,
        rows=len(noise),
        grouped=log.group is not None,
        **known,  # type: ignore[arg-type]
    )


def explained(log: Log, taken: Bools, weight: Floats, regression: Floats) -> Floats:
    """Return R2 (K,) of the regression in the rows of each action."""
    missed = weight @ np.where(taken, np.square(log.outcome[:, None] - regression), 0.0)
    spread = [_spread(log.outcome[own], weight[own]) for own in taken.T]
    return np.asarray(1 - missed / np.maximum(spread, np.finfo(float).tiny))


def _spread(outcome: Floats, weight: Floats) -> float:
    mean = weight @ outcome / (weight.sum() or 1.0)
    return float(weight @ np.square(outcome - mean))


def effective_sizes(weights: Floats) -> Floats:
    """Return (sum w)^2 / sum w^2 of each column of weights (n, K)."""
    return np.asarray(weights.sum(axis=0) ** 2 / (weights**2).sum(axis=0))
