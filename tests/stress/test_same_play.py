"""Learners over the search and over solvers: every round is compared bit for bit.

First a perturbed leader, over the search and over HiGHS. Depth-2 trees over five yes/no features, costs 0 and 1, noise
on columns and on contexts. With noise of integers (law = "whole") every total is an integer, so what each round played,
its estimate, the rate and the bound must be the same to the last bit, and with them the regret. With Laplace noise the
two round differently: the first rounds are printed in which a number and the play differ, and nothing is asked of them.

Then BISTRO+ with one draw of the future, whose totals are integers, over one solver of each kind.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import pytest

from milpcb import FinitePool, open_oracle
from milpcb.environments.planted import Planted
from milpcb.learners import BistroPlus, ContextualFTPL
from milpcb.protocols import Stream
from milpcb.rng import draw_action
from policies import DecisionTrees

WORLD = Planted(n_actions=2, n_contexts=32, n_features=5)
TREES = DecisionTrees(n_actions=2, depth=2)
SEED = 0


class Round(NamedTuple):
    """Numbers compared after each round; all floats, compared exactly."""

    q: list[float]
    estimate: float
    epsilon: float
    bound: float


class Comparison(NamedTuple):
    """The first rounds in which anything and in which q differs (None: in none), the rounds played, both costs."""

    numbers: int | None
    play: int | None
    played: int
    costs: tuple[float, float]


def compare(noise: Any, law: str, rounds: int) -> Comparison:
    """Play both until their play differs, or to the end."""
    stream = WORLD.open(TREES, rounds, seed=SEED)
    plays = [play(kind, noise, law, stream, rounds) for kind in ("search", "milp")]
    numbers, costs = None, [0.0, 0.0]
    for t, (search, milp) in enumerate(zip(*plays, strict=True), 1):
        costs = [
            total + float(np.dot(one.q, stream.costs(t - 1))) for total, one in zip(costs, (search, milp), strict=True)
        ]
        if numbers is None and search != milp:
            numbers = t
        if search.q != milp.q:
            return Comparison(numbers, t, t, (costs[0], costs[1]))
    return Comparison(numbers, None, rounds, (costs[0], costs[1]))


def play(kind: str, noise: Any, law: str, stream: Stream, rounds: int) -> Iterator[Round]:
    oracle = open_oracle(TREES, stream.contexts, kind=kind)
    learner = ContextualFTPL(oracle, seed=SEED, epsilon="adaptive", noise_on=noise, law=law, queries="profile")
    for t in range(rounds):
        row = stream.reveal(t)
        q = learner.act(row)
        action = int(q.argmax())  # the learner has drawn it itself
        learner.learn(row, action, float(stream.costs(t)[action]), float(q[action]))
        yield Round(q.tolist(), learner.ledger.last, learner.epsilon, learner.bound())


@pytest.mark.cases(200)
@pytest.mark.parametrize("noise", ["columns", "contexts"])
@pytest.mark.parametrize("law", ["whole", "laplace"])
def test_search_and_solver_play_alike(noise: Any, law: str, runs: int, record_property: Any) -> None:
    """Noise of integers: in every round, to the last bit. Laplace noise: the first difference is reported."""
    found = compare(noise, law, runs)
    record_property("figure", str(found))
    assert law == "laplace" or found.numbers is None


def test_a_difference_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """A last bit of the bound that differs from round 7 on is found, and a play that differs ends the comparison."""
    real = play

    def other(kind: str, *arguments: Any) -> Iterator[Round]:
        for t, each in enumerate(real("search", *arguments), 1):
            if kind == "search" or t < 7:
                yield each
            else:
                yield each._replace(bound=each.bound * (1 + 2**-52), q=each.q[::-1] if t == 20 else each.q)

    monkeypatch.setitem(globals(), "play", other)
    found = compare("columns", "whole", 40)
    assert (found.numbers, found.play, found.played) == (7, 20, 20)


def with_one_draw(rounds: int, **kind: Any) -> list[list[float]]:
    """Return each q of BISTRO+ with one draw of the future."""
    stream, coins = WORLD.open(TREES, rounds, seed=SEED), np.random.default_rng(SEED)
    oracle = open_oracle(TREES, stream.contexts, **kind)
    learner = BistroPlus(oracle, FinitePool(stream.contexts), horizon=rounds, seed=SEED, noise="half", future="once")
    played = []
    for t in range(rounds):
        row = stream.reveal(t)
        q = learner.act(row)
        action = draw_action(q, coins)
        learner.learn(row, action, float(stream.costs(t)[action]), float(q[action]))
        played.append(q.tolist())
    assert learner.rule_changes
    return played


@pytest.mark.cases(200)
@pytest.mark.parametrize("solver", ["highs", "scip", "scipy", "pulp:PULP_CBC_CMD"])
def test_one_draw_plays_alike_over_every_solver(solver: str, runs: int) -> None:
    """In every round, to the last bit: the leader of equal policies is the first in an order that is drawn."""
    assert with_one_draw(runs, kind="milp", solver=solver) == with_one_draw(runs, kind="search")
