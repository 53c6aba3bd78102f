"""Contexts that arrive during a run: the same answers as an oracle opened on all of them."""

import numpy as np
import pytest

from milpcb import open_oracle
from milpcb.oracles import growing as growing_module
from milpcb.oracles import totals
from milpcb.oracles.growing import GrowingOracle
from milpcb.protocols import PolicyClass
from policies import BoxRules, DecisionTrees, ThresholdRules

RNG = np.random.default_rng(0)
CUTS = ((-0.5, 0.5), (0.0,), (0.3,))


@pytest.mark.parametrize("policies", [ThresholdRules(3, thresholds=CUTS), BoxRules(3, thresholds=CUTS)], ids=repr)
def test_extended_equals_opened_on_all(policies: PolicyClass) -> None:
    """After every batch, value and profile are those of the class opened on all contexts at once, by a solver too."""
    contexts = RNG.normal(size=(40, 3))
    growing = GrowingOracle(policies, contexts[:2], kind="milp")
    seen = list(growing.rows(contexts[:2]))
    for start in range(2, 40, 19):
        seen += list(growing.extend(contexts[start : start + 19]))
        every = contexts[: len(seen)]
        costs = RNG.integers(-5, 6, (len(seen), 3)).astype(float)
        merged = np.zeros((growing.n_contexts, 3))
        np.add.at(merged, seen, costs)
        fresh = open_oracle(policies, every)
        assert growing.value(merged) == fresh.value(costs)
        assert (growing.profile(merged, seen[-1]) == fresh.profile(costs, len(seen) - 1)).all()


def test_equal_patterns_merge() -> None:
    """A context between the same cuts gets an old row."""
    growing = GrowingOracle(DecisionTrees(2, depth=2, thresholds=CUTS), [[0.0, 0.1, 0.1], [1.0, 0.1, 0.1]], kind="milp")
    growing.value(np.zeros((2, 2)))
    assert growing.extend([[0.2, 0.4, 0.2], [0.9, 7.0, -3.0]]).tolist() == [0, 1]
    assert growing.extend([[0.2, -4.0, 0.2]]).tolist() == [2]
    assert growing.n_contexts == 3


def test_questions_are_counted_over_openings() -> None:
    """Calls add up although the class is opened again when something new arrives."""
    growing = GrowingOracle(DecisionTrees(2, depth=1, thresholds=CUTS), [[0.0, 0.1, 0.1]], kind="milp")
    growing.value(np.zeros((1, 2)))
    growing.extend([[3.0, 0.1, 0.1]])
    growing.value(np.zeros((2, 2)))
    assert growing.calls == 2


def test_questions_about_kept_totals_take_from_their_start_to_their_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """By a clock that stands at 7 when a question starts and at 10 when it is answered: 3 seconds each."""
    monkeypatch.setattr(totals, "perf_counter", lambda: 7.0)
    monkeypatch.setattr(growing_module, "perf_counter", lambda: 10.0)
    oracle = GrowingOracle(DecisionTrees(2, depth=1, thresholds=CUTS), [[0.0, 0.1, 0.1]], kind="search")
    table = oracle.table()
    table.profile(0)
    assert table.minimise().seconds == 3.0
    assert (oracle.calls, oracle.seconds) == (2, 6.0)


def test_quantiles_are_those_of_the_first_contexts() -> None:
    """A number of quantile cuts is settled when the oracle is made, so arrivals do not change the class."""
    growing = GrowingOracle(ThresholdRules(2, thresholds=1), [[0.0], [1.5], [2.0]], kind="milp")
    assert growing.rows([[0.0], [1.5], [2.0]]).tolist() == [0, 0, 1]
    assert growing.extend([[1.4], [900.0], [1.6]]).tolist() == [0, 1, 1]


def test_contexts_are_shown_without_a_copy() -> None:
    """A round costs as much however many have arrived: what is shown is a part of what is kept, and stays as it was."""
    growing = GrowingOracle(DecisionTrees(2, depth=1, thresholds=CUTS))
    arrived = [[a, b, c] for a in (-1.0, 0.0, 1.0) for b in (-1.0, 1.0) for c in (-1.0, 1.0)] + [[9.0, 9.0, 9.0]]
    rows = growing.rows(arrived[:8])
    before = growing.contexts
    assert before.base is growing.contexts.base is not None
    growing.rows(arrived)
    assert before.tolist() == np.array(arrived)[rows].tolist() == growing.contexts[:8].tolist()
    assert growing.n_contexts == 12
