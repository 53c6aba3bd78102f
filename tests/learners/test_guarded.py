"""Any learner under a guard: lazy looks, saved states, and what the learner inside learns."""

from importlib.util import find_spec
from typing import Any

import numpy as np
import pytest

from milpcb import open_oracle
from milpcb.environments.mirror import Mirror
from milpcb.environments.planted import LateBloomer
from milpcb.errors import ExtraMissingError
from milpcb.learners import ContextualFTPL, EpsilonGreedy, Exp4, Guarded, Learner
from milpcb.rng import child
from policies import DecisionTrees
from tests.learners.rounds import one_round
from tests.theory.coins.guard import Stubborn

TREES = DecisionTrees(3, depth=1, thresholds=[[0.5]] * 4)


def play(learner: Learner, stream: Any, rounds: int, seed: int, start: int = 0) -> None:
    """Play some rounds of a stream."""
    rng = child(seed, "play")
    for t in range(start, start + rounds):
        one_round(learner, int(stream.reveal(t)), stream.costs(t), rng)


SHAPE: dict[str, Any] = {"n_actions": 3, "n_contexts": 16, "n_features": 4}


def test_the_guarantee_is_over_the_round_of_the_change():
    """B is allowed until the end of a part of 32, 1 for the change, and the safe learner's from its begin on."""
    oracle, T = open_oracle(TREES, np.eye(4), kind="search"), 320
    inner = EpsilonGreedy(oracle, horizon=T)
    learner = Guarded(oracle, horizon=T, inner=inner, bound=lambda t: 40 + 3 * t**0.5, seed=0)
    safe = [Exp4(oracle, horizon=T - begin).guarantee() for begin in range(0, T, 10)]
    parts = [40 + 3 * end**0.5 + 1 + after for end, after in zip(range(10, T + 1, 10), safe, strict=True)]
    assert learner.guarantee() == pytest.approx(max(parts))


def test_lazy_looks_see_what_looks_in_every_round_would():
    """The change comes after the first round whose certificate exceeds what is allowed, less what others have paid."""
    stream = Mirror(copies=1, **SHAPE).open(TREES, 600, 1)
    oracle = open_oracle(TREES, np.asarray(stream.contexts), kind="search")
    learner = Guarded(oracle, inner=EpsilonGreedy(oracle), bound=30.0, seed=1)
    first = None
    for t in range(600):
        if t % 4 == 3:
            learner.act(0)
            learner.override(1)
            learner.pay(1.0)
        if first is None and learner.certificate() - learner.ledger.others > 30.0:
            first = t
        if learner.changed is not None:
            break
        play(learner, stream, 1, t, start=t)
    assert first is not None
    assert learner.changed == first
    assert learner.looks < 60
    assert learner.safe is not None


def test_the_learner_inside_learns_what_it_would_have_drawn():
    """The mix is q' and even chances, up to the least; what it learns has the law q', whatever their share is."""
    oracle, inside, points = open_oracle(TREES, np.eye(4), kind="search"), np.array([0.9, 0.05, 0.05]), 100
    for action in range(3):
        followed = 0
        for coin in (np.arange(points) + 0.5) / points:
            learner = Guarded(oracle, inner=Stubborn(3, 0.9), share=0.5)
            learner._rng = type("Coin", (), {"random": lambda _, coin=coin: coin})()
            q = learner.act(0)
            assert q == pytest.approx([2 / 3, 1 / 6, 1 / 6])
            assert learner.least_chance == pytest.approx(0.5 / 3)
            learner.learn(0, action, 1.0, float(q[action]))
            assert learner.ledger.last == pytest.approx(1 / q[action])
            followed += learner.inner.played
        assert q[action] * followed / points == pytest.approx(10 / 17 * inside[action], abs=1 / points)
    explores = Guarded(oracle, inner=Stubborn(3, 0.6), share=0.5)
    assert explores.act(0).tolist() == Stubborn(3, 0.6).act(0).tolist()
    assert explores.least_chance == pytest.approx(0.5 / 3)


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
    slow = Guarded(oracle, horizon=9, inner="uniform", bound=1.0, safe_options={"rate": 0.3})
    assert slow.guarantee() == pytest.approx(2 + Exp4(oracle, horizon=9, rate=0.3).guarantee())


def test_a_class_without_weights_takes_another_safe_learner():
    """With a bound that is given."""
    solved = open_oracle(TREES, np.eye(4), kind="milp")
    assert Guarded(solved, bound=50.0, safe="uniform").act(0) == pytest.approx(np.full(3, 1 / 3))


@pytest.mark.parametrize(("inner", "module"), [("vw", "vowpalwabbit"), ("contextualbandits", "contextualbandits")])
def test_learners_of_other_packages_play_inside(inner, module):
    """With the least chance for every action; where the package is not there, one line names the extra."""
    stream = LateBloomer(**SHAPE).open(TREES, 200, 0)
    oracle = open_oracle(TREES, np.asarray(stream.contexts), kind="search")
    options = {"contexts": oracle.contexts, "horizon": 200, "inner": inner, "bound": 10.0, "share": 0.5}
    if find_spec(module) is None:
        with pytest.raises(ExtraMissingError, match=inner):
            Guarded(oracle, **options)
        return
    learner = Guarded(oracle, **options)
    least = learner.least_chance
    assert learner.act(0).min() >= least * (1 - 1e-9) > 0
    learner.give_up()
    play(learner, stream, 200, 3)
    assert learner.inner.played > 0
    assert learner.certificate() <= learner.bound() + 1e-9
