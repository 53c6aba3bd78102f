"""Contextual-FTPL with adaptive noise: the steps of its proof in closed form, its claims, and routes to its play."""

from functools import partial
from typing import Any

import numpy as np
import pytest

from milpcb import open_oracle, rng
from milpcb.bets import proved
from milpcb.learners import ContextualFTPL
from milpcb.learners.adaptive_noise import LAWS, MOST, Noise, Spread, spread
from milpcb.ledger import OWN
from policies import DecisionTrees

from .rounds import perturbed, play_planted

OPPOSITE = [[0], [1]]  # two policies on one context
adaptive = partial(perturbed, epsilon="adaptive")


def spreads(learner: Any, *changed: Spread) -> tuple[Spread, Spread]:
    """Return the two estimates of the spread, for rates and for the bound, after setting them to others."""
    leader = learner._leader
    if changed:
        leader._for_rates, leader._for_bound = changed
    return leader._for_rates, leader._for_bound


# --------------------------------------------------------------------------- laws of noise


@pytest.mark.parametrize(
    ("law", "beyond"),
    [
        ("laplace", {1.0: np.exp(-1), 2.5: np.exp(-2.5)}),
        ("normal", {1.0: 0.3173105, 2.5: 0.0124193}),
        # both tails of the integers from 1, from 2 and from 3 on: 2 e^-n / (1 + 1/e)
        ("whole", {0.5: 2 * np.exp(-1) / (1 + np.exp(-1)), 1.5: 2 * np.exp(-2) / (1 + np.exp(-1))}),
    ],
)
def test_laws_are_what_they_are_called(law: str, beyond: dict[float, float]) -> None:
    """Tails have their probabilities, on both sides alike, and the integers are whole."""
    n = 200_000
    drawn = Noise(LAWS[law], n, rng.child(0, "test")).draw()
    assert drawn.shape == (n,)
    assert LAWS[law].whole == bool((drawn == np.rint(drawn)).all())
    for x, p in beyond.items():
        for tail, chance in ((np.abs(drawn) > x, p), (drawn > x, p / 2)):
            assert abs(tail.mean() - chance) < 5 * np.sqrt(chance / n)


@pytest.mark.parametrize(
    ("law", "mean"), [("laplace", 0.75), ("normal", 1 / np.sqrt(np.pi)), ("whole", 2 * np.exp(-1) / (1 - np.exp(-2)))]
)
def test_spread_of_two_policies_is_half_the_mean_distance(law: str, mean: float) -> None:
    """E max(-x, -y) = E|x - y| / 2: 3/4 for Laplace, 1 / sqrt(pi) for normal variables; 0 where policies are alike."""
    learner = adaptive(OPPOSITE, law=law)
    for found in spreads(learner):
        assert found.draws == MOST
        if law != "whole":
            assert abs(found.mean - mean) < 5 * found.error
    assert len(set(spreads(learner))) == 2
    assert spreads(adaptive([[1, 0]]))[0].mean == 0.0


def test_spread_stops_when_it_is_precise() -> None:
    """A sum of many coordinates is known well after few draws; the second estimate takes as many as it is told to."""
    noise = Noise(LAWS["normal"], 400, rng.child(0, "test"))
    found = spread(noise, lambda n: -float(np.abs(n).sum()))
    assert found.error <= 0.01 * found.mean
    assert found.draws < MOST
    assert abs(found.mean - 400 * np.sqrt(2 / np.pi)) < 5 * found.error
    assert spread(noise, lambda n: -float(np.abs(n).sum()), 77).draws == 77


# --------------------------------------------------------------------------- the steps of the proof


def below(s: Any) -> Any:
    """Return P(X - Y > s) for independent Laplace variables of scale 1."""
    s = np.asarray(s, dtype=float)
    half = np.exp(-np.abs(s)) * (2 + np.abs(s)) / 4
    return np.where(s >= 0, half, 1 - half)


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
        p = float(below(epsilon * ahead))
        for j in range(1, 2000 if cap == 30 else cap + 1):
            j_cut = min(j, cap)
            chance = p * (1 - p) ** (j - 1) if j < cap else (1 - p) ** (cap - 1)
            u = np.linspace(0.0, j_cut, 2001)
            over = below(epsilon * (ahead + u))
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


def test_guarantees_of_other_settings() -> None:
    """Infinite without a horizon and for other laws, 0 for one policy.

    Four standard errors are added to the spread, of the mean of two independent estimates: 0.03 and 0.04 add what a
    mean larger by 4 * 0.05 / 2 does.
    """
    assert adaptive().guarantee() == np.inf
    assert adaptive(horizon=10, law="whole").guarantee() == adaptive(horizon=10, law="normal").guarantee() == np.inf
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
    learner = adaptive(law=law)
    assert learner.bound() == 0.0
    rates = play_planted(learner, 600, 0)[1]
    assert rates[0] == (1.0 if law == "whole" else 2.0)
    assert (np.diff(rates) <= 0).all()
    assert rates[-1] < 0.7 * rates[0]
    if law == "whole":
        assert {1 / rate for rate in rates} <= set(range(1, 100))


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


