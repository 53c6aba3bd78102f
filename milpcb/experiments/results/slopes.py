"""Exponents of the horizon: least squares of log regret on log T, and intervals of means; both by Student's t."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import stdtrit

from milpcb.types import Floats

CONFIDENCE = 0.95
ROUNDING = 1e-6  # costs; a regret below is the rounding of sums, and its logarithm means nothing


@dataclass(frozen=True)
class Slope:
    """The fit ``regret ~ exp(intercept) T^slope`` and the 95 % interval of the slope.

    ``slope`` is NaN where nothing can be fitted and ``low``, ``high`` are NaN where no error can be estimated; ``note``
    then gives the reason, and else what the fit was made from.
    """

    slope: float
    low: float
    high: float
    intercept: float
    note: str

    @property
    def fitted(self) -> bool:
        """Return whether there is a slope."""
        return bool(np.isfinite(self.slope))

    def at(self, horizons: Floats) -> Floats:
        """Return the fitted regret (n,) at horizons (n,)."""
        return np.asarray(np.exp(self.intercept) * horizons**self.slope, dtype=np.float64)


def fit_slope(runs: Mapping[int, Sequence[float] | Floats]) -> Slope:
    """Fit regret(T) from the regrets of the seeds at each horizon T.

    One point per seed and horizon, all runs taken as independent. Where some run has no positive regret, which has no
    logarithm, the means over seeds are fitted instead (leaving such runs out would bias the slope); where a mean is not
    positive either, nothing is.
    """
    points = {horizon: np.asarray(runs[horizon], float) for horizon in sorted(runs) if len(runs[horizon])}
    if len(points) < 2:
        return _unfitted(f"a slope needs at least 2 horizons, there is {len(points) or 'none'}")
    every = np.concatenate(list(points.values()))
    if not np.isfinite(every).all():
        return _unfitted(f"{np.sum(~np.isfinite(every))} of {len(every)} runs have a regret that is not a number")
    if (every > ROUNDING).all():
        return _fit(points, f"{len(every)} runs at {len(points)} horizons")
    means = {horizon: values.mean(keepdims=True) for horizon, values in points.items()}
    low = [horizon for horizon, mean in means.items() if mean[0] <= ROUNDING]
    if low:
        return _unfitted(f"the mean regret at T = {low[0]} is not positive, so no power of T fits it")
    bad = int(np.sum(every <= ROUNDING))
    return _fit(means, f"means at {len(points)} horizons, as {bad} of {len(every)} runs have no positive regret")


def mean_interval(values: Floats) -> tuple[Floats, Floats]:
    """Return mean (n,) and half the width (n,) of its 95 % interval over the rows of values (seeds, n).

    The width is NaN for a single row, from which no error can be estimated.
    """
    n = len(values)
    if n < 2:
        return values.mean(axis=0), np.full(values.shape[1], np.nan)
    error = values.std(axis=0, ddof=1) / np.sqrt(n)
    return values.mean(axis=0), np.asarray(error * _quantile(n - 1), dtype=np.float64)


def _fit(points: Mapping[int, Floats], note: str) -> Slope:
    from scipy.stats import linregress  # takes half a second to import, which most studies need not wait for

    horizons = np.concatenate([np.full(len(values), float(horizon)) for horizon, values in points.items()])
    fit = linregress(np.log(horizons), np.log(np.concatenate(list(points.values()))))
    if len(horizons) < 3:
        return Slope(fit.slope, np.nan, np.nan, fit.intercept, f"{note}; no interval from 2 points")
    half = fit.stderr * _quantile(len(horizons) - 2)
    return Slope(fit.slope, fit.slope - half, fit.slope + half, fit.intercept, note)


def _unfitted(reason: str) -> Slope:
    return Slope(np.nan, np.nan, np.nan, np.nan, reason)


def _quantile(degrees: int) -> float:
    return float(stdtrit(degrees, 0.5 + CONFIDENCE / 2))  # of Student's t
