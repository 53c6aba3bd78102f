"""The best policy in hindsight against a list of all policies."""

from itertools import combinations_with_replacement, pairwise

import numpy as np
import pytest

from milpcb.errors import OracleInexact
from milpcb.experiments.study.worlds import hindsight
from milpcb.oracles import open_oracle
from milpcb.types import Answer, Stop
from policies import DecisionTrees

CONTEXTS = np.array([[0, 1], [1, 1], [1, 0], [0, 0], [1, 1]], dtype=float)
TREES = DecisionTrees(n_actions=3, depth=1)
T = 25
AT = {1, 4, 11, T}


class FakeStream:
    """Random rows and costs, the same at every reading."""

    contexts = CONTEXTS
    order = None

    def __init__(self, seed):
        rng = np.random.default_rng(seed)
        self.rows, self.all_costs = rng.integers(len(CONTEXTS), size=T), rng.random((T, 3))
        self.reveal, self.costs = self.rows.__getitem__, self.all_costs.__getitem__
        self.paid = self.all_costs[np.arange(T), TREES.on(CONTEXTS).labelings()[:, self.rows]]  # (N, T)


@pytest.mark.parametrize("kind", ["milp", "enumeration"])
@pytest.mark.parametrize("seed", range(3))
def test_best_costs_are_those_of_the_best_labeling(kind, seed):
    """At every checkpoint the best cost is the least sum of any policy so far; the tick is called with 1..T."""
    stream, seen = FakeStream(seed), []
    found = hindsight(stream, open_oracle(TREES, CONTEXTS, kind=kind), T, AT, seen.append)
    assert seen == list(range(1, T + 1))
    assert set(found.best_cost) == AT
    for t in AT:
        assert np.isclose(found.best_cost[t], stream.paid[:, :t].sum(axis=1).min(), atol=1e-9)
    labels = found.policy.predict(CONTEXTS)[stream.rows]
    assert np.isclose(stream.all_costs[np.arange(T), labels].sum(), found.best_cost[T], atol=1e-9)


def test_a_bound_is_no_best_cost():
    """An oracle that ran out of time cannot say what the best policy costs: regret is never measured from a bound."""

    class OutOfTime:
        n_contexts, n_actions = 5, 3

        def minimise(self, costs):
            return Answer(0.0, float(costs.sum()), None, Stop.TIME_LIMIT, 1.0)

    heard = []
    with pytest.raises(OracleInexact, match="time_limit"):
        hindsight(FakeStream(0), OutOfTime(), T, AT, heard.append)
    assert max(heard) <= min(AT)  # at the first checkpoint, not after the last round


@pytest.mark.parametrize("changes", [1, 2])
def test_best_costs_in_turn_are_those_of_the_best_sequence(changes):
    """Against every sequence of labelings that changes so often at most, at the ends of the blocks so far."""
    stream = FakeStream(changes)
    found = hindsight(stream, open_oracle(TREES, CONTEXTS, kind="search"), T, AT, changes=changes)
    ends = [-(-T * block // 20) for block in range(1, 20)]
    for t in AT:
        cuts = combinations_with_replacement([0, *(end for end in ends if end < t)], changes)
        least = min(sum(stream.paid[:, j:k].sum(axis=1).min() for j, k in pairwise((0, *cut, t))) for cut in cuts)
        assert np.isclose(found.in_turn[t], least, atol=1e-9)
        assert found.in_turn[t] <= found.best_cost[t]
