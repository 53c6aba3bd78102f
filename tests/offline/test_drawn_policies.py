"""The value of a policy that draws its actions: by definition, by name, and with intervals that hold."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

from milpcb.offline import evaluate, read_log, scores

N = 90
NAMES = ["b", "a", "c"]


def made(seed, n=N, method="snips", **options):
    """Return scores of a log with three actions and known propensities, and its truth: means (4,) by bit and action."""
    rng = np.random.default_rng(seed)
    bit = rng.integers(0, 2, n)
    chance = np.where(bit[:, None] == 1, [0.2, 0.3, 0.5], [0.6, 0.2, 0.2])
    done = np.append([(rng.random() < np.cumsum(row)).argmax() for row in chance[:-3]], [0, 1, 2])
    y = TRUTH[bit, done] + rng.normal(size=n)
    log = read_log(bit[:, None], [NAMES[k] for k in done], reward=y, propensity=chance, actions=NAMES, **options)
    return bit, scores(log, method)


TRUTH = np.array([[0.0, 1.0, 2.0], [1.0, -1.0, 0.0]])
DRAWS = np.array([[0.5, 0.25, 0.25], [0.1, 0.2, 0.7]])


def test_the_value_is_the_mean_of_the_mixed_scores():
    """Value, gains and standard errors by the definition sum_k p_jk Gamma_jk, on every row."""
    bit, table = made(0)
    found = evaluate(table, DRAWS[bit])
    own = (DRAWS[bit] * table.table).sum(axis=1)
    assert found.value.value == pytest.approx(own.mean())
    assert found.value.standard_error == pytest.approx(own.std(ddof=1) / np.sqrt(N))
    for k, name in enumerate(NAMES):
        difference = own - table.table[:, k]
        assert found.gain_over[name].value == pytest.approx(difference.mean())
        assert found.gain_over[name].standard_error == pytest.approx(difference.std(ddof=1) / np.sqrt(N))
    assert found.gain_over_logged.value == pytest.approx((own - table.log.outcome).mean())
    assert found.leaves == ()


@pytest.mark.parametrize("interval", ["normal", "bootstrap", "bernstein"])
def test_probabilities_of_0_and_1_are_the_actions_themselves(interval):
    """All numbers are those of the deterministic policy, to the last digits."""
    bit, table = made(1)
    plain = evaluate(table, [NAMES[k] for k in bit], interval=interval)
    drawn = evaluate(table, np.eye(3)[bit], interval=interval)
    assert (drawn.value, drawn.gain, drawn.gain_over) == (plain.value, plain.gain, plain.gain_over)


def test_probabilities_are_matched_by_name():
    """Frames of pandas and polars, mappings to columns, and a mapping to numbers that hold for all."""
    bit, table = made(2)
    truth = evaluate(table, DRAWS[bit])
    columns = {name: DRAWS[bit][:, NAMES.index(name)] for name in ("a", "b", "c")}
    for given in (columns, pd.DataFrame(columns), pl.DataFrame(columns), DRAWS[bit].tolist()):
        assert evaluate(table, given).value.value == pytest.approx(truth.value.value)
    lottery = evaluate(table, {"c": 0.5, "a": 0.5, "b": 0})
    assert lottery.value.value == pytest.approx(table.table[:, [1, 2]].mean())


def test_its_intervals_hold():
    """Of 300 drawn logs about 95 of 100 intervals cover the true value, and so do those of the gain over 'c'."""
    truth = float((0.5 * DRAWS * TRUTH).sum())
    gain = truth - float(TRUTH[:, 2].mean())
    found = []
    for seed in range(300):
        bit, table = made(seed, 150, "ips")
        worth = evaluate(table, DRAWS[bit])
        over = worth.gain_over["c"]
        found.append((worth.value.lower <= truth <= worth.value.upper, over.lower <= gain <= over.upper))
    covered = np.mean(found, axis=0)
    assert (np.abs(covered - 0.95) <= 0.04).all()
