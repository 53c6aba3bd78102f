"""Contextual-FTPL with adaptive noise: the steps of its proof in closed form, its claims, and routes to its play."""

from functools import partial
from typing import Any

import numpy as np
import pytest

from milpcb import open_oracle, rng
from milpcb.learners import ContextualFTPL
from milpcb.learners.adaptive_noise import LAWS, MOST, Noise, Spread, spread
from policies import DecisionTrees

from .rounds import perturbed, play_planted, tail

OPPOSITE = [[0], [1]]  # two policies on one context
adaptive = partial(perturbed, epsilon="adaptive")


def spreads(learner: Any, *changed: Spread) -> tuple[Spread, Spread]:
    """Return the two estimates of the spread, for rates and for the bound, after setting them to others."""
    leader = learner._leader
    if changed:
        leader._for_rates, leader._for_bound = changed
    return leader._for_rates, leader._for_bound


# --------------------------------------------------------------------------- the noise and its spread


@pytest.mark.parametrize(
    ("law", "beyond"),
    [
        ("laplace", {1.0: np.exp(-1), 2.5: np.exp(-2.5)}),
        ("normal", {1.0: 0.3173105, 2.5: 0.0124193}),
        # both tails of the integers from 1 and from 2 on: 2 e^-n / (1 + 1/e)
        ("whole", {0.5: 2 * np.exp(-1) / (1 + np.exp(-1)), 1.5: 2 * np.exp(-2) / (1 + np.exp(-1))}),
    ],
)
def test_laws_are_what_they_are_called(law: str, beyond: dict[float, float]) -> None:
    """Tails have their probabilities, on both sides alike, and the integers are whole."""
    n = 200_000
    drawn = Noise(n, rng.child(0, "test"), law).draw()
    assert (law == "whole") == bool((drawn == np.rint(drawn)).all())
    for x, p in beyond.items():
        for tail_of, chance in ((np.abs(drawn) > x, p), (drawn > x, p / 2)):
            assert abs(tail_of.mean() - chance) < 5 * np.sqrt(chance / n)


@pytest.mark.parametrize(("law", "mean"), [("laplace", 0.75), ("normal", 1 / np.sqrt(np.pi)), ("whole", None)])
def test_spread_of_two_policies_is_half_the_mean_distance(law: str, mean: float | None) -> None:
    """E max(-x, -y) = E|x - y| / 2: 3/4 for Laplace, 1 / sqrt(pi) for normal variables; 0 where policies are alike."""
    learner = adaptive(OPPOSITE, law=law)
    for found in spreads(learner):
        assert found.draws == MOST
        assert mean is None or abs(found.mean - mean) < 5 * found.error
    assert len(set(spreads(learner))) == 2
    assert spreads(adaptive([[1, 0]]))[0].mean == 0.0


def test_spread_stops_when_it_is_precise() -> None:
    """A sum of many coordinates is known well after few draws; the second estimate takes as many as it is told to."""
    noise = Noise(400, rng.child(0, "test"))
    found = spread(noise, lambda n: -float(np.abs(n).sum()))
    assert found.error <= 0.01 * found.mean
    assert found.draws < MOST
    assert abs(found.mean - 400) < 5 * found.error
    assert spread(noise, lambda n: -float(np.abs(n).sum()), 77).draws == 77


# --------------------------------------------------------------------------- the steps of the proof


@pytest.mark.parametrize("cap", [1, 30])
@pytest.mark.parametrize("lead", [0.0, -2.5])
@pytest.mark.parametrize("epsilon", [2.0, 0.02])
def test_moments_of_delta_are_within_those_of_the_proof(epsilon: float, lead: float, cap: int) -> None:
    """Two opposite policies and both costs 1: 0 <= E delta <= eps S (K - 1/2) + K / (e M), and E delta^2 <= 2 K - 1.

    The gain of action a is the least of J and what the other total is above, where a leads: it exceeds u with the
    probability that a leads by more than u. So its moments given J are integrals of that.
    """
    mean = square = 0.0
    for ahead in (lead, -lead):  # of action 0, of action 1
        p = float(tail(epsilon * ahead))
        for j in range(1, 2000 if cap == 30 else cap + 1):
            j_cut = min(j, cap)
            chance = p * (1 - p) ** (j - 1) if j < cap else (1 - p) ** (cap - 1)
            u = np.linspace(0.0, j_cut, 2001)
            over = tail(epsilon * (ahead + u))
            gain, gain_squared = np.trapezoid(over, u), np.trapezoid(2 * u * over, u)
            mean += p * chance * (1 - gain)
            square += p * chance * (1 - 2 * gain + gain_squared)
            if j == cap:
                break
    assert -1e-6 <= mean <= epsilon * 1.5 + 2 / (np.e * cap)
    assert square <= 3


