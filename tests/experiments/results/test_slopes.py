"""Slopes and intervals against formulas written out, exact powers, and their own promise of 95 %."""

import numpy as np
import pytest

from milpcb.experiments.results.curves import fit_slope, mean_interval

T_10 = 2.228138852  # the 97.5 % point of Student's t with 10 degrees of freedom, from a printed table
T_4 = 2.776445105


def test_an_exact_power_is_found():
    """Regret 7 T^(2/3) has slope 2/3, without any doubt left."""
    slope = fit_slope({t: [7 * t ** (2 / 3)] * 2 for t in (100, 1000, 5000)})
    assert slope.slope == pytest.approx(2 / 3)
    assert slope.high - slope.low < 1e-6


def test_the_interval_is_that_of_least_squares():
    """Slope and interval equal the textbook formulas over all seeds and horizons."""
    rng = np.random.default_rng(0)
    runs = {t: np.exp(rng.normal(0.5 * np.log(t), 0.2, 4)) for t in (10, 100, 1000)}
    x = np.repeat(np.log([10, 100, 1000]), 4)
    y = np.log(np.concatenate(list(runs.values())))
    spread = np.sum((x - x.mean()) ** 2)
    slope = np.sum((x - x.mean()) * (y - y.mean())) / spread
    residuals = y - y.mean() - slope * (x - x.mean())
    half = T_10 * np.sqrt(np.sum(residuals**2) / 10 / spread)
    found = fit_slope(runs)
    assert (found.slope, found.low, found.high) == pytest.approx((slope, slope - half, slope + half))
    assert "12 runs at 3 horizons" in found.note


def test_the_interval_covers_the_truth_as_often_as_it_says():
    """Of 600 studies with slope 0.6, about 95 % have an interval that holds it (6 standard errors are allowed)."""
    rng = np.random.default_rng(1)
    held = 0
    for _ in range(600):
        found = fit_slope({t: np.exp(rng.normal(0.6 * np.log(t), 0.3, 3)) for t in (100, 1000, 10000)})
        held += found.low <= 0.6 <= found.high
    assert abs(held / 600 - 0.95) < 6 * np.sqrt(0.95 * 0.05 / 600)


def test_a_run_without_positive_regret_makes_the_means_be_fitted():
    """One negative regret is not left out, which would bias the slope: the means are fitted, and the note says so."""
    found = fit_slope({10: [5.0, 15.0], 100: [-20.0, 220.0], 1000: [900.0, 1100.0]})
    assert found.slope == pytest.approx(1.0)
    assert "means at 3 horizons" in found.note
    assert "1 of 6 runs" in found.note


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
    ],
)
def test_what_cannot_be_fitted_says_why(runs, reason):
    """No slope comes with a clear reason and without a warning."""
    found = fit_slope(runs)
    assert not found.fitted
    assert np.isnan([found.slope, found.low, found.high]).all()
    assert reason in found.note


def test_two_points_have_a_slope_but_no_interval():
    """Through two points goes a line; nothing is left to estimate an error from."""
    found = fit_slope({100: [10.0], 10000: [100.0]})
    assert found.slope == pytest.approx(0.5)
    assert np.isnan([found.low, found.high]).all()
    assert "no interval" in found.note


def test_the_interval_of_a_mean_is_students():
    """Five seeds: mean and t s / sqrt(5) with 4 degrees of freedom, for every column by itself."""
    values = np.array([[1.0, 10.0], [2.0, 10.0], [3.0, 10.0], [4.0, 10.0], [5.0, 10.0]])
    mean, half = mean_interval(values)
    assert mean == pytest.approx([3.0, 10.0])
    assert half == pytest.approx([T_4 * np.sqrt(2.5) / np.sqrt(5), 0.0])


def test_one_seed_has_no_interval():
    """One row gives its values and NaN, without a warning."""
    mean, half = mean_interval(np.array([[1.0, 2.0]]))
    assert mean == pytest.approx([1.0, 2.0])
    assert np.isnan(half).all()
