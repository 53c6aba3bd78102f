"""Folds that are handed in are checked before models see them."""

import numpy as np
import pytest

from milpcb.errors import InputError
from milpcb.offline import read_log, scores

N = 40


@pytest.mark.parametrize(
    "cv", [np.arange(N + 1) % 2, np.arange(N - 1) % 2, np.zeros(N, dtype=int), np.arange(N) % 2 == 0, np.ones((N, 1))]
)
def test_folds_that_are_none_are_one_line(cv):
    """One fold too many or too few rows, a single fold, booleans, a table."""
    log = read_log(np.arange(N * 1.0)[:, None], np.arange(N) % 2, reward=np.ones(N), propensity=[0.5, 0.5])
    assert scores(log, "ips", cv=np.arange(N) % 3).fold.tolist() == (np.arange(N) % 3).tolist()
    with pytest.raises(InputError, match="the fold of each of the 40 rows"):
        scores(log, "ips", cv=cv)
