"""A learner with a baseline: what it hands its learner, late costs, and what it refuses."""

import json
from typing import Any
from unittest.mock import Mock

import numpy as np
import pytest

from milpcb.bets import STAKES, Floor, price, proved
from milpcb.errors import OracleInexact
from milpcb.learners import Conservative, Exp4, Learner, Uniform
from tests.learners.rounds import listed, one_round

CONTEXTS = np.arange(4.0)[:, None]
LABELINGS = np.array([[0, 0, 0, 0], [1, 2, 1, 2], [1, 1, 1, 1], [2, 2, 2, 2]])


def conservative(**options: Any) -> Conservative:
    """Return a learner with Exp4 inside."""
    asked = listed(LABELINGS)
    return Conservative(asked, **{"inner": Exp4(asked), "loss": 0.1, "seed": 3, **options})


def play(learner: Learner, rounds: int, seed: int = 0, start: int = 0) -> list[tuple[int, float, Any]]:
    """Play, learning each round at once; the second labeling is right. Return action, baseline's cost and q of each."""
    made = []
    for t in range(start, start + rounds):
        rng = np.random.default_rng((seed, t))
        row = int(rng.integers(4))
        costs = (rng.random(3) < np.where(np.arange(3) == LABELINGS[1, row], 0.2, 0.6)).astype(float)
        action, q = one_round(learner, row, costs, rng)
        made.append((action, float(costs[0]), q))
    return made


def test_without_anything_to_lose_the_baseline_is_played() -> None:
    """With loss 0 and nothing allowed no round can be risked; the floor is what it cost, to the last digit."""
    learner = conservative(loss=0.0)
    made = play(learner, 200)
    assert all(q.tolist() == [1.0, 0.0, 0.0] for _, _, q in made)
    assert learner.floor == learner.ledger.cost == sum(cost for _, cost, _ in made)
    assert learner.rounds_of_baseline == 200
    assert learner.inner.played == 0


def test_the_floor_is_that_of_statement_16_for_one_policy() -> None:
    """By the definition: what was seen, or the best stake less its price, whichever is more."""
    rng, floor, rounds = np.random.default_rng(0), Floor(0.9), []
    for _ in range(400):
        cost, q = float(rng.random()), float(rng.uniform(0.05, 1))
        rounds.append((cost, cost / q))
        floor.add(*rounds[-1])
    proofs = [sum(proved(*each, stake) for each in rounds) - price(stake, 0.0, len(STAKES), 0.9) for stake in STAKES]
    assert floor.value == pytest.approx(max(sum(cost for cost, _ in rounds), *proofs))
    assert floor.value == pytest.approx(max(proofs))


def test_the_learner_inside_learns_only_rounds_in_which_it_was_followed() -> None:
    """It is alone in its own rounds: played by hand on these, it ends in the same state."""
    learner, alone = conservative(allowance=5.0), Exp4(listed(LABELINGS))
    learn = alone.learn

    def spy(row: int, action: int, cost: float, probability: float) -> None:
        alone.act(row)
        learn(row, action, cost, probability)

    inside = learner.inner._learn
    learner.inner._learn = lambda *round_: (spy(*round_), inside(*round_))[1]  # type: ignore[method-assign]
    play(learner, 800)
    assert alone.played == learner.inner.played < 800 - learner.rounds_of_baseline
    assert json.dumps(alone.state()) == json.dumps(learner.inner.state())


@pytest.mark.parametrize("mu", [0.3, 0.5])
def test_estimates_of_mixed_rounds_are_right_on_average(mu: float) -> None:
    """Over actions and coins: the mean of e 1[y = a] is the cost of a, for each action."""
    costs, means, followed = np.array([0.3, 1.0, 0.6]), np.zeros(3), set()
    inside = np.bincount(LABELINGS[:, 0]) / len(LABELINGS)
    for action in range(3):
        part = (1 - mu) * inside[action] / ((1 - mu) * inside[action] + mu * (action == 1))
        for coin, chance in ((part - 1e-9, part), (part + 1e-9, 1 - part)):
            if chance > 1e-9:
                learner = conservative(baseline=1, allowance=9.0, share=mu)
                learner._rng = type("Coin", (), {"random": lambda _, coin=coin: coin})()  # type: ignore[assignment]
                q = learner.act(0)
                means[action] += chance * q[action] * learner._learn(0, action, costs[action], q[action])
                followed.add((action, learner.inner.played))
    assert means == pytest.approx(costs)
    assert followed == {(0, 1), (1, 0), (1, 1), (2, 1)}


def test_costs_that_are_not_known_count_as_one() -> None:
    """With 3 to lose three rounds are risked before anything is known, and the next when one of them cost nothing."""
    learner = conservative(allowance=3.0, inner=Uniform(3))
    asides = []
    for _ in range(6):
        learner.act(0)
        asides.append(learner.set_aside())
    assert [aside.q[0] for aside in asides[3:]] == [1.0, 1.0, 1.0]
    assert max(aside.q[0] for aside in asides[:3]) < 1.0
    learner.take_up(asides[1])
    learner.learn(0, 2, 0.0, asides[1].q[2])
    assert learner.act(0)[0] < 1.0
    learner.give_up()
    learner.take_up(asides[0])
    learner.give_up()
    assert learner.act(0)[0] < 1.0
    assert learner.rounds_of_baseline == 3


def test_a_round_in_which_the_learner_inside_fails_goes_on_counting_as_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """It was played and paid for, though nobody wrote down its cost."""
    learner = conservative(allowance=3.0, share=0.0)
    q = learner.act(0)
    action = int(q.argmax())
    with monkeypatch.context() as patched:
        patched.setattr(learner.inner, "_learn", Mock(side_effect=OracleInexact("stopped")))
        with pytest.raises(OracleInexact):
            learner.learn(0, action, 1.0, float(q[action]))
    assert learner.ledger.cost == 0.0
    assert learner._at_worst() == 2.0


def test_a_round_that_is_given_up_leaves_nothing() -> None:
    """Whether it was the baseline's alone or not: the learner is as it was before."""
    learner, alone = conservative(allowance=2.0), set()
    for t in range(60):
        before = learner.state()
        alone.add(bool(learner.act(t % 4)[0] == 1.0))
        learner.give_up()
        assert learner.state() == before
        play(learner, 1, start=t)
    assert alone == {False, True}


def test_bounds_and_certificates_are_over_all_rounds() -> None:
    """On every path certificates stay below the bound: of the learner inside, plus what was paid elsewhere."""
    asked = listed(LABELINGS)
    inner = Exp4(asked, horizon=600, rate="certified", estimates="optimistic")
    learner = Conservative(asked, inner=inner, allowance=5.0, loss=0.1)
    for t in range(0, 600, 50):
        play(learner, 50, start=t)
        assert learner.certificate() <= learner.bound() + 1e-9
        assert learner.certificate(confidence=0.9) <= learner.bound(confidence=0.9) + 1e-9
    assert inner.bound() < learner.bound() < np.inf
    assert learner.guarantee() == np.inf
    assert np.array_equal(learner.policy().predict(CONTEXTS), LABELINGS[1])
