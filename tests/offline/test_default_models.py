"""What the default models cannot read is said in our words, and a column that is never known does not stop them."""

import numpy as np
import pytest

from milpcb.offline import read_log, scores

N = 40


def log_of(features, **known):
    """Return a log of 40 rows with these features."""
    return read_log(features, np.arange(N) % 2, reward=np.arange(N) % 7 * 1.0, **known)


def test_a_column_that_is_missing_in_a_whole_fold_is_no_error():
    """Boosting would refuse it; nothing can be learnt from it, and the scores are those without it."""
    x = np.random.default_rng(0).normal(size=(N, 1))
    alone = scores(log_of(x), "dr").table
    assert np.array_equal(scores(log_of(np.column_stack([x, np.full(N, np.nan)])), "dr").table, alone)


@pytest.mark.parametrize("known", [{"propensity": [0.5, 0.5]}, {}], ids=["outcomes", "and propensities"])
def test_strings_are_read_by_their_place_in_the_alphabet(known):
    """Also where a fold lacks one of them, and where one is missing."""
    texts = ["b", None, "c", "a"] * (N // 4 - 1) + ["b", None, "c", "d"]
    codes = [{"a": 0.0, "b": 1.0, "c": 2.0, "d": 3.0}.get(text, np.nan) for text in texts]
    asked = np.array(texts, dtype=object)[:, None]
    table = scores(log_of(asked, **known), "dr").table
    assert np.array_equal(table, scores(log_of(np.array(codes)[:, None], **known), "dr").table)
