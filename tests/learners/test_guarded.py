"""Any learner under a guard: the theorem over all coins of small games, lazy looks, saved states, mistakes."""

from __future__ import annotations

import json
from itertools import product
from typing import Any

import numpy as np
import pytest

from milpcb import FinitePool, open_oracle
from milpcb.environments.late_bloomer import LateBloomer
from milpcb.environments.mirror import Mirror
from milpcb.errors import InputError
from milpcb.learners import ContextualFTPL, EpsilonGreedy, Exp4, Guarded, Hedge, Learner, Uniform
from milpcb.rng import child, draw_action
from milpcb.types import Floats
from policies import DecisionTrees, FiniteClass

CONSTANTS = FiniteClass(np.array([[0], [1]]), 2)
TREES = DecisionTrees(3, depth=1, thresholds=[[0.5]] * 4)


class Stubborn(Learner):
    """Plays action 0, nearly or quite for certain, and learns nothing."""

    kept = ()

    def __init__(self, n_actions: int, certain: float = 1.0) -> None:
        super().__init__(n_actions=n_actions)
        self._q = np.full(n_actions, (1 - certain) / max(1, n_actions - 1))
        self._q[0] = certain

    def _act(self, row: int) -> Floats:
        del row
        return self._q.copy()

    def _learn(self, row: int, action: int, cost: float, probability: float) -> None:
        pass


def two() -> Any:
    """Return the oracle of two constants."""
    return open_oracle(CONSTANTS, np.zeros((1, 1)), kind="enumeration")


def mean_regret(costs: Any, bound: float, share: float, certain: float) -> tuple[float, float, float, float]:
    """Return the mean regret over all actions, of ``bound()``, of B(tau) + 1 + G(T - tau), and the chance of a change.

    The law of play does not depend on the coins of the learner, as the one inside is stubborn.
    """
    T, paid, stated, allowed, changed = len(costs), 0.0, 0.0, 0.0, 0.0
    for actions in product(range(2), repeat=T):
        learner = Guarded(two(), horizon=T, inner=Stubborn(2, certain), bound=bound, share=share)
        chance, tau = 1.0, T
        for t, action in enumerate(actions):
            q = learner.act(0)
            chance *= float(q[action])
            if not chance:
                break
            learner.learn(0, action, float(costs[t][action]), float(q[action]))
        if chance:
            tau = T if learner.changed is None else learner.changed
            paid += chance * learner.ledger.cost
            stated += chance * learner.bound()
            rest = Exp4(two(), horizon=T - tau).guarantee() if tau < T else 0.0
            allowed += chance * (bound + 1 + rest)
            changed += chance * (tau < T)
    return paid - np.sum(costs, axis=0).min(), stated, allowed, changed


@pytest.mark.parametrize("certain", [1.0, 0.75])
@pytest.mark.parametrize(("bound", "share"), [(0.5, 0.5), (1.0, 0.3), (1.5, 0.0)])
def test_mean_regret_is_at_most_that_of_the_theorem(bound, share, certain):
    """Over all coins of five rounds, for costs 0 and 1 of many kinds; the guard does change where it should."""
    changes = []
    for pattern in ([1, 1, 1, 1, 1], [1, 0, 1, 1, 0], [0, 0, 1, 1, 1], [0, 0, 0, 0, 0], [1, 1, 0, 0, 0]):
        costs = np.array([(cost, 1 - cost) for cost in pattern], dtype=float)
        regret, stated, allowed, changed = mean_regret(costs, bound, share, certain)
        assert regret <= stated + 1e-9
        assert stated <= allowed + 1e-9 or changed
        assert regret <= allowed + 1e-9
        changes.append(changed)
    assert max(changes) > 0.1
    assert min(changes) < 0.9


def play(learner: Learner, stream: Any, rounds: int, seed: int, start: int = 0) -> tuple[float, Floats]:
    """Return the mean costs paid in some rounds of a stream, and the sums of all costs by context (m, K)."""
    rng, paid, totals = child(seed, "play"), 0.0, np.zeros((len(stream.contexts), 3))
    for t in range(start, start + rounds):
        row, costs = int(stream.reveal(t)), np.asarray(stream.costs(t), dtype=float)
        q = learner.act(row)
        action = draw_action(q, rng)
        learner.learn(row, action, float(costs[action]), float(q[action]))
        paid += float(q @ costs)
        totals[row] += costs
    return paid, totals


SHAPE: dict[str, Any] = {"n_actions": 3, "n_contexts": 16, "n_features": 4}


@pytest.mark.parametrize("environment", [Mirror(copies=1, **SHAPE), LateBloomer(early=0.3, **SHAPE)])
def test_regret_on_costs_against_greedy_play_stays_below_the_bound(environment):
    """The learner inside pays much more alone; looks are few, and no round is missed."""
    T, alone, guarded = 1500, [], []
    for seed in range(4):
        stream = environment.open(TREES, T, seed)
        oracle = open_oracle(TREES, np.asarray(stream.contexts), kind="search")
        inner = Stubborn(3, 0.98) if isinstance(environment, LateBloomer) else EpsilonGreedy(oracle, horizon=T)
        other = Stubborn(3, 0.98) if isinstance(environment, LateBloomer) else EpsilonGreedy(oracle, horizon=T)
        paid, totals = play(inner, stream, T, seed)
        alone.append(paid - oracle.value(totals))
        learner = Guarded(oracle, horizon=T, inner=other, bound=lambda t: 40 + t**0.5, share=0.5, seed=seed)
        paid, totals = play(learner, stream, T, seed)
        guarded.append(paid - oracle.value(totals))
        assert learner.changed is not None
        assert learner.looks < 60
        assert learner.certificate() <= learner.bound() + 1e-9
    assert np.mean(guarded) <= learner.guarantee()
    assert np.mean(guarded) < 0.6 * np.mean(alone)


