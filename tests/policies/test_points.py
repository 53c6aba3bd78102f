"""Points of a feature: one for each of its cut points that a value reaches."""

import numpy as np

from policies.linear.rule import LinearRule, points_of
from policies.names import Names


def test_a_value_at_a_cut_point_has_its_point() -> None:
    """A rule is printed with "at least", and counts so; integer columns without cut points stay as they are."""
    contexts = np.array([[1.0, 7.0], [1.5, 8.0], [2.5, 9.0]])
    steps = ((1.5, 2.5), None)
    assert points_of(contexts, steps).tolist() == [[0, 7], [1, 8], [2, 9]]
    rule = LinearRule((1, 0), (1,), steps, Names())
    assert ">= 1.5, 2.5" in str(rule)
    assert rule.predict(contexts).tolist() == [0, 1, 1]
