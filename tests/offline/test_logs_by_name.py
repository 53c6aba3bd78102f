"""A log on disk is learnt from and valued by the names of its actions, whatever their order and that of its columns."""

import numpy as np
import polars as pl
import pytest

from milpcb.errors import InputError
from milpcb.offline import read_log

N = 400


def rounds():
    """Return x, what was done by number, the chances (n, 2) of the two actions, and what came of it."""
    rng = np.random.default_rng(1)
    x = rng.integers(0, 2, N)
    first = np.where(x == 1, 0.9, 0.2)
    done = (rng.random(N) >= first).astype(int)
    return x, done, np.column_stack([first, 1 - first]), np.where((done == 0) == (x == 1), 1.0, 0.25)


def test_propensities_by_name_in_any_order_are_the_same_log():
    """A data frame or mapping of propensities is read by its names; one that is called otherwise is refused."""
    x, done, chances, outcome = rounds()
    log = [("a", "b")[k] for k in done]
    plain = read_log(x[:, None], log, reward=outcome, propensity=chances)
    swapped = pl.DataFrame({"b": chances[:, 1], "a": chances[:, 0]})
    for given in (swapped, swapped.to_pandas(), {"b": chances[:, 1], "a": chances[:, 0]}):
        assert np.array_equal(read_log(x[:, None], log, reward=outcome, propensity=given).propensity, plain.propensity)
    with pytest.raises(InputError, match="unknown action among the columns of propensity: 'p_a'"):
        read_log(x[:, None], log, reward=outcome, propensity=swapped.rename({"a": "p_a"}))
