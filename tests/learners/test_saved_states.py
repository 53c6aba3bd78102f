"""Saved states: learners go on from them to the last bit, or are as they were where a state does not fit.

The battery of learners restores each one within 48 rounds; the phases of those below are longer, or end elsewhere.
"""

import json
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from milpcb import Empirical, FinitePool, open_oracle
from milpcb.errors import InputError, OracleInexact
from milpcb.learners import (
    BistroPlus,
    Conservative,
    ContextualFTPL,
    Doubling,
    EpochGreedy,
    EpsilonGreedy,
    ExploreThenCommit,
    FixedShare,
    Forgetting,
    Guarded,
    ILoveToConBandits,
    PolicyElimination,
    RandomizedUCB,
    Uniform,
)
from milpcb.oracles.growing import GrowingOracle
from policies import DecisionTrees
from tests.learners.rounds import LABELINGS, listed, play

LISTED = listed(LABELINGS)
BITS = np.array([[row >> bit & 1 for bit in range(2)] for row in range(4)], dtype=float)
TREES = DecisionTrees(2, 2, thresholds=[[0.5]] * 2)
POOL = FinitePool(LISTED.contexts)

# Constructors by seed and horizon, and the rounds after which a state is taken: at the edges of a phase, and within.
SAVED: dict[str, tuple[Callable[[int, int], Any], list[int]]] = {
    "adaptive ftpl": (lambda seed, T: ContextualFTPL(LISTED, horizon=T, seed=seed, epsilon="adaptive"), [120]),
    "bistro": (lambda seed, T: BistroPlus(LISTED, POOL, horizon=T, seed=seed, scale=8.0), [20, 120]),
    "bistro, seen contexts": (
        lambda seed, T: BistroPlus(LISTED, Empirical(LISTED.contexts), horizon=T, seed=seed, scale=8.0),
        [1, 5, 40],
    ),
    "bistro, signed": (
        lambda seed, T: BistroPlus(LISTED, POOL, horizon=T, seed=seed, noise="signed", queries="profile"),
        [60],
    ),
    "epoch greedy": (lambda _, T: EpochGreedy(LISTED, horizon=T), [0, 1, 2, 200, 201, 202, 203]),
    "epsilon greedy": (lambda _, T: EpsilonGreedy(LISTED, horizon=T), [0, 1, 37, 63, 64]),
    **{
        f"bistro, one draw, {noise}, {options}": (
            lambda seed, T, noise=noise, options=options: BistroPlus(
                LISTED, POOL, horizon=T, seed=seed, noise=noise, future="once", **options
            ),
            [60],
        )
        for noise, options in (
            ("half", {}),
            ("signed", {}),
            ("paper", {"futures": 3}),
            ("half", {"redraw": 40}),
            ("coordinate", {"futures": 2, "redraw": 90}),
        )
    },
    **{
        f"conservative, {inner}": (
            lambda seed, T, inner=inner: Conservative(LISTED, horizon=T, seed=seed, inner=inner, loss=0.5, allowance=4),
            [60, 150],
        )
        for inner in ("exp4", "epsilon_greedy")
    },
    "doubling": (lambda seed, T: Doubling(LISTED, POOL, horizon=T, seed=seed, inner="exp4", first=50), [49, 50, 200]),
    **{
        f"forgetting, {by}": (lambda _, T, by=by: Forgetting(LISTED, horizon=T, rounds=50, by=by), [120])
        for by in ("window", "discount")
    },
    **{
        f"guarded, {inner}": (
            lambda seed, T, inner=inner: Guarded(LISTED, POOL, horizon=T, seed=seed, inner=inner, bound=10.0),
            [5, 200],
        )
        for inner in ("epsilon_greedy", "ftpl", "exp4", "uniform")
    },
    "policy elimination": (lambda _, T: PolicyElimination(LISTED, POOL, horizon=T), [120]),
    "explore then commit": (lambda _, T: ExploreThenCommit(LISTED, horizon=T, rounds=50), [0, 25, 49, 50, 51, 80]),
    **{
        f"fixed share, {name}": (lambda _, T, oracle=oracle: FixedShare(oracle(), horizon=T), [330])
        for name, oracle in {
            "a list": lambda: LISTED,
            "leaf totals": lambda: open_oracle(TREES, BITS, kind="search"),
            "contexts that arrive": lambda: GrowingOracle(TREES, BITS),
        }.items()
    },
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


def misfits(state: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the state with each of its parts left out, or replaced."""
    for name, right in state.items():
        yield {key: part for key, part in state.items() if key != name}
        yield from ({**state, name: wrong} for wrong in (None, "many", [[0.0]], -7) if wrong != right)


@pytest.mark.parametrize("name", SAVED)
def test_a_state_that_does_not_fit_changes_nothing(name: str) -> None:
    """Whatever part of it is wrong, or where it is of other contexts: play goes on as if it had not been tried."""
    learner, twin, other = (SAVED[name][0](seed, 450) for seed in (4, 4, 5))
    for each in (learner, twin):
        play(each, 60, MEANS, 3)
    play(other, 70, MEANS, 1)
    before, refused = json.dumps(learner.state()), 0
    for state in misfits(other.state()):
        try:
            learner.restore(state)
        except InputError:
            refused += 1
            assert json.dumps(learner.state()) == before
        else:  # there was no round to begin with
            assert state["turn"] is None
            learner.restore(json.loads(before))
    assert refused >= 4 * len(other.state())
    assert [q.tolist() for *_, q in play(learner, 40, MEANS, 2)[0]] == [
        q.tolist() for *_, q in play(twin, 40, MEANS, 2)[0]
    ]


@pytest.mark.parametrize("future", ["fresh", "once"])
def test_bistro_plus_is_not_restored_onto_other_contexts(future: Any) -> None:
    """Fewer or more than its own: the learner is as it was."""
    one, other = (
        BistroPlus(oracle, FinitePool(oracle.contexts), horizon=90, scale=8.0, noise="half", future=future)
        for oracle in (LISTED, listed([[0, 1, 1], [1, 0, 1], [0, 0, 0]]))
    )
    play(one, 20, MEANS, 0)
    play(other, 10, MEANS[:3], 0, np.array([[0, 1, 1]]))
    for learner, state in ((one, other.state()), (other, one.state())):
        before = learner.state()
        with pytest.raises(InputError, match="contexts"):
            learner.restore(state)
        assert learner.state() == before


@pytest.mark.parametrize("name", ["adaptive ftpl", "bistro", "bistro, signed"])
def test_another_seed_plays_otherwise(name: str) -> None:
    """Learners that draw follow their seed, and nothing else."""
    one, again, other = (
        [q.tolist() for *_, q in play(SAVED[name][0](seed, 450), 120, MEANS, 0)[0]] for seed in (4, 4, 5)
    )
    assert one == again != other


class Hurried(Uniform):
    """Its oracle stops early the first time that it is restored."""

    stops: Any = iter([True])

    def _restore(self, state: dict[str, Any]) -> None:
        super()._restore(state)
        if next(self.stops, False):
            raise OracleInexact("stopped")


def test_an_error_that_is_not_of_the_state_goes_through() -> None:
    """And the learner is as it was before."""
    learner, other = Hurried(2), Hurried(2)
    play(other, 5, MEANS, 0)
    before = learner.state()
    with pytest.raises(OracleInexact):
        learner.restore(other.state())
    assert learner.state() == before


def test_a_learner_goes_on_with_another_action() -> None:
    """Its rounds, and what was paid in them, are those before."""
    before, after = Uniform(2), Uniform(3)
    play(before, 5, MEANS, 0)
    after.go_on(before)
    assert (after.played, after.ledger.cost) == (5, before.ledger.cost)
    assert after.ledger.totals(4, 3)[:, 2].tolist() == after.ledger.totals(4, 3)[:, 0].tolist()
