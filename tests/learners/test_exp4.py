"""Exp4, and Forgetting, against definitions: a list of all derivations, the theorem's inequalities, late rounds."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest

from milpcb import open_oracle
from milpcb.errors import InputError
from milpcb.learners import Exp4, Forgetting
from milpcb.oracles.growing import GrowingOracle
from milpcb.protocols import PolicyClass
from milpcb.types import Floats, Ints
from policies import DecisionTrees, FiniteClass

from .rounds import each_round, listed

BITS = np.array([[0, 0, 1], [0, 1, 0], [1, 0, 0], [1, 1, 1], [0, 1, 1], [1, 0, 1]], float)
TABLE = np.array([[0, 1, 2, 0, 1, 2], [1, 1, 0, 0, 2, 0], [2, 2, 2, 2, 2, 2], [0, 1, 2, 0, 1, 2]])
RULES = ("fixed", "anytime", "adaptive", "certified")


# ------------------------------------------------------------------- every derivation, from its definition

# That oracles and their tables weigh the derivations of each class is tested with the classes.
STUMPS = [np.where(BITS[:, f] > 0.5, yes, no) for f in range(3) for yes, no in product(range(3), repeat=2)]
SEARCHED: dict[str, tuple[PolicyClass, Floats, list[Ints]]] = {
    "trees": (DecisionTrees(3, 1), BITS, STUMPS),
    "finite, with a repeat": (FiniteClass(TABLE, 3), np.arange(6.0)[:, None], list(TABLE)),
}


def rates(rule: str, log_count: float, trace: Trace, K: int, T: int) -> list[float]:
    """The rates of all rounds, by their definition."""
    squares = trace.squares  # v_1, v_2, ...
    if rule == "certified":
        made, spent = [1.0], 0.0
        for cost, q in list(zip(trace.shown, trace.chances, strict=True))[:-1]:
            spent += cost + np.log(1 - q * (1 - np.exp(-made[-1] * cost / q))) / made[-1]
            made.append(min(1.0, log_count / spent) if spent > 0 else 1.0)
        return made
    if rule == "fixed":
        return [np.sqrt(2 * log_count / (K * T))] * len(squares)
    anytime = [np.sqrt(log_count / (K * t)) for t in range(1, len(squares) + 1)]
    if rule == "anytime":
        return anytime
    made = [2 * anytime[0]]
    for t in range(1, len(squares)):
        made.append(
            min(made[-1], np.clip(np.sqrt(log_count / max(sum(squares[:t]), 1e-300)), anytime[t], 2 * anytime[t]))
        )
    return made


class Trace:
    """A played game: what was shown, played and estimated, and the rates used."""

    def __init__(self, learner: Exp4, rounds: int, seed: int = 0, scale: float = 1.0) -> None:
        every, self.rates = np.eye(learner.n_actions), list[float]()

        def costs(_row: int, rng: Any) -> Any:
            self.rates.append(learner.rate)
            return np.roll(np.linspace(0.0, scale, len(every)), learner.played // 7) * (rng.random() < 0.8)

        self.rows, actions, self.shown, self.q = zip(*each_round(learner, rounds, costs, seed), strict=True)
        self.chances = np.array(self.q)[np.arange(rounds), actions]
        self.estimates = every[list(actions)] * (self.shown / self.chances)[:, None]
        self.squares = list(np.square(self.shown) / self.chances)


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("name", SEARCHED)
def test_search_plays_as_the_list_of_all_derivations(name: str, rule: str) -> None:
    """Without listing anything, q equals the normalised sum over derivations, step by step to 1e-10."""
    policies, contexts, derivations = SEARCHED[name]
    table, T, K = np.array(derivations), 60, policies.n_actions
    trace = Trace(Exp4(open_oracle(policies, contexts, kind="search"), horizon=T, rate=rule), T)
    expected = rates(rule, np.log(len(table)), trace, K, T)
    totals = np.zeros(len(table))
    for row, q, estimate, rate in zip(trace.rows, trace.q, trace.estimates, expected, strict=True):
        weights = np.exp(-rate * (totals - totals.min()))
        mass = np.bincount(table[:, row], weights, minlength=K)
        assert np.abs(q - mass / mass.sum()).max() < 1e-10
        totals += estimate[table[:, row]]


# ------------------------------------------------------------------- the right N


@pytest.mark.parametrize("name", SEARCHED)
def test_the_guarantee_counts_derivations(name: str) -> None:
    """Log N is that of the derivations, not the smaller of labelings; an audited or growing oracle says the same."""
    policies, contexts, derivations = SEARCHED[name]
    expected = np.log(len(derivations))
    search = open_oracle(policies, contexts, kind="search")
    assert search.log_derivations == pytest.approx(expected)
    assert open_oracle(policies, contexts, kind="audited").log_derivations == pytest.approx(expected)
    listed = open_oracle(policies, contexts, kind="enumeration")
    assert listed.log_derivations == pytest.approx(np.log(len(np.unique(derivations, axis=0))))
    T, K = 5000, policies.n_actions
    for rule, factor in zip(RULES[:3], (np.sqrt(2), 2.0, 3.0), strict=True):
        assert Exp4(search, horizon=T, rate=rule).guarantee() == pytest.approx(factor * np.sqrt(T * K * expected))
    growing = None if isinstance(policies, FiniteClass) else GrowingOracle(policies, contexts)
    if growing is not None:
        assert growing.log_derivations == pytest.approx(expected)
        assert Exp4(growing, horizon=10).act(2) == pytest.approx(Exp4(search, horizon=10).act(2))


@pytest.mark.parametrize(("rule", "times"), [("fixed", 1), ("anytime", 1), ("adaptive", 1), ("certified", 4)])
def test_optimistic_estimates_add_what_they_fall_short(rule: Any, times: int) -> None:
    """(K - 1) (K + 2) / (2 K) stakes a round: statement 17 of milpcb/theory/confidence.md."""
    oracle, T, K = open_oracle(DecisionTrees(3, 1), BITS, kind="search"), 4000, 3
    unbiased, optimistic = (Exp4(oracle, horizon=T, rate=rule, estimates=each) for each in ("unbiased", "optimistic"))
    stake = 4 * np.sqrt(np.log(27) / (K * T))
    added = optimistic.guarantee() - unbiased.guarantee()
    assert added == pytest.approx(times * (K - 1) * (K + 2) / (2 * K) * stake * T)


def test_a_rate_given_as_a_number_has_its_own_guarantee() -> None:
    """Log N / eta + eta K T / 2, least at the fixed rate; without a rate there is none. Delays stand beside K T / 2."""
    oracle = open_oracle(DecisionTrees(3, 1), BITS, kind="search")
    fixed = Exp4(oracle, horizon=400)
    assert Exp4(oracle, horizon=400, rate=0.3).guarantee() == pytest.approx(np.log(27) / 0.3 + 0.3 * 3 * 400 / 2)
    assert Exp4(oracle, horizon=400, rate=fixed.rate).guarantee() == fixed.guarantee()
    assert all(Exp4(oracle, horizon=400, rate=fixed.rate * by).guarantee() > fixed.guarantee() for by in (0.9, 1.1))
    assert Exp4(oracle, horizon=400, rate=0).guarantee() == np.inf
    late = Exp4(oracle, horizon=400, rate="fixed", delays=200)
    assert late.guarantee() == pytest.approx(np.sqrt(2 * (3 * 400 + 2 * 200) * np.log(27)))


# ------------------------------------------------------------------- special cases


@pytest.mark.parametrize("rate", [*RULES, 0.5])
def test_one_policy_has_no_regret(rate: Any) -> None:
    """With N = 1 the policy is played surely, and the guarantee is 0."""
    learner = Exp4(listed(TABLE[:1], 3, "search"), horizon=20, rate=rate)
    for t in range(20):
        q = learner.act(t % 6)
        assert q.tolist() == np.eye(3)[TABLE[0, t % 6]].tolist()
        learner.learn(t % 6, int(q.argmax()), t % 2, 1.0)
    assert learner.guarantee() == 0.0


# ------------------------------------------------------------------- the theorem


@pytest.mark.parametrize("scale", [0.1, 1.0])
@pytest.mark.parametrize("rule", RULES)
def test_every_path_keeps_the_inequalities_behind_the_guarantee(rule: str, scale: float) -> None:
    """Whatever is drawn: certificate <= bound <= log N / eta_T + sum of eta_t v_t / 2, v the cost squared over q."""
    oracle, T, log_count = open_oracle(DecisionTrees(3, 1), BITS, kind="search"), 150, np.log(27)
    for seed in range(3):
        learner = Exp4(oracle, horizon=T, rate=rule)
        assert learner.bound() == 0.0
        trace = Trace(learner, T, seed, scale)
        assert 0 < learner.certificate() <= learner.bound() + 1e-9
        stated = log_count / trace.rates[-1] + np.array(trace.rates) @ np.array(trace.squares) / 2
        assert learner.bound() <= stated + 1e-9
        if rule == "certified":
            spent = learner.bound() - log_count / trace.rates[-1]
            assert spent <= 0.5 + np.sqrt(0.25 + log_count * sum(trace.squares))
            assert log_count / trace.rates[-1] <= log_count + spent


def test_the_certified_rate_needs_no_horizon() -> None:
    """Without one it plays on, and no guarantee is claimed; the fixed rate says which one to take instead."""
    oracle = open_oracle(DecisionTrees(3, 1), BITS, kind="search")
    free, bounded = (Exp4(oracle, horizon=T, rate="certified") for T in (None, 60))
    assert all((a == b).all() for a, b in zip(Trace(free, 60).q, Trace(bounded, 60).q, strict=True))
    assert free.guarantee() == np.inf
    assert bounded.guarantee() == pytest.approx(np.log(27) + 1 + 2 * np.sqrt(0.25 + 180 * np.log(27)))
    with pytest.raises(InputError, match=r'needs a horizon.*rate = "certified"'):
        Exp4(oracle, rate="fixed")
    assert Exp4(oracle).rate == Exp4(oracle, rate="certified").rate


@pytest.mark.parametrize("rule", ["anytime", "certified"])
@pytest.mark.parametrize("delay", [0, 1, 7])
def test_late_rounds_keep_the_bound_above_the_certificate(rule: Any, delay: int) -> None:
    """On every path, in any order of learning; a round put aside and taken up at once changes nothing."""
    oracle = open_oracle(DecisionTrees(3, 1), BITS, kind="search")
    learner, at_once = (Exp4(oracle, horizon=None if rule == "certified" else 300, rate=rule) for _ in range(2))
    draws, waiting = np.random.default_rng(5), []
    for _ in range(300):
        row, cost = int(draws.integers(len(BITS))), float(draws.integers(3)) / 2
        q = learner.act(row)
        action = int(draws.choice(3, p=q))
        waiting.append((learner.set_aside(), action, cost))
        if delay == 0:
            assert (at_once.act(row) == q).all()
            at_once.learn(row, action, cost, float(q[action]))
        while len(waiting) > delay:
            aside, action, cost = waiting.pop(int(draws.integers(len(waiting))))
            learner.take_up(aside)
            learner.learn(aside.row, action, cost, aside.q[action])
            assert learner.certificate() <= learner.bound() + 1e-9
    assert learner.played == 300 - delay
    if delay == 0:
        assert learner.state() == at_once.state()


@pytest.mark.parametrize("rate", [0.0, 1e-300, 5.0, 1e6])
def test_the_bound_is_a_number_at_any_rate(rate: float) -> None:
    """However small or large the rate, no overflow; at rate 0 there is no bound."""
    learner = Exp4(open_oracle(DecisionTrees(3, 1), BITS, kind="search"), horizon=40, rate=rate)
    Trace(learner, 40)
    assert learner.bound() >= learner.certificate() - 1e-9
    assert (learner.bound() == np.inf) == (rate == 0.0)


FOUR = np.array([[0, 0], [0, 1], [1, 0], [1, 1]])


@pytest.mark.parametrize("w", [2, 7])
@pytest.mark.parametrize("by", ["window", "discount"])
def test_forgetting_plays_by_what_policies_cost_of_late(by: Any, w: int) -> None:
    """Weights are those of the totals over the window, or discounted."""
    oracle = listed(FOUR)
    learner, rng = Forgetting(oracle, rounds=w, by=by), np.random.default_rng(0)
    paid: list[Any] = []  # of each round, the estimates of all policies
    for _ in range(40):
        row = int(rng.integers(2))
        weighed = paid[-w:] if by == "window" else [x * (1 - 1 / w) ** age for age, x in enumerate(reversed(paid))]
        weights = np.exp(-np.sqrt(2 * np.log(4) / (2 * w)) * np.sum(weighed, axis=0) * np.ones(4))
        expected = np.bincount(FOUR[:, row], weights, 2) / weights.sum()
        q = learner.act(row)
        np.testing.assert_allclose(q, expected, atol=1e-9)
        action = int(rng.choice(2, p=q))
        cost = float(rng.random())
        learner.learn(row, action, cost, float(q[action]))
        paid.append(cost / q[action] * (FOUR[:, row] == action))
    assert learner.guarantee() == np.inf
    assert np.isnan(learner.bound())
    state, fresh = learner.state(), Forgetting(oracle, rounds=w, by=by)
    with pytest.raises(InputError, match="cannot go on"):  # the ledger does not know what was forgotten
        learner.go_on(fresh)
    assert learner.state() == state
