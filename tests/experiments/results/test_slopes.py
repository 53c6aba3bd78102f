"""Slopes and intervals against formulas written out, exact powers, and their own promise of 95 %."""

import numpy as np
import pytest

from milpcb.experiments.results.curves import fit_slope, mean_interval

T_10 = 2.228138852  # the 97.5 % point of Student's t with 10 degrees of freedom, from a printed table
T_4 = 2.776445105


def test_the_interval_is_that_of_least_squares():
    """Slope and interval equal the textbook formulas over all seeds and horizons; an exact power leaves no doubt."""
    rng = np.random.default_rng(0)
    runs = {t: np.exp(rng.normal(0.5 * np.log(t), 0.2, 4)) for t in (10, 100, 1000)}
    x, y = np.repeat(np.log([10, 100, 1000]), 4), np.log(np.concatenate(list(runs.values())))
    spread = np.sum((x - x.mean()) ** 2)
    slope = np.sum((x - x.mean()) * (y - y.mean())) / spread
    residuals = y - y.mean() - slope * (x - x.mean())
    half = T_10 * np.sqrt(np.sum(residuals**2) / 10 / spread)
    found = fit_slope(runs)
    assert (found.slope, found.low, found.high) == pytest.approx((slope, slope - half, slope + half))
    assert "12 runs at 3 horizons" in found.note
    exact = fit_slope({t: [7 * t ** (2 / 3)] * 2 for t in (100, 1000, 5000)})
    assert exact.slope == pytest.approx(2 / 3)
    assert exact.high - exact.low < 1e-6


def test_the_interval_covers_the_truth_as_often_as_it_claims():
    """Of 600 studies with slope 0.6, about 95 % have an interval that holds it (6 standard errors are allowed)."""
    rng = np.random.default_rng(1)
    studies = ({t: np.exp(rng.normal(0.6 * np.log(t), 0.3, 3)) for t in (100, 1000, 10000)} for _ in range(600))
    held = sum(found.low <= 0.6 <= found.high for found in map(fit_slope, studies))
    assert abs(held / 600 - 0.95) < 6 * np.sqrt(0.95 * 0.05 / 600)


def test_a_run_without_positive_regret_makes_the_means_be_fitted():
    """One negative regret is not left out, which would bias the slope: the means are fitted, and the note says so."""
    found = fit_slope({10: [5.0, 15.0], 100: [-20.0, 220.0], 1000: [900.0, 1100.0]})
    assert found.slope == pytest.approx(1.0)
    assert found.note == "means at 3 horizons, as 1 of 6 runs have no positive regret"


@pytest.mark.parametrize(
    ("runs", "reason"),
    [
        ({}, "at least 2 horizons"),
        ({100: [1.0, 2.0]}, "at least 2 horizons, there is 1"),
        ({100: [1.0, 2.0], 1000: []}, "at least 2 horizons"),
        ({10: [1.0, 1.0], 100: [-3.0, 1.0]}, "mean regret at T = 100 is not positive"),
        ({10: [1.0, 1.0], 100: [0.0, 0.0]}, "mean regret at T = 100 is not positive"),
        ({10: [1e-13, 2e-15], 100: [1e-12, 3e-12]}, "mean regret at T = 10 is not positive"),
        ({10: [1.0, np.nan], 100: [1.0, 2.0]}, "1 of 4 runs have a regret that is not a number"),
        ({10: [1.0, np.inf], 100: [1.0, 2.0]}, "not a number"),
        (
            {100: [10.0], 10000: [100.0]},
            "no interval",
        ),  # through two points goes a line, and nothing is left for an error
    ],
)
def test_what_cannot_be_fitted_has_a_reason(runs, reason):
    """No slope, or no interval, comes with a clear reason and without a warning."""
    found = fit_slope(runs)
    assert found.fitted == (reason == "no interval")
    assert [found.slope] == pytest.approx([0.5 if found.fitted else np.nan], nan_ok=True)
    assert np.isnan([found.low, found.high]).all()
    assert reason in found.note


def test_the_interval_of_a_mean_is_students():
    """Five seeds: mean and t s / sqrt(5) with 4 degrees of freedom, for every column; one seed has no interval."""
    mean, half = mean_interval(np.column_stack([np.arange(1.0, 6.0), np.full(5, 10.0)]))
    assert mean == pytest.approx([3.0, 10.0])
    assert half == pytest.approx([T_4 * np.sqrt(2.5) / np.sqrt(5), 0.0])
    mean, half = mean_interval(np.array([[1.0, 2.0]]))
    assert mean == pytest.approx([1.0, 2.0])
    assert np.isnan(half).all()
