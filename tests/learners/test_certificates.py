"""Certificates, in the mean and with confidence: definitions, bounds, saved sums, and what is refused."""

from itertools import pairwise
from math import log, log1p
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from milpcb import Bandit, FinitePool, open_oracle, share_at_most
from milpcb.bets import STAKES, proved
from milpcb.errors import InputError
from milpcb.learners import ContextualFTPL, Doubling, EpsilonGreedy, Exp4, Learner, Uniform
from milpcb.ledger import Ledger
from milpcb.oracles.growing import GrowingOracle
from policies import DecisionTrees
from tests.inside import rounds_of
from tests.learners.rounds import each_round, listed

CONTEXTS = np.arange(4.0)[:, None]
LABELINGS = np.array([[0, 1, 2, 0], [1, 1, 1, 1], [2, 0, 1, 0], [0, 0, 0, 0], [1, 2, 0, 1], [2, 2, 2, 1]])
LEARNERS = {
    "exp4": Exp4,
    "exp4, optimistic": lambda oracle: Exp4(oracle, estimates="optimistic"),
    "exp4, optimistic with a horizon": lambda oracle: Exp4(
        oracle, horizon=400, rate="certified", estimates="optimistic"
    ),
    "ftpl": lambda oracle: ContextualFTPL(oracle, epsilon="adaptive", seed=1),
    "epsilon-greedy": EpsilonGreedy,
}


def play(learner: Learner, rounds: int, seed: int = 0) -> list[tuple[int, int, float, float]]:
    """Play rounds of costs in [0, 1] and return row, action, cost and estimate of each."""
    played = each_round(learner, rounds, lambda _row, rng: rng.random(3) * (rng.random(3) < 0.7), seed)
    return [(row, action, cost, learner.ledger.last) for row, action, cost, _ in played]


@pytest.mark.parametrize("name", LEARNERS)
def test_the_certificate_is_what_its_definition_says(name: str) -> None:
    """Costs paid, less the largest over the stakes of the least that any policy is proved to have paid."""
    learner = LEARNERS[name](listed(LABELINGS))
    played = play(learner, 300)
    least = 0.0
    for stake in learner.ledger.stakes:
        loss = -log1p(-stake)
        sums = [
            sum(c + log(1 + stake * (e - c)) / loss for row, action, c, e in played if labels[row] == action and c)
            for labels in LABELINGS
        ]
        price = log(len(LABELINGS) * len(learner.ledger.stakes) / 0.1) / loss
        least = max(least, min(sums) - price)
    expected = sum(cost for _, _, cost, _ in played) - least
    assert learner.certificate(confidence=0.9) == pytest.approx(expected, rel=1e-9)
    assert learner.certificate(confidence=0.99) >= learner.certificate(confidence=0.9)


@given(st.floats(0, 1), st.floats(0, 1e6), st.sampled_from(STAKES))
def test_what_a_round_proves_lies_between_nothing_and_the_estimate(cost: float, more: float, stake: float) -> None:
    """0 <= proved <= e for e >= c, falling as the stake grows; and at least 0 for every estimate."""
    found = [proved(cost, cost + more, each) for each in STAKES]
    assert all(0.0 <= each <= (cost + more) * (1 + 1e-12) for each in found)
    assert all(bold <= careful * (1 + 1e-12) for careful, bold in pairwise(found))
    assert proved(cost, 0.0, stake) >= -1e-12


@pytest.mark.parametrize("horizon", [None, 400])
def test_no_path_has_a_certificate_above_its_bound(horizon: int | None) -> None:
    """Exp4 with optimistic estimates: in the mean and with confidence, after every round."""
    learner = Exp4(listed(LABELINGS), horizon=horizon, rate="certified", estimates="optimistic")
    for seed in range(400):
        play(learner, 1, seed)
        if seed % 40:
            continue
        assert learner.certificate() <= learner.bound() + 1e-9
        for confidence in (0.5, 0.95):
            assert learner.certificate(confidence=confidence) <= learner.bound(confidence) + 1e-9


