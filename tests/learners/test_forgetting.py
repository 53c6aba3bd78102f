"""Exp4 that forgets: its play by definition, what is saved, and what is refused."""

import json
from typing import Any

import numpy as np
import pytest

from milpcb import open_oracle
from milpcb.errors import InputError
from milpcb.learners import Forgetting
from policies import FiniteClass

LABELINGS = np.array([[0, 0], [0, 1], [1, 0], [1, 1]])


def opened(**options: Any) -> Forgetting:
    """Return the learner on the four labelings of two contexts."""
    return Forgetting(open_oracle(FiniteClass(LABELINGS, 2), np.arange(2.0)[:, None], kind="enumeration"), **options)


@pytest.mark.parametrize("by", ["window", "discount"])
def test_it_plays_by_what_policies_cost_of_late(by: Any) -> None:
    """Weights are those of the totals over the window, or discounted, before and after it was saved."""
    learner, rng, w = opened(rounds=7, by=by), np.random.default_rng(0), 7
    paid: list[Any] = []  # of each round, the estimates of all policies
    for t in range(40):
        if t == 20:
            state, learner = json.loads(json.dumps(learner.state())), opened(rounds=7, by=by)
            learner.restore(state)
        row = int(rng.integers(2))
        weighed = paid[-w:] if by == "window" else [x * (1 - 1 / w) ** age for age, x in enumerate(reversed(paid))]
        weights = np.exp(-np.sqrt(2 * np.log(4) / (2 * w)) * np.sum(weighed, axis=0) * np.ones(4))
        expected = np.bincount(LABELINGS[:, row], weights, 2) / weights.sum()
        q = learner.act(row)
        np.testing.assert_allclose(q, expected, atol=1e-9)
        action = int(rng.choice(2, p=q))
        cost = float(rng.random())
        learner.learn(row, action, cost, float(q[action]))
        paid.append(cost / q[action] * (LABELINGS[:, row] == action))
    assert learner.guarantee() == np.inf
    assert np.isnan(learner.bound())
    assert learner.estimates() is None


@pytest.mark.parametrize(("options", "line"), [({"rounds": 1}, "rounds"), ({"by": "day"}, "window")])
def test_what_is_no_window_is_refused(options: Any, line: str) -> None:
    """In one line that says what may stand there."""
    with pytest.raises(InputError, match=line):
        opened(**options)


def test_another_action_is_refused() -> None:
    """The ledger does not know what was forgotten."""
    with pytest.raises(InputError, match="cannot go on"):
        opened().go_on(opened())