@pytest.mark.parametrize("epsilon", ["adaptive", 0.5])
@pytest.mark.parametrize(("queries", "profiles"), [("profile", 1), ("argmin", 0)])
def test_the_oracle_is_asked_what_queries_names(
    epsilon: Any, queries: str, profiles: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A profile is one question of its kind, and "argmin" never asks for one."""
    learner, asked = adaptive(epsilon=epsilon, queries=queries, horizon=100), []
    profile = learner.oracle.profile
    monkeypatch.setattr(learner.oracle, "profile", lambda *given: asked.append(given) or profile(*given))
    learner.act(0)
    assert len(asked) == profiles


def test_estimates_are_those_of_the_ledger() -> None:
    """The sums that the leader follows are by context and action what certificates are made of."""
    learner = adaptive()
    play_planted(learner, 100, 0)
    assert learner.estimates().tolist() == learner.state()["leader"]["table"]


def test_a_class_of_one_policy_is_played() -> None:
    """Nothing is to be found out: the policy is followed, at regret 0."""
    learner = adaptive([[1, 0]])
    for row in (0, 1, 0, 1):
        assert learner.act(row)[1 - row] == 1.0
        learner.learn(row, 1 - row, 1.0, 1.0)
    assert learner.certificate() == 0.0
    assert learner.bound() == pytest.approx(0.0, abs=1e-12)


# --------------------------------------------------------------------------- optimistic estimates


def opened(horizon: int | None = 50) -> Any:
    """Return the learner with optimistic estimates on three policies."""
    return adaptive([[0, 0], [1, 1], [0, 1]], "enumeration", horizon=horizon, estimates="optimistic")


def played(learner: Any, rounds: int) -> Any:
    """Play costs of 0, 0.5 and 1."""
    for t in range(rounds):
        q = learner.act(t % 2)
        action = int(q.argmax())
        learner.learn(t % 2, action, (t % 3) / 2, 1.0)
    return learner


def test_the_table_holds_what_the_stake_of_the_run_proves() -> None:
    """By cell c + log(1 + lambda (c J - c)) / l, summed; the ledger keeps c J, which is never less."""
    learner = played(opened(), 40)
    (stake,) = set(learner.ledger.stakes[-1:])
    sums = learner.ledger.sums(OWN + len(learner.ledger.stakes) - 1, 2, 2)
    table = learner._leader._queries.table
    least = [sums[np.arange(2), labels].sum() for labels in learner.oracle.labelings]
    assert table.minimise().value == pytest.approx(min(least))
    assert (sums <= learner.ledger.totals(2, 2) + 1e-9).all()
    assert stake == pytest.approx(2 * np.sqrt(np.log(3) / (2 * 50)))


def test_what_is_left_out_is_at_most_what_the_guarantee_adds() -> None:
    """sum_a q_a^2 E[c J - x] <= lambda (K - 1) (2 K + 1) / (2 K), for every cost, cap and law on a grid."""
    counts = np.arange(1, 1500)
    for K, stake, cost in [(K, stake, cost) for K in (2, 3) for stake in (0.2, 0.5) for cost in (0.3, 1.0)]:
        left_out = np.array([cost * J - proved(cost, cost * J, stake) for J in counts.tolist()])
        for first in (1 / K, 0.5, 0.9):
            q = np.array([first, *[(1 - first) / (K - 1)] * (K - 1)])
            means = [(left_out * p * (1 - p) ** (counts - 1)).sum() for p in q]
            assert (q**2 * means).sum() <= stake * (K - 1) * (2 * K + 1) / (2 * K) + 1e-9


def test_the_guarantee_adds_it_for_rounds_and_for_rates() -> None:
    """Twice D T lambda, but for the two estimates of the spread that stand in for it."""
    plain, learner = (
        ContextualFTPL(opened().oracle, horizon=50, epsilon="adaptive", estimates=estimates)
        for estimates in ("unbiased", "optimistic")
    )
    added = 0.5 * 2.5 * learner.ledger.stakes[-1] * 50
    assert learner.guarantee() - plain.guarantee() > 2 * added
    assert learner.guarantee() - plain.guarantee() < 4 * added
    assert opened(None).guarantee() == np.inf


def test_without_a_horizon_stakes_fall() -> None:
    """It adds no stake to the ledger's."""
    learner = played(opened(None), 30)
    assert len(learner.ledger.stakes) == len(ContextualFTPL(learner.oracle, epsilon="adaptive").ledger.stakes)