def test_a_class_of_one_policy_has_the_bound_of_its_certificate_too() -> None:
    """It has no regret, but what its certificate says with confidence is above 0, and so is the bound."""
    alone = listed(LABELINGS[:1], 3)
    learner = Exp4(alone, rate="certified", estimates="optimistic")
    play(learner, 50)
    assert learner.certificate() == learner.bound() == 0.0
    assert 0.0 < learner.certificate(confidence=0.9) <= learner.bound(0.9) + 1e-9


def test_contexts_that_arrive() -> None:
    """A class whose size is known beforehand is certified as if all contexts were known; another is refused."""
    cuts = [[0.5], [0.5]]
    contexts = np.array([[0, 0], [0, 1], [1, 0], [1, 1]], dtype=float)
    trees = DecisionTrees(n_actions=3, depth=2, thresholds=cuts)
    arriving, known = GrowingOracle(trees), open_oracle(trees, contexts, kind="search")
    arriving.extend(contexts)
    learners = [Exp4(asked, estimates="optimistic") for asked in (arriving, known)]
    for learner in learners:
        play(learner, 100)
    assert learners[0].certificate() == pytest.approx(learners[1].certificate())
    assert np.isfinite(learners[0].certificate(confidence=0.95))
    counted = GrowingOracle(trees, contexts, kind="milp")  # opened on the contexts so far, and counted on them
    learner = Uniform(n_actions=3)
    with pytest.raises(InputError, match="the number of policies is not known"):
        learner.certificate(counted, confidence=0.95)


def test_a_service_states_it_too() -> None:
    """A bandit whose contexts arrive, with and without a budget, states what its learner proves."""
    options: dict[str, Any] = {"feature_names": ["age"], "action_names": ["call", "write"]}
    trees = DecisionTrees(n_actions=2, depth=1, thresholds=[[30, 45]], **options)
    for constraints in ((), (share_at_most("call", 0.4),)):
        bandit = Bandit(trees, learner="exp4", estimates="optimistic", constraints=constraints)
        rng = np.random.default_rng(0)
        for _ in range(200):
            decision = bandit.act([int(rng.integers(20, 60))])
            bandit.learn(decision, cost=0.1 if decision.action == "write" else 0.8)
        assert bandit.certificate() < bandit.certificate(confidence=0.95) < 200
        assert np.isnan(bandit.bound(0.95)) == bool(constraints)
        free = rounds_of(bandit).allowed()
        assert free.log_union == GrowingOracle(trees).log_derivations  # not of those that keep the budget so far alone


def test_doubling_hands_on_what_its_learner_estimates() -> None:
    """In the first phase its certificate is that of the learner inside, and later phases add to it."""
    learner = Doubling(listed(LABELINGS), FinitePool(CONTEXTS), inner="ftpl", first=50)
    play(learner, 50)
    first = learner.certify()
    assert first[:2] == learner.inner.certify()[:2]
    play(learner, 50, seed=1)
    assert learner.certificate() != pytest.approx(learner.inner.certificate())
    assert learner.ledger.cost > first.value


def test_a_cell_is_saved_as_its_definition() -> None:
    """The sums of e, (e - c)^2 and c^2, then what each stake proves of costs, and of gains."""
    ledger, rounds = Ledger([0.1, 0.4]), [(0.5, 2.0), (1.0, 1.0)]
    for cost, estimate in rounds:
        ledger.add(3, 1, cost, estimate)
    moments = np.array([[e, (e - c) ** 2, c**2] for c, e in rounds]).sum(axis=0)
    bets = [sum(proved(c, e, stake) for c, e in rounds) for stake in (0.1, 0.4)]
    gains = [sum(proved(1 - c, (1 - c) * e / c, stake) for c, e in rounds) for stake in (0.1, 0.4)]
    paid, played, _, [[block, row, action, *sums]], _ = ledger.state()
    assert (paid, played, block, row, action) == (1.5, 2, 0, 3, 1)
    assert sums == pytest.approx([*moments, *bets, *gains])
