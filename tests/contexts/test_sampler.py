"""A sampler: fresh contexts every round, merged by the cuts of the class."""

from __future__ import annotations

import numpy as np
import pytest

from milpcb import Sampler, open_oracle
from milpcb.errors import InputError
from milpcb.learners import BistroPlus
from milpcb.oracles.growing import GrowingOracle
from policies import DecisionTrees

TREES = DecisionTrees(2, depth=1, thresholds=((0.0, 1.0), (0.5,)))


def draw(n: int, rng: np.random.Generator) -> np.ndarray:
    """Return n continuous contexts."""
    return rng.normal(size=(n, 2))


def test_bistro_plus_plays_on_contexts_it_has_never_seen() -> None:
    """Rows appear as contexts arrive or are drawn; their number stays that of the cells between the cuts."""
    rng = np.random.default_rng(0)
    oracle = GrowingOracle(TREES, draw(1, rng), kind="milp")
    learner = BistroPlus(oracle, Sampler(draw), horizon=300, seed=1, scale=8.0)
    for _ in range(40):
        (row,) = oracle.extend(draw(1, rng))
        q = learner.act(int(row))
        assert q.sum() == pytest.approx(1)
        assert q.min() >= 1 / 8 - 1e-12
        learner.learn(int(row), 0, 1.0, q[0])
    assert oracle.n_contexts <= 6
    assert learner._past.shape == (oracle.n_contexts, 2)


def test_counts_are_those_of_kept_rounds() -> None:
    """At rate 1 every later round is drawn, at the last round none is."""
    oracle = GrowingOracle(TREES, [[0.0, 0.0]], kind="milp")
    sampler = Sampler(draw)
    sampler.attach(oracle)
    counts = sampler.future(9, 50, 1.0, np.random.default_rng(0))
    assert counts.sum() == 40
    assert len(counts) == oracle.n_contexts
    assert sampler.future(49, 50, 1.0, np.random.default_rng(0)).sum() == 0


def test_an_oracle_with_fixed_contexts_is_refused() -> None:
    """The message names the oracle to use, and what a sampler is made of."""
    with pytest.raises(InputError, match="GrowingOracle"):
        BistroPlus(open_oracle(TREES, [[0.0, 0.0], [1.0, 2.0]]), Sampler(draw), 10, 0)
    with pytest.raises(InputError, match="draw"):
        Sampler(3)  # type: ignore[arg-type]
