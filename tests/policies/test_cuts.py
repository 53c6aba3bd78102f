"""Cut points: quantiles, with weights; all of them; what is refused."""

import warnings

import hypothesis.strategies as st
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis.extra.numpy import arrays

from milpcb.core.decimals import short_between
from milpcb.errors import LogWarning
from milpcb.types import Floats, Ints
from policies import DecisionTrees
from policies.cuts import Distinct, cut_points, every_cut
from policies.names import Names

VALUES = arrays(float, st.integers(1, 30), elements=st.floats(-1e6, 1e6, allow_subnormal=False))


@given(values=VALUES, thresholds=st.sampled_from((1, 3, 8, "all")))
def test_a_fixed_class_has_the_cuts_of_its_contexts(values: Floats, thresholds: int | str) -> None:
    """The cut points become explicit: those of all values, to the last bit."""
    fixed = DecisionTrees(2, thresholds=thresholds).with_cuts_of(values[:, None], Names())
    assert fixed.thresholds == (tuple(every_cut(values[:, None], thresholds)[0].tolist()),)


@given(values=VALUES, count=st.integers(1, 12))
def test_a_cut_lies_where_the_quantile_does(values: Floats, count: int) -> None:
    """Between the same two values of the feature, so that the two divide contexts alike."""
    found = every_cut(values[:, None], count)[0]
    wanted = [0.5] if set(values) <= {0.0, 1.0} else np.quantile(values, np.arange(1, count + 1) / (count + 1))
    divided = {tuple(values <= cut) for cut in wanted}
    assert {tuple(values <= cut) for cut in found} == divided


@given(values=VALUES)
def test_all_cuts_lie_between_neighbouring_values(values: Floats) -> None:
    """There is one cut between any two values, and at 0 and 1 it is 0.5."""
    cuts, distinct = cut_points(values[:, None], "all")[0], np.unique(values)
    assert len(cuts) == len(distinct) - 1
    assert ((distinct[:-1] <= cuts) & (cuts < distinct[1:])).all()
    if set(distinct) == {0.0, 1.0}:
        assert cuts == [0.5]


def test_all_cuts_are_short_decimals() -> None:
    """A cut is a number that people can read where the values leave room for one."""
    low, high = np.array([1.0, 0.123456, -0.5, 1e5, 1e-9, 1e30]), np.array([2.0, 0.129, 0.5, 2e5, 2e-9, 2e30])
    assert short_between(low, high).tolist() == [1.0, 0.126, 0.0, 1e5, 1e-9, 1e30]
    neighbours = np.nextafter(low, np.inf)
    assert (short_between(low, neighbours) == low).all()


@given(rows=arrays(int, st.tuples(st.integers(1, 20), st.integers(0, 6)), elements=st.integers(0, 3)))
def test_equal_rows_are_one_group(rows: Ints) -> None:
    """Groups are numbered by first appearance, also where the numbers of rows are ranked on the way."""
    wide = np.hstack([rows + 0, rows * 2**20 + 5, rows % 2 * 2**40])
    first: dict[bytes, int] = {}
    expected = [first.setdefault(row.tobytes(), len(first)) for row in rows]
    for table in (rows, wide):
        distinct = Distinct.rows(table)
        assert distinct.group.tolist() == expected
        assert (rows[distinct.first][distinct.group] == rows).all()
    distinct = Distinct.codes(wide.T, len(rows))
    assert distinct.group.tolist() == expected
    assert Distinct.rows(np.eye(70)).group.tolist() == list(range(70))  # more bits than a number has


@pytest.mark.parametrize(
    "way", [lambda frame: frame, lambda frame: frame.to_numpy(), lambda frame: frame.to_dict("records")]
)
def test_a_cut_that_was_rounded_to_32_bits_is_reported(way):
    """0.1 of 32 bits is above 0.1: where that changes what is played, a line says so; elsewhere nothing is said."""
    prices = pd.DataFrame({"price": [0.1, 0.3, 0.7, 0.9]})
    for cut, changes in ((0.1, True), (0.5, False), (0.7, False)):  # 0.7 of 32 bits is below 0.7
        trees = DecisionTrees(2, depth=1, thresholds=[[cut]], feature_names=["price"])
        rule = next(each for each in trees.on(prices).policies() if each.leaf_actions == (0, 1))
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            assert (rule.predict(way(prices.astype(np.float32))) != rule.predict(prices)).any() == changes
        found = [str(each.message) for each in seen if each.category is LogWarning]
        assert [line.startswith("column 'price' in row 0 is 0.10000000149011612, ") for line in found] == [
            True
        ] * changes
