"""Rows that are alike become one, in lexicographic order, whatever the table looks like."""

import numpy as np
import pytest

from milpcb.core.checks import context_array
from milpcb.estimators.totals import Rows


@pytest.mark.parametrize("seed", range(30))
def test_rows_are_merged_as_by_their_definition(seed):
    """The distinct rows, the row that each belongs to, and the weights of each, against numpy's own."""
    draw = np.random.default_rng(seed)
    n, d = draw.integers(1, 40), draw.integers(1, 5)
    contexts = draw.integers(-1, 2, (n, d)) * np.where(draw.random((n, d)) < 0.5, 1.0, 0.5)
    contexts[draw.random((n, d)) < 0.1] = -0.0
    weight = draw.integers(1, 4, n).astype(float)
    rows = Rows.merge(contexts, weight)
    distinct, group = np.unique(contexts + 0.0, axis=0, return_inverse=True)
    assert np.array_equal(rows.contexts, distinct)
    assert not np.signbit(rows.contexts[rows.contexts == 0]).any()
    assert np.array_equal(rows.group, group.ravel())
    assert np.array_equal(rows.sizes, np.bincount(group.ravel(), weight))


def test_a_table_that_nobody_can_write_to_is_not_copied():
    """What is checked once is handed on as it is; a table that may change, or a view of one, is copied."""
    mine = np.arange(6.0).reshape(3, 2)
    kept = context_array(mine)
    assert kept is not mine
    assert context_array(kept) is kept
    view = mine[:2]
    view.setflags(write=False)
    assert context_array(view) is not view
