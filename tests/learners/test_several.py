"""Laws of several learners with options of their own: saved states, seeds, and costs that ignore the context.

The battery of learners restores each one within 48 rounds; the phases of those below are longer, or end elsewhere.
"""

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from milpcb import FinitePool, open_oracle
from milpcb.learners import (
    BistroPlus,
    ContextualFTPL,
    EpochGreedy,
    EpsilonGreedy,
    Exp4P,
    ExploreThenCommit,
    FixedShare,
    ILoveToConBandits,
    RandomizedUCB,
)
from milpcb.oracles.growing import GrowingOracle
from policies import DecisionTrees, FiniteClass
from tests.learners.rounds import LABELINGS, play

LISTED = open_oracle(FiniteClass(LABELINGS, 2), np.arange(4.0)[:, None], kind="enumeration")
BITS = np.array([[row >> bit & 1 for bit in range(2)] for row in range(4)], dtype=float)
TREES = DecisionTrees(2, 2, thresholds=[[0.5]] * 2)
POOL = FinitePool(LISTED.contexts)

# Constructors by seed and horizon, and the rounds after which a state is taken: at the edges of a phase, and within.
SAVED: dict[str, tuple[Callable[[int, int], Any], list[int]]] = {
    "adaptive ftpl": (lambda seed, T: ContextualFTPL(LISTED, horizon=T, seed=seed, epsilon="adaptive"), [120]),
    "bistro": (lambda seed, T: BistroPlus(LISTED, POOL, horizon=T, seed=seed, scale=8.0), [20, 120]),
    "bistro, signed": (
        lambda seed, T: BistroPlus(LISTED, POOL, horizon=T, seed=seed, noise="signed", queries="profile"),
        [60],
    ),
    "epoch greedy": (lambda _, T: EpochGreedy(LISTED, horizon=T), [0, 1, 2, 200, 201, 202, 203]),
    **{
        f"epsilon greedy, {data}": (
            lambda seed, T, data=data: EpsilonGreedy(LISTED, horizon=T, seed=seed, data=data),
            [0, 1, 37, 63, 64],
        )
        for data in ("all", "exploration")
    },
    "exp4p": (lambda _, T: Exp4P(LISTED, horizon=T), [120]),
    "explore then commit": (lambda _, T: ExploreThenCommit(LISTED, horizon=T, rounds=50), [0, 25, 49, 50, 51, 80]),
    **{
        f"fixed share, {name}": (lambda _, T, oracle=oracle: FixedShare(oracle(), horizon=T), [330])
        for name, oracle in {
            "a list": lambda: LISTED,
            "leaf totals": lambda: open_oracle(TREES, BITS, kind="search"),
            "contexts that arrive": lambda: GrowingOracle(TREES, BITS),
        }.items()
    },
    "ftpl": (lambda seed, T: ContextualFTPL(LISTED, horizon=T, seed=seed), [120]),
    "ilovetoconbandits": (lambda _, T: ILoveToConBandits(LISTED, horizon=T, psi=1.0), [127, 128, 300]),
    "randomized ucb": (lambda _, T: RandomizedUCB(LISTED, horizon=T), [127, 128, 300]),
}
MEANS = np.random.default_rng(5).random((4, 2))


@pytest.mark.parametrize(("name", "saved"), [(name, cut) for name, (_, cuts) in SAVED.items() for cut in cuts])
def test_a_restored_learner_goes_on_to_the_last_bit(name: str, saved: int) -> None:
    """From plain JSON of a state that is taken in the middle of a round, at the edges of phases and within them."""
    make, _ = SAVED[name]
    first, second = make(4, 450), make(4, 450)
    play(first, saved, MEANS, 3)
    q = first.act(1)
    second.restore(json.loads(json.dumps(first.state(), allow_nan=False)))
    for learner in (first, second):
        learner.learn(1, int(q.argmax()), 0.75, float(q.max()))
    mine, theirs = play(first, 80, MEANS, 4), play(second, 80, MEANS, 4)
    assert [q.tolist() for *_, q in mine[0]] == [q.tolist() for *_, q in theirs[0]]
    assert first.state() == second.state()


@pytest.mark.parametrize("name", ["adaptive ftpl", "bistro", "bistro, signed", "ftpl"])
def test_another_seed_plays_otherwise(name: str) -> None:
    """Learners that draw follow their seed, and nothing else."""
    one, again, other = (
        [q.tolist() for *_, q in play(SAVED[name][0](seed, 450), 120, MEANS, 0)[0]] for seed in (4, 4, 5)
    )
    assert one == again != other


@pytest.mark.parametrize(
    "make",
    [
        EpochGreedy,
        lambda oracle: EpsilonGreedy(oracle, seed=0, data="all"),
        lambda oracle: EpsilonGreedy(oracle, seed=0, data="exploration"),
        lambda oracle: ExploreThenCommit(oracle, horizon=4096),
    ],
    ids=["epoch greedy", "epsilon greedy", "epsilon greedy by exploration", "explore then commit"],
)
def test_costs_that_ignore_the_context_lead_to_the_best_constant(make: Any) -> None:
    """Among all depth-1 trees a learner ends with the action that is cheapest everywhere, whatever it trains on."""
    contexts, constants = np.random.default_rng(0).random((5, 2)), np.repeat(np.arange(3)[:, None], 5, axis=1)
    learner = make(open_oracle(DecisionTrees(3, 1, thresholds=2), contexts, kind="search"))
    rounds, _ = play(learner, 4096, np.tile([0.9, 0.2, 0.5], (5, 1)), 1, constants)
    assert {(row, int(q.argmax())) for row, *_, q in rounds[-200:] if q.max() > 0.5} == {(row, 1) for row in range(5)}
