"""Propensities with a few digits: what rounding leaves over is divided out, and other sums are refused."""

import numpy as np
import polars as pl
import pytest

from milpcb.errors import InputError
from milpcb.estimators import LoggedPolicyTree
from milpcb.offline import read_log


def table(K=3, n=400):
    """Return actions (n,), exact propensities (n, K) and outcomes."""
    rng = np.random.default_rng(0)
    exact = rng.dirichlet(np.full(K, 0.7), n) * (1 - 0.01 * K) + 0.01
    action = (rng.random(n)[:, None] > exact.cumsum(axis=1)).sum(axis=1).clip(max=K - 1)
    return np.array(list("abcdefghijklmnopqrst"))[action], exact, rng.normal(size=n)


@pytest.mark.parametrize("K", [2, 3, 20])
@pytest.mark.parametrize("form", ["{:.3f}", "{:.4f}", "{:.5f}", "{:.6f}", "{:.8f}", "{:.4g}", "{:.6g}", "{!r}"])
def test_rounded_propensities_are_divided_by_their_sum(form, K):
    """With fixed decimals and with fixed digits; the rows add up to 1, and numbers are what was written but for it."""
    action, exact, outcome = table(K)
    rounded = np.array([[float(form.format(float(p))) for p in row] for row in exact])
    known = read_log(np.zeros((400, 1)), action, reward=outcome, propensity=rounded).propensity
    assert np.allclose(known.sum(axis=1), 1, rtol=0, atol=1e-9)
    assert np.allclose(known, rounded / rounded.sum(axis=1, keepdims=True), rtol=1e-9)
    assert (form == "{!r}") == np.array_equal(known, exact)


@pytest.mark.parametrize("digits", [3, 4, 6])
def test_a_sum_that_rounding_does_not_explain_is_refused(digits):
    """The line shows the digits that matter: 0.9999 is no 1."""
    action, exact, outcome = table()
    rounded = exact.round(digits)
    rounded[7] = [0.5, 0.25, 0.25 - 3 * 10.0**-digits]
    sum_ = f"{1 - 3 * 10.0**-digits:.10g}"
    with pytest.raises(InputError, match=f"propensities of row 7 are .*, with sum {sum_}; they must be"):
        read_log(np.zeros((400, 1)), action, reward=outcome, propensity=rounded)
    rounded[7] = [1.1, -0.1, 0]
    with pytest.raises(InputError, match=r"row 7 are \[1.1, -0.1, 0.0\], with sum 1;"):
        read_log(np.zeros((400, 1)), action, reward=outcome, propensity=rounded)


def test_one_pass_divides_as_memory_does():
    """The same rule with the same value, whether rows are held or added up."""
    action, exact, outcome = table()
    frame = pl.DataFrame({"age": np.arange(400) % 40, "act": action, "y": outcome + (action == "a")})
    chances = {f"p{name}": exact.round(4)[:, k] for k, name in enumerate("abc")}
    frame = frame.with_columns(**{name: pl.Series(values) for name, values in chances.items()})
    tree = {"max_depth": 1, "thresholds": 3, "method": "ips"}
    held = LoggedPolicyTree(**tree).fit(
        frame.select("age"), action, reward=frame["y"].to_numpy(), propensity=np.column_stack([*chances.values()])
    )
    added = LoggedPolicyTree(**tree).fit_batches(
        [frame[:250], frame[250:]],
        action="act",
        reward="y",
        propensity={name: f"p{name}" for name in "abc"},
        features=["age"],
    )
    assert str(added.policy_) == str(held.policy_)
    assert added.policy_value_ == pytest.approx(held.policy_value_, rel=1e-12)
