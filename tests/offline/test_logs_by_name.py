"""A log on disk is learnt from and valued by the names of its actions, whatever their order and that of its columns."""

import numpy as np
import polars as pl
import pytest

from milpcb.errors import InputError
from milpcb.estimators import LoggedPolicyTree
from milpcb.logs.source import Columns, make_source
from milpcb.offline import read_log

N = 400


def rounds():
    """Return x, what was done by number, the chances (n, 2) of the two actions, and what came of it."""
    rng = np.random.default_rng(1)
    x = rng.integers(0, 2, N)
    first = np.where(x == 1, 0.9, 0.2)
    done = (rng.random(N) >= first).astype(int)
    return x, done, np.column_stack([first, 1 - first]), np.where((done == 0) == (x == 1), 1.0, 0.25)


@pytest.mark.parametrize("names", [("write", "call"), ("call", "write"), (2, 10), (10, 2), ("10", "9")])
def test_columns_of_propensities_go_with_their_actions(names):
    """The value of the best tree is its mean by definition, sum y 1[a = pi] / p / n, in every order of the names."""
    x, done, chances, outcome = rounds()
    frame = pl.DataFrame(
        {"x": x, "a": [names[k] for k in done], "y": outcome, "p0": chances[:, 0], "p1": chances[:, 1]}
    )
    columns = Columns("a", "y", maximise=True, propensity=("p0", "p1"), actions=tuple(map(str, names)))
    source = make_source("log", frame, columns)
    tree = LoggedPolicyTree(max_depth=1, method="ips")
    tree.fit_scores(source.frame, tree.estimate_scores(source.log))
    agrees = (x == 1) == (done == 0)
    truth = np.mean(outcome * agrees / chances[np.arange(N), done])
    assert tree.policy_value_ == pytest.approx(truth)
    assert tree.scores_.diagnostics.words() == []
    assert tree.predict(source.frame).tolist() == [str(names[0] if each else names[1]) for each in x]
    by_name = frame.select(pl.col("p0").alias(str(names[0])), pl.col("p1").alias(str(names[1])))
    fitted = LoggedPolicyTree(max_depth=1, method="ips").fit(x[:, None], frame["a"], reward=outcome, propensity=by_name)
    assert fitted.policy_value_ == pytest.approx(truth)
    worth = tree.evaluate(source.frame, frame["a"], reward=outcome, propensity=by_name)
    assert worth.value.value == pytest.approx(truth)


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
