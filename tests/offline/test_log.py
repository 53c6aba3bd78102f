"""Logs are read as they stand, propensities up to rounding, and what is wrong with one is a line that names it."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

from milpcb.errors import InputError
from milpcb.offline import read_log
from milpcb.offline.log import kept_aside

X = np.arange(12.0).reshape(6, 2)
ACTION = ["stay", "go", "go", "stay", "go", "stay"]
REWARD = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]


def test_actions_become_numbers_in_the_order_of_their_names():
    """Strings are sorted, a given order is kept, and integers that are floats lose their point."""
    assert read_log(X, ACTION, reward=REWARD).actions == ("go", "stay")
    log = read_log(X, ACTION, reward=REWARD, actions=["stay", "go"])
    assert log.actions == ("stay", "go")
    assert log.action.tolist() == [0, 1, 1, 0, 1, 0]
    assert read_log(X, [10.0, 9.0, 10.0, 9.0, 9.0, 9.0], reward=REWARD).actions == ("9", "10")


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_frames_keep_their_columns(frame):
    """Features of pandas and polars stay frames, and so do parts of them; columns may be actions and outcomes."""
    table = frame({"age": REWARD, "action": ACTION, "y": REWARD})
    log = read_log(table, table["action"], reward=table["y"])
    part = log.take(np.array([4, 1]))
    assert isinstance(part.features, frame)
    assert part.features["age"].to_list() == [5.0, 2.0]
    assert part.outcome.tolist() == [5.0, 2.0]
    assert part.action.tolist() == [0, 0]
    assert len(part) == 2


def test_propensities_in_every_form_say_the_same():
    """Of what was done, of every action, the same for all, and by the shares of a randomised trial."""
    full = read_log(X, ACTION, reward=REWARD, propensity=np.tile([0.25, 0.75], (6, 1)))
    same = read_log(X, ACTION, reward=REWARD, propensity=[0.25, 0.75])
    assert np.array_equal(full.propensity, same.propensity)
    assert (full.randomised, same.randomised) == (False, True)
    logged = read_log(X, ACTION, reward=REWARD, propensity=np.where(np.array(ACTION) == "go", 0.25, 0.75))
    known = ~np.isnan(logged.propensity)
    assert known.sum(axis=1).tolist() == [1] * 6
    assert np.array_equal(logged.propensity[known], full.propensity[known])
    shares = read_log(X, ACTION, reward=REWARD, propensity="randomised")
    assert shares.randomised
    assert np.array_equal(shares.propensity, np.full((6, 2), 0.5))
    assert read_log(X, ACTION, reward=REWARD).propensity is None


def test_propensities_by_name_in_any_order_are_the_same_log():
    """A data frame or mapping of propensities is read by its names."""
    chances = np.random.default_rng(1).dirichlet([1, 1], 6)
    plain = read_log(X, ACTION, reward=REWARD, propensity=chances)
    swapped = pl.DataFrame({"stay": chances[:, 1], "go": chances[:, 0]})
    for given in (swapped, swapped.to_pandas(), swapped.to_dict(as_series=False)):
        assert np.array_equal(read_log(X, ACTION, reward=REWARD, propensity=given).propensity, plain.propensity)


def test_of_each_action_a_share_of_the_rows_is_kept_aside():
    """Or of the groups of its rows, of which there may be two in all."""
    action = np.repeat([0, 1, 2], [100, 40, 10])
    log = read_log(np.zeros((150, 1)), action, reward=1.0 * action)
    assert np.bincount(action[kept_aside(log, 0.3)]).tolist() == [30, 12, 3]
    assert read_log(X, ACTION, reward=REWARD, group=[2, 1] * 3).group.tolist() == [1, 0] * 3


def drawn(K=3, n=400):
    """Return actions (n,), exact propensities (n, K) and outcomes."""
    rng = np.random.default_rng(0)
    exact = rng.dirichlet(np.full(K, 0.7), n) * (1 - 0.01 * K) + 0.01
    action = (rng.random(n)[:, None] > exact.cumsum(axis=1)).sum(axis=1).clip(max=K - 1)
    return np.array(list("abcdefghijklmnopqrst"))[action], exact, rng.normal(size=n)


@pytest.mark.parametrize("K", [2, 3, 20])
@pytest.mark.parametrize("form", ["{:.3f}", "{:.4f}", "{:.5f}", "{:.6f}", "{:.8f}", "{:.4g}", "{:.6g}", "{!r}"])
def test_rounded_propensities_are_divided_by_their_sum(form, K):
    """With fixed decimals and with fixed digits; the rows add up to 1, and numbers are what was written but for it."""
    action, exact, outcome = drawn(K)
    rounded = np.array([[float(form.format(float(p))) for p in row] for row in exact])
    known = read_log(np.zeros((400, 1)), action, reward=outcome, propensity=rounded).propensity
    assert np.allclose(known.sum(axis=1), 1, rtol=0, atol=1e-9)
    assert np.allclose(known, rounded / rounded.sum(axis=1, keepdims=True), rtol=1e-9)
    assert (form == "{!r}") == np.array_equal(known, exact)


@pytest.mark.parametrize("digits", [3, 4, 6])
def test_a_sum_that_rounding_does_not_explain_is_refused(digits):
    """The line shows the digits that matter: 0.9999 is no 1."""
    action, exact, outcome = drawn()
    rounded, off = exact.round(digits), 3 * 10.0**-digits
    for row, line in (([0.5, 0.25, 0.25 - off], f"sum {1 - off:.10g}; they must be"), ([1.1, -0.1, 0], "sum 1;")):
        rounded[7] = row
        with pytest.raises(InputError, match=rf"propensities of row 7 are \[{row[0]}, .*\], with {line}"):
            read_log(np.zeros((400, 1)), action, reward=outcome, propensity=rounded)
