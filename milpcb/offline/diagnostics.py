"""How far the scores of a log can be trusted, in numbers and in words."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from milpcb.types import Floats

FEW = 30  # rows of equal weight that a mean should rest on
EVENTS = 20  # rows that should carry the noise
HEAVY = 10  # how many times as heavy as that of equal deviations the tails of the noise may be
RARE = 0.05  # a propensity below is called rare


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
    outcome_r2 : (K,) share of the variance of the outcome that the cross-fitted regression explains where the action
        was taken; NaN where there is no regression
    regression_only : whether the scores are predictions and nothing else (method "dm")
    events : how many rows of equal deviation would carry as much of the noise: (sum r^2)^2 / sum r^4 over the weighted
        residuals r. It is a third of the rows for a normal law; for a loss of chance 0.02 it is the number of losses
    rows : number of rows, of groups where there are groups

    """

    actions: tuple[str, ...]
    least_propensity: Floats
    effective_size: Floats
    clipped: int
    min_propensity: float
    calibration: Floats
    calibration_error: Floats
    outcome_r2: Floats
    regression_only: bool = False
    events: float = np.inf
    rows: int = 0

    @property
    def enough_events(self) -> bool:
        """Whether enough rows carry the noise for claims to hold: False where a few rare, large outcomes decide."""
        return self.events >= EVENTS or self.events * HEAVY >= self.rows

    def words(self) -> list[str]:
        """Return the warnings that follow, a sentence each; none where all is well."""
        found = []
        if self.clipped:
            found.append(
                f"{self.clipped} propensities below {self.min_propensity:g} were raised to it: the values of policies "
                "that act there are biased."
            )
        for k, name in enumerate(self.actions):
            found += self._of_action(k, name)
        if self.regression_only:
            found.append("Intervals of method 'dm' leave out the error of the regression: they are too narrow.")
        return found

    def _of_action(self, k: int, name: str) -> list[str]:
        found = []
        if self.least_propensity[k] < RARE:
            found.append(
                f"'{name}' is hardly ever taken somewhere (least propensity {self.least_propensity[k]:.3g}): what it "
                "would give there rests on few rows."
            )
        if self.effective_size[k] < FEW:
            found.append(f"What is known of '{name}' is worth {self.effective_size[k]:.0f} rows of equal weight: few.")
        off = abs(self.calibration[k] - 1)
        if off > max(RARE, 3 * self.calibration_error[k]):
            found.append(
                f"The propensities of '{name}' do not fit the log: 1 / propensity of its rows adds up to "
                f"{self.calibration[k]:.2f} times the number of all rows, which should be 1."
            )
        if self.outcome_r2[k] < -RARE:
            found.append(
                f"The regression predicts outcomes of '{name}' worse than their mean would "
                f"(R2 {self.outcome_r2[k]:.2f}); give another model_outcome."
            )
        return found


def effective_sizes(weights: Floats) -> Floats:
    """Return (sum w)^2 / sum w^2 of each column of weights (n, K)."""
    return np.asarray(weights.sum(axis=0) ** 2 / (weights**2).sum(axis=0))


def effective_events(noise: Floats) -> float:
    """Return (sum r^2)^2 / sum r^4 of residuals r (n,), infinite where there is no noise at all."""
    squares = np.square(noise / (np.abs(noise).max() or 1.0))
    return float(squares.sum() ** 2 / np.square(squares).sum()) if squares.any() else np.inf
