"""Tables of actions that meet are matched by name, in one place: the order in which each has them changes nothing."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from milpcb.constraints import share_at_most
from milpcb.data.actions import matched
from milpcb.errors import InputError
from milpcb.offline import LowerEnds, best_reference, evaluate, inference, read_log, scores, stability
from milpcb.offline.restrictions import Question, gain_band, pareto, prices
from policies import DecisionTrees


@pytest.fixture
def two():
    """Return a log's scores in two orders, and the features."""
    rng = np.random.default_rng(0)
    age, treated = rng.integers(18, 80, 200), rng.integers(0, 2, 200)
    healed, done = rng.random(200) < 0.4 + 0.2 * treated, np.array(["wait", "treat"])[treated]
    X, fold = age[:, None].astype(float), np.arange(200) % 2
    return X, *(
        replace(scores(read_log(X, done, reward=healed, propensity=[0.5, 0.5], actions=order), "snips"), fold=fold)
        for order in (["treat", "wait"], ["wait", "treat"])
    )


def test_inference_and_stability_read_scores_in_the_order_of_the_class(two):
    """A class with names of actions finds the same rule, by name, and the same claims."""
    X, plain, turned = two
    trees = DecisionTrees(2, 1, thresholds=[[40, 60]], action_names=["treat", "wait"])
    one, other = (inference(trees, X, table, draws=20) for table in (plain, turned))
    assert str(one.policy) == str(other.policy)
    assert (one.lower, one.upper, one.p_value) == pytest.approx((other.lower, other.upper, other.p_value))
    assert one.reference.name == other.reference.name
    again = [stability(trees, X, table, resamples=5) for table in (plain, turned)]
    assert again[0].agreement == again[1].agreement


def test_prices_fronts_and_oracles_read_frames_by_name(two):
    """Costs whose columns are in another order are the same costs; a class without names takes columns as they are."""
    X, plain, turned = two
    trees = DecisionTrees(2, 1, thresholds=[[40, 60]], action_names=["treat", "wait"])
    question = Question(trees, X)
    frame = pd.DataFrame(-plain.table, columns=list(plain.actions))
    swapped = frame[["wait", "treat"]]
    assert question.oracle.value(swapped) == question.oracle.value(frame) == question.oracle.value(frame.to_numpy())
    near = [question.oracle.near_best(table, 1.0).actions.tolist() for table in (swapped, frame)]
    assert near[0] == near[1]
    restrictions = {"no treatment": question.under(share_at_most("treat", 0.0))}
    assert prices(question, swapped, restrictions)[0].price == prices(question, frame, restrictions)[0].price > 0
    assert [point.a for point in pareto(question, swapped, -frame)] == [
        point.a for point in pareto(question, frame, -swapped)
    ]
    one, other = (gain_band(question, table, best_reference(plain), draws=20) for table in (plain, turned))
    assert (one.reach, one.lower, one.upper) == pytest.approx((other.reach, other.lower, other.upper))
    free = Question(DecisionTrees(2, 1, thresholds=[[40, 60]]), X)
    assert free.oracle.value(swapped) == free.oracle.value(swapped.to_numpy())
    with pytest.raises(InputError, match=r"the actions of costs are .'wait', 'cure'."):
        question.oracle.value(swapped.rename(columns={"treat": "cure"}))


def test_other_actions_are_refused_and_numbers_are_places_of_names(two):
    """A log of other names, fewer actions or other rows is not taken for the same."""
    X, plain, turned = two
    assert matched("a table", ("b", "a"), ("a", "b")).tolist() == [1, 0]
    assert matched("a table", ("0", "1"), ("wait", "treat")).tolist() == [0, 1]
    assert matched("a table", ("True", "False"), ("0", "1")).tolist() == [1, 0]
    for own, names in ((("1", "0"), ("a", "b")), (("a", "b"), ("a", "c")), (("a", "b"), ("a", "b", "c"))):
        with pytest.raises(InputError, match="give both the same names; their order may differ"):
            matched("a table", own, names)
    reference = best_reference(plain)
    assert evaluate(turned, ["wait"] * 200, reference=reference).gain == evaluate(turned, ["wait"] * 200).gain
    with pytest.raises(InputError, match="the reference is of 200 rows, and there are 50"):
        evaluate(turned.take(np.arange(50)), ["wait"] * 50, reference=reference)
    ends = LowerEnds(Question(DecisionTrees(2, 1, action_names=["a", "b"]), X), plain, reference)
    with pytest.raises(InputError, match=r"the actions of the scores are \['treat', 'wait'\]"):
        ends.of([np.zeros(200, dtype=int)])