def test_the_guarantee_is_the_constant_of_the_proof() -> None:
    """With both estimates of the spread set to one number without error, it is the sum that the docstring states."""
    T, K, size = 5000, 2, 0.8
    learner, lower = adaptive(horizon=T), adaptive(horizon=T, cap=10)
    exact = spreads(learner)[0]._replace(mean=size, error=0.0)
    for one in (learner, lower):
        spreads(one, exact, exact)
    capped = 2 * np.sqrt(K * T) / np.e
    expected = size / 2 + 2 * np.sqrt(2 * 1.5 * T * size) + 3 * np.sqrt(3 * T) + 2 * capped + 2
    assert learner.guarantee() == pytest.approx(expected)
    assert lower.guarantee() == pytest.approx(expected + 2 * (K * T / (10 * np.e) - capped))


def test_the_guarantee_allows_for_four_standard_errors_of_the_spread() -> None:
    """Of the mean of two independent estimates: 0.03 and 0.04 add what a mean larger by 4 * 0.05 / 2 does."""
    assert adaptive().guarantee() == np.inf
    assert adaptive([[1, 0]], horizon=10).guarantee() == 0.0
    unsure, larger = adaptive(horizon=5000), adaptive(horizon=5000)
    size = spreads(unsure)[0]._replace(mean=0.8, error=0.0)
    spreads(unsure, size._replace(error=0.03), size._replace(error=0.04))
    spreads(larger, size, size._replace(mean=1.0))
    assert unsure.guarantee() == pytest.approx(larger.guarantee())


@pytest.mark.parametrize("switch", [0, 1500])
def test_regret_is_within_bound_and_guarantee(switch: int) -> None:
    """Mean regret, certificate and bound over seeded games are in this order, below the guarantee."""
    T = 3000
    learners = [adaptive(horizon=T, seed=seed) for seed in range(3)]
    regret = np.mean([play_planted(learner, T, seed, switch)[2] for seed, learner in enumerate(learners)])
    certificate = np.mean([learner.certificate() for learner in learners])
    bound = np.mean([learner.bound() for learner in learners])
    assert regret <= certificate + 3 * learners[0].certificate_error() / np.sqrt(3)
    assert certificate <= bound <= learners[0].guarantee()
    assert bound < 0.1 * T
    assert all(learner.oracle_error() == 0.0 for learner in learners)


@pytest.mark.parametrize("law", LAWS)
def test_rates_never_increase(law: str) -> None:
    """They begin at 2, in integers at 1, and are then one over integers; before a round there is no bound."""
    learner = adaptive(law=law, horizon=600)
    assert learner.bound() == 0.0
    assert np.isfinite(learner.guarantee()) == (law == "laplace")
    rates = play_planted(learner, 600, 0)[1]
    assert rates[0] == (1.0 if law == "whole" else 2.0)
    if law == "whole":
        assert {1 / rate for rate in rates} <= set(range(1, 100))
    assert (np.diff(rates) <= 0).all()
    assert rates[-1] < 0.7 * rates[0]


def test_questions_of_a_round() -> None:
    """One to play; where that cost something one for each redraw made, and one for the gain."""
    learner = adaptive()
    for t in range(300):
        start, row = learner.oracle.calls, t % 4
        action = int(learner.act(row).argmax())
        cost = float(t % 3 > 0)
        learner.learn(row, action, cost, 1.0)
        cap = int(np.ceil(np.sqrt(2 * (t + 1))))
        redraws = min(round(learner.ledger.last), cap - 1)
        assert learner.ledger.last <= cap
        assert learner.oracle.calls - start == (2 + redraws if cost else 1)


# --------------------------------------------------------------------------- routes, state, mistakes


def trees(kind: str, **options: Any) -> Any:
    """Return the learner on trees over six contexts, of which only the first four are shown."""
    contexts = np.random.default_rng(2).random((6, 2))
    oracle = open_oracle(DecisionTrees(2, 1, thresholds=2), contexts, kind=kind)
    return ContextualFTPL(oracle, seed=3, epsilon="adaptive", **options)


def test_whole_numbers_give_the_same_bytes_on_every_oracle() -> None:
    """All totals are whole, so nothing is rounded, and states are equal: search, list, audited and MILP."""
    runs = []
    for kind in ("search", "enumeration", "audited", "milp"):
        learner = trees(kind, law="whole")
        runs.append((play_planted(learner, 60, 0)[:2], learner.state(), learner.bound()))
    assert all(run == runs[0] for run in runs)
    assert len(set(runs[0][0][0])) == 2


@pytest.mark.parametrize(("kind", "queries"), [("search", "argmin"), ("milp", "argmin"), ("milp", "profile")])
def test_minimisers_do_what_profiles_do(kind: str, queries: str) -> None:
    """With continuous noise the play is the same, and the bound up to rounding."""
    first, other = trees("search"), trees(kind, queries=queries)
    assert play_planted(first, 60, 0)[0] == play_planted(other, 60, 0)[0]
    assert first.bound() == pytest.approx(other.bound(), abs=1e-6)
    assert first.certificate() == pytest.approx(other.certificate(), abs=1e-6)


def test_a_class_of_one_policy_is_played() -> None:
    """Nothing is to be found out: the policy is followed, at regret 0."""
    learner = adaptive([[1, 0]])
    for row in (0, 1, 0, 1):
        assert learner.act(row)[1 - row] == 1.0
        learner.learn(row, 1 - row, 1.0, 1.0)
    assert learner.certificate() == 0.0
    assert learner.bound() == pytest.approx(0.0, abs=1e-12)
