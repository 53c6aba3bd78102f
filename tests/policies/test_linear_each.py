"""Scoring rules with a score for each action: what their exports play."""

import numpy as np
import polars as pl

from policies.linear import HighestScore
from policies.names import Names
from tests.exported import exported


def test_rules_in_sql_and_python_play_as_they_predict() -> None:
    """Of random scores, some of which are ahead everywhere, or behind, on integers and on points."""
    rng = np.random.default_rng(0)
    table = pl.DataFrame({"dose": rng.normal(size=40), "stage": rng.integers(-2, 3, 40), "like": [1.0] * 40})
    for _ in range(60):
        weights = rng.integers(-1, 2, (3, 3)) * rng.integers(0, 2, 3)
        bases = tuple(rng.integers(-2, 3, 3).tolist())
        names = Names(("dose", "stage", "like"), ("call", "write", "wait"))
        rule = HighestScore(tuple(map(tuple, weights.tolist())), bases, ((-0.5, 0.5), None, ()), names)
        assert exported(rule, table) == rule.predict_names(table)