def test_lazy_looks_see_what_looks_in_every_round_would():
    """The change comes after the first round whose certificate exceeds what is allowed."""
    stream = Mirror(copies=1, **SHAPE).open(TREES, 600, 1)
    oracle = open_oracle(TREES, np.asarray(stream.contexts), kind="search")
    learner = Guarded(oracle, inner=EpsilonGreedy(oracle), bound=30.0, seed=1)
    first = None
    for t in range(600):
        if first is None and learner.certificate() > 30.0:
            first = t
        if learner.changed is not None:
            break
        play(learner, stream, 1, t, start=t)
    assert first is not None
    assert learner.changed == first
    assert learner.safe is not None


@pytest.mark.parametrize("inner", ["epsilon_greedy", "ftpl", "exp4", "uniform"])
def test_a_run_that_is_restored_goes_on_alike(inner):
    """Before the change and after it, bit for bit."""
    stream = LateBloomer(**SHAPE).open(TREES, 300, 0)
    oracle = open_oracle(TREES, np.asarray(stream.contexts), kind="search")

    def made() -> Guarded:
        return Guarded(oracle, FinitePool(oracle.contexts), horizon=300, inner=inner, bound=20.0, seed=5)

    for rounds in (5, 200):
        one, other = made(), made()
        play(one, stream, rounds, 7)
        other.restore(json.loads(json.dumps(one.state())))
        assert play(one, stream, 80, 8, start=rounds)[0] == play(other, stream, 80, 8, start=rounds)[0]
        assert one.state() == other.state()


def test_the_learner_inside_learns_what_it_would_have_drawn():
    """The mix is q' and even chances; what it learns has the law q', whatever the share of even chances."""
    oracle = open_oracle(TREES, np.eye(4), kind="search")
    followed = []
    for seed in range(3000):
        learner = Guarded(oracle, inner=Stubborn(3, 0.6), share=0.5, seed=seed)
        q = learner.act(0)
        assert q == pytest.approx(0.5 * np.array([0.6, 0.2, 0.2]) + 0.5 / 3)
        assert learner.least_chance == pytest.approx(0.5 / 3)
        action = draw_action(q, child(seed))
        learner.learn(0, action, 1.0, float(q[action]))
        assert learner.ledger.last == pytest.approx(1 / q[action])
        if learner.inner.played:
            followed.append(action)
    assert len(followed) / 3000 == pytest.approx(0.5, abs=0.04)
    assert np.bincount(followed) / len(followed) == pytest.approx([0.6, 0.2, 0.2], abs=0.05)


def test_a_round_may_be_given_up_and_laws_be_hidden():
    """Neither round is counted; a perturbed leader inside keeps certificates whose mean is above mean regret."""
    oracle = open_oracle(TREES, np.eye(4), kind="search")
    learner = Guarded(oracle, inner=ContextualFTPL(oracle, epsilon="adaptive", noise_on="columns"), seed=0)
    learner.act(1)
    learner.give_up()
    assert (learner.played, learner.inner.played, learner.guarantee()) == (0, 0, np.inf)
    learner = Guarded(oracle, horizon=9, inner="uniform", bound=1.0)
    assert learner.guarantee() <= 2 + Exp4(oracle, horizon=9).guarantee()
    assert np.isnan(learner.bound(0.95))


def test_mistakes_end_in_one_line():
    """Learners that cannot play inside, bounds and shares that are none."""
    oracle = open_oracle(TREES, np.eye(4), kind="search")
    played = Uniform(3)
    played.learn(0, 0, 0.0, float(played.act(0)[0]))
    for options, line in [
        ({"inner": "hedge"}, "learn from played actions, not with 'hedge'"),
        ({"inner": "guarded"}, "learn from played actions, not with 'guarded'"),
        ({"inner": Hedge(open_oracle(TREES, np.eye(4), kind="enumeration"), horizon=9)}, "not with Hedge"),
        ({"inner": Uniform(2)}, "2 actions, and the oracle 3"),
        ({"inner": played}, "has played already"),
        ({"bound": -1.0}, "bound must be"),
        ({"share": -0.1}, "share must be"),
        ({"options": [1]}, "options must be a table"),
        ({"safe": "exp5"}, "exp5"),
    ]:
        with pytest.raises(InputError, match=line):
            Guarded(oracle, **options)
    solved = open_oracle(TREES, np.eye(4), kind="milp")
    with pytest.raises(InputError, match="action_weights"):
        Guarded(solved)
    assert Guarded(solved, bound=50.0, safe="uniform").act(0) == pytest.approx(np.full(3, 1 / 3))
